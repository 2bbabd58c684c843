#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: stopping the server ends everything it ever started, in time, with and without /proc, and says what it could not end.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"

tool() { "$T" "$@"; }
T=$PROGRAM
job() { rpc exec_remote_poll "{\"pid\":$(start "$1"),\"ack_seq\":0}" >/dev/null; }
place() { mkdir -m "${2:-755}" "$W/$1"; export INSPECT_SANDBOX_TOOLS_DIR="$W/$1"; }
status() { jq -c . "$W/$1/shutdown-status.json"; }
left() { pgrep -fc "sleep $1" || :; }
# a job for each way to get away; NN names the sleepers
scatter() {
  job "sleep 1000$1 >/dev/null 2>&1 &"
  job "setsid sleep 1001$1 >/dev/null 2>&1 &"
  job "(setsid sh -c 'setsid sleep 1002$1 & exit') >/dev/null 2>&1 &"
  job "sleep 1003$1 & sleep 0.1"
  start "sleep 1004$1 | sleep 1005$1" >/dev/null
  start "set -m; sleep 1006$1 & wait" >/dev/null
  kill -STOP "$(start "exec sleep 1007$1")"
}

place a
scatter 1
[ "$(left '100[0-7]1')" -ge 8 ]; succeeded 'jobs and what they left behind' $?
pid=$(start 'sleep 50'); (rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}" >"$W/p"; now >"$W/p.ms") & bg=$!
sleep 0.3; t=$(now); "$T" stop-server; is 'stop-server' $? 0; d=$(($(now) - t))
is 'nothing is left' "$(left '100[0-7]1')" 0
within $d 2000; succeeded "… soon ($d ms)" $?
is 'a clean status' "$(status a)" '{"errors":[]}'
wait $bg; is 'a poll under way is answered' "$(jq -r .result.state "$W/p")" running

# the slow ones side by side
(
  place b
  unshare -m sh -c 'mount -t tmpfs none /proc && exec "$1" start-server >/dev/null' sh "$T"
  scatter 2
  start 'trap "" TERM; (trap "" TERM; exec sleep 10082) & while :; do sleep 10092; done' >/dev/null
  left '100[0-9]2' >"$W/b.before"
  t=$(now); "$T" stop-server; echo $? >"$W/b.exit"; echo $(($(now) - t)) >"$W/b.ms"
  left '100[0-9]2' >"$W/b.after"
) & b=$!
(
  place c
  scatter 3
  # ignores TERM, and starts another one each time it hears it
  start 'trap "setsid sleep 10083 &" TERM; while :; do sleep 10093 & wait; done' >/dev/null
  sleep 0.3
  t=$(now); "$T" stop-server; echo $? >"$W/c.exit"; echo $(($(now) - t)) >"$W/c.ms"
  left '100[0-9]3' >"$W/c.after"
) & c=$!
(
  place d 700; chown 65534 "$W/d"
  cp "$T" "$W/t"
  cp "$(command -v setpriv)" "$W/immortal"
  chmod 4755 "$W/immortal"
  T="$W/as-nobody"
  printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' "$W/t" >"$T"
  chmod 755 "$T" "$W" "$W/t"
  start "exec $W/immortal --reuid=0 --clear-groups sleep 10074" >"$W/d.pid"
  start "sleep 10084" >/dev/null
  t=$(now); "$T" stop-server 2>"$W/d.err"; echo $? >"$W/d.exit"; echo $(($(now) - t)) >"$W/d.ms"
  left 10084 >"$W/d.after"
) & d=$!
(
  mkdir -m 700 "$W/e"
  exec 9>"$W/e/server-start.lock"
  flock 9
  INSPECT_SANDBOX_TOOLS_DIR="$W/e" timeout 100 "$T" start-server 2>"$W/e.err" 9>&-
  echo $? >"$W/e.exit"
) & e=$!
wait $b $c $d $e
[ "$(cat "$W/b.before")" -ge 10 ]; succeeded 'the same without /proc' $?
is '… stops cleanly' "$(cat "$W/b.exit"):$(status b)" '0:{"errors":[]}'
is '… and leaves nothing' "$(cat "$W/b.after")" 0
t=$(cat "$W/b.ms"); within "$t" 40000; succeeded "… in time ($t ms)" $?
is 'one that answers TERM with a new process' "$(cat "$W/c.exit"):$(status c)" '0:{"errors":[]}'
is '… is gone with all it started' "$(cat "$W/c.after")" 0
t=$(cat "$W/c.ms"); [ "$t" -ge 29000 ] && within "$t" 33000; succeeded "… after 30 s ($t ms)" $?
is 'who cannot be killed is named in the status' "$(cat "$W/d.exit"):$(status d)" "1:{\"errors\":[\"exec_remote: Processes did not exit after SIGKILL: $(cat "$W/d.pid")\"]}"
fits '… and by stop-server' "$(cat "$W/d.err")" "error: Sandbox-tools server cleanup failed: exec_remote: Processes did not exit*$(cat "$W/d.pid")"
is '… the others are gone' "$(cat "$W/d.after")" 0
t=$(cat "$W/d.ms"); within "$t" 40000; succeeded "… in time ($t ms)" $?
fits 'a_lock_somebody_holds_is_not_waited_for_for_ever' "$(cat "$W/e.exit"):$(cat "$W/e.err")" '1:error: *another process*'
is 'no server is left' "$(servers)" 0

place f
job 'sleep 10095 >/dev/null 2>&1 &'
kill -TERM "$(jq .pid "$W/f/server.pid")"; wait_for test -e "$W/f/shutdown-status.json"; succeeded 'SIGTERM to the server does the same' $?
is '… for everything' "$(left 10095)" 0
job 'sleep 10096 >/dev/null 2>&1 &'
a=$(jq .pid "$W/f/server.pid"); kill -INT "$a"; wait_for eval "! kill -0 $a 2>/dev/null"; is 'so does SIGINT' "$(left 10096)" 0
"$T" stop-server; is 'stop-server finds nothing to do' $? 0
done_testing
