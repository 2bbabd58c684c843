#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: where the root file system is read-only and a helper container brings the program, users
# inside cannot keep it from its work; root there can, but not look into it, and it never stays.
# tier: check
# soak: ROUNDS=10
# engines: docker20-rootless
# images: busybox
# programs: adversary
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary
service=graft flags=(--graft)
read_only='{"ReadonlyRootfs":true,"Tmpfs":{"/tmp":"rw,exec,mode=1777"}}'

# met ATTACK: a helper was there, and seen by who wanted to reach into it.
met() { [ "$1" != reach ] || like "$1: there was a helper to reach into" "$(cat "$tmp/rounds")" "met [0-9]"; }

for attack in ${ATTACKS:-swap kill trace reach}; do
  users_lives "a user, $attack" busybox "$attack" "$read_only"
  met "$attack"
done
is 'some injections succeeded' "$((total[true] > 0))" 1
account 'user, graft'

for of in "${!total[@]}"; do total[$of]=0; done
allowed_s=6
for attack in ${ATTACKS:-reach kill kill-late trace home swap-home replace}; do
  roots_lives "root, $attack" busybox "$attack" "$read_only"
  met "$attack"
done
account 'root, graft'
done_testing
