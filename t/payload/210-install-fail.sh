#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: an install that cannot succeed says why with the right code, and leaves everything as it was.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(listing | sed 's/ [0-9]*\.[0-9]* / /')
fails() { # fails CODE NAME [JQ]: install fails with that code, and nothing has changed
	pre=$(listing)
	put; out=$(run_staged "${3:-}" 2>"$W/err")
	is "$?:$(echo "$out" | jq -c '[.sbinject,.ok,.code,.nonce]')" "1:[1,false,\"$1\",\"$NONCE\"]" "$2: $1"
	echo "# $(echo "$out" | jq -r .what)"
	is "$(listing)" "$pre" '… and nothing has changed'
	is "$(echo "$out" | wc -l):$(cat "$W/err")" '1:' '… one line, no other talk'
}
V=$R/var/tmp

fails digest 'a wrong digest' '.sha256="'"$(printf 0%.0s $(seq 64))"'"'
mount -t tmpfs none "$V"; mkdir -m 700 "$(dirname "$R$CONTRACT")"; echo x >"$R$CONTRACT"; mount -o remount,ro "$V"
fails readonly 'another program on a read-only file system'; umount "$V"
mount -t tmpfs -o nr_inodes=1 none "$V"; fails nospace 'a file system without room for a name'; umount "$V"
echo x >"$R/opt/inspect-sandbox-tools"; fails occupied 'a file at a link'; rm "$R/opt/inspect-sandbox-tools"
rmdir "$R/opt"; ln -s nowhere "$R/opt"; fails occupied 'a dangling link on the way'; rm "$R/opt"; mkdir "$R/opt"
fails start 'a service that fails' '.start=["no-such-command"]'
fails start 'a start that says nothing' '.start=["version"]'
fails timeout 'a start that takes too long' '.start=["server"]|.timeout_ms=500'
is "$(servers)" 0 'nothing runs'
for bad in '.nonce="x"' 'del(.home)' '.home="x"' '.path="/a"' '.path="/a/../b"' '.path=5' '.staged="a/b"' '.links=["x"]' '.start="x"' '.sha256="x"'; do
	put; out=$(run_staged "$bad"); is "$?:$(echo "$out" | jq -c '[.ok,.code]')" '1:[false,"internal"]' "a malformed request: $bad"
	rm -rf "$R/.sbinject"
done
for bad in 'garbage' '[]' '{' ''; do
	put; out=$(printf '%s\n' "$bad" | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install); is "$?:$(echo "$out" | jq -c '[.ok,.nonce]')" '1:[false,""]' "no request at all: $bad"
done
out=$(head -c 100000 /dev/zero | tr '\0' x | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install); is "$(echo "$out" | jq -c .ok)" false 'a request without end'
rm -rf "$R/.sbinject"
put; chown 5 "$R/.sbinject"; out=$(run_staged); is "$(echo "$out" | jq -c .code)" '"denied"' 'a home of somebody else'; rm -rf "$R/.sbinject"

# things in the way that root removes
hostile() { # hostile NAME: install succeeds, the place is ours
	put; out=$(run_staged); is "$(echo "$out" | jq -c '[.ok,.started]')" '[true,true]' "$1: cleared away"
	is "$(stat -c '%u %a %F' "$(dirname "$R$CONTRACT")"):$(sha256sum <"$R$CONTRACT" | cut -d' ' -f1)" "0 700 directory:$HEX" '… and ours'
	is "$(cat "$R/etc/precious"):$(ls "$R/etc" | wc -l)" 'x:1' '… nothing else was touched'
	uninstall >/dev/null
	is "$(find "$V" -mindepth 1)" '' '… nothing is left of it'
}
C=$(dirname "$R$CONTRACT")
echo x >"$R/etc/precious"
mkdir "$C"; chown 65534 "$C"; touch "$C/f"; hostile 'a directory of another user'
ln -s /etc "$C"; hostile 'a link'
mkfifo "$C"; hostile 'a FIFO'
echo x >"$C"; hostile 'a file'
for thing in 'mkfifo' 'mkdir -p' 'ln -s /etc/precious' 'ln '"$R"'/etc/precious' 'touch'; do
	mkdir -m 700 "$C"
	$thing "$R$CONTRACT"
	[ "$thing" != 'mkdir -p' ] || touch "$R$CONTRACT/inside"
	put; out=$(run_staged); is "$(echo "$out" | jq -c '[.ok,.was]'):$(sha256sum <"$R$CONTRACT" | cut -d' ' -f1)" "[true,\"other\"]:$HEX" "at the final name: $thing"
	is "$(ls -A "$C"):$(cat "$R/etc/precious")" 'inspect-sandbox-tools:x' '… replaced, nothing beside it, its target untouched'
	uninstall >/dev/null; rm -rf "$C"
done
mkdir -m 700 "$C"; printf '#!/bin/sh\n' >"$R$CONTRACT"; chmod 755 "$R$CONTRACT"; touch "$C/_internal"; touch -d 2001-01-01 "$C" "$R$CONTRACT"
fails start 'a failure over somebody else'"'"'s program' '.start=["no-such-command"]'
rm -rf "$C"

# a failing upgrade brings the old release back
install >/dev/null; pid=$(server_pid)
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"
plain() { listing | grep -v '/tmp/sandbox-tools' | sed 's/ [0-9]*\.[0-9]* / /'; }
pre=$(plain)
put "$W/other"; out=$(run_staged '.start=["no-such-command"]')
is "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"start"]' 'an upgrade that fails'
is "$(plain)" "$pre" '… leaves the old files'
is "$(request sandbox_tools_describe 1 | in_world exec | jq -r .result.sha256)" "$HEX" '… and an old service that runs, at the latest with the next call'
uninstall >/dev/null
rm "$R/etc/precious"

# sixteen at once
put; first=$STAGED
for i in $(seq 16); do put; spec '.timeout_ms=60000' >"$W/spec.$i"; (env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install <"$W/spec.$i" >"$W/out.$i") & done
wait_for eval '[ "$(cat "$W"/out.* | wc -l)" = 16 ]'
is "$(cat "$W"/out.* | jq -c '[.ok,.sha256]' | sort | uniq -c | awk '{print $1, $2}')" "16 [true,\"$HEX\"]" '16 installs at once: 16 times ok'
is "$(cat "$W"/out.* | jq -c .started | grep -c true):$(cat "$W"/out.* | jq .pid | sort -u | wc -l):$(servers)" '1:1:1' '… one service, started once'
is "$(ls "$R/.sbinject" | grep -c "$first")" 1 '… a delivery of another run is left alone'
(flock 9; sleep 3) 9<"$R/.sbinject/lock" & put; sleep 0.2; out=$(run_staged '.timeout_ms=300'); is "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"busy"]' 'a held lock: busy'
sleep 3; uninstall >/dev/null
is "$(plain)" "$before" 'in the end everything is as it was'
done_testing
