#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an install that cannot succeed says why with the right code, and leaves everything as it was.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(plain)
fails() { # fails NAME CODE [JQ]: install fails with that code, and nothing has changed
  pre=$(listing)
  put; out=$(run_staged "${3:-}" 2>"$W/err")
  is "$1: $2" "$?:$(echo "$out" | jq -c '[.sbinject,.ok,.code,.nonce]')" "1:[1,false,\"$2\",\"$NONCE\"]"
  echo "# $(echo "$out" | jq -r .what)"
  is '… and nothing has changed' "$(listing)" "$pre"
  is '… one line, no other talk' "$(echo "$out" | wc -l):$(cat "$W/err")" '1:'
}
V=$R/var/tmp

fails 'a wrong digest' digest '.sha256="'"$(printf 0%.0s $(seq 64))"'"'
mount -t tmpfs none "$V"; mkdir -m 700 "$(dirname "$R$CONTRACT")"; echo x >"$R$CONTRACT"; mount -o remount,ro "$V"
fails 'another program on a read-only file system' readonly; umount "$V"
mount -t tmpfs -o nr_inodes=1 none "$V"; fails 'a file system without room for a name' nospace; umount "$V"
echo x >"$R/opt/inspect-sandbox-tools"; fails 'a file at a link' occupied; rm "$R/opt/inspect-sandbox-tools"
rmdir "$R/opt"; ln -s nowhere "$R/opt"; fails 'a dangling link on the way' occupied; rm "$R/opt"; mkdir "$R/opt"
fails 'a service that fails' start '.start=["no-such-command"]'
fails 'a start that says nothing' start '.start=["version"]'
fails 'a start that takes too long' timeout '.start=["server"]|.timeout_ms=500'
is 'nothing runs' "$(servers)" 0
for bad in '.nonce="x"' 'del(.home)' '.home="x"' '.path="/a"' '.path="/a/../b"' '.path=5' '.staged="a/b"' '.links=["x"]' '.start="x"' '.sha256="x"'; do
  put; out=$(run_staged "$bad"); is "a malformed request: $bad" "$?:$(echo "$out" | jq -c '[.ok,.code]')" '1:[false,"internal"]'
  rm -rf "$R/.sbinject"
done
for bad in 'garbage' '[]' '{' ''; do
  put
  out=$(printf '%s\n' "$bad" | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install)
  is "no request at all: $bad" "$?:$(echo "$out" | jq -c '[.ok,.nonce]')" '1:[false,""]'
done
out=$(head -c 100000 /dev/zero | tr '\0' x | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install)
is 'a request without end' "$(echo "$out" | jq -c .ok)" false
rm -rf "$R/.sbinject"
# no room for the lock: what was delivered is deleted all the same
mkdir "$R/.sbinject"; mount -t tmpfs -o nr_inodes=2 none "$R/.sbinject"
put; out=$(run_staged); is 'no room for a lock: nospace' "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"nospace"]'
is '… and the delivery is gone' "$(ls -A "$R/.sbinject")" ''; umount "$R/.sbinject"; rmdir "$R/.sbinject"
put; chown 5 "$R/.sbinject"; out=$(run_staged); is 'a home of somebody else' "$(echo "$out" | jq -c .code)" '"denied"'; rm -rf "$R/.sbinject"

