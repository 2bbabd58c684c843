#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the container's own user can install the program, too, in a home that it makes itself; root keeps off
# that until the user has removed it; nothing that a third user planted is trusted.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
DIR=$(dirname $CONTRACT) OWN=/var/tmp/.sbinject-user

# put_user [FILE]: what the engine's archive API leaves behind for the container's user; sets BROUGHT
put_user() {
  hex=$(sha256sum "${1:-$PROGRAM}" | cut -d' ' -f1)
  BROUGHT=/.sbinject/user/$hex/program
  mkdir -p "$R/.sbinject/user/$hex"
  chmod 711 "$R/.sbinject" "$R/.sbinject/user" "$R/.sbinject/user/$hex"
  ln -sfn "$DIR/.server" "$R/.sbinject/user/$hex/.server"
  cp "${1:-$PROGRAM}" "$R$BROUGHT"
  chmod 755 "$R$BROUGHT"
  ln -sfn "user/$hex" "$R/.sbinject/current"
}

user_spec() { # user_spec [JQ-FILTER]
  jq -nc --arg n "$(nonce)" --arg h "$hex" --arg p "$CONTRACT" --arg o $OWN \
    '{nonce:$n,sha256:$h,home:$o,own_home:true,path:$p,links:[],start:["start-server"],timeout_ms:120000}'"${1:+|$1}"
}

brought() { # brought COMMAND: by uid 1000, out of root's home
  env -i /usr/sbin/chroot --userspec=1000:1000 --groups= "$R" "$BROUGHT" "$1"
}

