#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: while somebody inside who is not root does his worst, every success is true as the host sees
# it, every failure is a clear refusal in time, root runs nothing of his, and nothing leaves the container.
# engines: docker28 podman43-rootless
# images: busybox scratch
# programs: adversary
# timeout: 1200
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary

# Success, or: the place is occupied, or cannot be had; the service did not come up. Never "done"
# without it, never an answer of somebody else's (6).
refusals='0 5 7'

# life: one injection from its beginning to its end, each answer checked.
life() {
  local pid=
  step "$refusals" inject --json -t "$allowed_s" "$name"
  if [ "$rc" -eq 0 ]; then
    pid=$(jq .pid <<<"$out")
    if is_true "$pid"; then total_true=$((total_true + 1)); else wrong "inject: success is not true"; fi
  fi
  step '0 7' status --json -t "$allowed_s" "$name"
  [ -z "$pid" ] || [ "$rc $(jq -c '[.pid, .sha256]' <<<"$out")" = "0 [$pid,\"$digest\"]" ] || wrong "status: not what was injected"
  step '0 7' call -t "$allowed_s" "$name" remote_version
  [ -z "$pid" ] || [ "$rc $(jq -r .result <<<"$out")" = "0 Server: $contract ($pid)" ] || wrong "call: not answered by the service"
  step "$refusals" remove -t "$allowed_s" "$name"
  [ -z "$pid" ] || [ -z "$(host_pid "$pid")" ] || wrong "remove: the service lives on"
  ! was_fooled || wrong "root has run the adversary's program"
}

lives() { # lives LABEL KIND ATTACK [HOSTCONFIG]
  local i
  arena "$2" 1000 "$3" "${4:-}"
  for ((i = 0; i < ROUNDS; i++)); do life; done
  arena_end "$1"
}

small='{"Tmpfs":{"/tmp":"rw,exec,size=1m,mode=1777","/var/tmp":"rw,exec,size=1m,mode=1777"}}'
for attack in ${ATTACKS:-plant wait swap hold liar deaf locks kill stop trace}; do
  lives "$attack" busybox "$attack"
done
[ -n "${ATTACKS:-}" ] || lives 'fill' busybox fill "$small"
[ -n "${ATTACKS:-}" ] || lives 'crowd' busybox crowd '{"PidsLimit":64}'
# Where the home has to be in a directory that others can write to.
if [[ $ENGINE == podman* ]]; then
  for attack in ${ATTACKS:-infect-homes swap-homes plant-homes}; do
    lives "shared home, $attack" scratch "$attack" '{"ReadonlyRootfs":true}'
  done
fi
is 'some injections succeeded' "$((total_true > 0))" 1
diag "user: $total_rounds rounds, $total_steps commands, $total_true true successes"
done_testing
