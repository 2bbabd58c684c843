#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: messages pass to and from MCP servers unharmed, and nothing a server does breaks more than itself.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
FAKE=$(dirname "$(realpath "$0")")/fake_mcp.py
[ -x /usr/bin/python3 ] || { echo "1..0 # skip needs /usr/bin/python3"; exit 0; }

world w tmp proc usr etc docs dev
mount --bind /usr "$R/usr"
for d in bin sbin lib lib64; do
  [ -L /$d ] && ln -s "usr/$d" "$R/$d"
done
for d in null urandom; do
  touch "$R/dev/$d"
  mount --bind "/dev/$d" "$R/dev/$d"
done
cp "$FAKE" "$R/fake"
export TOOL_ENV='PATH=/usr/bin:/bin FROM=starter'

launch() { rpc mcp_launch_server '{"server_params":{"command":"python3","args":["/fake"]'"${1:+,$1}"'}}' | jq -c '.result // .error'; }
# ask SESSION METHOD [PARAMS [ID]]: the inner reply, or the error
ask() { rpc mcp_send_request '{"session_id":'"$1"',"request":{"jsonrpc":"2.0","id":'"${4:-1}"',"method":"'"$2"'","params":'"${3:-"{}"}"'}}' | jq -c '.result // .error'; }
end() { rpc mcp_kill_server '{"session_id":'"$1"'}'; }
# lines SESSION TEXT…: lets the server say these lines, ID standing for the id
lines() {
  s=$1
  shift
  ask "$s" raw "$(for l; do printf '%s\n' "$l"; done | jq -Rnc '{lines:[inputs]}')"
}
R1='{"jsonrpc":"2.0","id":1,"result":'
OK='{"jsonrpc":"2.0","id":ID,"result":{}}'
DEAD='{"code":-32098,"message":"RuntimeError('"'MCP server stdout reader is no longer running; the server connection is closed and cannot service requests.'"')"}'
failure() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":666,"message":"%s","data":null}}' "${2:-1}" "$1"; }
EOF='MCP server closed its stdout (EOF) with requests pending.'

# ---- launching ----
is 'the first session is 0' "$(launch)" 0
is 'the next one is 1' "$(launch '"env":{"PATH":"/usr/bin","A":"b c"},"cwd":"/docs"')" 1
is 'without env: that of the server; a group of its own' "$(ask 0 env | jq -c '.result|[.env.FROM,.env.PATH,.cwd,.pid==.pgid]')" '["starter","/usr/bin:/bin","/",true]'
is 'env replaces, cwd is entered' "$(ask 1 env | jq -c '.result|[.env.FROM,.env.A,.cwd]')" '[null,"b c","/docs"]'
is 'no such command' "$(rpc mcp_launch_server '{"server_params":{"command":"nosuch"}}' | jq -c '[.error.code,.error.message]')" "[-32098,\"FileNotFoundError(2, 'No such file or directory')\"]"
is 'no such directory' "$(launch '"cwd":"/nosuch"' | jq -r .message)" "FileNotFoundError(2, 'No such file or directory')"
is 'the command is looked up on the PATH of env' "$(launch '"env":{"PATH":"/nowhere"}' | jq .code)" -32098
is 'ids of failed launches are used up' "$(launch '"env":{"PATH":"/nowhere:/usr/bin"}')" 5
is 'the default path when env has none' "$(launch '"env":{}' | jq .)" 6
is 'encodings it cannot speak are refused' "$(launch '"encoding":"utf-16"' | jq .code)" -32098
for p in '{}' '{"server_params":5}' '{"server_params":{}}' '{"server_params":{"command":"x","args":"y"}}' '{"server_params":{"command":"x","args":[1]}}' \
  '{"server_params":{"command":"x","env":{"A":1}}}' '{"server_params":{"command":"x","encoding_error_handler":"x"}}'; do
  is "refused: $p" "$(rpc mcp_launch_server "$p" | jq .error.code)" -32602
done
is 'unknown members are ignored' "$(launch '"whatever":1')" 8

# ---- messages ----
is 'a request arrives on one line, nulls at the top left out, numbers as written' \
  "$(rpc mcp_send_request '{"session_id":0,"x":1,"request":{"jsonrpc":"2.0","id":"é\u0041","method":"echo","a":null,"params":{"n":1.10,"big":12.50e3,"z":null,"l":[null]},"b":[null]}}' | jq -r .result.result.line)" '{"jsonrpc":"2.0","id":"\u00E9A","method":"echo","params":{"n":1.10,"big":12.50e3,"z":null,"l":[null]},"b":[null]}'
