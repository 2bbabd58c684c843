#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: whatever becomes of a container while sbinject works on it, the exit code says so, in time;
# and one that runs again is injected again. KILLS=N: how often one is killed, removed, stopped
# and restarted in the middle. ACTIONS="pause_it": a pause, too; but Docker 20 keeps a container
# locked while an exec starts in it, and cannot wake up one that was frozen at that moment.
# tier: check
# soak: KILLS=20
# images: busybox bookworm
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
: "${KILLS:=2}" "${ACTIONS:=kill_it stop_it restart_it remove_it}"

# A container's program that reaps nothing.
lazy='{"Entrypoint":[],"Cmd":["/bin/sleep","3600"]}'
result() { jq -r .result <<<"$out" 2>/dev/null || :; }
one_line() { [ "$(wc -l <<<"$err")" -eq 1 ] || fail "$1: one line" "$err"; }

# ---- restarting ----

name=$(unique restarting)
ctr_create "$ENGINE" busybox "$name" '{"RestartPolicy":{"Name":"always"}}' \
  '{"Entrypoint":[],"Cmd":["/bin/sh","-c","sleep 0.2; exit 1"]}' >/dev/null
codes=''
for ((i = 0; i < 3 * KILLS; i++)); do
  run timeout -k 5 60 "$SBINJECT" -t 10 "$name"
  [ "$rc" -eq 0 ] || one_line "restarting, try $i"
  [[ $rc == [047] ]] || codes+=" $rc:$err"
  sleep 0.1
done
is 'restarting all the time: done, or no container to work on' "$codes" ''

# ---- the first process ----

# One that never waits for its children: what sbinject starts must not stay as zombies of it.
name=$(unique lazy)
id=$(ctr_create "$ENGINE" busybox "$name" '' "$lazy")
ok 'pid 1 does not reap: inject' "$SBINJECT" --json "$name"
ok 'pid 1 does not reap: again' "$SBINJECT" --json "$name"
is 'pid 1 does not reap: recognised' "$(result)" already
ok 'pid 1 does not reap: call' "$SBINJECT" call "$name" remote_version
ok 'pid 1 does not reap: remove' "$SBINJECT" -t 20 remove "$name"
ok 'pid 1 does not reap: inject after that' "$SBINJECT" "$name"
api "$ENGINE" POST "/containers/$id/kill?signal=KILL" >/dev/null
run "$SBINJECT" status "$name"
is 'pid 1 killed: exit code' "$rc" 4
like 'pid 1 killed: said' "$err" 'is not running \(exited\)'
ctr_start "$ENGINE" "$id"
run "$SBINJECT" status "$name"
is 'started again: the service is gone' "$rc" 7
SBINJECT_TRACE=http run "$SBINJECT" --json "$name"
is 'started again: injected again' "$rc $(result)" '0 restarted'
unlike 'started again: without an upload' "$err" 'PUT '
ok 'started again: healthy' "$SBINJECT" status "$name"

# ---- in the middle ----

# amid WHAT DELAY ACTION...: do it while an injection runs; sets $rc, $err.
amid() {
  local delay=$1 pid
  shift
  rc=0
  timeout -k 5 90 "$SBINJECT" --json -t 20 "$name" >"$tmp/run.out" 2>"$tmp/run.err" &
  pid=$!
  sleep "$delay"
  "$@" >/dev/null 2>&1 || :
  wait "$pid" || rc=$?
  out=$(cat "$tmp/run.out") err=$(cat "$tmp/run.err")
}

kill_it() { api "$ENGINE" POST "/containers/$id/kill?signal=KILL"; }
remove_it() { ctr_delete "$ENGINE" "$id"; }
stop_it() { api "$ENGINE" POST "/containers/$id/stop?t=0"; }
restart_it() { api "$ENGINE" POST "/containers/$id/restart?t=0"; }
pause_it() { ctr_pause "$ENGINE" "$id" && sleep 0.5 && ctr_unpause "$ENGINE" "$id"; }

# running: whatever happened to it, it runs now.
running() {
  local i
  for i in $(seq 100); do
    case $(ctr_inspect "$ENGINE" "$id" | jq -r .State.Status) in
      running) return 0 ;;
      paused) ctr_unpause "$ENGINE" "$id" 2>/dev/null || : ;;
      *) ctr_start "$ENGINE" "$id" 2>/dev/null || : ;;
    esac
    sleep 0.1
  done
  return 1
}

# The container stopped or went away: 4. It runs again, but what had begun in it is gone: 7. The
# engine lost its answer with it: 3.
for action in $ACTIONS; do
  bad='' tally=''
  for ((i = 0; i < KILLS; i++)); do
    name=$(unique "$action-$i")
    id=$(ctr_create "$ENGINE" busybox "$name" '' "$lazy")
    amid "0.$((RANDOM % 4))$((RANDOM % 10))" "$action"
    tally+=" $rc"
    [ -z "${VERBOSE:-}" ] || diag "$rc: $err"
    [[ $rc == [0347] ]] || bad+="exit $rc: $err"$'\n'
    [ "$rc" -eq 0 ] || [ "$(wc -l <<<"$err")" -eq 1 ] || bad+="lines: $err"$'\n'
    [ "$action" != remove_it ] || continue
    running || bad+="it cannot be made to run"$'\n'
    run timeout -k 5 90 "$SBINJECT" -t 30 "$name"
    [ "$rc" -eq 0 ] || bad+="afterwards, inject: exit $rc: $err"$'\n'
    run timeout -k 5 90 "$SBINJECT" status "$name"
    [ "$rc" -eq 0 ] || bad+="afterwards, status: exit $rc: $err"$'\n'
    run timeout -k 5 90 "$SBINJECT" remove "$name"
    [ "$rc" -eq 0 ] || bad+="afterwards, remove: exit $rc: $err"$'\n'
    left=$(ctr_diff "$ENGINE" "$id" | grep -E 'sbinject|sandbox-tools|da7be258' || :)
    [ -z "$left" ] || bad+="afterwards, left: $left"$'\n'
    ctr_rm "$ENGINE" "$id"
  done
  is "$action amid an injection: told, in time, and mended by the next run" "$bad" ''
  diag "$action: exit codes$tally"
done
done_testing
