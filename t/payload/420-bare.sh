#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: what a container may lack (/tmp, /proc, /dev, a root to write to) costs no more than what
# needs it.
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
is "$(finish "$(start 'echo hello; echo oops >&2; exit 3')")" 'hello
oops
3' 'no /tmp, /proc, /dev: a job'
is "$(finish "$(start 'cat; seq 200000 | wc -l')")" '200000
0' '… its stdin is empty'
pid=$(start 'sleep 100 & echo $!; sleep 101'); sleep 0.5
rpc exec_remote_kill "{\"pid\":$pid}" >"$W/r"
wait_for gone "$(jq -r .result.stdout "$W/r")"; ok $? '… is killed with its children'
pid=$(start 'yes'); sleep 0.3; rpc exec_remote_kill "{\"pid\":$pid}" | jq -e .result >/dev/null; ok $? '… even while it floods'
like "$(rpc text_editor '{"command":"create","path":"/f","file_text":"a\n"}')" '*created*' 'the editor works'
like "$(rpc text_editor '{"command":"str_replace","path":"/f","old_str":"a","new_str":"b"}')" '*edited*' '… and edits'
like "$(rpc text_editor '{"command":"undo_edit","path":"/f"}')" '*undone*' '… and undoes'
like "$(rpc bash_session_new_session | jq -r .error.message)" 'OSError(2, *no pseudo terminal*' 'no shells: it says so'
like "$(rpc mcp_launch_server '{"server_params":{"command":"cat"}}')" '*"result": 0*' 'an MCP server starts'
like "$(rpc mcp_send_notification '{"session_id":0,"notification":{"jsonrpc":"2.0","method":"x"}}')" '*"result": null*' '… gets messages'
like "$(rpc mcp_kill_server '{"session_id":0}')" '*"result": null*' '… and ends'
start 'setsid sleep 102 >&2 & sleep 103' >/dev/null; sleep 0.3
in_world stop-server; is $? 0 'it stops'
is "$(pgrep -fc 'sleep 10[0-3]')" 0 '… and leaves nothing'

# ---- /dev is empty, or what is in it is not what it is called ----
box dev dev tmp proc
is "$(finish "$(start 'cat; echo hi')")" 'hi
0' 'an empty /dev: a job'
echo precious >"$R/dev/null"; mkfifo "$R/dev/ptmx"
is "$(finish "$(start 'cat; echo hi')")" 'hi
0' 'a file called /dev/null is not read'
in_world stop-server >/dev/null 2>&1; in_world start-server <&- >"$W/o"; is "$?:$(cat "$R/dev/null")" '0:precious' '… nor written'
out=$(timeout 20 env -i /usr/sbin/chroot "$R" /t exec '{"jsonrpc":"2.0","id":1,"method":"bash_session_new_session"}'); like "$out" '*error*-32098*' 'a FIFO called /dev/ptmx blocks nobody'
in_world stop-server

# ---- /proc goes away while it runs, or is somebody else's ----
box proc tmp proc
pid=$(start 'sleep 104 & (setsid sleep 105 &); wait'); sleep 0.3
mount -t tmpfs none "$R/proc"
pid2=$(start 'sleep 106 & wait'); sleep 0.3
t=$(rpc exec_remote_kill "{\"pid\":$pid2}" | jq -c .result.seq); is "$t" 1 '/proc goes away: a job is killed'
wait_for eval '[ "$(pgrep -fc "sleep 106")" = 0 ]'; ok $? '… with its children'
is "$(finish "$(start 'echo on')")" 'on
0' '… and others run'
in_world stop-server; is $? 0 '… it stops'
wait_for eval '[ "$(pgrep -fc "sleep 10[456]")" = 0 ]'; ok $? '… and leaves nothing'
is "$(servers)" 0 '… itself neither'
umount "$R/proc"

# ---- read-only roots ----
box ro tmp proc srv; mount --rbind "$R" "$R"; mount -o remount,ro,bind "$R"
out=$(call remote_version 2>&1); is "$?" 1 'nowhere to write: the server cannot start'
like "$out" 'error: *Read-only file system' '… and says why'
like "$(call version)" '*"result"*' '… what needs no server works'
in_world stop-server; is $? 0 '… and there is nothing to stop'
mount -t tmpfs -o mode=1777 none "$R/tmp"; TOOL_ENV="$TOOL_ENV INSPECT_SANDBOX_TOOLS_DIR=/tmp/d"
like "$(call remote_version)" '*"result"*' 'a read-only root with a /tmp'
like "$(rpc text_editor '{"command":"create","path":"/srv/f","file_text":"a"}' | jq -r .error.message)" '*Read-only file system*' '… an edit elsewhere is refused'
like "$(rpc text_editor '{"command":"create","path":"/tmp/f","file_text":"a"}')" '*created*' '… one there is not'
# the directory itself turns read-only under a running server
mount -o remount,ro "$R/tmp"
like "$(call remote_version)" '*"result"*' 'its own directory turns read-only: it goes on'
is "$(finish "$(start 'echo on')")" 'on
0' '… and starts jobs'
out=$(in_world stop-server 2>&1); like "$?:$out" '[01]:*' '… and can be told to stop'
wait_for eval '[ "$(servers)" = 0 ]'; is "$(servers)" 0 '… which it does'
mount -o remount,rw "$R/tmp"
like "$(call remote_version)" '*"result"*' 'writable again: it starts'
in_world stop-server; is "$?:$(servers)" 0:0 '… and stops'
umount "$R/tmp"; umount -R "$R"; TOOL_ENV='PATH=/bin'

# ---- the same without privileges ----
AS='as_user 65534'
box user; chown 65534 "$R"
is "$(finish "$(start 'echo hello; exit 3')")" 'hello
3' 'unprivileged, nothing there: a job'
pid=$(start 'sleep 107 & echo $!; sleep 108'); sleep 0.5
rpc exec_remote_kill "{\"pid\":$pid}" >"$W/r"
wait_for gone "$(jq -r .result.stdout "$W/r")"; ok $? '… is killed with its children'
as_user 65534 stop-server; is "$?:$(servers)" 0:0 '… it stops'
chown 0 "$R"; rm -rf "$R/.server"
out=$(rpc remote_version 2>&1); is "$?" 1 'nowhere it may write: the server cannot start'
like "$out" '*error: *Permission denied' '… and says why'
done_testing
