#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: no clock matters but the monotonic one, whatever it shows.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"

# Wall-clock time is asked for in three places: when old pieces of long replies are deleted, when an
# installation leaves things as old as they were, and for the header Date. A fourth one wants to be
# looked at.
is 'wall-clock time is used where it is known to be' \
  "$(cd "$(dirname "$0")/../.." && grep -rlE 'CLOCK_REALTIME|[^_a-z]time\(|gettimeofday|strftime|localtime|gmtime' payloads/lib payloads/sandbox-tools --include='*.c' | sort | tr '\n' ' ')" 'payloads/sandbox-tools/chunk/store.c payloads/sandbox-tools/install/home.c payloads/sandbox-tools/model_proxy/reply.c '

mkdir -m 755 "$W/d"
export INSPECT_SANDBOX_TOOLS_DIR="$W/d"
T=$PROGRAM
AT=''
# shellcheck disable=SC2086
tool() { $AT "$T" "$@"; }

# ---- clocks that stand elsewhere ----
if unshare --time true 2>/dev/null; then
  far=4000000000
  for shift in "--monotonic=$far --boottime=$far" "--boottime=$far"; do
    # shellcheck disable=SC2086
    AT="unshare --time $shift"
    fits "clocks at $shift: it starts" "$(rpc remote_version)" '*"result"*'
    pid=$(start 'echo hi; exit 4')
    is '… runs jobs' "$(rpc exec_remote_poll "{\"pid\":$pid}" | jq -c '.result|[.stdout,.exit_code]')" '["hi\n",4]'
    pid=$(start 'sleep 100')
    is '… a poll ends' "$(rpc exec_remote_poll "{\"pid\":$pid}" | jq -r .result.state)" running
    pid=$(start '(trap "" TERM; exec sleep 101) & setsid sleep 102 & wait'); sleep 0.3
    is '… a kill ends' "$(rpc exec_remote_kill "{\"pid\":$pid}" | jq .result.seq)" 1
    wait_for eval '[ "$(pgrep -fc "sleep 10[12]")" = 0 ]'; succeeded '… and reaches all' $?
    # seen from where other times are: nobody's identity may hang on it
    fits '… callers of another time are served' "$(request remote_version 1 | "$T" exec)" '*"result"*'
    $AT "$T" stop-server; is '… and stop it' "$?:$(servers)" 0:0
  done
  unshare --time --boottime=$far "$T" start-server >/dev/null
  kill -STOP "$(server)"
  fits 'one of another time that hangs is replaced' "$(request remote_version 1 | "$T" exec)" '*"result"*'
  "$T" stop-server; is '… and the new one stops' "$?:$(servers)" 0:0
else
  skip 'clocks that stand elsewhere' 'no time namespaces here'
fi

# ---- a clock that is set while the server runs ----
if shipped; then
  : # a static program takes no other clock
elif ! ${CC:-cc} -shared -fPIC -o "$W/.mnt/clock.so" "$(dirname "$(realpath "$0")")/clock.c" 2>"$W/err"; then
  skip 'a clock that is set' "no compiler: $(head -n1 "$W/err")"
else
  AT=''
  LD_PRELOAD=/mnt/clock.so "$T" start-server >/dev/null
  server=$(server)
  grep -q /mnt/clock.so "/proc/$server/maps"; succeeded 'a server with a clock that can be set' $?
  session=$(rpc bash_session_new_session | jq -r .result.session_name)
  for step in 1000000000 -1000000000; do
    rm -f /mnt/step
    pid=$(start 'sleep 100') quick=$(start 'until [ -e /mnt/step ]; do sleep 0.1; done; echo hi; exit 4')
    stubborn=$(start 'trap "" TERM; while :; do sleep 0.1; done'); sleep 0.3
    rpc bash_session '{"session_name":"'"$session"'","wait_for_output":3,"idle_timeout":1}' >"$W/said" & a=$!
    rpc exec_remote_poll "{\"pid\":$pid}" >"$W/r" & b=$!
    rpc exec_remote_kill "{\"pid\":$stubborn}" >"$W/k" & c=$!
    sleep 0.3; echo $step >/mnt/step.new; mv /mnt/step.new /mnt/step
    wait $b; is "… it is set by $step s: a poll under way ends" "$(jq -r .result.state "$W/r")" running
    wait $c; is '… a kill ends what ignores TERM' "$(jq .result.seq "$W/k"):$(kill -0 "$stubborn" 2>/dev/null; echo $?)" 1:1
    wait $a; is '… a shell that is waited for is told of' "$(jq 'has("result")' "$W/said")" true
    is '… a job ends' "$(rpc exec_remote_poll "{\"pid\":$quick}" | jq -c '.result|[.stdout,.exit_code]')" '["hi\n",4]'
    is '… one is killed' "$(rpc exec_remote_kill "{\"pid\":$pid}" | jq .result.seq)" 2
    is '… by the same server' "$(server):$(servers)" "$server:1"
  done
  "$T" stop-server; is '… which stops' "$?:$(servers)" 0:0
fi

# the age of stored replies, should the clock have jumped: the worst is an error that says it
C=$W/d/chunks
mkdir "$W/bin"; cp "$PROGRAM" "$W/bin/t"; seq 5000 >"$W/f"
K=__inspect_json_rpc_response_chunk__
long() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"%s"},"id":7}' "$W/f" | env INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=10000 "$W/bin/t" exec; }
next() { jq -c "{jsonrpc:\"2.0\",id:1,method:\"$K\",params:(.$K|{handle,offset:.next_offset})}" "$W/p" | env INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=10000 "$W/bin/t" exec; }
long >"$W/p"
touch -d '+10 years' "$C"/*; long >/dev/null
fits 'a stored reply from the future stays readable' "$(next)" "*$K*"
touch -d '2 hours ago' "$C"/*; long >/dev/null
is 'one that has aged suddenly is gone, and that is said' "$(next | jq -c '.error|[.code,.message]')" '[-32000,"chunk handle not found"]'
done_testing
