#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: if a container lacks something (/tmp, /proc, /dev, a writable root), only what needs it
# fails.
# tier: check
# shellcheck disable=SC2154	# state, code and polls are set by follow
. "$(dirname "$(realpath "$0")")/lib.sh"

tool() { $AS "$@"; }
finish() { # finish PID: everything it says, and how it ends
  follow "$1"
  cat "$W/out" "$W/err"
  printf '%s' "$code"
}
AS=in_world
box() { # box NAME DIR…: one with programs in it, which are one static program
  world "$@"
  mkdir -p "$R/bin"
  cp "$(command -v busybox)" "$R/bin/busybox"
  for c in sh cat echo sleep head seq kill true yes wc setsid; do ln -s busybox "$R/bin/$c"; done
}
busybox true 2>/dev/null || { echo "1..0 # skip needs busybox"; exit 77; }

# ---- nothing but programs: no /tmp, /proc, /dev, /etc ----
box bare; TOOL_ENV='PATH=/bin'
is 'no /tmp, /proc, /dev: a job' "$(finish "$(start 'echo hello; echo oops >&2; exit 3')")" 'hello
oops
3'
is '… its stdin is empty' "$(finish "$(start 'cat; seq 200000 | wc -l')")" '200000
0'
pid=$(start 'sleep 100 & echo $!; sleep 101'); sleep 0.5
rpc exec_remote_kill "{\"pid\":$pid}" >"$W/r"
wait_for gone "$(jq -r .result.stdout "$W/r")"; succeeded '… is killed with its children' $?
pid=$(start 'yes'); sleep 0.3; rpc exec_remote_kill "{\"pid\":$pid}" | jq -e .result >/dev/null; succeeded '… even while it floods' $?
fits 'the editor works' "$(rpc text_editor '{"command":"create","path":"/f","file_text":"a\n"}')" '*created*'
fits '… and edits' "$(rpc text_editor '{"command":"str_replace","path":"/f","old_str":"a","new_str":"b"}')" '*edited*'
fits '… and undoes' "$(rpc text_editor '{"command":"undo_edit","path":"/f"}')" '*undone*'
fits 'no shells: it says so' "$(rpc bash_session_new_session | jq -r .error.message)" 'OSError(2, *cannot get a pseudo terminal*'
fits 'an MCP server starts' "$(rpc mcp_launch_server '{"server_params":{"command":"cat"}}')" '*"result": 0*'
fits '… gets messages' "$(rpc mcp_send_notification '{"session_id":0,"notification":{"jsonrpc":"2.0","method":"x"}}')" '*"result": null*'
fits '… and ends' "$(rpc mcp_kill_server '{"session_id":0}')" '*"result": null*'
start 'setsid sleep 102 >&2 & sleep 103' >/dev/null; sleep 0.3
in_world stop-server; is 'it stops' $? 0
is '… and leaves nothing' "$(pgrep -fc 'sleep 10[0-3]')" 0

# ---- /dev is empty, or what is in it is not what it is called ----
box dev dev tmp proc
is 'an empty /dev: a job' "$(finish "$(start 'cat; echo hi')")" 'hi
0'
echo precious >"$R/dev/null"; mkfifo "$R/dev/ptmx"
is 'a file called /dev/null is not read' "$(finish "$(start 'cat; echo hi')")" 'hi
0'
in_world stop-server >/dev/null 2>&1; in_world start-server <&- >"$W/o"; is '… nor written' "$?:$(cat "$R/dev/null")" '0:precious'
out=$(timeout 20 env -i /usr/sbin/chroot "$R" /t exec '{"jsonrpc":"2.0","id":1,"method":"bash_session_new_session"}')
fits 'a FIFO called /dev/ptmx blocks nobody' "$out" '*error*-32098*'
in_world stop-server

# ---- /proc goes away while it runs, or is somebody else's ----
box proc tmp proc
pid=$(start 'sleep 104 & (setsid sleep 105 &); wait'); sleep 0.3
mount -t tmpfs none "$R/proc"
pid2=$(start 'sleep 106 & wait'); sleep 0.3
t=$(rpc exec_remote_kill "{\"pid\":$pid2}" | jq -c .result.seq); is '/proc goes away: a job is killed' "$t" 1
wait_for eval '[ "$(pgrep -fc "sleep 106")" = 0 ]'; succeeded '… with its children' $?
is '… and others run' "$(finish "$(start 'echo on')")" 'on
0'
in_world stop-server; is '… it stops' $? 0
wait_for eval '[ "$(pgrep -fc "sleep 10[456]")" = 0 ]'; succeeded '… and leaves nothing' $?
is '… itself neither' "$(servers)" 0
umount "$R/proc"

# ---- read-only roots ----
box ro tmp proc srv; mount --rbind "$R" "$R"; mount -o remount,ro,bind "$R"
out=$(call remote_version 2>&1); is 'nowhere to write: the server cannot start' "$?" 1
fits '… and says why' "$out" 'error: *Read-only file system'
fits '… what needs no server works' "$(call version)" '*"result"*'
in_world stop-server; is '… and there is nothing to stop' $? 0
mkdir -m 1777 "$W/tmp"; chmod 1777 "$W/tmp"; mount --bind "$W/tmp" "$R/tmp"
TOOL_ENV="$TOOL_ENV INSPECT_SANDBOX_TOOLS_DIR=/tmp/d"
fits 'a read-only root with a /tmp' "$(call remote_version)" '*"result"*'
fits '… an edit elsewhere is refused' "$(rpc text_editor '{"command":"create","path":"/srv/f","file_text":"a"}' | jq -r .error.message)" '*Read-only file system*'
fits '… one there is not' "$(rpc text_editor '{"command":"create","path":"/tmp/f","file_text":"a"}')" '*created*'
# nothing can be made in the directory itself any more, nor removed, as on a disk with errors; a mount
# with a writer, which the server is, cannot be made read-only
chattr +i "$R/tmp/d" && ! touch "$R/tmp/d/x" 2>/dev/null; succeeded 'its own directory turns read-only' $?
fits '… it goes on' "$(call remote_version)" '*"result"*'
is '… and starts jobs' "$(finish "$(start 'echo on')")" 'on
0'
out=$(in_world stop-server 2>&1); fits '… and can be told to stop' "$?:$out" '[01]:*'
wait_for eval '[ "$(servers)" = 0 ]'; is '… which it does' "$(servers)" 0
chattr -i "$W/tmp/d"
fits 'writable again: it starts' "$(call remote_version)" '*"result"*'
in_world stop-server; is '… and stops' "$?:$(servers)" 0:0
umount "$R/tmp"; umount -R "$R"; TOOL_ENV='PATH=/bin'

# ---- the same without privileges ----
AS='as_user 65534'
box user; chown 65534 "$R"
is 'unprivileged, nothing there: a job' "$(finish "$(start 'echo hello; exit 3')")" 'hello
3'
pid=$(start 'sleep 107 & echo $!; sleep 108'); sleep 0.5
rpc exec_remote_kill "{\"pid\":$pid}" >"$W/r"
wait_for gone "$(jq -r .result.stdout "$W/r")"; succeeded '… is killed with its children' $?
as_user 65534 stop-server; is '… it stops' "$?:$(servers)" 0:0
chown 0 "$R"; rm -rf "$R/.server"
out=$(rpc remote_version 2>&1); is 'nowhere it may write: the server cannot start' "$?" 1
fits '… and says why' "$out" '*error: *Permission denied'
done_testing
