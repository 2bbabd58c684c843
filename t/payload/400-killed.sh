#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: a server killed in the middle of calls: each caller gets an error at once, what the server
# was running is ended, the next call starts afresh, and everything else goes on.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"

mkdir -m 755 "$W/d"
export INSPECT_SANDBOX_TOOLS_DIR="$W/d"
T=$PROGRAM
tool() { "$T" "$@"; }
# waits PID N: does the server hold so many descriptors?
waits() { [ "$(ls "/proc/$1/fd" | wc -l)" -ge "$2" ]; }
each_server() { # each_server COMMAND…: for what has become one, or is about to
  for p in /proc/[0-9]*; do
    { tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null | grep -q ' server $' && "$@" "${p#/proc/}"
  done 2>/dev/null
}
LOST='error: the server closed the connection without a reply'

# ---- one call of each kind that waits ----
# caught NAME METHOD PARAMS: kills the server while this call waits
caught() {
  server=$(server)
  fds=$(fds "$server")
  (rpc "$2" "$3" >"$W/out" 2>"$W/err"; echo $? >"$W/rc") & j=$!
  wait_for waits "$server" $((fds + 1))
  sleep 0.1
  kill -9 "$server"
  wait $j
  is "$1: the caller is told" "$(cat "$W/rc"):$(cat "$W/out"):$(cat "$W/err")" "1::$LOST"
  fits '… and the next call has a new server' "$(rpc remote_version)" '*"result": "Server: *'
  [ "$(server)" != "$server" ]; succeeded '… really' $?
}
"$T" start-server >/dev/null
pid=$(start 'sleep 1000'); caught 'a poll' exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}"
wait_for dead "$pid"; succeeded '… the job is ended' $?
is '… and unknown to the new server' "$(rpc exec_remote_poll "{\"pid\":$pid}" | jq -r .error.message)" "No job found with pid $pid"
pid=$(start 'trap "" TERM; while :; do sleep 1; done'); sleep 0.3
caught 'a kill' exec_remote_kill "{\"pid\":$pid}"
wait_for dead "$pid"; succeeded '… the job is ended, although it ignores TERM' $?
rpc bash_session_new_session >/dev/null
rpc bash_session '{"session_name":"BashSession","wait_for_output":1,"idle_timeout":0.3,"input":"sleep 1010 & sleep 1011 & echo $$ $!\n"}' | jq -r .result | grep -oE '[0-9]{2,}' >"$W/pids"
caught 'an interaction' bash_session '{"session_name":"BashSession","wait_for_output":100,"idle_timeout":100,"input":"cat\n"}'
# shellcheck disable=SC2046
wait_for dead $(cat "$W/pids"); succeeded '… shell and background jobs are gone' $?
is '… all of them' "$(pgrep -fc 'sleep 101[01]')" 0
is '… and the session is unknown' "$(rpc bash_session '{"session_name":"BashSession","wait_for_output":1,"idle_timeout":1}' | jq -r .error.message)" "KeyError('BashSession')"
is '… a new one can be had' "$(rpc bash_session_new_session | jq -r .result.session_name)" BashSession
rpc mcp_launch_server '{"server_params":{"command":"sh","args":["-c","trap \"\" TERM HUP PIPE; while :; do sleep 1; done"]}}' >/dev/null
mcp=$(pgrep -P "$(server)" -f 'HUP PIPE')
caught 'an MCP request' mcp_send_request '{"session_id":0,"request":{"jsonrpc":"2.0","id":1,"method":"x"}}'
wait_for dead "$mcp"; succeeded '… the MCP server is gone, although it ignores the end of its input' $?
is '… and unknown' "$(rpc mcp_send_request '{"session_id":0,"request":{"jsonrpc":"2.0","id":1,"method":"x"}}' | jq -r .error.message)" 'KeyError(0)'

# jobs of other users, and those that become one
pid=$(start 'exec sleep 1002' '{user:"nobody"}'); server=$(server)
wait_for eval 'grep -q 65534 "/proc/$pid/status"'; kill -9 "$server"; wait_for dead "$pid"; succeeded 'a job of another user is ended too' $?

