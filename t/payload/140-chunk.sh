#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: a reply longer than the host's limit comes in pieces, whole, and from a place that nobody
# can turn against anybody.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp var/tmp proc docs
chmod 777 "$R/docs"
D=/var/tmp/.da7be258e003d428 C=$R/var/tmp/.da7be258e003d428/.server/chunks
mkdir -p "$R$D"
cp "$PROGRAM" "$R$D/t"
chmod 755 "$R$D"
K=__inspect_json_rpc_response_chunk__
V=INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES
# run UID LIMIT: exec with a request on stdin; an empty limit leaves the variable out
run() { env -i ${2:+"$V=$2"} /usr/sbin/chroot --userspec="$1:$1" --groups= "$R" $D/t exec 2>"$W/err"; }
view() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"%s"},"id":%s}' "$1" "${2:-7}"; }
next() { printf '{"jsonrpc":"2.0","method":"%s","params":{"handle":"%s","offset":%s},"id":%s}' $K "$1" "$2" "${3:-8}"; }
release() { printf '{"jsonrpc":"2.0","method":"%s","params":{"handle":"%s","release":true},"id":9}' $K "$1"; }
# collect UID LIMIT: reads the first envelope, fetches the rest, checks each; the reply on stdout
collect() {
	cat >"$W/piece"
	: >"$W/whole"
	at=0
	while :; do
		[ "$(wc -c <"$W/piece")" -le "$2" ] || { echo "longer than $2"; return 1; }
		jq -r ".jsonrpc,(.$K|.version,.offset,(.next_offset>.offset),(.done==(.next_offset==.total_size)),.handle,.next_offset,.done,.chunk)" "$W/piece" |
			tr '\n' ' ' >"$W/fields"
		# shellcheck disable=SC2046
		set -- "$1" "$2" $(cat "$W/fields")
		[ "$3 $4 $5 $6 $7" = "2.0 1 $at true true" ] || { cat "$W/piece"; return 1; }
		printf %s "${11}" | base64 -d >>"$W/whole" || return 1
		h=$8 at=$9
		[ "$(wc -c <"$W/whole")" = "$at" ] || { echo "not $at bytes"; return 1; }
		[ "${10}" = false ] || break
		next "$h" "$at" | run "$1" "$2" >"$W/piece" || return 1
	done
	cat "$W/whole"
}
code() { jq -c '[.error.code,.error.message]'; }

seq 1 200 | sed 's/$/ é😀 text/' >"$R/docs/long"
whole=$(view /docs/long | run 0 10000000)
[ ! -e "$C" ]; ok $? 'a reply within the limit touches nothing'
is "$(view /docs/long | run 0 '')" "$whole" 'without the variable the whole comes at once'
is "$(view /docs/long | run 0 512 | collect 0 512)" "$whole" 'limit 512: the pieces are the reply'
is "$(view /docs/long | run 0 300 | collect 0 300)" "$whole" '… also at 300, inside of characters'
is "$(stat -c '%a %u' "$C" "$R$D/.server" | tr '\n' ' ')" '700 0 700 0 ' 'the directory is 0700'
n=$(printf '%s' "$whole" | wc -c)
is "$(view /docs/long | run 0 $((n + 1)))" "$whole" 'a reply that fits exactly passes'
like "$(view /docs/long | run 0 $n)" "*$K*" '… one byte less does not'
like "$(view /docs/long | run 0 $n)" '{"jsonrpc":"2.0","id":7,"'$K'":{"version":1,"handle":"*","offset":0,"next_offset":*,"total_size":'$n',"done":false,"chunk":"*"}}' 'the envelope, to the letter'
one=$(view /docs/long | run 0 ' 5_1_2 ')
is "$(printf '%s\n' "$one" | wc -c | awk '{print ($1 > 500 && $1 <= 512)}')" 1 'the limit is read leniently, and used up'
like "$(head -c 40000 /dev/zero | tr '\0' x >"$R/docs/big"; view /docs/big | run 0 junk)" '*"result"*' 'an unreadable limit is 65536'
h=$(printf '%s' "$one" | jq -r .$K.handle)
is "$(stat -c '%a %u %s' "$C/$h.jsonrpc")" "600 0 $n" 'the file: 0600, the exact bytes'
touch -d '30 minutes ago' "$C/$h.jsonrpc"
two=$(view /docs/long '"b"' | run 0 512)
g=$(printf '%s' "$two" | jq -r .$K.handle)
[ "$g" != "$h" ]; ok $? 'handles differ'
is "$(next "$h" 100 | run 0 512 | jq .$K.offset),$(next "$g" 50 | run 0 512 | jq .$K.offset),$(next "$h" 7 '"x"' | run 0 512 | jq -c "[.id,.$K.offset]")" '100,50,["x",7]' 'two replies can be read by turns, at any offset'
[ "$(($(date +%s) - $(stat -c %Y "$C/$h.jsonrpc")))" -lt 60 ]; ok $? 'reading keeps a file alive'

