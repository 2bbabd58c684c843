#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: an install that cannot succeed says why with the right code, and leaves everything as it was.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(plain)
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

# things in the way of the directory, which root moves aside
hostile() { # hostile NAME: install succeeds, the place is ours, and what was there comes back
	pre=$(listing)
	fails start "$1, and a service that fails" '.start=["no-such-command"]'
	put; out=$(run_staged); aside=$(echo "$out" | jq -r '.aside[]')
	is "$(echo "$out" | jq -c '[.ok,.started]')" '[true,true]' "$1: moved aside"
	like "$aside" "$(dirname $CONTRACT).sbinject-aside-????????" '… under a name that the receipt tells'
	[ -e "$R$aside" ] || [ -L "$R$aside" ]; ok $? '… where it is'
	is "$(stat -c '%u %a %F' "$(dirname "$R$CONTRACT")"):$(sha256sum <"$R$CONTRACT" | cut -d' ' -f1)" "0 700 directory:$HEX" '… and the place is ours'
	is "$(install | jq -c '[.was,.aside]')" '["same",null]' '… the next receipt does not'
	uninstall >/dev/null; is "$(listing)" "$pre" '… an uninstall puts it back'
	rm -rf "$C"
}
C=$(dirname "$R$CONTRACT")
echo x >"$R/etc/precious"
mkdir "$C"; chown 65534 "$C"; touch "$C/f"; hostile 'a directory of another user'
ln -s /etc "$C"; hostile 'a link'
mkfifo "$C"; hostile 'a FIFO'
echo x >"$C"; hostile 'a file'
ln -s /etc "$C"; put; run_staged >/dev/null; rm "$R$CONTRACT"; until rm -rf "$C"; do :; done 2>/dev/null; mkdir "$C"; touch "$C/new"
put; spec | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" uninstall >/dev/null
is "$(ls "$V" -A | sed 's/aside-.*/aside/' | tr '\n' ' ')" '.da7be258e003d428 .da7be258e003d428.sbinject-aside ' 'what was moved aside stays there if its name is taken'
rm -rf "$V"/.da*

# what an image has cannot be renamed
mkdir -p "$W/image/.da7be258e003d428" "$W/upper" "$W/work"; chown 65534 "$W/image/.da7be258e003d428"
mount -t overlay -o "lowerdir=$W/image,upperdir=$W/upper,workdir=$W/work,redirect_dir=off" none "$V"
chmod 1777 "$V"; out=$(install); is "$(echo "$out" | jq -c '[.ok,.aside]')" '[true,null]' 'an empty directory of the image is replaced'
uninstall >/dev/null; umount "$V"; rm -rf "$W/upper" "$W/work"; mkdir "$W/upper" "$W/work"; touch "$W/image/.da7be258e003d428/data"
mount -t overlay -o "lowerdir=$W/image,upperdir=$W/upper,workdir=$W/work,redirect_dir=off" none "$V"
chmod 1777 "$V"; fails occupied 'a directory of the image with something in it'; umount "$V"; rm -rf "$W/image" "$W/upper" "$W/work"

# at the program's own name only what is ours, or a host's, is replaced
for thing in 'mkfifo' 'mkdir -p' 'ln -s /etc/precious' 'ln '"$R"'/etc/precious' 'touch' 'truncate -s 5'; do
	mkdir -m 755 "$C"
	$thing "$R$CONTRACT"
	[ "$thing" != 'mkdir -p' ] || touch "$R$CONTRACT/inside"
	fails occupied "at the program's name: $thing"
	rm -rf "$C"