# things in the way of the directory, which root moves aside
hostile() { # hostile NAME: install succeeds, the place is ours, and what was there comes back
  pre=$(listing)
  fails "$1, and a service that fails" start '.start=["no-such-command"]'
  put; out=$(run_staged); aside=$(echo "$out" | jq -r '.aside[]')
  is "$1: moved aside" "$(echo "$out" | jq -c '[.ok,.started]')" '[true,true]'
  fits '… under a name that the receipt tells' "$aside" "$(dirname $CONTRACT).sbinject-aside-????????"
  [ -e "$R$aside" ] || [ -L "$R$aside" ]; succeeded '… where it is' $?
  is '… and the place is ours' "$(stat -c '%u %a %F' "$(dirname "$R$CONTRACT")"):$(sha256sum <"$R$CONTRACT" | cut -d' ' -f1)" "0 700 directory:$HEX"
  is '… the next receipt does not' "$(install | jq -c '[.was,.aside]')" '["same",null]'
  uninstall >/dev/null; is '… an uninstall puts it back' "$(listing)" "$pre"
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
is 'what was moved aside stays there if its name is taken' "$(ls "$V" -A | sed 's/aside-.*/aside/' | tr '\n' ' ')" '.da7be258e003d428 .da7be258e003d428.sbinject-aside '
rm -rf "$V"/.da*

# what an image has cannot be renamed
mkdir -p "$W/image/.da7be258e003d428" "$W/upper" "$W/work"; chown 65534 "$W/image/.da7be258e003d428"
mount -t overlay -o "lowerdir=$W/image,upperdir=$W/upper,workdir=$W/work,redirect_dir=off" none "$V"
chmod 1777 "$V"; out=$(install); is 'an empty directory of the image is replaced' "$(echo "$out" | jq -c '[.ok,.aside]')" '[true,null]'
uninstall >/dev/null; umount "$V"; rm -rf "$W/upper" "$W/work"; mkdir "$W/upper" "$W/work"; touch "$W/image/.da7be258e003d428/data"
mount -t overlay -o "lowerdir=$W/image,upperdir=$W/upper,workdir=$W/work,redirect_dir=off" none "$V"
chmod 1777 "$V"; fails 'a directory of the image with something in it' occupied; umount "$V"; rm -rf "$W/image" "$W/upper" "$W/work"

# at the program's own name only what is ours, or a host's, is replaced
for thing in 'mkfifo' 'mkdir -p' 'ln -s /etc/precious' 'ln '"$R"'/etc/precious' 'touch' 'truncate -s 5'; do
  mkdir -m 755 "$C"
  $thing "$R$CONTRACT"
  [ "$thing" != 'mkdir -p' ] || touch "$R$CONTRACT/inside"
  fails "at the program's name: $thing" occupied
  rm -rf "$C"
done
theirs() { # theirs FILE: a program of somebody else's, in a directory that others look into
  mkdir -m 755 "$R/opt/own"; printf '#!/bin/sh\n' >"$1"; chmod 755 "$1"; touch -d 2001-01-01 "$R/opt/own"
}
P=$R/opt/own/tool own='.path="/opt/own/tool"|.links=[]'
theirs "$P"; fails 'a program of somebody else' occupied "$own"; rm -rf "$R/opt/own"
theirs "$P"; rm "$P"; ln -s "/.sbinject/$HEX.x" "$P"; fails 'a link that is not ours' occupied "$own"; rm -rf "$R/opt/own"
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"
mkdir -m 755 "$R/opt/own"; put "$W/other"; run_staged "$own" >/dev/null
put; out=$(run_staged "$own"); is 'an earlier release of ours is replaced' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]'
put "$W/other"; run_staged "$own" >/dev/null; rm -f "$R/.sbinject/${STAGED%.*}"
put; out=$(run_staged "$own"); is '… also if only the record tells' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]'
theirs "$R/opt/own/x" 2>/dev/null; mv "$R/opt/own/x" "$P"; put; out=$(run_staged "$own")
is '… but not what somebody has put there since' "$(echo "$out" | jq -c '[.ok,.code]'):$(cat "$P"):$(servers)" '[false,"occupied"]:#!/bin/sh:1'
out=$(spec "$own" | env -i /usr/sbin/chroot "$R" "/.sbinject/$HEX" uninstall)
is '… which an uninstall leaves' "$(echo "$out" | jq .ok):$(servers):$(cat "$P")" 'true:0:#!/bin/sh'
rm -rf "$R/opt/own"

# what is mounted there
mkdir -m 700 "$C"; cp "$PROGRAM" "$W/same"; chmod 711 "$W/same"; touch "$R$CONTRACT"; mount --bind "$W/same" "$R$CONTRACT"
out=$(install); is 'the same program is mounted at the path' "$(echo "$out" | jq -c '[.ok,.was,.placed]')" '[true,"same","file"]'
is '… and stays, when the rest is removed' "$(uninstall | jq .ok):$(servers):$(test -s "$R$CONTRACT"; echo $?)" true:0:0
umount "$R$CONTRACT"; mount --bind "$W/other" "$R$CONTRACT"; fails 'another program is mounted at the path' occupied
umount "$R$CONTRACT"; rm -rf "$C"
mkdir -m 755 "$C"; printf '#!/bin/sh\n' >"$R$CONTRACT"; chmod 755 "$R$CONTRACT"; touch "$C/_internal"; touch -d 2001-01-01 "$C" "$R$CONTRACT"
fails 'a failure over the program of a host' start '.start=["no-such-command"]'
put; out=$(run_staged); is '… which is replaced by a success' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]'
uninstall >/dev/null; rm -rf "$C"

# a failing upgrade brings the old release back
install >/dev/null; pid=$(server_pid)
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"
unserved() { plain | grep -vE '/\.server( |/)'; }
pre=$(unserved)
put "$W/other"; out=$(run_staged '.start=["no-such-command"]')
is 'an upgrade that fails' "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"start"]'
is '… leaves the old files' "$(unserved)" "$pre"
is '… and an old service that runs, at the latest with the next call' "$(call sandbox_tools_describe | jq -r .result.sha256)" "$HEX"
uninstall >/dev/null
rm "$R/etc/precious"

# sixteen at once
put; first=$STAGED
for i in $(seq 16); do put; spec '.timeout_ms=60000' >"$W/spec.$i"; (env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install <"$W/spec.$i" >"$W/out.$i") & done
wait_for eval '[ "$(cat "$W"/out.* | wc -l)" = 16 ]'
is '16 installs at once: 16 times ok' "$(cat "$W"/out.* | jq -c '[.ok,.sha256]' | sort | uniq -c | awk '{print $1, $2}')" "16 [true,\"$HEX\"]"
is '… one service, started once' "$(cat "$W"/out.* | jq -c .started | grep -c true):$(cat "$W"/out.* | jq .pid | sort -u | wc -l):$(servers)" '1:1:1'
is '… a delivery of another run is left alone' "$(ls "$R/.sbinject" | grep -c "$first")" 1
exec 9<"$R/.sbinject/lock"; flock 9; put; out=$(run_staged '.timeout_ms=300'); is 'a held lock: busy' "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"busy"]'
is '… and its delivery is gone' "$(ls "$R/.sbinject" | grep -c "$STAGED")" 0
exec 9<&-; uninstall >/dev/null
is 'in the end everything is as it was' "$(unserved)" "$before"
done_testing