is 'an MCP error is a result, with data' "$(ask 0 fail)" '{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"bad","data":null}}'
is 'extra members are kept' "$(lines 0 '{"jsonrpc":"2.0","id":ID,"result":{"x":null},"extra":1}')" "$R1"'{"x":null},"extra":1}'
printf '{"jsonrpc":"2.0","method":"mcp_send_request","id":9,"params":{"session_id":0,"request":{"jsonrpc":"2.0","id":1,"method":"raw","params":{"lines":["{\\"jsonrpc\\":\\"2.0\\",\\"id\\":ID,\\"result\\":{\\"n\\":123456789012345678901234567890,\\"r\\":1.50e+400,\\"s\\":\\"é\\\\u0000\\"}}"]}}}}' | in_world exec >"$W/out"
is 'numbers_beyond_64_bits_pass_unharmed' "$(cat "$W/out")" '{"jsonrpc": "2.0", "result": {"jsonrpc":"2.0","id":1,"result":{"n":123456789012345678901234567890,"r":1.50e+400,"s":"\u00E9\u0000"}}, "id": 9}'
is 'numbers_beyond_64_bits_arrive_as_they_were_written' "$(ask 0 echo '{"n":123456789012345678901234567890,"l":[9223372036854775808,1e400]}' 9223372036854775809 | jq -r .result.line)" \
  '{"jsonrpc":"2.0","id":9223372036854775809,"method":"echo","params":{"n":123456789012345678901234567890,"l":[9223372036854775808,1e400]}}'
is '… in a notification, too' "$(rpc mcp_send_notification '{"session_id":0,"notification":{"jsonrpc":"2.0","method":"note","params":{"n":12345678901234567890}}}')" '{"jsonrpc": "2.0", "result": null, "id": 1}'
is '… but a session has none of them' "$(rpc mcp_send_request '{"session_id":18446744073709551616,"request":{"jsonrpc":"2.0","id":1,"method":"echo"}}' | jq .error.code)" -32098
is 'an_error_with_its_id_in_another_spelling_is_a_reply' "$(lines 0 '{"jsonrpc":"2.0","id":1.0,"error":{"code":"5","message":"x"}}')" '{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"x","data":null}}'
is '… true is 1' "$(lines 0 '{"jsonrpc":"2.0","id":true,"error":{"code":5.0,"message":"x"}}')" '{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"x","data":null}}'
is '… 1.5 is none' "$(lines 0 '{"jsonrpc":"2.0","id":1.5,"error":{"code":5,"message":"x"}}' '{"jsonrpc":"2.0","id":1.0,"result":{}}' "$OK")" "$R1"'{}}'
is 'garbage and messages of the server are ignored' "$(lines 0 'garbage' '' '   ' '{"jsonrpc":"2.0","id":ID,"result":5}' '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}' \
  '{"jsonrpc":"2.0","method":"notifications/x"}' '{"jsonrpc":"2.0","id":ID,"method":"sampling"}' '[]' '{"jsonrpc":"2.0","id":ID,"result":{' "$OK")" "$R1"'{}}'
is 'stray_response_ids_are_ignored' "$(lines 0 '{"jsonrpc":"2.0","id":99,"result":{}}' '{"jsonrpc":"2.0","id":"1","result":{}}' "$OK")" "$R1"'{}}'
is '… and replies that come twice' "$(lines 0 "$OK" "$OK")$(lines 0 "$OK")" "$R1{}}$R1{}}"
is 'ids may be strings' "$(ask 0 echo '{}' '"1"' | jq -c .id)" '"1"'
is 'a notification is answered with null' "$(rpc mcp_send_notification '{"session_id":0,"notification":{"jsonrpc":"2.0","method":"note","id":5}}')" '{"jsonrpc": "2.0", "result": null, "id": 1}'
is '… and disturbs nobody' "$(ask 0 echo | jq -c .id)" 1
is 'bytes that are no UTF-8 end the stream' "$(ask 0 bytes '{"hex":"ff"}')" "$(failure "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte")"
is '… for good' "$(ask 0 echo)" "$DEAD"
s=$(launch '"encoding_error_handler":"replace"')
is '… unless they may be replaced' "$(ask "$s" bytes "{\"hex\":\"$(printf '{"jsonrpc":"2.0","id":1,"result":{"x":"\377"}}' | od -An -tx1 -v | tr -d ' \n')\"}")" "$R1"'{"x":"�"}}'
for p in '{"session_id":1}' '{"session_id":"1","request":{"jsonrpc":"2.0","id":1,"method":"echo"}}' '{"session_id":1,"request":{"jsonrpc":"2.0","id":1.5,"method":"echo"}}' \
  '{"session_id":1,"request":{"jsonrpc":"2.0","id":null,"method":"echo"}}' '{"session_id":1,"request":{"jsonrpc":"2.0","id":true,"method":"echo"}}' \
  '{"session_id":1,"request":{"jsonrpc":"1.0","id":1,"method":"echo"}}' '{"session_id":1,"request":{"jsonrpc":"2.0","id":1}}' \
  '{"session_id":1,"request":{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}}' '{"session_id":1.0,"request":{"jsonrpc":"2.0","id":1,"method":"echo"}}'; do
  is "refused: $p" "$(rpc mcp_send_request "$p" | jq .error.code)" -32602
