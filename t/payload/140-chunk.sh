#!/bin/bash
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
# exec_as UID LIMIT: exec with a request on stdin; an empty limit leaves the variable out
exec_as() { env -i ${2:+"$V=$2"} /usr/sbin/chroot --userspec="$1:$1" --groups= "$R" $D/t exec 2>"$W/err"; }
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
    next "$h" "$at" | exec_as "$1" "$2" >"$W/piece" || return 1
  done
  cat "$W/whole"
}
code() { jq -c '[.error.code,.error.message]'; }

seq 1 200 | sed 's/$/ é😀 text/' >"$R/docs/long"
whole=$(view /docs/long | exec_as 0 10000000)
[ ! -e "$C" ]; succeeded 'a reply within the limit touches nothing' $?
is 'without the variable the whole comes at once' "$(view /docs/long | exec_as 0 '')" "$whole"
is 'limit 512: the pieces are the reply' "$(view /docs/long | exec_as 0 512 | collect 0 512)" "$whole"
is '… also at 300, inside of characters' "$(view /docs/long | exec_as 0 300 | collect 0 300)" "$whole"
is 'the directory is 0700' "$(stat -c '%a %u' "$C" "$R$D/.server" | tr '\n' ' ')" '700 0 700 0 '
n=$(printf '%s' "$whole" | wc -c)
is 'a reply that fits exactly passes' "$(view /docs/long | exec_as 0 $((n + 1)))" "$whole"
fits '… one byte less does not' "$(view /docs/long | exec_as 0 $n)" "*$K*"
fits 'the envelope, to the letter' "$(view /docs/long | exec_as 0 $n)" '{"jsonrpc":"2.0","id":7,"'$K'":{"version":1,"handle":"*","offset":0,"next_offset":*,"total_size":'$n',"done":false,"chunk":"*"}}'
one=$(view /docs/long | exec_as 0 ' 5_1_2 ')
is 'the limit is read leniently, and used up' "$(printf '%s\n' "$one" | wc -c | awk '{print ($1 > 500 && $1 <= 512)}')" 1
fits 'an unreadable limit is 65536' "$(head -c 40000 /dev/zero | tr '\0' x >"$R/docs/big"; view /docs/big | exec_as 0 junk)" '*"result"*'
h=$(printf '%s' "$one" | jq -r .$K.handle)
is 'the file: 0600, the exact bytes' "$(stat -c '%a %u %s' "$C/$h.jsonrpc")" "600 0 $n"
touch -d '30 minutes ago' "$C/$h.jsonrpc"
two=$(view /docs/long '"b"' | exec_as 0 512)
g=$(printf '%s' "$two" | jq -r .$K.handle)
[ "$g" != "$h" ]; succeeded 'handles differ' $?
is 'two replies can be read by turns, at any offset' "$(next "$h" 100 | exec_as 0 512 | jq .$K.offset),$(next "$g" 50 | exec_as 0 512 | jq .$K.offset),$(next "$h" 7 '"x"' | exec_as 0 512 | jq -c "[.id,.$K.offset]")" '100,50,["x",7]'
[ "$(($(date +%s) - $(stat -c %Y "$C/$h.jsonrpc")))" -lt 60 ]; succeeded 'reading keeps a file alive' $?

c() { printf '{"jsonrpc":"2.0","method":"%s","params":%s,"id":1}' $K "$1" | exec_as 0 "${2:-512}"; }
bad='[-32602,"invalid chunk handle"]'
is 'params must be an object' "$(c '[1]' | code)" '[-32602,"chunk params must be an object"]'
is '… and there' "$(printf '{"jsonrpc":"2.0","method":"%s","id":1}' $K | exec_as 0 512 | code)" '[-32602,"chunk params must be an object"]'
for x in '{}' '{"handle":5}' '{"handle":"x"}' '{"handle":"../../../../etc/passwd"}' '{"handle":"0123456789ABCDEF0123456789ABCDEF"}' \
  '{"handle":"0123456789abcdef0123456789abcde"}' '{"handle":"0123456789abcdef0123456789abcdef0"}' '{"handle":"0123456789abcdef0123456789abcde\u0000"}'; do
  is "handle: $x" "$(c "$x" | code)" "$bad"
