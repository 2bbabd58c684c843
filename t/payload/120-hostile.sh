#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: what other users leave at the server's paths is never used by root; without root it works too.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp etc proc
D=$R/tmp/sandbox-tools
echo precious >"$R/etc/shadow"
check() { # check NAME: root gets a server of its own
	like "$(call remote_version 2>&1)" '*"result": "Server: /t*' "$1: root gets its server"
	is "$(stat -c '%u %a %F' "$D")" '0 700 directory' '… in a directory of its own'
	is "$(cat "$R/etc/shadow"):$(ls "$R/etc" | wc -l)" 'precious:1' '… and nothing else was touched'
	is "$(find "$R/tmp" -mindepth 1 -maxdepth 1 | wc -l)" 1 '… nothing is left of it'
	in_world stop-server; rm -rf "$R"/tmp/* "$R"/tmp/.[!.]*
}

mkdir "$D"; touch "$D/x" "$D/server-stderr.log"; mkdir "$D/sub"; ln -s /etc "$D/sub/l"; chown -R 65534 "$D"; check 'a foreign directory'
ln -s /etc "$D"; chown -h 65534 "$D"; check 'a foreign link'
ln -s /nowhere "$D"; check 'a dangling link'
mkfifo "$D"; check 'a FIFO'
echo x >"$D"; check 'a file'
mkdir "$D"; ln -s /etc/shadow "$D/server-stderr.log"; ln -s /etc/new "$D/server-stdout.log"; ln -s /etc/pid "$D/server.pid"; ln -s /etc/sock "$D/sandbox-tools.sock"; chmod 777 "$D"; check 'planted links for the files'
mkdir "$D"; ln "$R/etc/shadow" "$D/server-stderr.log"; check 'a planted hard link'
mkdir "$D"; for f in server.lock server-start.lock server-stderr.log server-stdout.log server.pid; do mkfifo "$D/$f"; done; check 'planted FIFOs'
mkdir "$D"; for f in server.lock server-start.lock server-stderr.log server.pid sandbox-tools.sock shutdown-status.json; do mkdir -p "$D/$f/x"; done
like "$(call remote_version 2>&1)" '*' 'planted directories: an answer, or a clear failure'
rm -rf "$D"

# another user's server, then root
as_user 1000 start-server >/dev/null; is "$?:$(stat -c '%u %a' "$D"):$(stat -c %a "$D/sandbox-tools.sock")" '0:1000 1777:666' 'an unprivileged server: in its directory nobody removes what is not theirs'
is "$(find "$D" -type f -perm -2 -printf '%f ')" "$(cd "$D" && find . -name '*.lock' -printf '%f ')" '… and nothing but locks is for others to write to'
like "$(request remote_version 1 | as_user 1001 exec)" '*"result"*' '… serves another user'
is "$(servers)" 1 '… with one process'
setpriv --reuid=1001 --regid=1001 --clear-groups rm -f "$D/sandbox-tools.sock" 2>/dev/null; [ -S "$D/sandbox-tools.sock" ]; ok $? 'nobody_else_can_answer_for_an_unprivileged_server: its socket stays'
check 'an unprivileged server'
mkdir -m 777 "$D"; chmod 777 "$D"; as_user 1001 start-server >/dev/null
out=$(request remote_version 1 | as_user 1000 exec 2>&1); like "$?:$out" '1:error: *' '… and where it might be replaced, no other one is listened to'
like "$(request remote_version 1 | as_user 1001 exec)" '*"result"*' '… except by its own user'
as_user 1001 stop-server; rm -rf "$D"
is "$(servers)" 0 '… and the unprivileged server is gone'

call version >/dev/null; in_world start-server >/dev/null
out=$(request remote_version 1 | as_user 1000 exec 2>&1); like "$?:$out" '1:error:*' 'root'"'"'s server is not for others, told clearly'
in_world stop-server

# as an unprivileged user all by itself
rm -rf "$D"
for i in $(seq 8); do (as_user 1000 start-server >"$W/u.$i") & done
wait_for eval '[ "$(cat "$W"/u.* | wc -l)" = 16 ]'; ok $? '8 unprivileged starts at once'
is "$(servers)" 1 '… one server'
request sandbox_tools_describe 1 | as_user 1000 exec | jq -c '[.result.uid,.result.can_switch_user,.result.sha256]' >"$W/d"
is "$(cat "$W/d")" "[1000,false,\"$HEX\"]" '… knows its digest although it cannot be inspected'
pid=$(jq .pid "$D/server.pid"); kill -9 "$pid"
like "$(request remote_version 1 | as_user 1000 exec)" '*"result"*' '… is replaced when killed'
as_user 1000 stop-server; is "$?:$(servers)" '0:0' '… and stopped'

# nothing but the binary: no /tmp, /proc, /dev, /etc, with and without standard descriptors
world bare
like "$(call remote_version)" '*"result": "Server: /t*' 'works in a world that holds nothing else'
is "$(ls -I mnt "$R" | tr '\n' ' ')" 'sandbox-tools t ' '… with its directory in /'
is "$(request sandbox_tools_describe 1 | in_world exec | jq -r .result.sha256)" "$HEX" '… and knows its digest'
kill -9 "$(jq .pid "$R/sandbox-tools/server.pid")"
like "$(call remote_version)" '*"result"*' '… repairs itself'
in_world start-server <&- >/dev/null 2>&-; ok $? '… starts without stdin and stderr'
in_world stop-server; is "$?:$(servers)" '0:0' '… stops'
is "$(in_world start-server >&- 2>/dev/null; echo $?)" 1 'a closed stdout is an error, not a crash'
in_world stop-server
TOOL_ENV='TMPDIR=/x TMP=/sandbox'; mkdir "$R/sandbox"; in_world start-server >/dev/null
[ -S "$R/sandbox/sandbox-tools/sandbox-tools.sock" ]; ok $? 'TMPDIR must exist, else TMP is taken'
in_world stop-server
done_testing
