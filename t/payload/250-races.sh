#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: what happens at the same time as a start or a removal neither undoes nor prevents it.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
plain() { listing | sed 's/ [0-9]*\.[0-9]* / /'; }
before=$(plain)
D=$R/tmp/sandbox-tools

# calls during an uninstall
bad=
for i in $(seq 10); do
	install >/dev/null
	for n in 1 2 3; do
		(while [ -e "$R$CONTRACT" ]; do request remote_version 1 | env -i /usr/sbin/chroot "$R" "$CONTRACT" exec; done >/dev/null 2>&1; touch "$W/done.$n") &
	done
	sleep 0.05; out=$(uninstall)
	wait_for test -e "$W/done.1" -a -e "$W/done.2" -a -e "$W/done.3"; rm -f "$W"/done.*
	[ "$(echo "$out" | jq -c .ok):$(servers)" = true:0 ] && [ "$(plain)" = "$before" ] || bad="$bad $i:$out:$(servers):$(plain | tail -n 3)"
done
is "$bad" '' 'uninstall among calls: nothing runs afterwards, nothing is left'
(cd "$R" && cp t gone)
request remote_version 1 >"$W/req"
mkfifo "$W/hold"; (env -i /usr/sbin/chroot "$R" /gone exec <"$W/hold" >"$W/out" 2>&1; echo $? >"$W/status") & exec 9>"$W/hold"
runs() { ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q "/gone$"; }
wait_for runs; rm "$R/gone"; cat "$W/req" >&9; exec 9>&-; wait_for test -s "$W/status"
is "$(cat "$W/status"):$(cat "$W/out"):$(servers)" "1:error: '/gone' was removed:0" 'a program that was removed starts no server'
is "$(ls "$R/tmp")" '' '… and makes nothing'
NONCE=$(nonce); cp "$R/t" "$R/$HEX.$NONCE"
like "$(request remote_version 1 | env -i /usr/sbin/chroot "$R" "/$HEX.$NONCE" exec)" '*"result"*' 'a delivery, which deletes itself, does'
in_world stop-server; rm -rf "$D"

# nobody waits for it any more
mkfifo "$W/ready"; exec 8<>"$W/ready" 9>"$W/ready"; exec 8<&-
env -i SBINJECT_READY_FD=9 /usr/sbin/chroot "$R" /t server >"$W/out" 2>&1 & pid=$!
wait $pid; is "$?:$(ls "$R/tmp")" '1:' 'a server whose starter is gone ends and leaves nothing'
exec 9>&-

# a directory that somebody makes again and again
perl -e '$) = $( = 65534; $> = $< = 65534; while (1) { mkdir $ARGV[0]; chmod 0777, $ARGV[0]; }' "$D" & maker=$!
bad=
for i in $(seq 20); do
	like=$(call remote_version 2>&1)
	case $like in *'"result"'*) ;; *) bad="$bad $i:$like" ;; esac
	in_world stop-server; until rm -rf "$D" 2>/dev/null; do :; done
done
kill $maker; wait $maker 2>/dev/null
is "$bad" '' 'a user who makes the directory in a loop does not prevent the start'
rm -rf "$D"; is "$(ls -A "$R/tmp")" '' '… and nothing is left of it'

# missing parents, made by several at once
bad=
for i in $(seq 10); do
	TOOL_ENV="INSPECT_SANDBOX_TOOLS_DIR=/opt/$i/b/c/d/e/f"
	for n in 1 2 3 4; do (in_world start-server >"$W/s.$n" 2>&1; echo $? >"$W/r.$n") & done
	wait_for eval '[ "$(cat "$W"/r.* 2>/dev/null | wc -l)" = 4 ]'
	[ "$(cat "$W"/r.* | tr -d '\n')" = 0000 ] || bad="$bad $(cat "$W"/s.*)"
	rm -f "$W"/r.*; in_world stop-server
done
is "$bad" '' 'four starts make the same missing directories'
TOOL_ENV=; rm -rf "$R"/opt/*

# trees that take long to delete
deep() { perl -e 'chdir $ARGV[0] or die; for (1..$ARGV[1]) { mkdir "d"; chdir "d" or die } open F, ">f"' "$1" "$2"; }
mkdir "$D"; deep "$D" 300; chown 65534 "$D"
call remote_version >/dev/null; is "$(ls -A "$R/tmp")" sandbox-tools 'a deep tree in the way is deleted altogether'
in_world stop-server; rm -rf "$D"
install >/dev/null; mkdir -p "$R/tmp/.sbinject-cleared-0123456789abcdef/x" "$R/tmp/.sbinject-cleared-mine" "$R/var/tmp/.sbinject-cleared-0123456789abcdef"
uninstall >/dev/null; is "$(ls -A "$R/tmp" "$R/var/tmp" | grep sbinject)" .sbinject-cleared-mine 'what was once moved aside goes with an uninstall'
rm -rf "$R"/tmp/.sb*; is "$(plain)" "$before" 'in the end everything is as it was'
done_testing