done
for x in 'false' '1' 'null' '"true"'; do
  is "release: $x" "$(c '{"handle":"'"$h"'","release":'"$x"'}' | code)" '[-32602,"release must be true"]'
done
for x in '' ',"offset":-1' ',"offset":1.0' ',"offset":"1"' ',"offset":true' ',"offset":null'; do
  is "offset: $x" "$(c '{"handle":"'"$h"'"'"$x"'}' | code)" '[-32602,"invalid chunk offset"]'
done
is 'an offset at the end' "$(next "$h" "$n" | exec_as 0 512 | code)" '[-32602,"chunk offset is beyond the response"]'
is '… far beyond it' "$(next "$h" 9223372036854775807 | exec_as 0 512 | code)" '[-32602,"chunk offset is beyond the response"]'
is 'an unknown handle' "$(next 0123456789abcdef0123456789abcdef 0 | exec_as 0 512)" '{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"chunk handle not found"}}'
is 'a limit too small to go on' "$(next "$h" 0 | exec_as 0 100 | code)" '[-32602,"sandbox exec output limit is too small for a JSON-RPC chunk envelope"]'
out=$(view /docs/long | exec_as 0 100); is '… and to start with: exit 1' "$?:$out" '1:'
fits '… saying so' "$(cat "$W/err")" 'error: sandbox exec output limit is too small*'
is 'release' "$(release "$h" | exec_as 0 512)" '{"jsonrpc":"2.0","id":9,"result":null}'
[ ! -e "$C/$h.jsonrpc" ]; succeeded '… deletes the file' $?
is '… and may be repeated' "$(release "$h" | exec_as 0 512 | jq -c .result)" null
is 'then the handle is unknown' "$(next "$h" 0 | exec_as 0 512 | code)" '[-32000,"chunk handle not found"]'
touch -d '2 hours ago' "$C/$g.jsonrpc"; touch -d '2 hours ago' "$C/other"
view /docs/long | exec_as 0 512 >/dev/null
[ ! -e "$C/$g.jsonrpc" ] && [ -e "$C/other" ]; succeeded 'what is an hour old goes when something new comes' $?

k=$(ls "$C" | wc -l)
fits 'a reply to id null is not cut' "$(view /docs/long null | exec_as 0 512)" '{"jsonrpc": "2.0", "result": *"id": null}'
is 'a notification has no reply to cut' "$(printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/long"}}' | exec_as 0 512)" ''
fits 'nor is one that lost its id' "$(printf '{"jsonrpc":"2.0","method":"version","x":1,"id":7}' | exec_as 0 50)" '*-32600*"id": null}'
is '… nothing of this was stored' "$(ls "$C" | wc -l)" "$k"
is 'no server was started for any of it' "$(ls -A "$R$D" "$R$D/.server" "$R/tmp" | grep -vE ':|^$' | sort | tr '\n' ' ')" '.server chunks t '