c() { printf '{"jsonrpc":"2.0","method":"%s","params":%s,"id":1}' $K "$1" | run 0 "${2:-512}"; }
bad='[-32602,"invalid chunk handle"]'
is "$(c '[1]' | code)" '[-32602,"chunk params must be an object"]' 'params must be an object'
is "$(printf '{"jsonrpc":"2.0","method":"%s","id":1}' $K | run 0 512 | code)" '[-32602,"chunk params must be an object"]' '… and there'
for x in '{}' '{"handle":5}' '{"handle":"x"}' '{"handle":"../../../../etc/passwd"}' '{"handle":"0123456789ABCDEF0123456789ABCDEF"}' \
	'{"handle":"0123456789abcdef0123456789abcde"}' '{"handle":"0123456789abcdef0123456789abcdef0"}' '{"handle":"0123456789abcdef0123456789abcde\u0000"}'; do
	is "$(c "$x" | code)" "$bad" "handle: $x"
done
for x in 'false' '1' 'null' '"true"'; do
	is "$(c '{"handle":"'"$h"'","release":'"$x"'}' | code)" '[-32602,"release must be true"]' "release: $x"
done
for x in '' ',"offset":-1' ',"offset":1.0' ',"offset":"1"' ',"offset":true' ',"offset":null'; do
	is "$(c '{"handle":"'"$h"'"'"$x"'}' | code)" '[-32602,"invalid chunk offset"]' "offset: $x"
done
is "$(next "$h" "$n" | run 0 512 | code)" '[-32602,"chunk offset is beyond the response"]' 'an offset at the end'
is "$(next "$h" 9223372036854775807 | run 0 512 | code)" '[-32602,"chunk offset is beyond the response"]' '… far beyond it'
is "$(next 0123456789abcdef0123456789abcdef 0 | run 0 512)" '{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"chunk handle not found"}}' 'an unknown handle'
is "$(next "$h" 0 | run 0 100 | code)" '[-32602,"sandbox exec output limit is too small for a JSON-RPC chunk envelope"]' 'a limit too small to go on'
out=$(view /docs/long | run 0 100); is "$?:$out" '1:' '… and to start with: exit 1'
like "$(cat "$W/err")" 'error: sandbox exec output limit is too small*' '… saying so'
is "$(release "$h" | run 0 512)" '{"jsonrpc":"2.0","id":9,"result":null}' 'release'
[ ! -e "$C/$h.jsonrpc" ]; ok $? '… deletes the file'
is "$(release "$h" | run 0 512 | jq -c .result)" null '… and may be repeated'
is "$(next "$h" 0 | run 0 512 | code)" '[-32000,"chunk handle not found"]' 'then the handle is unknown'
touch -d '2 hours ago' "$C/$g.jsonrpc"; touch -d '2 hours ago' "$C/other"
view /docs/long | run 0 512 >/dev/null
[ ! -e "$C/$g.jsonrpc" ] && [ -e "$C/other" ]; ok $? 'what is an hour old goes when something new comes'

k=$(ls "$C" | wc -l)
like "$(view /docs/long null | run 0 512)" '{"jsonrpc": "2.0", "result": *"id": null}' 'a reply to id null is not cut'
is "$(printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/long"}}' | run 0 512)" '' 'a notification has no reply to cut'
like "$(printf '{"jsonrpc":"2.0","method":"version","x":1,"id":7}' | run 0 50)" '*-32600*"id": null}' 'nor is one that lost its id'
is "$(ls "$C" | wc -l)" "$k" '… nothing of this was stored'
is "$(ls -A "$R$D" "$R$D/.server" "$R/tmp" | grep -vE ':|^$' | sort | tr '\n' ' ')" '.server chunks t ' 'no server was started for any of it'

