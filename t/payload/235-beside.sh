#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: where others can write beside the home, the program that was delivered there makes the home its own, and leaves nothing there.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(plain)
H=$R/tmp/.sbinject
beside() { # beside COMMAND FILTER: deliver, and run it with one question
  NONCE=$(nonce) STAGED=$HEX.$NONCE
  cp "$PROGRAM" "$R/tmp/$STAGED"; chmod 755 "$R/tmp/$STAGED"
  hex=$HEX spec ".home=\"/tmp/.sbinject\"|.beside=true|$2" | env -i /usr/sbin/chroot "$R" "/tmp/$STAGED" "$1"
}
only_home() { is "$1" "$(cd "$R/tmp" && echo .[!.]* *)" '.sbinject *'; }

out=$(beside install .); is 'it makes the home' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"absent"]'
is '… and closes it' "$(stat -c '%u %a' "$H")" '0 700'
only_home '… and is not beside it any more'
out=$(beside install .); is 'a home of ours is used' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"same"]'
only_home '… again nothing is beside it'
out=$(beside status .); is 'a status' "$(echo "$out" | jq -c .server.running)" true
only_home '… leaves nothing'
out=$(beside uninstall .); is 'uninstall leaves nothing' "$(echo "$out" | jq -c .ok):$(plain)" "true:$before"

theirs() { chown -hR 65534 "$H"; }
for how in 'mkdir -m 777 "$H"; touch "$H/x"' 'ln -s /etc "$H"' 'ln -s own "$H"' 'mkfifo "$H"' 'touch "$H"' 'mkdir -p "$H/current/x" "$H/lock" "$H/state.json"' 'ln -s /nowhere "$H"'; do
  eval "$how"; theirs; pre=$(plain)
  out=$(beside uninstall .); is "uninstall, where somebody has: $how" "$(echo "$out" | jq -c .ok)" true
  [ -e "$H" ] || [ -L "$H" ]; succeeded '… leaves that alone' $?
  out=$(beside install .)
  is "install, where somebody has: $how" "$(echo "$out" | jq -c '[.ok,.was]'):$(stat -c '%u %a %F' "$H")" '[true,"absent"]:0 700 directory'
  aside=$(echo "$out" | jq -r '.aside[]')
  is '… it is moved aside, and the receipt says where' "$(cd "$R/tmp" && echo .[!.]* *):$(echo "$out" | jq -c '.aside')" ".sbinject ${aside##*/} *:[\"$aside\"]"
  beside uninstall . >/dev/null; is '… an uninstall puts it back' "$(plain)" "$pre"
  out=$(beside install '.start=["no-such-command"]'); is '… and so does an install that fails' "$(echo "$out" | jq -c .ok):$(plain)" "false:$pre"
  rm -rf "$H"
done
is 'all is as before' "$(plain)" "$before"

# others who could exchange the home
for how in 'chown 65534 "$R/tmp"' 'chmod 777 "$R/tmp"'; do
  eval "$how"; pre=$(plain)
  out=$(beside install .); is "not in a directory after: $how" "$(echo "$out" | jq -c '[.ok,.code]'):$(servers):$(plain)" "[false,\"denied\"]:0:$pre"
  chmod 1777 "$R/tmp"; chown 0 "$R/tmp"
done

# a run that broke off before it reported
NONCE=$(nonce); gone=$HEX.$NONCE; cp "$PROGRAM" "$R/tmp/$gone"
out=$(beside uninstall ".discard=[\"$gone\"]"); is 'a delivery that was never run is discarded' "$(echo "$out" | jq -c .ok):$(plain)" "true:$before"
cp "$PROGRAM" "$R/tmp/$gone"; touch "$R/tmp/$(nonce)$(nonce).$(nonce)"; theirs=$(cd "$R/tmp" && ls | grep -v "$gone"); chown 65534 "$R/tmp/$theirs"
beside uninstall . >/dev/null; is 'uninstall takes those that are ours' "$(ls "$R/tmp")" "$theirs"; rm "$R/tmp/$theirs"
done_testing
