#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: install places, starts and proves the program; uninstall leaves no trace; both can be repeated.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
mkdir -p "$R/data"; touch -d '2001-02-03 04:05:06.123456789' "$R/tmp" "$R/var/tmp" "$R/opt" "$R/var"
before=$(listing)

put; out=$(run_staged); is 'install' $? 0
is 'one line' "$(echo "$out" | wc -l)" 1
is 'the receipt' \
  "$(echo "$out" | jq -c '[.sbinject,.ok,.sha256,.release,.wire,.uid,.was,.started,.path,.nonce]')" "[1,true,\"$HEX\",\"$(in_world version)\",1,0,\"absent\",true,\"$CONTRACT\",\"$NONCE\"]"
is 'the service runs' "$(server_pid)" "$(echo "$out" | jq .pid)"
fits '… under the contract path' "$(call remote_version)" "*Server: $CONTRACT (*"
is 'the program is a hard link in a private directory' "$(stat -c '%u %a' "$R$(dirname $CONTRACT)"):$(stat -c '%u %a %h' "$R$CONTRACT")" '0 700:0 755 2'
is 'the link' "$(readlink "$R/opt/inspect-sandbox-tools")" "$CONTRACT"
is 'the home' "$(readlink "$R/.sbinject/current"):$(ls "$R/.sbinject" | sed "s/^$HEX\$/0/" | sort | tr '\n' ' ')" "$HEX:0 current lock state.json "
is '… leads to the server directory, beside the program' "$(readlink "$R/.sbinject/.server"):$(stat -c '%u %a' "$R$(dirname $CONTRACT)/.server")" "$(dirname $CONTRACT)/.server:0 700"
is 'no variable comes from nowhere' "$(tr '\0' '\n' <"/proc/$(server_pid)/environ" | grep -c '^HOME=')" 0
printf '%s\n' '{"nonce":"00000000000000000000000000000000","home":"/.sbinject","path":"'$CONTRACT'"}' | env -i /usr/sbin/chroot "$R" $CONTRACT status >"$W/st"
is 'status' "$(jq -c '[.ok,.sha256,.wire,.path_ok,.server.running,.server.sha256,.server.uid,.server.can_switch_user,(.server.uptime_ms|type)]' "$W/st")" "[true,\"$HEX\",1,true,true,\"$HEX\",0,true,\"number\"]"

pid=$(server_pid)
put; out=$(run_staged); is 'install again changes nothing' "$?:$(echo "$out" | jq -c '[.ok,.was,.started,.pid]')" "0:[true,\"same\",false,$pid]"
is '… and leaves no delivered file' "$(ls "$R/.sbinject" | wc -l)" 4
NONCE=$(nonce); out=$(spec 'del(.staged)' | env -i /usr/sbin/chroot "$R" "/.sbinject/$HEX" install)
is 'install from what is there, without a delivery' "$(echo "$out" | jq -c '[.ok,.was,.started]')" '[true,"same",false]'
kill -9 "$pid"
put; out=$(run_staged); is 'a killed service is started again' "$(echo "$out" | jq -c '[.ok,.was,.started]')" '[true,"same",true]'
rm "$R$CONTRACT"
put; out=$(run_staged); is 'a lost program is put back' "$(echo "$out" | jq -c '[.ok,.was,.started]')" '[true,"absent",false]'

# what a client runs: NAME by PATH, =NAME in the system's directories, or a path
mkdir -p "$R/bin" "$R/mine/dir"
touch "$R/bin/sh" "$R/bin/plain" "$R/mine/only"; chmod 755 "$R/bin/sh" "$R/mine/only"
needs='.needs = ["sh","=sh","/bin/sh","only","=only","/mine/only","plain","/bin/plain","dir","/mine/dir","none",""]'
put; out=$(TOOL_ENV=PATH=:bin:/mine:/bin: run_staged "$needs")
is 'what a client needs and is not there is reported by its place' "$(echo "$out" | jq -c '[.ok,.missing]')" '[true,[4,6,7,8,9,10,11]]'
put; out=$(run_staged "$needs")
is '… without a PATH in the container by the usual one' "$(echo "$out" | jq -c .missing)" '[3,4,6,7,8,9,10,11]'
put; out=$(run_staged '.needs = ["/bin/sh"]')
is '… nothing is missing: nothing is said' "$(echo "$out" | jq -c '[.ok,.missing]')" '[true,null]'
for needs in '"sh"' '[1]' '[range(33)|tostring]'; do
  put; out=$(run_staged ".needs = $needs")
  is "needs that are no list of up to 32 strings: $needs" "$(echo "$out" | jq -c .ok)" false
  rm "$R/.sbinject/$STAGED"
done
rm -r "${R:?}/bin" "$R/mine"

