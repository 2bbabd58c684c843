#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: exec obeys the text rules: one JSON line out, ids echoed raw, error classes, exit codes.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc
e() { printf '%s' "$1" | in_world exec 2>"$W/err"; }
bad='"code": -32600, "message": "Invalid request", "data": "The request failed schema validation"}, "id": null}'

fits 'version in process' "$(e '{"jsonrpc":"2.0","method":"version","id":1}')" '{"jsonrpc": "2.0", "result": "[0-9]*.[0-9]*.[0-9]*", "id": 1}'
ls "$R/tmp" | grep -q . ; is 'an in-process call leaves no server behind' $? 1
is 'surrounding blanks are fine, one line comes out' "$(e '  {"jsonrpc":"2.0","method":"version","id":9}
 ' | wc -l)" 1
is 'unknown method goes through the server' "$(e '{"jsonrpc":"2.0","method":"nope","id":7}')" '{"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found", "data": "nope"}, "id": 7}'
is 'which thereby was started' "$(servers)" 1
for id in 0 -1 1.50 1e400 -0 123456789012345678901234567890 '"x"' '"a\u00E9\uD83D\uDE00\u0000"'; do
  is "id $id is echoed in process" "$(e '{"jsonrpc":"2.0","method":"version","id":'"$id"'}' | sed 's/.*"id": //')" "$id}"
  is "id $id is echoed by the server" "$(e '{"jsonrpc":"2.0","method":"nope","id":'"$id"'}' | sed 's/.*"id": //')" "$id}"
done
is 'id null is answered' "$(e '{"jsonrpc":"2.0","method":"version","id":null}' | sed 's/.*"id": //')" 'null}'
is 'a notification is a lone newline' "$(e '{"jsonrpc":"2.0","method":"version"}' | od -An -c | tr -d ' ')" '\n'
is 'so is an unknown one' "$(e '{"jsonrpc":"2.0","method":"nope"}' | od -An -c | tr -d ' ')" '\n'
is 'the last of two ids wins' "$(e '{"jsonrpc":"2.0","method":"version","id":1,"id":2}' | sed 's/.*"id": //')" '2}'
for m in version remote_version; do
  fits "$m: an unknown member is -32600, id null" "$(e '{"jsonrpc":"2.0","method":"'$m'","id":1,"x":1}')" "*$bad"
  fits "$m: null params are -32600" "$(e '{"jsonrpc":"2.0","method":"'$m'","id":1,"params":null}')" "*$bad"
  fits "$m: a boolean id is -32600" "$(e '{"jsonrpc":"2.0","method":"'$m'","id":true}')" "*$bad"
  fits "$m: an array id is -32600" "$(e '{"jsonrpc":"2.0","method":"'$m'","id":[]}')" "*$bad"
  fits "$m: positional params are -32602" "$(e '{"jsonrpc":"2.0","method":"'$m'","id":1,"params":[1]}')" '*-32602, "message": "Invalid params"*"id": 1}'
  fits "$m: extra named params are ignored" "$(e '{"jsonrpc":"2.0","method":"'$m'","id":1,"params":{"x":1}}')" '*"result":*'
done
is 'sandbox_tools_shutdown takes no params' "$(e '{"jsonrpc":"2.0","method":"sandbox_tools_shutdown","id":1,"params":{"x":1}}')" '{"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params", "data": "got an unexpected keyword argument '"'x'"'"}, "id": 1}'
for text in '' 'junk' '[]' '"x"' '{"jsonrpc":"2.0","method":"version","id":1' '{"jsonrpc":"1.0","method":"version","id":1}' \
  '{"method":"version","id":1}' '{"jsonrpc":"2.0","method":5,"id":1}' '{"jsonrpc":"2.0","method":"version","params":5}' \
  "$(printf '\357\273\277{"jsonrpc":"2.0","method":"version","id":1}')" '[{"jsonrpc":"2.0","method":"version","id":1}]' \
  '{"jsonrpc":"2.0","method":"version","id":01}' '{"jsonrpc":"2.0","method":"version","id":1}x' '{"jsonrpc":"2.0","method":"\ud800","id":1}'; do
  out=$(e "$text"); is "exit 1, nothing on stdout: $text" "$?:$out" '1:'
  fits '… and a line on stderr' "$(cat "$W/err")" 'error: *'
