#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: one long-lived pipe carries many requests, survives bad lines and a dying server, ends cleanly.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc

seq 1 1000 | sed 's/.*/{"jsonrpc":"2.0","method":"remote_version","id":&}/' >"$W/in"
in_world pipe <"$W/in" >"$W/out"; is '1000 requests at once' $? 0
is '… each answered once' "$(jq .id "$W/out" | sort -n | uniq | wc -l):$(wc -l <"$W/out")" '1000:1000'
is '… by one server that the pipe started' "$(servers)" 1
{
  request version 1; echo
  echo 'junk'
  echo
  echo '[1]'
  request version '"last"' | tr -d '\n' | sed 's/$/ \r/'; echo
  echo '{"jsonrpc":"2.0","method":"remote_version"}'
  echo '{"jsonrpc":"2.0","method":"version"}'
  request nope 18446744073709551616; echo
  request version '"no newline"'
} | in_world pipe >"$W/out"; is 'a mixed bag' $? 0
is '… every line but blanks and notifications is answered' "$(jq -c '[.id,(.error.code // "ok")]' "$W/out" | sort)" '["last","ok"]
["no newline","ok"]
[1,"ok"]
[18446744073709552000,-32601]
[null,-32600]
[null,-32700]'
grep -q '"id": 18446744073709551616}' "$W/out"; succeeded '… ids as they were' $?
is '… in ASCII' "$(LC_ALL=C grep -c '[^ -~]' "$W/out")" 0

mkfifo "$W/to" "$W/from"
in_world pipe <"$W/to" >"$W/from" & pipe=$!
exec 8>"$W/to" 9<"$W/from"
request remote_version 1 >&8; echo >&8; read -r a <&9
kill -9 "$(server_pid)"
wait_for eval '[ "$(servers)" = 0 ]'
request remote_version 2 >&8; echo >&8; read -r b <&9
fits 'a request after the server died is answered' "$b" '*"id": 2}'
request remote_version 3 >&8; echo >&8; read -r c <&9
fits '… and the next one works' "$c" '*"result": "Server: /t*"id": 3}'
kill -STOP "$(server_pid)"
request remote_version 4 >&8; echo >&8
request version 5 >&8; echo >&8; read -r d <&9
fits 'an in-process reply overtakes one from the server' "$d" '*"id": 5}'
kill -9 "$(jq .pid "$R/.server/server.pid")"; read -r d <&9
fits 'a request the server dies with is answered with an error' "$d" '*-32000*"id": 4}'
exec 8>&-; wait $pipe; is 'the end of stdin ends it' $? 0
exec 9<&-

printf '%s\n' '{"jsonrpc":"2.0","method":"text_editor","id":1,"params":{"path":"\ud800"}}' '{"jsonrpc":"2.0","method":"exec_remote_poll","id":2,"params":{"pid":"\ud800"}}' '{"jsonrpc":"2.0","method":"version","id":3,"params":{"_run_as":"\ud800"}}' | in_world pipe >"$W/out"
is 'what cannot be loaded is answered, too' "$(jq -c '[.id,.error.code]' "$W/out" | tr -d '\n')" '[1,-32099][2,-32098][3,-32098]'
request version 1 | in_world pipe >/dev/full 2>"$W/err"
is 'a full device for replies is told' "$?:$(cat "$W/err")" '1:error: cannot write the replies: No space left on device'

in_world pipe <"$W/to" >"$W/from" & pipe=$!
exec 8>"$W/to" 9<"$W/from"
request version 1 >&8; echo >&8; read -r a <&9
exec 9<&-
wait $pipe; is 'so does a reader that goes away' $? 1
exec 8>&-
{ printf '"'; head -c 70000000 /dev/zero | tr '\0' x; printf '"\n'; request version 1; echo; } | in_world pipe >"$W/out"
is 'a line of 70 MB is refused, the next one answered' "$(jq -c '[.id,.error.code]' "$W/out")" '[null,-32600]
[1,null]'
pad=$(head -c 100000 /dev/zero | tr '\0' x)
for i in $(seq 300); do printf '{"jsonrpc":"2.0","method":"remote_version","id":%s,"params":{"x":"%s"}}\n' "$i" "$pad"; done >"$W/big"
is '30 MB of requests' "$(in_world pipe <"$W/big" | jq .id | sort -n | uniq | wc -l)" 300
yes "$(request version 1)" 2>/dev/null | in_world pipe | head -n 100000 | wc -l >"$W/n"; is 'an endless stream, cut off by the reader' "$(cat "$W/n")" 100000
in_world stop-server
done_testing