# ---- users ----
h=$(view /docs/long | run 0 512 | jq -r .$K.handle)
is "$(next "$h" 0 | run 1000 512 | code)" '[-32000,"unable to read chunk: Permission denied"]' 'another user reads nothing of it'
out=$(view /docs/long | run 1000 512); is "$?:$out" '1:' '… and stores nothing there'
chown 1001 "$C/$h.jsonrpc"
is "$(next "$h" 0 | run 0 512 | code)" '[-32000,"chunk handle not found"]' 'root trusts no file that is another'"'"'s'
mv "$C/$h.jsonrpc" "$C/x"; ln -s /docs/long "$C/$h.jsonrpc"
is "$(next "$h" 0 | run 0 512 | code)" '[-32000,"chunk handle not found"]' '… and no link'
rm "$C/$h.jsonrpc"; mkfifo "$C/$h.jsonrpc"
is "$(next "$h" 0 | timeout 60 env -i $V=512 /usr/sbin/chroot "$R" $D/t exec | code)" '[-32000,"chunk handle not found"]' '… and waits for no FIFO'
rm -rf "$C"; mkdir -m 777 "$C"; chmod 777 "$C"
is "$(view /docs/long | run 0 512 | collect 0 512):$(stat -c %a "$C")" "$whole:700" 'a directory that others could enter is closed'
for how in 'mkdir "$C"; chown 1000 "$C"' 'mkdir -p "$R/docs/target"; ln -s /docs/target "$C"' 'touch "$C"' 'mkfifo "$C"'; do
	rm -rf "$C"; eval "$how"
	out=$(view /docs/long | run 0 512); is "$?:$out" '1:' "not used: $how"
	like "$(cat "$W/err")" "error: cannot use '$D/.server/chunks': *" '… saying so'
	like "$(next 0123456789abcdef0123456789abcdef 0 | run 0 512 | code)" '[[]-32000,*' '… an error to ask in'
	like "$(view /docs/long | run 0 10000000)" '*"result"*' '… and no harm to replies that fit'
done
is "$(ls -A "$R/docs/target")" '' '… nor is anything behind it touched'
rm -rf "$C" "$R$D/.server"
is "$(release "$h" | run 0 512 | jq -c .result):$(ls -A "$R$D")" 'null:t' 'what is to be released where nothing is, is released'
mkdir "$R/home"; cp -r "$R$D" "$R/home/p"; chown -R 1000 "$R/home/p"; D=/home/p C=$R/home/p/.server/chunks
is "$(view /docs/long | run 1000 512 | collect 1000 512):$(stat -c '%a %u' "$C")" "$whole:700 1000" 'another user with a program of its own'
D=/var/tmp/.da7be258e003d428 C=$R$D/.server/chunks
touch "$R$D-json-rpc-chunks"; like "$(view /docs/long | run 0 512)" "*$K*" 'what has the name that releases of old used does not matter'; rm "$R$D-json-rpc-chunks"; rm -rf "$C"

# ---- the rest ----
printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/long"},"id":1}\n' >"$W/in"
like "$(env -i $V=512 /usr/sbin/chroot "$R" $D/t pipe <"$W/in")" '*"result"*' 'pipe does not cut'
[ ! -e "$C" ]; ok $? '… and stores nothing'
mkdir -p "$R/opt"; ln -s $D/t "$R/opt/t"
like "$(view /docs/long | env -i $V=512 /usr/sbin/chroot "$R" /opt/t exec)" "*$K*" 'called by a link'
[ -d "$C" ] && [ ! -e "$R/opt/.server" ]; ok $? '… the place is still beside the program'
like "$(view /docs/long | env -i $V=512 /usr/sbin/chroot "$R" /t exec)" "*$K*" 'a program in /'
[ -d "$R/.server/chunks" ]; ok $? '… has its place there, too'
like "$(view /docs/long | env -i INSPECT_SANDBOX_TOOLS_DIR=/docs/s $V=512 /usr/sbin/chroot "$R" /t exec 2>&1)" "error: '/docs' is open to others*" 'not where others could exchange it'
chmod 755 "$R/docs"; like "$(view /docs/long | env -i INSPECT_SANDBOX_TOOLS_DIR=/docs/s $V=512 /usr/sbin/chroot "$R" /t exec)" "*$K*" 'a directory that a variable names'
[ -d "$R/docs/s/chunks" ]; ok $? '… is used'
done_testing
