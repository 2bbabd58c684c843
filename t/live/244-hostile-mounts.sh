#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: a process that exchanges a directory above a volume with a link to the host, while docker
# looks into its container for us, gets nothing mounted there; where docker lets that happen, it is
# paused meanwhile, and runs again in the end, also when sbinject is killed.
# tier: check
# soak: ROUNDS=2000 KILLS=200
# engines: docker20 docker28
# also: docker20-rootless
# images: busybox
# programs: adversary
# timeout: 1200
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary
: "${ROUNDS:=1}" "${KILLS:=2}"

volume=$(unique volume)

# Without cgroups of its own, docker cannot pause: nothing is done then, unless that is allowed.
if [[ $ENGINE == *-rootless ]]; then
  name=$(unique rootless)
  ctr_create "$ENGINE" busybox "$name" '{"Mounts":[{"Type":"volume","Target":"/data"}]}' >/dev/null
  run "$SBINJECT" inject "$name"
  if [ "$rc" -ne 0 ]; then
    is 'docker cannot pause: exit code' "$rc" 5
    like 'docker cannot pause: what helps is named' "$err" '--no-pause'
    unlike 'docker cannot pause: nothing can be left' "$err" 'left inside'
  fi
  ok 'without a pause: inject' "$SBINJECT" inject --no-pause "$name"
  ok 'without a pause: status' "$SBINJECT" status --no-pause "$name"
  ok 'without a pause: remove' "$SBINJECT" remove --no-pause "$name"
  done_testing
fi

daemon=$(cat "$SBINJECT_ENGINES/$ENGINE/dockerd.pid")
mkdir -p "$sentinel/cron.d"
host_before=$(host_state)
# What there is of our directory in the engine's table of mounts.
hits() { grep -F " $sentinel/" "/proc/$daemon/mountinfo" || :; }
at_exit() {
  local where
  while read -r _ _ _ _ where _; do nsenter -t "$daemon" -m umount -l "$where"; done < <(hits)
  api "$ENGINE" DELETE "/volumes/$volume" >/dev/null 2>&1 || :
  rm -rf "${put:-}"
}
state() { ctr_inspect "$ENGINE" "$id" | jq -r .State.Status; }

# met CODES COMMAND...: run it, with a key of its own, so that each has to look for itself. A docker that
# has the mend is not paused, and refuses when it notices.
met() {
  local allowed=$1
  shift
  [ "$ENGINE" = docker20 ] || allowed="0 1 4 5 7"
  XDG_STATE_HOME=$tmp/key$((keys = keys + 1)) run timeout -k 5 120 "$SBINJECT" "$@"
  [[ " $allowed " == *" $rc "* ]] || odd+="$1: $rc $err"$'\n'
  [ -z "$(hits)" ] || odd+="$1: $(hits)"$'\n'
}

keys=0 odd=''
arena busybox 1000 swap-mounts "{\"Mounts\":[{\"Type\":\"volume\",\"Source\":\"$volume\",\"Target\":\"/home/agent/way/cron.d\"}]}"
exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" chown 1000:1000 /home/agent
for ((i = 0; i < ROUNDS && ${#odd} == 0; i++)); do
  met 0 inject "$name"
  met 0 status "$name"
  met 0 call "$name" version
  met 0 remove -n "$name"
  met 0 probe "$name"
  met 0 ls --look
  met 0 ls
  met 0 remove "$name"
  met 7 status "$name"
done
is 'nothing was mounted on the host, and each command did its work or said why not' "$odd" ''
is 'the container runs' "$(state)" running
if [ "$ENGINE" = docker20 ]; then
  run "$SBINJECT" ls --look
  like 'ls --look does not pause for a list' "$out" "$name .*\\?"
  run "$SBINJECT" -v inject "$name"
  like '-v says that it is paused' "$err" 'note: pausing .* \(CVE-2026-42306\)'
  run "$SBINJECT" -v status "$name"
  unlike 'what stands ready is run without a pause' "$err" 'pausing'
  run "$SBINJECT" remove "$name"
  # Killed as soon as it is paused.
  for ((i = 0; i < KILLS; i++)); do
    XDG_STATE_HOME=$tmp/none "$SBINJECT" inject "$name" >"$tmp/killed" 2>&1 &
    pid=$!
    for _ in $(seq 3000); do
      [ "$(state)" != paused ] || break
      kill -0 "$pid" 2>/dev/null || break
    done
    kill -KILL "$pid" 2>/dev/null || :
    wait "$pid" 2>/dev/null || :
    for _ in $(seq 600); do [ "$(state)" = paused ] || break; sleep 0.1; done
    [ "$(state)" = running ] || odd+="killed: $(state)"$'\n'
    XDG_STATE_HOME=$tmp/none "$SBINJECT" remove "$name" >/dev/null 2>&1 || :
  done
  is 'it runs also after sbinject was killed' "$odd" ''
fi
arena_end swap-mounts
done_testing