done
is 'an unknown session' "$(ask 77 echo)" '{"code":-32098,"message":"KeyError(77)"}'
is '… to kill' "$(end 77 | jq -r .error.message)" 'KeyError(77)'
is '… to notify' "$(rpc mcp_send_notification '{"session_id":-1,"notification":{"jsonrpc":"2.0","method":"x"}}' | jq -r .error.message)" 'KeyError(-1)'

# ---- many at once ----
for i in $(seq 300); do (ask 1 hold '{}' "$i" >"$W/r.$i") & jobs="$jobs $!"; [ $((i % 20)) != 0 ] || sleep 0.1; done
sleep 1.5
is 'duplicate_pending_ids_are_refused' "$(ask 1 hold '{}' 7)" "{\"code\":-32098,\"message\":\"ValueError('A request with this id is already pending')\"}"
is 'the last one is answered' "$(ask 1 release '{}' 999 | jq .id)" 999
# shellcheck disable=SC2086
wait $jobs
is 'replies_in_any_order: each to its own request' "$(cat "$W"/r.* | jq 'select(.id == .result.held).id' | sort -un | wc -l)" 300

# ---- size ----
ask 1 big '{"size":1048576}' >"$W/out"; is 'large_response: 1 MiB in one line' "$(jq -r .result.x "$W/out" | wc -c)" 1048577
t=$(now); printf '{"jsonrpc":"2.0","method":"mcp_send_request","id":1,"params":{"session_id":1,"request":{"jsonrpc":"2.0","id":1,"method":"big","params":{"size":100000000}}}}' | in_world exec | wc -c >"$W/n"
t=$(($(now) - t)); [ "$(cat "$W/n")" -gt 100000000 ]; succeeded "100 MB in one line ($t ms)" $?
echo "# server peak $(peak "$(server_pid)") kB, now $(rss "$(server_pid)") kB"
[ "$(rss "$(server_pid)")" -lt 8000 ]; costs 'the memory is given back' $?
head -c 3000000 /dev/zero | tr '\0' x | jq -Rsc '{jsonrpc:"2.0",method:"mcp_send_request",id:1,params:{session_id:1,request:{jsonrpc:"2.0",id:1,method:"echo",params:{x:.}}}}' | in_world exec >"$W/out"
is 'a request of 3 MB' "$(jq -r .result.result.line "$W/out" | jq -r .params.x | wc -c)" 3000001
(ask 1 deaf '{"seconds":10}' >"$W/out") & j=$!
sleep 0.2; t=$(now)
for i in 1 2 3 4; do head -c 1000000 /dev/zero | tr '\0' x | jq -Rsc '{jsonrpc:"2.0",method:"mcp_send_notification",id:1,params:{session_id:1,notification:{jsonrpc:"2.0",method:"note",params:{x:.}}}}' | in_world exec >/dev/null; done
call remote_version >/dev/null; within $(($(now) - t)) 4500; succeeded 'a server that does not read holds nobody up' $?
wait $j; is '… and gets everything later' "$(jq -c .id "$W/out"):$(ask 1 echo | jq .id)" 1:1

# ---- ends ----
s=$(launch); (ask "$s" hold '{}' 5 >"$W/out") & j=$!
sleep 0.5; is 'eof_fails_pending_requests' "$(ask "$s" exit)" "$(failure "$EOF")"; wait $j
is '… all of them' "$(cat "$W/out")" "$(failure "$EOF" 5)"
is 'later_requests_fail_fast' "$(ask "$s" echo)" "$DEAD"
is '… and notifications' "$(rpc mcp_send_notification '{"session_id":'"$s"',"notification":{"jsonrpc":"2.0","method":"x"}}' | jq .error.code)" -32098
is 'killing_a_dead_server_succeeds' "$(end "$s")" '{"jsonrpc": "2.0", "result": null, "id": 1}'
is '… once' "$(end "$s" | jq -r .error.message)" "KeyError($s)"
s=$(launch); is 'a server that closes its stdout' "$(ask "$s" close)" "$(failure "$EOF")"; end "$s" >/dev/null
s=$(rpc mcp_launch_server '{"server_params":{"command":"true"}}' | jq .result); sleep 0.3
is 'a server that ends at once' "$(ask "$s" echo)" "$DEAD"