done
# JSON, but more than can be worked with
for p in '{"path":"\ud800"}:half of a surrogate pair' '{"a\u0000":1}:U+0000'; do
  for m in text_editor:-32099 version:-32098 exec_remote_poll:-32098 nope:-32098; do
    out=$(e '{"jsonrpc":"2.0","method":"'"${m%:*}"'","id":7,"params":'"${p%:*}"'}')
    fits "${m%:*} is told what is wrong with ${p%:*}" "$?:$out" '0:*"code": '"${m#*:}"', "message": "a *'"${p##*:}"'*"id": 7}'
  done
done
out=$(e '{"jsonrpc":"2.0","method":"version","params":{"a":"\ud800"}}' | od -An -c | tr -d ' '); is '… a notification is not' "$out" '\n'
fits 'numbers_beyond_64_bits_are_the_last_there_is' "$(e '{"jsonrpc":"2.0","method":"exec_remote_poll","id":1,"params":{"pid":18446744073709551616,"ack_seq":-18446744073709551616}}')" '*"No job found with pid 9223372036854775807"*'
fits '… also where nobody asks for them' "$(e '{"jsonrpc":"2.0","method":"version","id":1,"params":{"a":[1e999,18446744073709551616]}}')" '*"result": *'
for command in version -h 'exec -h'; do
  # shellcheck disable=SC2086
  in_world $command >/dev/full 2>"$W/err"; is "$command into a full device fails and says so" "$?:$(cat "$W/err")" '1:error: cannot write to standard output'
done
out=$(e '{"jsonrpc":"2.0","method":"version","id":1,"params":{"_run_as_user":5}}'); is '_run_as_user must be a string' "$?:$out" '1:'
fits '… and says so' "$(cat "$W/err")" '*_run_as_user must be a string, got int*'
fits '_run_as_user null is no switch' "$(e '{"jsonrpc":"2.0","method":"version","id":1,"params":{"_run_as_user":null}}')" '*"result"*'
fits 'the request may be an argument' "$(in_world exec "$(request version 5)" </dev/null)" '*"id": 5}'
fits 'an empty argument means stdin' "$(request version 6 | in_world exec '')" '*"id": 6}'
in_world exec a b 2>"$W/err" >"$W/out"; is 'two arguments are a usage error' "$?" 2
is '… told on stderr only' "$(cat "$W/out")" ''
in_world 2>/dev/null; is 'no command: 2' $? 2
in_world nonsense 2>"$W/err"; is 'unknown command: 2' $? 2
fits '… with usage and message' "$(cat "$W/err")" '*usage:*error:*'
for c in '' exec pipe start-server stop-server server healthcheck version install uninstall status; do
  out=$(in_world $c --help); is "$c --help" "$?:$(echo "$out" | head -n1 | cut -c1-6)" '0:usage:'
done
fits 'version' "$(in_world version)" '[0-9]*.[0-9]*.[0-9]*'
big=$(head -c 3000000 /dev/zero | tr '\0' x)
fits 'a request of 3 MB passes the server' "$(printf '{"jsonrpc":"2.0","method":"remote_version","id":1,"params":{"x":"%s"}}' "$big" | in_world exec)" '*"result": "Server: /t ('*
(printf '{"jsonrpc":"2.0","method":"remote_version","id":1,"params":{"x":"'; head -c 68000000 /dev/zero | tr '\0' x; printf '"}}') | in_world exec >"$W/out" 2>"$W/err"
is 'one of 68 MB is refused' "$?:$(cat "$W/out")" '1:'
is 'healthcheck prints its two lines' "$(in_world healthcheck | sed 's/([0-9]*)/(N)/;s/"[0-9.]*", "id": 666/"V", "id": 666/')" '{"jsonrpc": "2.0", "result": "V", "id": 666}
{"jsonrpc": "2.0", "result": "Server: /t (N)", "id": 667}'
done_testing