user_install() { user_spec "${1:-}" | brought install; }
user_uninstall() { user_spec | brought uninstall; }
root_uninstall() { put && spec "${1:-.}" | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" uninstall; }
short() { jq -c '[.ok,.was,.started,.uid,.code]'; }
# what is there, but for the times of directories that only root can put back
users_listing() { listing | sed -E 's/^(\.\/(tmp|var\/tmp) .*) [0-9.]+ $/\1/'; }

world w tmp proc var/tmp opt etc
before=$(users_listing)
put_user; out=$(user_install)
is 'the user installs' "$(echo "$out" | short)" '[true,"absent",true,1000,null]'
is '… and owns what it made, closed to others' "$(stat -c '%u %a' "$R$DIR" "$R$CONTRACT" "$R$OWN" "$R$DIR/.server" | tr '\n' ' ')" \
  '1000 700 1000 755 1000 700 1000 700 '
fits 'its calls reach that service' "$(request remote_version 1 | TOOL_AT=$CONTRACT as_user 1000 exec)" "*Server: $CONTRACT ($(echo "$out" | jq .pid))*"
fits '… and so do those of the program in root'"'"'s home' "$(request remote_version 1 | TOOL_AT=$BROUGHT as_user 1000 exec)" "*Server: $CONTRACT ($(echo "$out" | jq .pid))*"
is '… and start no other' "$(servers)" 1
is "everything it notes is in its own home" "$(find "$R/.sbinject" -newer "$R$BROUGHT" -type f; ls "$R$OWN" | sed "s/^$hex\$/0/" | sort | tr '\n' ' ')" '0 current lock state.json '
is 'again: nothing to do' "$(user_install | short)" '[true,"same",false,1000,null]'
rm "$R$CONTRACT"; is 'a lost program is put back' "$(user_install | short)" '[true,"absent",false,1000,null]'
is 'status' "$(user_spec | brought status | jq -c '[.ok,.path_ok,.server.running,.server.uid,.server.can_switch_user]')" '[true,true,true,1000,false]'

# root meets it
put; out=$(run_staged); is 'root, asked to install, says that it is the user'"'s" "$(echo "$out" | short)" '[true,"user",null,null,null]'
is '… has done nothing, and the user can still start its program' "$(stat -c '%u %a' "$R/.sbinject"):$(ls "$R/.sbinject" | tr '\n' ' ')" '0 711:current lock user '
is '… whose service is untouched' "$(user_install | short)" '[true,"same",false,1000,null]'
is 'root, asked to uninstall, says so, too' "$(root_uninstall | jq -c '[.ok,.was,.removed]'):$(servers)" '[true,"user",0]:1'

# another release, and one that does not start
cp "$PROGRAM" "$W/other"; printf 'x' >>"$W/other"
put_user "$W/other"; is 'an upgrade' "$(user_install | short):$(servers)" '[true,"other",true,1000,null]:1'
is '… leaves no other program in its home' "$(ls "$R$OWN" | grep -cE '^[0-9a-f]{64}')" 1
put_user; is 'one that fails' "$(user_install '.start=["no-such-command"]' | short)" '[false,null,null,null,"start"]'
is '… leaves what was there' "$(sha256sum <"$R$CONTRACT"):$(servers)" "$(sha256sum <"$W/other"):1"
is 'the user uninstalls all that it made' "$(user_uninstall | jq -c '[.ok,.was]'):$(servers):$(ls -A "$R/tmp" "$R/var/tmp" | grep -v :)" '[true,null]:0:'
is '… and root the rest' "$(root_uninstall '.user_gone=true' | jq -c '[.ok,.was]'):$(users_listing)" "[true,null]:$before"
put_user
is 'a first one that fails leaves nothing' "$(user_install '.start=["no-such-command"]' | short):$(ls -A "$R/tmp" "$R/var/tmp" | grep -v :)" '[false,null,null,null,"start"]:'
n=$(user_install | jq -r .nonce)
is 'one of another run is not taken back, and said to stand' "$(user_spec ".born=.nonce|.discard=[]" | brought uninstall | jq -c '[.ok,.removed,.stands]'):$(servers)" '[true,0,true]:1'
put; printf '{"nonce":"%s","home":"/.sbinject","discard":["%s"]}\n' "$(nonce)" "$STAGED" | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" uninstall >/dev/null
is 'a run of root that failed takes back its own delivery alone' "$(ls "$R/.sbinject" | tr '\n' ' '):$(servers):$(user_spec | brought status | jq -c .server.running)" 'current lock user :1:true'
is 'one whose receipt was lost can be taken back' "$(user_spec ".born=\"$n\"|.discard=[]" | brought uninstall | jq -c '[.ok,.stands]'):$(servers):$(ls -A "$R/tmp" "$R/var/tmp" | grep -v :)" '[true,null]:0:'
put; printf '{"nonce":"%s","home":"/.sbinject","discard":["%s"],"user_gone":true}\n' "$(nonce)" "$STAGED" | env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" uninstall >/dev/null
is "… and what was brought for it" "$(users_listing)" "$before"

# what a third user planted
plant() { # plant PATH [MODE]
  mkdir -p "$R$1"; chmod "${2:-755}" "$R$1"; chown 2000:2000 "$R$1"
}
put_user
for p in $DIR $OWN; do for mode in 700 755 777; do
  plant $p $mode; out=$(user_install)
  is "$p of another user, $mode, is not used" "$(echo "$out" | jq -c '[.ok,(.code|. == "occupied" or . == "denied")]'):$(servers):$(stat -c '%u %a' "$R$p")" "[false,true]:0:2000 $mode"
  [ $p != $DIR ] || is '… and the message names it' "$(echo "$out" | jq -r .what)" "cannot clear '$DIR': Operation not permitted"
  rmdir "$R$p"; is '… nor anything left' "$(ls -A "$R/tmp" "$R/var/tmp" | grep -v :)" ''
