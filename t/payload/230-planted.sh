#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what others put into the home, or beside the program, before it became ours is neither believed nor in the way.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc precious
H=$R/.sbinject
C=$(dirname "$R$CONTRACT")
before=$(plain)
theirs() { # theirs FILE…: of another user, in a home that was theirs
  chown -h 65534 "$@"
}
ours() { is '… nothing in the home belongs to somebody else' "$(find "$H" -mindepth 1 ! -uid 0 -printf '%P\n' | sort | tr '\n' ' ')" "${1:-}"; }
plant() { mkdir -m 777 "$H"; chown 65534 "$H"; }
adopt() { chown 0 "$H"; chmod 700 "$H"; }

# a state that tells root what to delete
bad='{"path":"/etc/passwd","links":["/opt/x"],"parents":["/precious"],"server_dir":"/precious"}'
for how in 'theirs "$H/state.json"' 'ln "$H/state.json" "$R/tmp/second"' 'chmod 666 "$H/state.json"'; do
  plant; echo "$bad" >"$H/state.json"; eval "$how"; adopt
  out=$(printf '{"nonce":"%s","home":"/.sbinject"}\n' "$(nonce)" | in_world uninstall); rm -f "$R/tmp/second"
  is "a planted state is not believed: $how" "$(echo "$out" | jq -c .ok):$(plain)" "true:$before"
  plant; echo "$bad" >"$H/state.json"; eval "$how"; adopt
  out=$(install); is '… and does not stop an install' "$(echo "$out" | jq -c .ok)" true
  ours
  uninstall >/dev/null; rm -f "$R/tmp/second"; is '… which can be taken back' "$(plain)" "$before"
done
plant; mkdir -p "$H/deep/dir" "$H/run-x"; touch "$H/deep/dir/file" "$H/$HEX"; ln -s /etc "$H/current"; mkfifo "$H/fifo"; theirs "$H"/*; adopt
out=$(install); is 'files of others that have names of ours are thrown out' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"absent"]'
ours 'deep fifo run-x '
uninstall >/dev/null
is '… what has other names stays' "$(cd "$H" && find . -printf '%P %y\n' | sort | tr '\n' ' ')" ' d deep d deep/dir d deep/dir/file f fifo p run-x d '
rm -rf "$H"
mkdir -m 755 "$H"; echo x >"$H/theirs"; mkdir "$H/data"; pre=$(cd "$H" && find . -printf '%P %y %U %m %T@\n' | sed 1d)
for how in '' '.start=["no-such-command"]'; do
  install "$how" | jq -c .ok >"$W/u"; uninstall >/dev/null 2>&1
  is "also if it is root's: $how" "$(cat "$W/u"):$(cd "$H" && find . -printf '%P %y %U %m %T@\n' | sed 1d)" "$([ -z "$how" ] && echo true || echo false):$pre"
done
rm -rf "$H"
plant; for f in state.json record.new current current.new link.new; do mkdir -p "$H/$f/x"; done; adopt
out=$(install '.keep="run-'"$HEX"'"'); is 'directories with the names of ours are no obstacle' "$(echo "$out" | jq -c .ok)" true; uninstall >/dev/null
is '… nor left' "$(plain)" "$before"

# a lock that somebody else holds
for thing in 'touch' 'mkfifo' 'mkdir' 'ln -s /etc/x'; do
  plant; $thing "$H/lock"; theirs "$H/lock"; adopt
  if [ "$thing" = touch ]; then exec 9<>"$H/lock"; flock 9; fi
  out=$(install); is "a planted lock does not block: $thing" "$(echo "$out" | jq -c '[.ok,.code]')" '[true,null]'
  exec 9>&-; uninstall >/dev/null
done
is '… and is not left' "$(plain)" "$before"

# beside the program
NONCE=$(nonce)
mkdir -m 777 "$C"; truncate -s 20G "$R$CONTRACT"
t=$(date +%s); out=$(printf '{"nonce":"%s","home":"/.sbinject","path":"%s"}\n' "$NONCE" "$CONTRACT" | in_world status)
is 'a huge file is not the program' "$(echo "$out" | jq -c .path_ok)" false
put; printf '{"nonce":"%s","home":"/.sbinject","path":"%s"}\n' "$NONCE" "$CONTRACT" | in_world uninstall | jq -c .ok >"$W/u"
is '… nor deleted by an uninstall' "$(cat "$W/u"):$(stat -c %s "$R$CONTRACT")" "true:$((20 << 30))"
out=$(install); is '… nor replaced by an install' "$(echo "$out" | jq -c '[.ok,.code]'):$(stat -c %a "$C")" '[false,"occupied"]:777'
chmod 755 "$R$CONTRACT"; out=$(install); is '… unless a host could run it' "$(echo "$out" | jq -c '[.ok,.was]')" '[true,"other"]'
within $(($(date +%s) - t)) 10; succeeded '… all without reading it' $?
uninstall >/dev/null; rm -rf "$C"
mkdir -m 777 "$C"; cp "$PROGRAM" "$R$CONTRACT"; chown -R 65534 "$C"; put
printf '{"nonce":"%s","home":"/.sbinject","path":"%s"}\n' "$NONCE" "$CONTRACT" | in_world uninstall >/dev/null
[ -e "$R$CONTRACT" ]; succeeded 'a directory of somebody else is left alone' $?; rm -rf "$C"

# where the service meets its callers
D=$C/.server
for how in 'touch "$D"' 'mkfifo "$D"' 'ln -s /etc "$D"' 'ln -s /nowhere "$D"' 'ln -s .server "$D"' 'mkdir -m 777 "$D"'; do
  mkdir -m 777 "$C"; eval "$how"; chown -h 65534 "$D"
  printf '{"nonce":"%s","home":"/.sbinject","path":"%s"}\n' "$(nonce)" "$CONTRACT" | in_world status | jq -c '[.ok,.server.running]' >"$W/u"
  is "a status, where somebody has: $how" "$(cat "$W/u")" '[true,false]'
  out=$(install); is "an install, where somebody has: $how" "$(echo "$out" | jq -c '[.ok,.was]'):$(stat -c '%u %a %F' "$D")" '[true,"absent"]:0 700 directory'
  uninstall >/dev/null; rmdir "$C"; is '… which can be taken back' "$(plain)" "$before"
done

# links
install >/dev/null; ln -sfn /etc/other "$R/opt/inspect-sandbox-tools"; out=$(install)
is 'a link of ours that somebody turned is theirs' "$(echo "$out" | jq -c '[.ok,.code]'):$(readlink "$R/opt/inspect-sandbox-tools")" '[false,"occupied"]:/etc/other'
uninstall >/dev/null; is '… and stays' "$(readlink "$R/opt/inspect-sandbox-tools")" /etc/other; rm "$R/opt/inspect-sandbox-tools"
TOOL_ENV='INSPECT_SANDBOX_TOOLS_DIR=/opt/a/b/c'
install >/dev/null
is 'directories made for the server are recorded' "$(jq -c .parents "$H/state.json")" '["/var/tmp/.da7be258e003d428","/opt/a","/opt/a/b"]'
uninstall >/dev/null; TOOL_ENV=; is '… and removed' "$(plain)" "$before"
done_testing
