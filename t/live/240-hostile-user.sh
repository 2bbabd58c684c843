#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: while a user inside who is not root does all the harm possible, every success is true as the
# host sees it, every failure is a clear refusal in time, root runs nothing of that user's, nothing
# leaves the container, and afterwards all works again; for root's service, and the container's
# user's.
# tier: check
# soak: ROUNDS=20
# engines: docker28 podman43-rootless
# images: busybox scratch
# programs: adversary
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary

small='{"Tmpfs":{"/tmp":"rw,exec,size=1m,mode=1777","/var/tmp":"rw,exec,size=1m,mode=1777"}}'
for attack in ${ATTACKS:-plant wait swap hold liar deaf locks kill stop trace}; do
  users_lives "$attack" busybox "$attack"
done
[ -n "${ATTACKS:-}" ] || users_lives 'fill' busybox fill "$small"
[ -n "${ATTACKS:-}" ] || users_lives 'crowd' busybox crowd '{"PidsLimit":64}'
# Where the home has to be in a directory that others can write to.
if [[ $ENGINE == podman* ]]; then
  for attack in ${ATTACKS:-infect-homes swap-homes plant-homes}; do
    users_lives "shared home, $attack" scratch "$attack" '{"ReadonlyRootfs":true}'
  done
fi

cat >"$tmp/user.yaml" <<END
version: 1
payloads: {tools-amd64: {source: embedded}}
rules: [{when: {os: linux, arch: amd64}, use: tools-amd64, service: user}]
END
export SBINJECT_CONFIG=$tmp/user.yaml
service=user uid=1001
for attack in ${ATTACKS:-plant swap liar locks kill trace}; do
  users_lives "service: user, $attack" busybox "$attack" '' '{"User":"1000:1000"}'
done
is 'some injections succeeded' "$((total[true] > 0))" 1
account user
done_testing