done; done
ln -s /etc "$R$DIR"; chown -h 2000 "$R$DIR"; is 'nor is a link followed' "$(user_install | jq -c .ok):$(ls -A "$R/etc")" 'false:'; rm "$R$DIR"
mkdir -m 777 "$R$DIR" "$R$DIR/.server"; chmod 777 "$R$DIR" "$R$DIR/.server"; chown 1000 "$R$DIR" "$R$DIR/.server"
touch "$R$DIR/.server/server.lock" "$R$DIR/.server/theirs"; chown 2000 "$R$DIR/.server/"*; chmod 666 "$R$DIR/.server/"*
flock "$R$DIR/.server/server.lock" sleep 60 & holder=$!
is 'a directory of the own user that was open to others' "$(user_install | short)" '[true,"absent",true,1000,null]'
kill $holder
is '… is closed, and what others left there under our names is gone' "$(stat -c '%u %a' "$R$DIR/.server" "$R$DIR/.server/server.lock" | tr '\n' ' ')" '1000 700 1000 600 '
user_uninstall >/dev/null; rm -rf "$R$DIR"
mkdir -m 700 "$R$DIR"; chown 1000 "$R$DIR"; mkdir -m 777 "$R$DIR/.server"; chown 2000 "$R$DIR/.server"
is '… nor is a server directory of others in the way' "$(user_install | short):$(stat -c '%u %a' "$R$DIR/.server")" '[true,"absent",true,1000,null]:1000 700'
user_uninstall >/dev/null; rm -rf "$R$DIR"

# where no program of its own can be run
mount -t tmpfs -o noexec,mode=1777 none "$R/var/tmp"
out=$(user_install); is 'a home that is mounted noexec is refused' \
  "$(echo "$out" | jq -c '[.ok,.code,.what]'):$(servers):$(ls -A "$R/var/tmp" "$R/tmp" | grep -v :)" "[false,\"noexec\",\"'$OWN' is on a file system that is mounted noexec\"]:0:"
umount "$R/var/tmp"

# the directory's mode is exactly 0700, whoever owns it, and again what it was before afterwards
mkdir -m 755 "$R$DIR"; chown 1000 "$R$DIR"; echo theirs >"$R$CONTRACT"; chown 1000 "$R$CONTRACT"
is 'what is no program is not replaced' "$(user_install | short):$(stat -c %a "$R$DIR"):$(cat "$R$CONTRACT")" '[false,null,null,null,"occupied"]:755:theirs'
chmod 755 "$R$CONTRACT"
is 'a directory of the user that was there becomes private' "$(user_install | short):$(stat -c %a "$R$DIR")" '[true,"other",true,1000,null]:700'
is '… and gets back its mode' "$(user_install | jq -c .ok):$(user_uninstall | jq -c .ok):$(stat -c %a "$R$DIR")" true:true:755
is '… also after a failure' "$(user_install '.start=["no-such-command"]' | jq -c .ok):$(stat -c %a "$R$DIR")" false:755
rm -rf "$R$DIR" "$R/.sbinject"; mkdir -m 2755 "$R$DIR"; chmod 2755 "$R$DIR"
is "the same for root's" "$(install | jq -c .ok):$(stat -c %a "$R$DIR"):$(uninstall | jq -c .ok):$(stat -c %a "$R$DIR")" true:700:true:2755
rm -rf "$R$DIR"; mkdir -m 755 "$R$DIR"; chmod 2775 "$R$DIR"; touch "$R$DIR/theirs"
is 'one with other files in it stays open to those who use them' "$(install | jq -c .ok):$(stat -c %a "$R$DIR"):$(uninstall | jq -c .ok):$(stat -c %a "$R$DIR")" true:2755:true:2775
rm -rf "$R$DIR" "$R/.sbinject"; mkdir -m 755 "$R$DIR"; touch "$R$DIR/theirs"; chown -R 1000 "$R$DIR"; put_user
closed() { [ "$(stat -c '%u %a' "$R$DIR" "$R$DIR/.server" "$R$DIR/.server/sandbox-tools.sock" 2>/dev/null | tr '\n' ' ')" = '1000 755 1000 700 1000 600 ' ]; }
is 'a directory of the user with other files in it' "$(user_install | jq -c .ok)" true
closed
succeeded '… that others can enter: the service is private all the same' $?
rm -rf "$R$DIR/.server" 2>/dev/null; wait_for closed; succeeded '… also when its directory was removed' $?
is '… and nothing but that is left' "$(user_uninstall | jq -c .ok):$(ls -A "$R$DIR")" true:theirs
done_testing
