#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what root inside does can make every command fail, and make it believe lies about what is
# inside; but each ends in time, with a documented code and one printable line, and the host is as it was.
# engines: docker20 podman58
# images: busybox bookworm scratch
# programs: adversary
# timeout: 1200
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary
allowed_s=4

# Not 2, 8 or 130, which would blame the caller, and nothing that is not documented.
documented='0 1 3 4 5 6 7'

life() {
  step "$documented" inject --json -t "$allowed_s" "$name"
  [ "$rc" -ne 0 ] || is_true "$(jq .pid <<<"$out")" || total_forged=$((total_forged + 1))
  [ "$ROUNDS" -gt 1 ] || [[ $attack_name != stop && $attack_name != replace ]] || return 0
  step "$documented" status --json -t "$allowed_s" "$name"
  step "$documented" call -t "$allowed_s" "$name" remote_version
  step "$documented" probe -t "$allowed_s" "$name"
  step "$documented" remove -t "$allowed_s" "$name"
}

lives() { # lives KIND ATTACK
  local i
  arena "$1" 0 "$2"
  for ((i = 0; i < ROUNDS; i++)); do life; done
  [ "$2" != programs ] || ! was_fooled || wrong "a program of the image was run"
  arena_end "$2 in $1"
}

if [ "$ROUNDS" -gt 1 ]; then
  : "${ATTACKS:=replace spoil home swap-home parents records programs erase kill kill-late freeze stop trace plant swap liar}"
else
  : "${ATTACKS:=replace home records programs kill-late freeze stop}"
fi
for attack in $ATTACKS; do
  case $attack in
    records | programs) kind=bookworm ;;
    parents) kind=scratch ;; # directories of an image cannot be renamed on an overlay
    *) kind=busybox ;;
  esac
  lives "$kind" "$attack"
done
[ "$ROUNDS" -eq 1 ] || for attack in replace swap-home kill-late; do lives scratch "$attack"; done
ok 'the host still works: a container without an adversary' ctr_create "$ENGINE" busybox "$(unique after)"
ok 'is injected' "$SBINJECT" "$(unique after)"
diag "root: $total_rounds rounds, $total_steps commands, $total_forged successes forged by root"
done_testing
