#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: only the program that is installed starts the service: not what a removal or another release has left running,
# nor what comes while they are at work; and releases that are installed at once do not stop each other.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(plain)
H=$R/.sbinject
cp "$PROGRAM" "$W/other"; printf x >>"$W/other"; OTHER=$(sha256sum "$W/other" | cut -d' ' -f1)
MINE=$(kept_name mine) THEIRS=$(kept_name theirs)
kept() { # kept NAME COMMAND: run what is kept
  env -i /usr/sbin/chroot "$R" "/.sbinject/$1" "$2"
}
running() { call sandbox_tools_describe | jq -r .result.sha256; }
there() { cat "$W/said" | wc -l; }
says() { # says N: waits for the Nth line of the pipe, and prints what it has said then
  wait_for eval '[ "$(there)" -ge '"$1"' ]'
  sed -n "$1p" "$W/said" | jq -r '.result // .error.data'
}
mkfifo "$W/in"
open_pipe() { : >"$W/said"; kept "$1" pipe <"$W/in" >"$W/said" & pipe=$!; exec 9>"$W/in"; }
ask() { request remote_version "$1" >&9; echo >&9; }
close_pipe() { exec 9>&-; wait $pipe; }
gone="'/.sbinject/$MINE' was removed"

install '.keep="'"$MINE"'"' >/dev/null; open_pipe "$MINE"; ask 1; fits 'a pipe by a kept name' "$(says 1)" 'Server: *'
uninstall >/dev/null; ask 2; says 2 >/dev/null; ask 3; is '… does not start the service again once it is removed' "$(says 3)" "$gone"; close_pipe
is '… which leaves nothing' "$(servers):$(plain)" "0:$before"

install '.keep="'"$MINE"'"' >/dev/null; open_pipe "$MINE"; ask 1; says 1 >/dev/null
put "$W/other"; run_staged '.keep="'"$THEIRS"'"' >/dev/null
kill -9 "$(server_pid)"; wait_for eval '[ "$(servers)" = 0 ]'
ask 2; says 2 >/dev/null; ask 3; is 'a pipe of the release before starts nothing' "$(says 3):$(servers)" "$gone:0"
is '… but a call of the new one does' "$(request sandbox_tools_describe 1 | kept "$THEIRS" exec | jq -r .result.sha256)" "$OTHER"
ask 4; fits '… with which the pipe goes on' "$(says 4)" 'Server: *'; close_pipe
ln "$H/$OTHER" "$H/$MINE"; rm "$H/current"; kept "$THEIRS" stop-server
is 'nothing is started while a removal is at work' "$(request remote_version 1 | kept "$MINE" exec 2>&1):$(servers)" "error: $gone:0"
ln -s "$OTHER" "$H/current"; uninstall "/.sbinject/$OTHER" >/dev/null
put
is '… nor is anything left of a delivery that comes too late' "$(request remote_version 1 | kept "$STAGED" exec 2>&1):$(plain)" "error: '/.sbinject/$STAGED' was removed:$before"

# callers by that name, and a removal
remove_among_callers '.keep="'"$MINE"'"' "$H/$MINE" kept "$MINE" pipe
is 'a removal among callers: nothing runs afterwards, nothing is left' "$bad" ''

# started from a name that another release clears away before it is its turn
install '.keep="'"$MINE"'"' >/dev/null
NONCE=$(nonce) STAGED=; hex=$HEX; spec 'del(.staged)|.keep="'"$MINE"'"' >"$W/spec"
exec 8<>"$H/lock"; flock 8
(exec 8>&-; kept "$MINE" install <"$W/spec" >"$W/out") & waiting=$!
wait_for eval "ls -l /proc/[0-9]*/exe 2>/dev/null | grep -q '/$MINE\$'"
rm "$H/$MINE" "$H/$HEX"; cp "$W/other" "$H/$OTHER"; ln -sfn "$OTHER" "$H/current"; exec 8>&-; wait $waiting
is 'what was cleared away while it waited brings itself' "$(jq -c '[.ok,.sha256,.what]' "$W/out"):$(running)" "[true,\"$HEX\",null]:$HEX"
is '… and clears away the other' "$(ls "$H" | grep -v state | sed "s/^$HEX/0/" | sort | tr '\n' ' ')" "0 current lock $MINE "
uninstall >/dev/null; is '… which can be taken back' "$(plain)" "$before"

# two releases at once, beside pipes that want the service all the time
bad=
for i in $(seq 6); do
  install '.keep="'"$MINE"'"' >/dev/null; touch "$W/go"
  (while [ -e "$W/go" ]; do request remote_version 1; echo; sleep 0.01; done | kept "$MINE" pipe >/dev/null 2>&1) & pipes=$!
  for n in 1 2 3 4; do
    if [ $((n % 2)) = 0 ]; then put; else put "$W/other"; fi
    spec '.timeout_ms=60000' >"$W/spec.$n"
    (env -i /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install <"$W/spec.$n" >"$W/out.$n") &
  done
  wait_for eval '[ "$(cat "$W"/out.[1-4] | wc -l)" = 4 ]'
  rm "$W/go"; wait $pipes
  [ "$(jq -c '.ok' "$W"/out.[1-4] | tr '\n' ' '):$(servers)" = 'true true true true :1' ] && [ "$(running)" = "$(readlink "$H/current")" ] ||
    bad="$bad $i:$(cat "$W"/out.[1-4]):$(servers)"
  rm "$W"/out.[1-4]; uninstall >/dev/null
done
is 'two releases at once: each succeeds, the last one runs' "$bad" ''
wait_for eval '[ "$(servers)" = 0 ]'; is 'in the end everything is as it was' "$(plain)" "$before"
done_testing
