#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: where somebody else could exchange a directory or a link on the way to the program, to a link
# to it or to its home, it is not placed, and the message names that directory; else it is.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt srv/x etc
shown() { echo "$out" | jq -c '[.ok,.code,(.what | values | split(",| and not"; null)[0])]'; }

# refused NAME WHAT [JQ]: nothing is placed, the message begins so, and nothing has changed
refused() {
  pre=$(listing)
  put; out=$(run_staged "${3:-}")
  is "$1" "$(shown)" "[false,\"denied\",\"$2\"]"
  is '… and nothing has changed' "$(servers):$(listing)" "0:$pre"
}
# accepted NAME FILE [JQ]: it is placed, stands there, and can be removed
accepted() {
  put; out=$(run_staged "${3:-}")
  is "$1" "$(echo "$out" | jq -c '[.ok,.placed]'):$(stat -c '%F %u %a' "$R$2")" '[true,"file"]:regular file 0 755'
  uninstall "/.sbinject/$HEX" >/dev/null
  is '… and can be removed' "$(servers):$(ls "$R$2" 2>&1 | grep -c 'No such')" '0:1'
}
open_to_others() { echo "'$1' is open to others"; }
of_other() { echo "'$1' belongs to user 65534"; }

chmod 777 "$R/var/tmp"; refused 'the directory above the program is open to others' "$(open_to_others /var/tmp)"
fits '… the message says what to do' "$(echo "$out" | jq -r .what)" "* replace '$(dirname $CONTRACT)'; run 'chmod +t' on it"
mkdir -m 700 "$(dirname "$R$CONTRACT")"; refused 'also if that of the program is there' "$(open_to_others /var/tmp)"; rmdir "$(dirname "$R$CONTRACT")"
chmod 775 "$R/var/tmp"; refused '… open to a group' "$(open_to_others /var/tmp)"
chmod 1777 "$R/var/tmp"; chown 65534 "$R/var/tmp"; refused '… sticky, but of another user' "$(of_other /var/tmp)"
chmod 755 "$R/var/tmp"; refused '… or closed' "$(of_other /var/tmp)"; chown 0 "$R/var/tmp"
accepted 'root'"'"'s and closed' "$CONTRACT"
chmod 1777 "$R/var/tmp"; accepted 'root'"'"'s and sticky' "$CONTRACT"
chmod 777 "$R/var"; refused 'a directory further up' "$(open_to_others /var)"; chmod 755 "$R/var"
chmod 777 "$R"; refused 'the root' "$(open_to_others /)"; chmod 755 "$R"
chown 65534 "$R"; refused 'the root of another user' "$(of_other /)"; chown 0 "$R"
mount -t tmpfs -o mode=777 none "$R/var/tmp"; refused 'a mount' "$(open_to_others /var/tmp)"
mount -o remount,ro "$R/var/tmp"
put
out=$(run_staged)
is '… but a read-only one keeps everybody out' "$(echo "$out" | jq -c '[.ok,.placed]')" '[true,"none"]'
uninstall "/.sbinject/$HEX" >/dev/null; umount "$R/var/tmp"

# directories that are made
deep='.path="/opt/a/b/tool"|.links=[]'
accepted 'missing directories' /opt/a/b/tool "$deep"
chmod 777 "$R/opt"; refused 'missing directories below one that is open' "$(open_to_others /opt)" "$deep"
refused 'a link to the program there' "$(open_to_others /opt)"; chmod 755 "$R/opt"
mkdir "$R/opt/a"; chown 65534 "$R/opt/a"; refused 'one on the way is another user'"'"'s' "$(of_other /opt/a)" "$deep"; rmdir "$R/opt/a"

# links on the way
far='.path="/opt/way/d/tool"|.links=[]'
for to in /srv/x ../srv/x .././srv/x/ /srv//x/../x /opt/more; do
  ln -s ../srv/./x "$R/opt/more"; ln -s "$to" "$R/opt/way"
  accepted "a link to $to" /srv/x/d/tool "$far"
  chmod 777 "$R/srv"; refused "… where that leads through what is open" "$(open_to_others /srv)" "$far"; chmod 755 "$R/srv"
  chmod 1775 "$R/opt"; chown -h 65534 "$R/opt/way"; refused "… a link of another user" "the link '/opt/way' belongs to user 65534" "$far"; chmod 755 "$R/opt"
  rm "$R/opt/way" "$R/opt/more"
done
ln -s /proc/self/root/srv/x "$R/opt/way"
chmod 777 "$R/srv"
refused 'nor does a link out of /proc lead round it' "$(open_to_others /srv)" "$far"
chmod 755 "$R/srv"
rm "$R/opt/way"

# one that was opened afterwards
install >/dev/null
chmod 777 "$R/var/tmp"
put
out=$(run_staged)
is 'a directory that was opened later' "$(shown)" "[false,\"denied\",\"$(open_to_others /var/tmp)\"]"
is '… leaves what was there, which can be removed' "$(servers):$(uninstall "/.sbinject/$HEX" | jq .ok):$(servers)" '1:true:0'
chmod 1777 "$R/var/tmp"

# the container's own user
own() { # own PATH: installs as uid 1000, from root's home
  mkdir -p "$R/.sbinject/user/$HEX"; chmod 711 "$R/.sbinject" "$R/.sbinject/user" "$R/.sbinject/user/$HEX"
  cp "$PROGRAM" "$R/.sbinject/user/$HEX/program"
  jq -nc --arg n "$(nonce)" --arg h "$HEX" --arg p "$1/d/tool" --arg o "$1/.sbinject-user" \
    '{nonce:$n,sha256:$h,home:$o,own_home:true,path:$p,links:[],start:["start-server"],timeout_ms:120000}' >"$W/spec"
  out=$(env -i /usr/sbin/chroot --userspec=1000:1000 --groups= "$R" "/.sbinject/user/$HEX/program" install <"$W/spec")
}
own_gone() { env -i /usr/sbin/chroot --userspec=1000:1000 --groups= "$R" "/.sbinject/user/$HEX/program" uninstall <"$W/spec" | jq .ok; }
mkdir -m 755 "$R/srv/own"
chown 1000:1000 "$R/srv/own"
own /srv/own
is 'in a directory of its own' "$(shown):$(own_gone):$(ls -A "$R/srv/own")" '[true,null]:true:'
chmod 777 "$R/srv/own"; own /srv/own; is '… that is open to others' "$(shown):$(ls -A "$R/srv/own")" "[false,\"denied\",\"$(open_to_others /srv/own)\"]:"
chown 65534 "$R/srv/own"
chmod 1777 "$R/srv/own"
own /srv/own
is 'in one of a third user' "$(shown):$(ls -A "$R/srv/own")" "[false,\"denied\",\"$(of_other /srv/own)\"]:"
own /var/tmp; is 'in one that is root'"'"'s and sticky' "$(shown):$(own_gone):$(ls -A "$R/var/tmp")" '[true,null]:true:'
done_testing