# ---- users ----
h=$(view /docs/long | exec_as 0 512 | jq -r .$K.handle)
is 'another user reads nothing of it' "$(next "$h" 0 | exec_as 1000 512 | code)" '[-32000,"unable to read chunk: Permission denied"]'
out=$(view /docs/long | exec_as 1000 512); is '… and stores nothing there' "$?:$out" '1:'
chown 1001 "$C/$h.jsonrpc"
is 'root trusts no file that is another'"'"'s' "$(next "$h" 0 | exec_as 0 512 | code)" '[-32000,"chunk handle not found"]'
mv "$C/$h.jsonrpc" "$C/x"; ln -s /docs/long "$C/$h.jsonrpc"
is '… and no link' "$(next "$h" 0 | exec_as 0 512 | code)" '[-32000,"chunk handle not found"]'
rm "$C/$h.jsonrpc"; mkfifo "$C/$h.jsonrpc"
is '… and waits for no FIFO' "$(next "$h" 0 | timeout 60 env -i $V=512 /usr/sbin/chroot "$R" $D/t exec | code)" '[-32000,"chunk handle not found"]'
rm -rf "$C"; mkdir -m 777 "$C"; chmod 777 "$C"
is 'a directory that others could enter is closed' "$(view /docs/long | exec_as 0 512 | collect 0 512):$(stat -c %a "$C")" "$whole:700"
for how in 'mkdir "$C"; chown 1000 "$C"' 'mkdir -p "$R/docs/target"; ln -s /docs/target "$C"' 'touch "$C"' 'mkfifo "$C"'; do
  rm -rf "$C"; eval "$how"
  out=$(view /docs/long | exec_as 0 512); is "not used: $how" "$?:$out" '1:'
  fits '… saying so' "$(cat "$W/err")" "error: cannot use '$D/.server/chunks': *"
  fits '… an error to ask in' "$(next 0123456789abcdef0123456789abcdef 0 | exec_as 0 512 | code)" '[[]-32000,*'
  fits '… and no harm to replies that fit' "$(view /docs/long | exec_as 0 10000000)" '*"result"*'
done
is '… nor is anything behind it touched' "$(ls -A "$R/docs/target")" ''
rm -rf "$C" "$R$D/.server"
is 'what is to be released where nothing is, is released' "$(release "$h" | exec_as 0 512 | jq -c .result):$(ls -A "$R$D")" 'null:t'
mkdir "$R/home"; cp -r "$R$D" "$R/home/p"; chown -R 1000 "$R/home/p"; D=/home/p C=$R/home/p/.server/chunks
is 'another user with a program of its own' "$(view /docs/long | exec_as 1000 512 | collect 1000 512):$(stat -c '%a %u' "$C")" "$whole:700 1000"
D=/var/tmp/.da7be258e003d428 C=$R$D/.server/chunks
rm -rf "$R$D-json-rpc-chunks"; touch "$R$D-json-rpc-chunks"
fits 'what has the name that releases of old used does not matter' "$(view /docs/long | exec_as 0 512)" "*$K*"
rm "$R$D-json-rpc-chunks"
rm -rf "$C"

# ---- the rest ----
printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/long"},"id":1}\n' >"$W/in"
fits 'pipe does not cut' "$(env -i $V=512 /usr/sbin/chroot "$R" $D/t pipe <"$W/in")" '*"result"*'
[ ! -e "$C" ]; succeeded '… and stores nothing' $?
mkdir -p "$R/opt"; ln -s $D/t "$R/opt/t"
fits 'called by a link' "$(view /docs/long | env -i $V=512 /usr/sbin/chroot "$R" /opt/t exec)" "*$K*"
[ -d "$C" ] && [ ! -e "$R/opt/.server" ]; succeeded '… the place is still beside the program' $?
fits 'a program in /' "$(view /docs/long | env -i $V=512 /usr/sbin/chroot "$R" /t exec)" "*$K*"
[ -d "$R/.server/chunks" ]; succeeded '… has its place there, too' $?
fits 'not where others could exchange it' "$(view /docs/long | env -i INSPECT_SANDBOX_TOOLS_DIR=/docs/s $V=512 /usr/sbin/chroot "$R" /t exec 2>&1)" "error: '/docs' is open to others*"
chmod 755 "$R/docs"
fits 'a directory that a variable names' "$(view /docs/long | env -i INSPECT_SANDBOX_TOOLS_DIR=/docs/s $V=512 /usr/sbin/chroot "$R" /t exec)" "*$K*"
[ -d "$R/docs/s/chunks" ]; succeeded '… is used' $?
done_testing
