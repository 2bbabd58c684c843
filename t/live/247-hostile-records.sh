#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: root inside can hold up the engine itself by a FIFO where that reads who the users are: each
# command ends in time all the same, other containers are served, and what the manual advises helps.
# tier: check
# engines: docker20 podman43
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

# within SECONDS COMMAND...: and more for a machine that is busy
within() { run timeout -k 5 "$(($1 + slack_s))" "${@:2}"; }
# in_time WHAT CODES: the last run ended by itself, with one of them
in_time() { [[ " $2 " == *" $rc "* ]] && pass "$1" || fail "$1" "exit $rc: $err"; }

declare -A name id
for of in passwd group other; do
  name[$of]=$(unique "$of")
  id[$of]=$(ctr_create "$ENGINE" busybox "${name[$of]}")
done
for of in passwd group; do
  exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "${id[$of]}" /bin/sh -c "rm /etc/$of; mkfifo /etc/$of"
done

within 22 "$SBINJECT" inject --json -t 2 "${name[@]}"
in_time 'inject: ends in time' 8
for of in passwd group; do
  like "$of is a FIFO: inject" "$(jq -c "select(.container == \"${name[$of]}\").exit" <<<"$out")" '^[37]$'
done
is 'another container at the same time: is served' "$(jq -c "select(.container == \"${name[other]}\").result" <<<"$out")" '"injected"'
for of in passwd group; do
  within 2 "$SBINJECT" status -t 2 "${name[$of]}"
  in_time "$of is a FIFO: status" '3 7'
  within 22 "$SBINJECT" call -t 2 "${name[$of]}" remote_version
  in_time "$of is a FIFO: call" '3 7'
done
within 22 "$SBINJECT" remove -t 2 "${name[passwd]}" "${name[group]}"
in_time 'remove: ends in time' '3 7 8'
ok 'another container: status' "$SBINJECT" status "${name[other]}"
within 10 "$SBINJECT" ls --look -t 2
in_time 'ls: ends in time' '0 3'

# What helps: the engine is started again, and the containers are deleted before anything is run in them.
"$top/t/engines/engine.sh" kill "$ENGINE" >/dev/null
"$top/t/engines/engine.sh" start "$ENGINE" >/dev/null
for of in passwd group; do
  ok "$of: the container can be deleted" ctr_delete "$ENGINE" "${id[$of]}"
done
name[next]=$(unique next)
ctr_create "$ENGINE" busybox "${name[next]}" >/dev/null
ok 'the next container: inject' "$SBINJECT" "${name[next]}"
ok 'the next container: remove' "$SBINJECT" remove "${name[next]}"
done_testing
