#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: _run_as_user makes an in-process call another user's, all of it, or fails in so many words.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp var/tmp proc docs etc home
chmod 777 "$R/docs"
cat >"$R/etc/passwd" <<'END'
root:x:0:0:root:/root:/bin/sh
agent:x:1000:1000:,,,:/home/agent:/bin/sh
homeless:x:1001:1001:::
END
cat >"$R/etc/group" <<'END'
root:x:0:
agent:x:1000:
team:x:2000:other,agent
team2:x:2001:agents
END
V=INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES
params() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"%s","path":"%s","_run_as_user":%s%s},"id":%s}\n' "$1" "$2" "$3" "${4:+,$4}" "${ID:-1}"; }
# ed UID COMMAND PATH USER [MORE]
ed() {
  uid=$1
  shift
  params "$@" | as_user "$uid" exec 2>"$W/err" >"$W/out"
  r=$?
  show <"$W/out"
  return $r
}
text='"file_text":"x"'

is 'root acts as another user' "$(ed 0 create /docs/a '"agent"' "$text"):$(stat -c '%u %g' "$R/docs/a")" 'File created successfully at: /docs/a:1000 1000'
touch "$R/docs/team" "$R/docs/team2" "$R/docs/mine"; chown 0:2000 "$R/docs/team"; chown 0:2001 "$R/docs/team2"; chmod 640 "$R/docs/team" "$R/docs/team2"; chmod 600 "$R/docs/mine"
fits '… with the groups of that user' "$(ed 0 view /docs/team '"agent"')" "Here's the result*"
fits '… and no others' "$(ed 0 view /docs/team2 '"agent"')" '-32099 *Permission denied*'
fits '… and nothing of root'"'"'s' "$(ed 0 view /docs/mine '"agent"')" '-32099 *Permission denied*'
fits 'null is no switch' "$(ed 0 view /docs/mine null)" "Here's the result*"
out=$(ed 0 view /docs/a '"nobody"'); is 'a user nobody knows' "$?:$out:$(cat "$W/err")" "1::error: User 'nobody' not found in /etc/passwd"
out=$(ed 0 view /docs/a '"agent\u0000"'); is 'a name with a NUL is nobody'"'"'s' "$?:$out" '1:'
out=$(ed 0 view /docs/a '""'); is 'nor is the empty one' "$?:$out" '1:'
for x in 5:int 1.5:float true:bool '[]:list' '{}:dict'; do
  out=$(ed 0 view /docs/a "${x%:*}"); is "a user that is ${x##*:}" "$?:$out:$(cat "$W/err")" "1::error: _run_as_user must be a string, got ${x##*:}"
done
out=$(ed 1000 view /docs/a '"root"')
is 'an unprivileged process cannot switch' "$?:$out:$(cat "$W/err")" "1::error: Cannot switch to user 'root': server is not running as root"
fits '… but may be who it is' "$(ed 1000 view /docs/a '"agent"')" "Here's the result*"
fits '… and no more than that' "$(ed 1000 view /docs/mine '"agent"')" '-32099 *Permission denied*'
fits 'no user, no passwd needed' "$(request version 3 | in_world exec)" '*"id": 3}'
fits 'any in-process method can be asked so' "$(printf '{"jsonrpc":"2.0","method":"version","params":{"_run_as_user":"agent"},"id":1}' | in_world exec)" '*"result"*'
fits 'the undo history is that user'"'"'s' "$(ed 0 undo_edit /docs/a '"agent"')" 'File deleted at: /docs/a'
is '… and root has none' "$(stat -c '%u' "$R/tmp/.inspect-sandbox-editor-1000"):$(ls -d "$R/tmp/.inspect-sandbox-editor-0" 2>/dev/null)" '1000:'

# whose processes stop what acts for him: it is given up after a minute, and holds nobody else up
head -c 100000000 /dev/zero | tr '\0' x >"$R/docs/slow"; start=$(date +%s)
setpriv --reuid=1000 --regid=1000 --clear-groups sh -c 'while :; do kill -STOP -1; done' 2>/dev/null & stopper=$!
params view /docs/slow '"agent"' | in_world exec >"$W/alone" 2>"$W/err" & alone=$!
{
  ID=1 params view /docs/slow '"agent"'
  ID=2 params view /docs '"homeless"'
  ID=3 params view /docs null
  request remote_version 4
  echo
} | in_world pipe >"$W/out"
[ $(($(date +%s) - start)) -ge 60 ]; succeeded 'a child that was stopped is given up, no sooner than an edit can take' $?
is '… other requests have been answered meanwhile' "$(jq .id "$W/out" | sed '$d' | sort | tr '\n' ' ')" '2 3 4 '
is '… and end well, this one does not' "$(jq -r '.error.message // "fine"' "$W/out" | sort -u | sed 's/: [^:]*timed out$/: timed out/')" 'cannot run the request as another user: timed out
fine'
wait $alone; fits '… nor does a call that is alone' "$?:$(cat "$W/alone"):$(cat "$W/err")" '1::error: cannot run the request as another user: *timed out'
kill -9 $stopper; wait $stopper 2>/dev/null
is '… nothing is left of them' "$(ps -u 1000 -o pid=)" ''
rm "$R/docs/slow"
in_world stop-server