# another release
cp "$PROGRAM" "$W/other"; printf 'x' >>"$W/other"; other=$(sha256sum "$W/other" | cut -d' ' -f1)
put "$W/other"; out=$(run_staged)
is 'an upgrade replaces program and service' "$(echo "$out" | jq -c '[.ok,.was,.started,.sha256]')" "[true,\"other\",true,\"$other\"]"
is '… and removes the old ones' "$(servers):$(ls "$R/.sbinject" | grep -c "$HEX")" '1:0'
put; out=$(run_staged); is 'and back' "$(echo "$out" | jq -c '[.ok,.was,.started,.sha256]')" "[true,\"other\",true,\"$HEX\"]"

out=$(uninstall); is 'uninstall' "$?:$(echo "$out" | jq -c '[.sbinject,.ok]')" '0:[1,true]'
is 'nothing runs' "$(servers)" 0
is 'every file, directory, mode and time is as before' "$(listing)" "$before"
put; out=$(printf '{"nonce":"%s","home":"/.sbinject"}\n' "$NONCE" | in_world uninstall)
is 'uninstall of a mere delivery' "$(echo "$out" | jq -c .ok):$(listing)" "true:$before"
out=$(printf '{"nonce":"%s","home":"/.sbinject"}\n' "$NONCE" | in_world uninstall)
is 'uninstall of nothing' "$(echo "$out" | jq -c '[.ok,.removed]')" '[true,0]'

for broken in 'rm -f "$R/.sbinject/state.json"' 'echo garbage >"$R/.sbinject/state.json"' 'rm -f "$R/.sbinject/state.json" "$R/.sbinject/current"' \
  'kill -9 $(server_pid)' 'rm -rf "$R$(dirname $CONTRACT)/.server" 2>/dev/null' 'rm "$R/opt/inspect-sandbox-tools"' 'rm -f "$R/.sbinject/lock"'; do
  install >/dev/null; eval "$broken"; out=$(uninstall)
  is "uninstall after: $broken" "$(echo "$out" | jq -c .ok):$(listing | sed 's/ [0-9.]* $/ /')" "true:$(echo "$before" | sed 's/ [0-9.]* $/ /')"
  touch -d '2001-02-03 04:05:06.123456789' "$R/tmp" "$R/var/tmp" "$R/opt" "$R/var"
done
install >/dev/null; rm "$R$CONTRACT"; out=$(uninstall "/.sbinject/$HEX")
is 'uninstall from the home' "$(echo "$out" | jq -c .ok):$(listing)" "true:$before"
# an earlier release, whose server directory was elsewhere
install >/dev/null; cp "$PROGRAM" "$W/old"; printf x >>"$W/old"; put "$W/old"; run_staged >/dev/null; in_home() { env -i ${1:+"$1"} /usr/sbin/chroot "$R" "$CONTRACT" "$2" >/dev/null; }
in_home '' stop-server; in_home INSPECT_SANDBOX_TOOLS_DIR=/tmp/sandbox-tools start-server; rm -rf "$R$(dirname $CONTRACT)/.server" "$R/.sbinject/.server"
jq '.server_dir = "/tmp/sandbox-tools"' "$R/.sbinject/state.json" >"$W/state"; cat "$W/state" >"$R/.sbinject/state.json"; chmod 777 "$R/tmp"
put
out=$(run_staged '.start=["no-such-command"]')
is 'an upgrade over an earlier server directory that fails: as it was' "$(echo "$out" | jq -c '[.ok,.code]'):$(jq -r .server_dir "$R/.sbinject/state.json"):$(ls -A "$R/.sbinject" | grep -c server)" '[false,"start"]:/tmp/sandbox-tools:0'
in_home '' stop-server; in_home INSPECT_SANDBOX_TOOLS_DIR=/tmp/sandbox-tools start-server 2>/dev/null; chmod 1777 "$R/tmp"; in_home INSPECT_SANDBOX_TOOLS_DIR=/tmp/sandbox-tools start-server; chmod 777 "$R/tmp"
put
out=$(run_staged)
is 'an upgrade over an earlier server directory stops that server, and clears it' "$(echo "$out" | jq -c '[.ok,.was,.started]'):$(servers):$(ls "$R/tmp"):$(jq -c '[.server_dir,.former_dir]' "$R/.sbinject/state.json")" "[true,\"other\",true]:1::[\"$(dirname $CONTRACT)/.server\",null]"
put "$W/old"; run_staged >/dev/null; in_home '' stop-server; chmod 1777 "$R/tmp"; in_home INSPECT_SANDBOX_TOOLS_DIR=/tmp/sandbox-tools start-server
jq '.former_dir = "/tmp/sandbox-tools"' "$R/.sbinject/state.json" >"$W/state"; cat "$W/state" >"$R/.sbinject/state.json"; chmod 777 "$R/tmp"
out=$(uninstall)
chmod 1777 "$R/tmp"
is 'an uninstall after an upgrade that broke off in between clears both' "$(echo "$out" | jq -c .ok):$(servers):$(listing | sed 's/ [0-9.]* $/ /')" "true:0:$(echo "$before" | sed 's/ [0-9.]* $/ /')"
touch -d '2001-02-03 04:05:06.123456789' "$R/tmp" "$R/var/tmp" "$R/opt" "$R/var"
install >/dev/null; mkdir -p "$R$(dirname $CONTRACT)/.server/chunks"; touch "$R$(dirname $CONTRACT)/.server/chunks/$(nonce).jsonrpc"; uninstall >/dev/null
is 'spilled replies are removed' "$(find "$R/var/tmp" -mindepth 1)" ''
install >/dev/null; mkdir -p "$R/var/tmp/.da7be258e003d428-json-rpc-chunks/0"; touch "$R/var/tmp/.da7be258e003d428-json-rpc-chunks/0/a.jsonrpc"; uninstall >/dev/null
is 'spilled replies are removed too' "$(find "$R/var/tmp" -mindepth 1)" ''
O=$R/var/tmp/.da7be258e003d428-json-rpc-chunks; install >/dev/null; mkdir -p "$O/0" "$O/1000"; touch "$O/0/a.jsonrpc" "$O/1000/b.jsonrpc"; chown -R 1000 "$O" "$O/1000"; chown -R 0 "$O/0"; uninstall >/dev/null
is '… those of root, that is, where a user had made the directory' "$(find "$R/var/tmp" -mindepth 1 -printf '%P ')" '.da7be258e003d428-json-rpc-chunks .da7be258e003d428-json-rpc-chunks/1000 .da7be258e003d428-json-rpc-chunks/1000/b.jsonrpc '
rm -rf "$O"
install >/dev/null; touch "$R/tmp/theirs"; t=$(stat -c %y "$R/tmp"); uninstall >/dev/null
is 'a time that others changed is left as they made it' "$(stat -c %y "$R/tmp")" "$t"
rm "$R/tmp/theirs"

