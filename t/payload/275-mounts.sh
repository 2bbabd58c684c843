#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: where the program cannot stand at its path, a link to the home does; where nothing can, the
# service runs without a name. Each form can be repeated, replaced, and taken away without a trace.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
V=$R/var/tmp
cp "$PROGRAM" "$W/other"; printf 'x' >>"$W/other"; OTHER=$(sha256sum "$W/other" | cut -d' ' -f1)

said() { echo "$out" | jq -c '[.ok,.was,.started,.placed]'; }
status() {
  printf '{"nonce":"%s","home":"/.sbinject","path":"%s"}\n' "$(nonce)" "$CONTRACT" |
    env -i /usr/sbin/chroot "$R" "/.sbinject/${1:-$HEX}" status | jq -c '[.path_ok,.placed,.server.running]'
}
chunks() { mkdir -p "$R/.sbinject-json-rpc-chunks/0"; touch "$R/.sbinject-json-rpc-chunks/0/a.jsonrpc"; }

# form NAME FORM: what stands there now is to be a link, or nothing
form() {
  before=$(listing)
  put; out=$(run_staged); is "$1: install" "$(said)" "[true,\"absent\",true,\"$2\"]"
  is '… status' "$(status)" "[true,\"$2\",true]"
  pid=$(echo "$out" | jq .pid)
  put; out=$(run_staged); is '… install again changes nothing' "$(said)" "[true,\"same\",false,\"$2\"]"
  kill -9 "$pid"; put; out=$(run_staged); is '… a killed service is started again' "$(said)" "[true,\"same\",true,\"$2\"]"
  put "$W/other"; out=$(run_staged); is '… an upgrade' "$(said)" "[true,\"other\",true,\"$2\"]"
  is '… and its status' "$(status "$OTHER")" "[true,\"$2\",true]"
  [ "$2" = none ] || is '… the link leads to it, in a closed directory' "$(readlink "$R$CONTRACT"):$(stat -c '%u %a' "$(dirname "$R$CONTRACT")")" "/.sbinject/$OTHER:0 700"
  put; out=$(run_staged '.start=["no-such-command"]'); is '… an upgrade that fails' "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"start"]'
  is '… brings the old one back' "$(status "$OTHER" | jq -c '.[0:2]')" "[true,\"$2\"]"
  put; out=$(run_staged); chunks
  printf '{"nonce":"%s","home":"/.sbinject","path":"%s","links":["/opt/inspect-sandbox-tools"]}\n' "$(nonce)" "$CONTRACT" |
    env -i /usr/sbin/chroot "$R" "/.sbinject/$HEX" uninstall >"$W/out"
  is '… uninstall leaves no trace' "$(jq .ok "$W/out"):$(servers):$(listing)" "true:0:$before"
  put; out=$(run_staged '.start=["no-such-command"]')
  is '… nor does a first install that fails' "$(echo "$out" | jq -c '[.ok,.code]'):$(servers):$(listing)" "[false,\"start\"]:0:$before"
}

mount -t tmpfs -o noexec none "$V"; form 'noexec' link; umount "$V"
mount -t tmpfs -o size=64k none "$V"; form 'too small' link; umount "$V"
mount -t tmpfs -o ro none "$V"; form 'read-only' none; umount "$V"

# what others left at the path is not taken for ours
mount -t tmpfs -o noexec none "$V"
C=$(dirname "$R$CONTRACT")
for target in /etc/passwd "/.sbinject/../etc/passwd"; do
  mkdir -m 755 "$C"; ln -s "$target" "$R$CONTRACT"
  put
  out=$(run_staged)
  is "a link to $target is left alone" "$(echo "$out" | jq -c '[.ok,.code]'):$(readlink "$R$CONTRACT"):$(stat -c %a "$C")" "[false,\"occupied\"]:$target:755"
  rm -rf "$C"
done
mkdir -m 700 "$C"; ln -s "/.sbinject/$(printf 0%.0s $(seq 64))" "$R$CONTRACT"
put
out=$(run_staged)
is 'a link to a program that was in the home is replaced' "$(said):$(readlink "$R$CONTRACT")" "[true,\"other\",true,\"link\"]:/.sbinject/$HEX"
uninstall "/.sbinject/$HEX" >/dev/null; rm -rf "$C"
install >/dev/null; rm "$R$CONTRACT"; is 'a lost link is told' "$(status)" '[false,null,true]'
ln -s /etc/passwd "$R$CONTRACT"; is '… and a wrong one' "$(status)" '[false,null,true]'
uninstall "/.sbinject/$HEX" >/dev/null; is '… which is left to its owner' "$(readlink "$R$CONTRACT")" /etc/passwd
umount "$V"

# the same program, put there by whoever made the read-only file system
mount -t tmpfs none "$V"; mkdir -m 700 "$C"; cp "$PROGRAM" "$R$CONTRACT"; mount -o remount,ro "$V"
put; out=$(run_staged); is 'the right program on a read-only file system: nowhere for its server beside it' "$(said)" '[true,"same",true,"none"]'
uninstall >/dev/null; umount "$V"
done_testing