# odd passwd files harm nobody
mv "$R/etc/passwd" "$R/etc/keep"
out=$(ed 0 view /docs/team '"agent"'); is 'no passwd' "$?:$(cat "$W/err")" "1:error: User 'agent' not found in /etc/passwd"
mkfifo "$R/etc/passwd"
out=$(params view /docs/a '"agent"' | timeout 5 env -i /usr/sbin/chroot "$R" /t exec 2>"$W/err")
is 'a FIFO for passwd' "$?:$(cat "$W/err")" "1:error: User 'agent' not found in /etc/passwd"
rm "$R/etc/passwd"
{ head -c 3000000 /dev/zero | tr '\0' 'a'; echo; cat "$R/etc/keep"; } >"$R/etc/passwd"
fits 'a line without end is skipped' "$(ed 0 view /docs/team '"agent"')" "Here's the result*"
mv "$R/etc/keep" "$R/etc/passwd"

# the reply of another user, in pieces
seq 1 500 >"$R/docs/long"
first=$(params view /docs/long '"agent"' | env -i $V=2048 /usr/sbin/chroot "$R" /t exec)
h=$(printf '%s' "$first" | jq -r .__inspect_json_rpc_response_chunk__.handle)
C=$R/.server/chunks
is 'a long reply is stored where that user has no way to' "$(stat -c '%u %a' "$C/$h.jsonrpc" "$C" | tr '\n' ' ')" '0 600 0 700 '
is '… and root reads on' "$(printf '{"jsonrpc":"2.0","method":"__inspect_json_rpc_response_chunk__","params":{"handle":"%s","offset":9},"id":2}' "$h" | env -i $V=2048 /usr/sbin/chroot "$R" /t exec | jq .__inspect_json_rpc_response_chunk__.offset)" 9
params view /docs/a '"agent"' | env -i $V=2048 /usr/sbin/chroot "$R" /t exec >/dev/null; is '… one that is not long leaves nothing' "$(ls "$C")" "$h.jsonrpc"
rm -rf "$C"; mount -t tmpfs -o size=4k,mode=700 none "$R/.server"; out=$(params view /docs/long '"agent"' | env -i $V=2048 /usr/sbin/chroot "$R" /t exec 2>&1); umount "$R/.server"
fits '… or, without room, is an error' "$out" 'error: cannot store the reply: No space left on device'
mkdir -p "$R/var/tmp/d"; cp "$PROGRAM" "$R/var/tmp/d/t"; chmod 700 "$R/var/tmp/d"
fits 'also with a program that user cannot reach' "$(params view /docs/long '"agent"' | env -i $V=2048 /usr/sbin/chroot "$R" /var/tmp/d/t exec)" '*"handle"*'
is '… beside it' "$(ls -A "$R/var/tmp/d" | tr '\n' ' ')" '.server t '

# pipe serves many users
{
  ID=1 params create /docs/p1 '"agent"' "$text"
  ID=2 params create /docs/p2 null "$text"
  ID=3 params create /docs/p3 '"homeless"' "$text"
  ID=4 params create /docs/p4 '"nobody"' "$text"
  ID=5 params create /docs/p5 5 "$text"
  ID=6 params create /docs/p6 '"root"' "$text"
  ID=7 params view /docs/mine '"agent"'
} | in_world pipe | jq -r '"\(.id):\(.error.code // "ok")"' | sort | tr '\n' ' ' >"$W/out"
is 'pipe answers each request as its user' "$(cat "$W/out")" '1:ok 2:ok 3:ok 4:-32098 5:-32602 6:ok 7:-32099 '
is '… and stays who it is' "$(stat -c %u "$R/docs/p1" "$R/docs/p2" "$R/docs/p3" "$R/docs/p6" | tr '\n' ' ')" '1000 0 1001 0 '
is '… a user nobody knows is an error reply' "$(params view /docs/a '"nobody"' | in_world pipe)" '{"jsonrpc": "2.0", "error": {"code": -32098, "message": "User '"'nobody'"' not found in /etc/passwd"}, "id": 1}'
is '… so is one it may not become' "$(params view /docs/a '"root"' | as_user 1000 pipe | show)" "-32099 Cannot switch to user 'root': server is not running as root"
is '… and notifications work, too' "$(printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"create","path":"/docs/q","file_text":"x","_run_as_user":"agent"}}\n' | in_world pipe):$(stat -c %u "$R/docs/q")" ':1000'
for x in 1 2 3 4 5 6 7 8 9 10; do params view /docs/long '"agent"'; done | in_world pipe >"$W/out"
is '… without leaving anything behind' "$(wc -l <"$W/out"):$(ps -e -o stat= | grep -c '^Z')" '10:0'
{
  params create /docs/order '"agent"' '"file_text":"0\n"'
  for x in 1 2 3 4 5 6 7 8 9; do params insert /docs/order '"agent"' "\"insert_line\":$x,\"new_str\":\"$x\\n\""; done
} | in_world pipe >"$W/out"
is '… those of one user in their order' "$(tr -d '\n' <"$R/docs/order"):$(grep -c '"result"' "$W/out")" '0123456789:10'
seq 3000 3029 | while read -r x; do printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/long","_run_as":{"uid":%s,"gid":1,"groups":[]}},"id":%s}\n' "$x" "$x"; done | in_world pipe >"$W/out"
is '… and those of more users than there are children at once' "$(jq -r 'select(.result).id' "$W/out" | sort -u | wc -l)" 30

# children of others are of no interest to it, such as what starts the server
mkfifo "$W/to" "$W/from"
in_world pipe <"$W/to" >"$W/from" & pipe=$!
exec 8>"$W/to" 9<"$W/from"
params view /docs/a '"agent"' >&8; read -r a <&9
request remote_version 2 >&8; echo >&8; read -r a <&9
fits 'the server is started by a pipe that has acted for a user' "$a" '*"result": "Server: *'
asleep() { grep -q "^State:.S" "/proc/$(pgrep -P "$pipe")/status"; }
wait_for asleep; succeeded '… which then waits' $?
exec 8>&-; wait $pipe; exec 9<&-
in_world stop-server
done_testing
