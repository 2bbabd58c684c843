#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what root inside does can make every command fail, and make it believe lies about what is
# inside; but each ends in time, with a documented code and one printable line, and the host is as it was.
# tier: check
# soak: ROUNDS=20
# engines: docker20 docker28 podman43 podman58
# images: busybox bookworm scratch
# programs: adversary
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary
allowed_s=4

# Each attack once on a Docker and once on a Podman; in a campaign, all on any engine.
one='replace home records programs kill-late freeze stop'
other='spoil swap-home parents erase kill trace plant swap liar'
case $ROUNDS:$ENGINE in
  1:docker20 | 1:podman58) attacks=$one ;;
  1:*) attacks=$other ;;
  *) attacks="$one $other" ;;
esac
for attack in ${ATTACKS:-$attacks}; do
  case $attack in
    records | programs) kind=bookworm ;;
    parents) kind=scratch ;; # directories of an image cannot be renamed on an overlay
    *) kind=busybox ;;
  esac
  roots_lives "$attack in $kind" "$kind" "$attack"
done
[ "$ROUNDS" -eq 1 ] || for attack in replace swap-home kill-late; do roots_lives "$attack in scratch" scratch "$attack"; done
ok 'the host still works: a container without an adversary' ctr_create "$ENGINE" busybox "$(unique after)"
ok 'is injected' "$SBINJECT" "$(unique after)"
account root
done_testing