s=$(launch); ask "$s" spawn | jq -r '.result.pids[]' >"$W/pids"; ask "$s" env | jq .result.pid >>"$W/pids"
(ask "$s" hold '{}' 5 >"$W/out") & j=$!
sleep 0.3; t=$(now); is 'kill' "$(end "$s")" '{"jsonrpc": "2.0", "result": null, "id": 1}'; wait $j
is 'kill_fails_pending_requests' "$(cat "$W/out")" "$(failure 'MCP server session terminated with requests pending.' 5)"
# shellcheck disable=SC2046
wait_for dead $(cat "$W/pids"); succeeded 'kill_ends_the_group_and_all_descendants' $?
within $(($(now) - t)) 3000; succeeded '… soon' $?
is 'the session is gone' "$(ask "$s" echo)" "{\"code\":-32098,\"message\":\"KeyError($s)\"}"
bad=
for n in $(seq 20); do
  s=$(rpc mcp_launch_server '{"server_params":{"command":"sh","args":["-c","setsid sleep 1002 & read line"]}}' | jq .result)
  wait_for pgrep -f '^sleep 1002' >/dev/null; end "$s" >/dev/null
  wait_for eval '! pgrep -f "^sleep 1002" >/dev/null' || { bad="$bad $n"; pkill -f '^sleep 1002'; }
done
is 'kill_knows_the_descendants_of_a_server_that_ends_with_its_input' "$bad" ''

# ---- logs ----
s=$(launch); is 'a server that complains' "$(ask "$s" complain '{"size":300000}' | jq .id)" 1
grep -q xxxx "$R/.server/server-stderr.log"; succeeded '… is heard in the log' $?
is '… 200 MB' "$(ask "$s" complain '{"size":200000000}' | jq .id)" 1
[ "$(stat -c %s "$R/.server/server-stderr.log")" -lt 1200000 ]; succeeded 'stderr_of_servers_does_not_fill_the_disk' $?

# ---- shutdown ----
ask "$s" spawn | jq -r '.result.pids[]' >"$W/pids"; ask "$s" stubborn >/dev/null
(ask "$s" hold >"$W/out") & j=$!
sleep 0.3; t=$(now); in_world stop-server; is 'stop-server' "$?" 0; t=$(($(now) - t)); wait $j
within $t 12000; succeeded "stop_server_bounds_inflight_requests ($t ms)" $?
fits '… which are answered' "$(cat "$W/out")" '*666*session terminated*'
# shellcheck disable=SC2046
wait_for dead $(cat "$W/pids"); succeeded '… nothing is left' $?
is '… a clean status' "$(jq -c . "$R/.server/shutdown-status.json")" '{"errors":[]}'

# ---- the limit ----
TOOL_ENV='PATH=/usr/bin:/bin INSPECT_MCP_READLINE_LIMIT_BYTES=100000'
is 'a new server counts from 0' "$(launch)" 0
is 'a line below the limit' "$(ask 0 big '{"size":90000}' | jq -r .result.x | wc -c)" 90001
(ask 0 hold '{}' 5 >"$W/out") & j=$!
sleep 0.3
is 'over_limit_line_fails_fast' "$(ask 0 big '{"size":100000}')" "$(failure 'MCP server response line exceeded the read limit of 100000 bytes. Set INSPECT_MCP_READLINE_LIMIT_BYTES higher if responses are legitimately larger than this.')"
wait $j; fits '… all pending requests' "$(cat "$W/out")" '*"id":5*exceeded the read limit*'
is '… and later ones' "$(ask 0 echo)" "$DEAD"
in_world stop-server
TOOL_ENV='PATH=/usr/bin:/bin INSPECT_MCP_READLINE_LIMIT_BYTES=many'
fits 'a_limit_that_is_no_number_breaks_nothing' "$(call version)$(call remote_version)" '*result*result*'
launch >/dev/null; is '… the default holds' "$(ask 0 big '{"size":1000000}' | jq -r .result.x | wc -c)" 1000001
grep -q INSPECT_MCP_READLINE_LIMIT_BYTES "$R/.server/server-stderr.log"; succeeded '… and the log says so' $?
in_world stop-server

# ---- as an unprivileged user ----
rm -rf "$R/.server"; chown 65534 "$R"
TOOL_ENV='PATH=/usr/bin:/bin'
as_user 65534 exec '{"jsonrpc":"2.0","method":"mcp_launch_server","id":1,"params":{"server_params":{"command":"python3","args":["/fake"]}}}' >/dev/null
fits 'an unprivileged server serves' "$(as_user 65534 exec '{"jsonrpc":"2.0","method":"mcp_send_request","id":1,"params":{"session_id":0,"request":{"jsonrpc":"2.0","id":1,"method":"env"}}}')" '*"pid"*'
fits '… and kills' "$(as_user 65534 exec '{"jsonrpc":"2.0","method":"mcp_kill_server","id":1,"params":{"session_id":0}}')" '*"result": null*'
as_user 65534 stop-server; is '… and stops' $? 0
done_testing
