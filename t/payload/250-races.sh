#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what happens at the same time as a start or a removal neither undoes nor prevents it.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(plain)
D=$R/.server

# calls during an uninstall
remove_among_callers '' "$R$CONTRACT" env -i /usr/sbin/chroot "$R" "$CONTRACT" exec
is 'uninstall among calls: nothing runs afterwards, nothing is left' "$bad" ''
(cd "$R" && cp t gone)
request remote_version 1 >"$W/req"
mkfifo "$W/hold"; (env -i /usr/sbin/chroot "$R" /gone exec <"$W/hold" >"$W/out" 2>&1; echo $? >"$W/status") & exec 9>"$W/hold"
runs() { ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q "/gone$"; }
wait_for runs; rm "$R/gone"; cat "$W/req" >&9; exec 9>&-; wait_for test -s "$W/status"
is 'a program that was removed starts no server' "$(cat "$W/status"):$(cat "$W/out"):$(servers)" "1:error: '/gone' was removed:0"
is '… and makes nothing' "$(ls -A "$R/tmp"; ls -d "$D" 2>/dev/null)" ''
delivered() { NONCE=$(nonce); cp "$R/t" "$R/$1$HEX.$NONCE"; request remote_version 1 | env -i /usr/sbin/chroot "$R" "/$1$HEX.$NONCE" exec 2>&1; }
mkdir -m 700 "$R/.sbinject"; ln -s "$HEX" "$R/.sbinject/current"; cp "$R/t" "$R/.sbinject/t"
for dir in '' .sbinject/; do
  fits "a delivery in /$dir, which deletes itself, does where its program is installed" "$(delivered "$dir")" '*"result"*'
  is '… in the home' "$(servers):$(stat -c %a "$R/.sbinject/.server")" 1:700
  env -i /usr/sbin/chroot "$R" /.sbinject/t stop-server; rm -rf "$R/.sbinject/.server"
  ln -sfn "$(echo "$HEX" | tr 0-9a-f 1-9a-f0)" "$R/.sbinject/current"
  fits '… but not where another one is' "$(delivered "$dir")" "error: '/$dir$HEX.*' was removed"
  is '… and makes nothing' "$(servers):$(ls -A "$R/tmp"; ls -d "$R/.sbinject/.server" 2>/dev/null)" '0:'
  ln -sfn "$HEX" "$R/.sbinject/current"
done
rm -r "$R/.sbinject"
fits '… nor where none is' "$(delivered '')" "error: '/$HEX.*' was removed"

# nobody waits for it any more
mkfifo "$W/ready"; exec 8<>"$W/ready" 9>"$W/ready"; exec 8<&-
env -i SBINJECT_READY_FD=9 /usr/sbin/chroot "$R" /t server >"$W/out" 2>&1 & pid=$!
wait $pid; is 'a server whose starter is gone ends and leaves nothing' "$?:$(ls -d "$D" 2>/dev/null)" '1:'
exec 9>&-

# a directory that root inside removes again and again, among calls
in_world start-server >/dev/null
(while [ ! -e "$W/enough" ]; do rm -rf "$D"; sleep "0.0$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"; done) 2>/dev/null & remover=$!
answers() { call remote_version 2>/dev/null | grep -q '"result": "Server'; }
bad=
for i in $(seq 40); do wait_for answers || bad="$bad $i"; done
touch "$W/enough"; wait $remover
is 'where its directory is removed in a loop, calls still find a server' "$bad" ''
wait_for eval '[ "$(servers)" = 1 ]'; succeeded '… of which one is left' $?
in_world stop-server; is '… and can be stopped' "$?:$(servers)" 0:0; rm -rf "$D"

# missing parents, made by several at once
bad=
for i in $(seq 10); do
  TOOL_ENV="INSPECT_SANDBOX_TOOLS_DIR=/opt/$i/b/c/d/e/f"
  for n in 1 2 3 4; do (in_world start-server >"$W/s.$n" 2>&1; echo $? >"$W/r.$n") & done
  wait_for eval '[ "$(cat "$W"/r.* 2>/dev/null | wc -l)" = 4 ]'
  [ "$(cat "$W"/r.* | tr -d '\n')" = 0000 ] || bad="$bad $(cat "$W"/s.*)"
  rm -f "$W"/r.*; in_world stop-server
done
is 'four starts make the same missing directories' "$bad" ''
TOOL_ENV=; rm -rf "$R"/opt/*

# what was moved aside
C=$(dirname "$R$CONTRACT")
install >/dev/null; mkdir -p "$C/.sbinject-cleared-0123456789abcdef/x" "$R/tmp/.sbinject-cleared-mine" "$R/var/tmp/.sbinject-cleared-0123456789abcdef"
uninstall >/dev/null; is 'what was once moved aside goes with an uninstall' "$(ls -A "$R/tmp" "$R/var/tmp" | grep sbinject)" .sbinject-cleared-mine
rm -rf "$R"/tmp/.sb*; is 'in the end everything is as it was' "$(plain)" "$before"
done_testing