# ---- a pipe with many requests under way ----
mkfifo "$W/to"
"$T" pipe <"$W/to" >"$W/out" & pipe=$!
exec 8>"$W/to"
pid=$(start 'sleep 1000')
seq 500 | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_poll","params":{"pid":'"$pid"'}}/' >&8
server=$(server)
# what was written has gone on to the server, as far as that takes it
is_asleep() { grep -q '^State:.[ST]' "/proc/$1/status"; }
passed_on() { python3 -c 'import fcntl, sys, termios
sys.exit(any(fcntl.ioctl(8, termios.FIONREAD, bytes(4))))' && is_asleep "$pipe" && is_asleep "$server"; }
wait_for passed_on; kill -STOP "$server"
seq 501 1000 | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"remote_version"}/' >&8
wait_for passed_on; kill -9 "$server"
count() { [ "$(wc -l <"$W/out")" -ge "$1" ]; }
wait_for count 1000
is '1000 requests under way: each is answered, once' "$(jq -r .id "$W/out" | sort -n | uniq -c | awk '$1 == 1' | wc -l):$(wc -l <"$W/out")" '1000:1000'
is '… with an error' "$(jq -c 'select(.error or .id > 500) | [.error.code,.error.data]' "$W/out" | sort -u)" '[-32000,"the server closed the connection"]'
request remote_version 1001 >&8; echo >&8; wait_for count 1001
fits '… and the pipe goes on with a new server' "$(tail -n1 "$W/out")" '*"result": "Server: *"id": 1001}'
exec 8>&-; wait $pipe; is '… to its end' $? 0

# ---- a reply that is being fetched in pieces ----
export INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=65536
mkdir -p "$W/bin"; cp "$T" "$W/bin/t"; T=$W/bin/t
K=__inspect_json_rpc_response_chunk__
pid=$(start 'seq 100000; sleep 1000'); sleep 0.5
rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}" >"$W/piece"
kill -9 "$(server)"
: >"$W/whole"
while :; do
  jq -r .$K.chunk "$W/piece" | base64 -d >>"$W/whole" || break
  [ "$(jq .$K.done "$W/piece")" = false ] || break
  jq -c "{jsonrpc:\"2.0\",id:1,method:\"$K\",params:(.$K|{handle,offset:.next_offset})}" "$W/piece" | "$T" exec >"$W/next"
  mv "$W/next" "$W/piece"
done
is 'a reply in pieces survives the server' "$(jq -r .result.stdout "$W/whole" | head -n 1000)" "$(seq 1000)"
is '… to its end' "$(jq .$K.done "$W/piece")" true
is '… and needs none' "$(servers)" 0
unset INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES
T=$PROGRAM

# ---- while starting and stopping ----
for i in $(seq 20); do
  ("$T" start-server >"$W/s" 2>&1) & j=$!
  sleep "0.00$i"; each_server kill -9
  wait $j || :
done
fits 'killed again and again while it starts: it starts' "$(rpc remote_version)" '*"result"*'
is '… once' "$(servers)" 1
start 'trap "" TERM; exec sleep 1003' >/dev/null; server=$(server)
("$T" stop-server 2>"$W/err"; echo $? >"$W/rc") & j=$!
sleep 0.5; kill -9 "$server"; wait $j
is 'killed while it stops: stop-server is content' "$(cat "$W/rc"):$(cat "$W/err")" 0:
is '… and nothing of it is left' "$(servers):$(ls "$W/d" | grep -c sock)" 0:0
wait_for eval '[ "$(pgrep -fc "sleep 1003")" = 0 ]'; succeeded '… nor of the job' $?

# ---- what it is not: the ends of the others ----
pid=$(start 'sleep 1004'); rpc remote_version >/dev/null; server=$(server)
(rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null) & j=$!; sleep 0.2; kill -9 $j
fits 'a caller that is killed harms nobody' "$(rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}")" '*running*'
is '… least of all the server' "$(server)" "$server"
pid=$(start 'sleep 0.2; exit 3'); kill -STOP "$server"; sleep 0.5; kill -CONT "$server"
is 'a server that slept hears of what has happened meanwhile' "$(rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}" | jq .result.exit_code)" 3
"$T" stop-server; is 'stop' "$?:$(servers)" 0:0
done_testing
