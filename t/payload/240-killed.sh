#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: a run that is killed, or whose receipt is lost, can be taken back, and takes back nothing of others.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
C=$(dirname "$R$CONTRACT")
before=$(plain)
undo() { # undo BORN: what sbinject does when a receipt does not come
  printf '{"nonce":"%s","home":"/.sbinject","discard":["%s"],"born":"%s"}\n' "$(nonce)" "$HEX.$1" "$1" | in_world uninstall
}
is_clean() { [ "$(servers)" = 0 ] && [ "$(plain)" = "$before" ]; }

bad=
for i in $(seq 40); do
  put; spec >"$W/spec"
  timeout -s KILL "0.0$(printf %02d $((i % 20)))" env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install <"$W/spec" >"$W/out" 2>/dev/null
  undo "$NONCE" >"$W/undo"
  wait_for is_clean || { bad="$bad $i"; plain >"$W/left"; diff "$W/left" - <<-END | sed 's/^/# /'; break; }
		$before
	END
done
is 'killed at any time: no trace is left after undoing' "$bad" ''

put; spec '.start=["server"]' >"$W/spec"
(exec env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install <"$W/spec" >"$W/out" 2>&1) & pid=$!
wait_for test -S "$C/.server/sandbox-tools.sock"; kill -9 $pid; first=$NONCE
out=$(undo "$(nonce)"); is 'the undoing of another run leaves it' "$(echo "$out" | jq -c .ok):$(test -e "$R$CONTRACT"; echo $?)" 'true:0'
out=$(undo "$first"); is 'its own does not' "$(echo "$out" | jq -c .ok)" true
wait_for is_clean; succeeded '… and leaves nothing' $?

install >/dev/null; first=$NONCE; install >/dev/null; second=$NONCE
undo "$first" >/dev/null; is 'the undoing of a run leaves what a later one has confirmed' "$(jq -r .born "$R/.sbinject/state.json"):$(servers)" ':1'
undo "$second" >/dev/null; is '… as does that of the later one' "$(servers)" 1
put
first=$NONCE
run_staged '.path="/var/tmp/x/y"' >/dev/null
is 'a failed run in between changes nothing of that' "$(servers):$(jq -r .path "$R/.sbinject/state.json")" "1:$CONTRACT"
uninstall >/dev/null; wait_for is_clean; succeeded 'in the end everything is as it was' $?

# a service that was there before a first install that fails
mkdir -m 700 "$C"; cp "$PROGRAM" "$R$CONTRACT"; printf x >>"$R$CONTRACT"; chmod 755 "$R$CONTRACT"
env -i /usr/sbin/chroot "$R" "$CONTRACT" start-server >/dev/null
mkdir "$C-json-rpc-chunks"; touch "$C-json-rpc-chunks/theirs"; old=$(sha256sum <"$R$CONTRACT" | cut -d' ' -f1)
put; out=$(run_staged '.start=["no-such-command"]'); is 'a first install over a service that runs fails' "$(echo "$out" | jq -c .code)" '"start"'
is '… and that service runs again' "$(servers):$(call sandbox_tools_describe | jq -r .result.sha256)" "1:$old"
is '… with its files' "$(ls "$C-json-rpc-chunks" "$C/.server" | grep -cE 'theirs|sock$')" 2
[ ! -e "$R/.sbinject" ]; succeeded '… and nothing is left of ours' $?
done_testing