# a world with nothing, not even the directories
world bare; before=$(listing)
put; out=$(run_staged); is 'install where nothing exists' "$(echo "$out" | jq -c '[.ok,.was,.started,.what]')" '[true,"absent",true,null]'
is 'it records what it made' "$(jq -c .parents "$R/.sbinject/state.json")" '["/var","/var/tmp","/var/tmp/.da7be258e003d428","/opt"]'
is '… with modes that others can live with' "$(stat -c %a "$R/var" "$R/var/tmp" "$R/opt" | tr '\n' ' ')" '755 755 755 '
is 'uninstall takes that away again' "$(uninstall | jq -c .ok):$(listing)" "true:$before"
ln -s tmp "$R/v"; mkdir -m 1777 "$R/tmp"; mkdir "$R/var"; ln -s ../tmp "$R/var/tmp"; before=$(listing)
put; out=$(run_staged); is '/var/tmp may be a link' "$(echo "$out" | jq -c '[.ok,.started]')" '[true,true]'
is '… and is left as it was' "$(uninstall | jq -c .ok):$(listing)" "true:$before"
mount -t tmpfs -o size=16m,mode=1777 none "$R/tmp"
put; out=$(run_staged); is 'the path may be on another file system' "$(echo "$out" | jq -c '[.ok,.started]')" '[true,true]'
is '… then it is a copy' "$(stat -c %h "$R$CONTRACT"):$(find "$R/tmp/" | grep -c new)" '1:0'
is '… and removed' "$(uninstall | jq -c .ok):$(find "$R/tmp/" -mindepth 1)" 'true:'
mkdir -p "$R/data"; TOOL_ENV='A=b LD_PRELOAD= LD_LIBRARY_PATH=/x TMPDIR=/nowhere INSPECT_SANDBOX_TOOLS_DIR=/data/d'
install '.cwd="/data"' >/dev/null; p=$(jq .pid "$R/data/d/server.pid")
is 'the service gets the environment of the exec' "$(tr '\0' '\n' <"/proc/$p/environ" | grep -vE '^(SBINJECT|INSPECT)' | sort | tr '\n' ' ')" 'A=b LD_LIBRARY_PATH=/x LD_PRELOAD= TMPDIR=/nowhere '
is '… and the directory that was asked for' "$(readlink "/proc/$p/cwd" | sed 's|.*/||')" data
uninstall >/dev/null; TOOL_ENV=
is 'uninstall finds the service of that environment' "$(servers):$(ls "$R/data")" '0:'
done_testing
