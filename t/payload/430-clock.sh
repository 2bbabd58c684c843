#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: no clock matters but the one that runs evenly; that may stand anywhere.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"

# Wall-clock time is asked for in two places: when old pieces of long replies are deleted, and when
# an installation leaves things as old as they were. A third one wants to be looked at.
is "$(cd "$(dirname "$0")/../.." && grep -rlE 'CLOCK_REALTIME|[^_a-z]time\(|gettimeofday|strftime|localtime|gmtime' payloads/lib payloads/sandbox-tools --include='*.c' | sort | tr '\n' ' ')" \
	'payloads/sandbox-tools/chunk/store.c payloads/sandbox-tools/install/home.c ' 'wall-clock time is used where it is known to be'

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
		like "$(rpc remote_version)" '*"result"*' "clocks at $shift: it starts"
		pid=$(start 'echo hi; exit 4')
		is "$(rpc exec_remote_poll "{\"pid\":$pid}" | jq -c '.result|[.stdout,.exit_code]')" '["hi\n",4]' '… runs jobs'
		pid=$(start 'sleep 100')
		is "$(rpc exec_remote_poll "{\"pid\":$pid}" | jq -r .result.state)" running '… a poll ends'
		pid=$(start '(trap "" TERM; exec sleep 101) & setsid sleep 102 & wait'); sleep 0.3
		is "$(rpc exec_remote_kill "{\"pid\":$pid}" | jq .result.seq)" 1 '… a kill ends'
		wait_for eval '[ "$(pgrep -fc "sleep 10[12]")" = 0 ]'; ok $? '… and reaches all'
		# seen from where other times are: nobody's identity may hang on it
		like "$(request remote_version 1 | "$T" exec)" '*"result"*' '… callers of another time are served'
		$AT "$T" stop-server; is "$?:$(servers)" 0:0 '… and stop it'
	done
	unshare --time --boottime=$far "$T" start-server >/dev/null
	kill -STOP "$(server)"
	like "$(request remote_version 1 | "$T" exec)" '*"result"*' 'one of another time that hangs is replaced'
	"$T" stop-server; is "$?:$(servers)" 0:0 '… and the new one stops'
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
	grep -q /mnt/clock.so "/proc/$server/maps"; ok $? 'a server with a clock that can be set'
	session=$(rpc bash_session_new_session | jq -r .result.session_name)
	for step in 1000000000 -1000000000; do
		rm -f /mnt/step
		pid=$(start 'sleep 100') quick=$(start 'until [ -e /mnt/step ]; do sleep 0.1; done; echo hi; exit 4')
		stubborn=$(start 'trap "" TERM; while :; do sleep 0.1; done'); sleep 0.3
		rpc bash_session '{"session_name":"'"$session"'","wait_for_output":3,"idle_timeout":1}' >"$W/said" & a=$!
		rpc exec_remote_poll "{\"pid\":$pid}" >"$W/r" & b=$!
		rpc exec_remote_kill "{\"pid\":$stubborn}" >"$W/k" & c=$!
		sleep 0.3; echo $step >/mnt/step.new; mv /mnt/step.new /mnt/step
		wait $b; is "$(jq -r .result.state "$W/r")" running "… it is set by $step s: a poll under way ends"
		wait $c; is "$(jq .result.seq "$W/k"):$(kill -0 "$stubborn" 2>/dev/null; echo $?)" 1:1 '… a kill ends what ignores TERM'
		wait $a; is "$(jq 'has("result")' "$W/said")" true '… a shell that is waited for is told of'
		is "$(rpc exec_remote_poll "{\"pid\":$quick}" | jq -c '.result|[.stdout,.exit_code]')" '["hi\n",4]' '… a job ends'
		is "$(rpc exec_remote_kill "{\"pid\":$pid}" | jq .result.seq)" 2 '… one is killed'
		is "$(server):$(servers)" "$server:1" '… by the same server'
	done
	"$T" stop-server; is "$?:$(servers)" 0:0 '… which stops'
fi

# the age of stored replies, should the clock have jumped: the worst is an error that says it
C=$W/d/chunks
mkdir "$W/bin"; cp "$PROGRAM" "$W/bin/t"; seq 5000 >"$W/f"
K=__inspect_json_rpc_response_chunk__
long() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"%s"},"id":7}' "$W/f" | env INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=10000 "$W/bin/t" exec; }
next() { jq -c "{jsonrpc:\"2.0\",id:1,method:\"$K\",params:(.$K|{handle,offset:.next_offset})}" "$W/p" | env INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=10000 "$W/bin/t" exec; }
long >"$W/p"
touch -d '+10 years' "$C"/*; long >/dev/null
like "$(next)" "*$K*" 'a stored reply from the future stays readable'
touch -d '2 hours ago' "$C"/*; long >/dev/null
is "$(next | jq -c '.error|[.code,.message]')" '[-32000,"chunk handle not found"]' 'one that has aged suddenly is gone, and that is said'
done_testing
