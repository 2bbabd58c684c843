#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: install leaves the program under a name of the caller's choice, from which everything can be run later.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(plain)
H=$R/.sbinject
A=$(kept_name a) B1=$(kept_name b)
inode() { stat -c %i "$1"; }
from() { # from NAME COMMAND [JQ]: run what is kept
  NONCE=$(nonce); STAGED=
  spec "del(.staged)${3:+|$3}" | env -i /usr/sbin/chroot "$R" "/.sbinject/$1" "$2"
}

out=$(install '.keep="'"$A"'"'); is 'install keeps the name asked for' "$(echo "$out" | jq -c .ok):$(inode "$H/$A")" "true:$(inode "$H/$HEX")"
is '… and no other' "$(ls "$H" | grep -v "^$HEX$" | tr '\n' ' ')" "current lock $A state.json "
is 'install under that name' "$(from "$A" install '.keep="'"$A"'"' | jq -c '[.ok,.was,.started,.sha256]')" "[true,\"same\",false,\"$HEX\"]"
is '… without asking to keep it: it stays' "$(from "$A" install | jq -c .ok):$(ls "$H" | grep -c "$A")" 'true:1'
is 'status under that name' "$(from "$A" status | jq -c '[.ok,.sha256,.path_ok,.server.running]')" "[true,\"$HEX\",true,true]"
fits 'pipe under that name' "$(request version 1 | env -i /usr/sbin/chroot "$R" "/.sbinject/$A" pipe)" '*"result"*'
rm "$H/$HEX"
is 'the name under the digest is made again' "$(from "$A" install '.keep="'"$A"'"' | jq -c .ok):$(inode "$H/$A")" "true:$(inode "$H/$HEX" 2>&1)"
is 'a delivery of the same program leaves what others keep' "$(install '.keep="'"$B1"'"' | jq -c .ok):$(stat -c %h "$H/$HEX")" "true:4"
is 'a second user'"'"'s name stays beside it' "$(from "$B1" install '.keep="'"$A"'"' | jq -c .ok):$(stat -c %h "$H/$HEX")" "true:4"

for thing in 'mkdir -p' mkfifo 'ln -s /etc' 'cp /etc/hostname'; do
  rm -rf "${H:?}/$A"; $thing "$H/$A"
  is "in the way of it: $thing" "$(from "$B1" install '.keep="'"$A"'"' | jq -c .ok):$(inode "$H/$A")" "true:$(inode "$H/$HEX")"
done
for i in $(seq 30); do ln "$H/$HEX" "$H/$(kept_name "$i")"; done
cp "$H/$HEX" "$H/$(kept_name other)"
from "$A" install '.keep="'"$A"'"' >/dev/null
is 'no more than 16 others stay, and no other file' "$(ls "$H" | grep -c run-):$(ls "$H" | grep -c "$A"):$(ls "$H" | grep -c "$(kept_name other)")" '17:1:0'
for bad in '"x"' '"run-"' "\"$A.\"" '"run-../etc"' 5 "\"$(echo "$A" | tr a-f A-F)\"" null; do
  is "a malformed name: $bad" "$(from "$A" install ".keep=$bad" | jq -c '[.ok,.what]')" '[false,"the request'"'"'s '"'keep'"' is missing or malformed"]'
done
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"
put "$W/other"; out=$(run_staged '.start=["no-such-command"]|.keep="'"$(kept_name new)"'"')
is 'a failed upgrade keeps the old name and not the new' "$(echo "$out" | jq -c .code):$(ls "$H" | grep -c "$(kept_name new)"):$(ls "$H" | grep -c "$A")" '"start":0:1'
put "$W/other"; out=$(run_staged '.keep="'"$B1"'"')
is 'an upgrade removes the names of the old program' "$(echo "$out" | jq -c .ok):$(ls "$H" | grep run-)" "true:$B1"
is 'uninstall under that name leaves nothing' "$(printf '{"nonce":"%s","home":"/.sbinject"}\n' "$(nonce)" | env -i /usr/sbin/chroot "$R" "/.sbinject/$B1" uninstall | jq -c .ok):$(plain)" "true:$before"
done_testing
