#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: in a container with little memory, output that nobody asks for harms neither the service nor
# the jobs that write it; what is left out is reported, with the limit. On cgroup v1, rootless
# engines limit nothing, and are left out.
# tier: check
# engines: docker20 docker26 docker28 podman43 podman54 podman58
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

call() { run "$SBINJECT" call "$name" "$1" "$2"; }
result() { jq -r "${1:-.result}" <<<"$out"; }
start() { # start COMMAND: sets $pid
  call exec_remote_start "$(jq -nc --arg c "$1" '{command: $c}')"
  pid=$(result .result.pid)
}
server() { "$SBINJECT" status --json "$name" | jq .pid; }

# until the service has had nothing to do for a while: it reads no more
settled() {
  local i
  for i in 1 2 3 4 5 6; do
    # shellcheck disable=SC2016
    ! exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" sh -c 'for i in $(seq 20); do
      before=$(cut -d " " -f 14,15 "/proc/$1/stat")
      sleep 1
      [ "$(cut -d " " -f 14,15 "/proc/$1/stat")" != "$before" ] || exit 0
    done; exit 1' sh "$server" || return 0
  done
}

for mib in 32 64; do
  name=$(unique "memory-$mib")
  bytes=$((mib << 20))
  id=$(ctr_create "$ENGINE" busybox "$name" "{\"Memory\":$bytes,\"MemorySwap\":$bytes}")
  ok "$mib MiB: inject" "$SBINJECT" "$name"
  server=$(server)
  start 'yes 0123456789abcdef'
  first=$pid
  start 'cat /dev/zero'
  second=$pid
  call bash_session_new_session '{}'
  session=$(result .result.session_name)
  call bash_session "$(jq -nc --arg s "$session" '{session_name: $s, wait_for_output: 0, idle_timeout: 0, input: "yes shell | head -c 30000000\n"}')"
  settled
  is "$mib MiB: the service is the same" "$(server)" "$server"
  is "$mib MiB: nobody was killed" "$(ctr_inspect "$ENGINE" "$id" | jq .State.OOMKilled)" false
  size=0 ack=0
  for i in 1 2 3 4 5; do
    call exec_remote_poll "{\"pid\":$first,\"ack_seq\":$ack}"
    ack=$(result .result.seq) size=$((size + $(result '.result.stdout | length')))
    [ "$(result .result.state)" = running ] || fail "$mib MiB: poll $i" "$out"
  done
  [ "$size" -ge $((5 * bytes / 64)) ] && pass "$mib MiB: what it has said is to be had" || fail "$mib MiB: what it has said is to be had" "$size"
  call exec_remote_kill "{\"pid\":$second}"
  [ "$(result '.result.stdout | length')" -ge 65536 ] && pass "$mib MiB: so it is of a second one" || fail "$mib MiB: so it is of a second one" "${out:0:300}"
  call exec_remote_kill "{\"pid\":$first}"
  like "$mib MiB: what is told of one that is killed is bounded" "$(result '.result.stdout' | head -n 2)" "exec_remote output exceeded $((mib / 32)) MiB; "
  is "$mib MiB: the service is still the same" "$(server)" "$server"
  ok "$mib MiB: remove" "$SBINJECT" remove "$name"
done
done_testing
