#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an engine that restarts between any two requests, and connections cut at any byte, end in a
# documented exit code within the time limit and one line; and a second run repairs everything.
# engines: docker20 podman43
# images: busybox
# timeout: 600
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
CUTS=${CUTS:-6} # cuts at random bytes

engine_sh=$top/t/engines/engine.sh
name=$(unique r)
id=$(ctr_create "$ENGINE" busybox "$name")
before=$(ctr_diff "$ENGINE" "$id")
documented=' 0 1 3 4 5 7 '

# ended WHAT: the last run kept its promises.
ended() {
  [[ $documented == *" $rc "* ]] && pass "$1: exit code" || fail "$1: exit code" "$rc: $err"
  is "$1: one line" "$(grep -c . <<<"$err")" "$([ "$rc" = 0 ] && echo 0 || echo 1)"
}

# repaired WHAT: the engine is well; so is the container after a second run, and as before after a removal.
repaired() {
  # dockerd without live-restore takes its containers with it
  [ "$(ctr_inspect "$ENGINE" "$id" | jq .State.Running)" = true ] || ctr_start "$ENGINE" "$id"
  ok "$1: a second run succeeds" "$SBINJECT" "$name"
  ok "$1: healthy" "$SBINJECT" status "$name"
  ok "$1: remove" "$SBINJECT" remove "$name"
  is "$1: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
}

# The requests of a first injection, in order, each with its number among those like it.
mapfile -t requests < <(SBINJECT_TRACE=http "$SBINJECT" "$name" 2>&1 >/dev/null |
  sed -nE 's/^sbinject: http: ([A-Z]+) ([^ ]*).*/\1 \2/p' |
  sed -E 's|/v1\.[0-9]+||; s|[0-9a-f]{64}|[0-9a-f]+|; s|\?.*||' | awk '{ print $0 "#" ++n[$0] }')
"$SBINJECT" -q remove "$name"
[ "${#requests[@]}" -ge 5 ] && pass 'the requests are known' || fail 'the requests are known' "${requests[*]}"

for request in "${requests[@]:1}"; do
  what="restart before ${request%%#*}"
  proxy_start "run@${request% *} .*${request#* }:$engine_sh kill $ENGINE && $engine_sh start $ENGINE"
  DOCKER_HOST=$proxy_host run timeout -k 5 40 "$SBINJECT" -t 15 "$name"
  is "$what: happened" "$(proxy_faults)" 1
  proxy_stop
  ended "$what"
  repaired "$what"
done

# Two at once, and the engine restarts under both: its socket is another one afterwards.
for i in 1 2; do
  timeout -k 5 40 "$SBINJECT" -t 15 "$name" >"$tmp/out.$i" 2>"$tmp/err.$i" &
  pids[i]=$!
done
"$engine_sh" kill "$ENGINE" >/dev/null
"$engine_sh" start "$ENGINE" >/dev/null
for i in 1 2; do
  rc=0
  wait "${pids[i]}" || rc=$?
  err=$(<"$tmp/err.$i")
  ended "two at once and a restart, number $i"
done
repaired 'two at once and a restart'

RANDOM=${SEED:=$$}
printf '# SEED=%s CUTS=%s\n' "$SEED" "$CUTS"
for ((i = 0; i < CUTS; i++)); do
  request=${requests[RANDOM % ${#requests[@]}]}
  place=resp most=700
  [[ $request != PUT* ]] || { place=req-body most=230000; }
  spec="cut:$place@${request% *} .*${request#* }:$(((RANDOM * 32768 + RANDOM) % most))"
  proxy_start "$spec"
  DOCKER_HOST=$proxy_host run timeout -k 5 40 "$SBINJECT" -t 10 "$name"
  proxy_stop
  ended "$spec"
  repaired "$spec"
done
done_testing