done
theirs() { # theirs FILE: a program of somebody else's, in a directory that others look into
	mkdir -m 755 "$R/opt/own"; printf '#!/bin/sh\n' >"$1"; chmod 755 "$1"; touch -d 2001-01-01 "$R/opt/own"
}
P=$R/opt/own/tool own='.path="/opt/own/tool"|.links=[]'
theirs "$P"; fails occupied 'a program of somebody else' "$own"; rm -rf "$R/opt/own"
theirs "$P"; rm "$P"; ln -s "/.sbinject/$HEX.x" "$P"; fails occupied 'a link that is not ours' "$own"; rm -rf "$R/opt/own"
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"
mkdir -m 755 "$R/opt/own"; put "$W/other"; run_staged "$own" >/dev/null
put; out=$(run_staged "$own"); is "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]' 'an earlier release of ours is replaced'
put "$W/other"; run_staged "$own" >/dev/null; rm -f "$R/.sbinject/${STAGED%.*}"
put; out=$(run_staged "$own"); is "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]' '… also if only the record tells'
theirs "$R/opt/own/x" 2>/dev/null; mv "$R/opt/own/x" "$P"; put; out=$(run_staged "$own")
is "$(echo "$out" | jq -c '[.ok,.code]'):$(cat "$P"):$(servers)" '[false,"occupied"]:#!/bin/sh:1' '… but not what somebody has put there since'
out=$(spec "$own" | env -i /usr/sbin/chroot "$R" "/.sbinject/$HEX" uninstall); is "$(echo "$out" | jq .ok):$(servers):$(cat "$P")" 'true:0:#!/bin/sh' '… which an uninstall leaves'
rm -rf "$R/opt/own"

# what is mounted there
mkdir -m 700 "$C"; cp "$PROGRAM" "$W/same"; chmod 711 "$W/same"; touch "$R$CONTRACT"; mount --bind "$W/same" "$R$CONTRACT"
out=$(install); is "$(echo "$out" | jq -c '[.ok,.was,.placed]')" '[true,"same","file"]' 'the same program is mounted at the path'
is "$(uninstall | jq .ok):$(servers):$(test -s "$R$CONTRACT"; echo $?)" true:0:0 '… and stays, when the rest is removed'
umount "$R$CONTRACT"; mount --bind "$W/other" "$R$CONTRACT"; fails occupied 'another program is mounted at the path'
umount "$R$CONTRACT"; rm -rf "$C"
mkdir -m 755 "$C"; printf '#!/bin/sh\n' >"$R$CONTRACT"; chmod 755 "$R$CONTRACT"; touch "$C/_internal"; touch -d 2001-01-01 "$C" "$R$CONTRACT"
fails start 'a failure over the program of a host' '.start=["no-such-command"]'
put; out=$(run_staged); is "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]' '… which is replaced by a success'
uninstall >/dev/null; rm -rf "$C"

# a failing upgrade brings the old release back
install >/dev/null; pid=$(server_pid)
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"
unserved() { plain | grep -vE '/\.server( |/)'; }
pre=$(unserved)
put "$W/other"; out=$(run_staged '.start=["no-such-command"]')
is "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"start"]' 'an upgrade that fails'
is "$(unserved)" "$pre" '… leaves the old files'
is "$(call sandbox_tools_describe | jq -r .result.sha256)" "$HEX" '… and an old service that runs, at the latest with the next call'
uninstall >/dev/null
rm "$R/etc/precious"

# sixteen at once
put; first=$STAGED
for i in $(seq 16); do put; spec '.timeout_ms=60000' >"$W/spec.$i"; (env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install <"$W/spec.$i" >"$W/out.$i") & done
wait_for eval '[ "$(cat "$W"/out.* | wc -l)" = 16 ]'
is "$(cat "$W"/out.* | jq -c '[.ok,.sha256]' | sort | uniq -c | awk '{print $1, $2}')" "16 [true,\"$HEX\"]" '16 installs at once: 16 times ok'
is "$(cat "$W"/out.* | jq -c .started | grep -c true):$(cat "$W"/out.* | jq .pid | sort -u | wc -l):$(servers)" '1:1:1' '… one service, started once'
is "$(ls "$R/.sbinject" | grep -c "$first")" 1 '… a delivery of another run is left alone'
exec 9<"$R/.sbinject/lock"; flock 9; put; out=$(run_staged '.timeout_ms=300'); is "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"busy"]' 'a held lock: busy'
exec 9<&-; uninstall >/dev/null
is "$(unserved)" "$before" 'in the end everything is as it was'
done_testing
