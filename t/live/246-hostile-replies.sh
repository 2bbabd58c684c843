#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: whatever the program says that root inside has put in the place of ours (a forged receipt, an
# old one, escape sequences, a flood, nothing at all), every command ends in time, with a documented code.
# tier: check
# soak: ROUNDS=10
# engines: docker20-userns podman43
# images: busybox
# programs: adversary
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary
allowed_s=2

for answer in ${ANSWERS:-$("$adversary" answers)}; do
  roots_lives "$answer" busybox "replace=$answer"
  # the replies that say nothing of this run are no receipts
  [[ $answer == forge || ${codes[0]:-0} -eq 0 ]] && pass "$answer: is not believed" || fail "$answer: is not believed" "$(cat "$tmp/said")"
done
account 'root, replies'
done_testing
