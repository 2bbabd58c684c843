#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: one server, properly detached, started and stopped by anyone at any time, killed without harm.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc bin
D=$R/.server
mode() { stat -c %a "$1"; }

in_world start-server >/dev/null; is 'start-server' $? 0
is 'directory 0700 and socket 0600' "$(mode "$D"):$(mode "$D/sandbox-tools.sock")" '700:600'
pid=$(server_pid)
is 'the pid file names the server' "$(jq .pid "$D/server.pid")" "$pid"
is 'the server is no leader, and an orphan' "$(awk '{print $5 == $1, $6 == $1, $4}' "/proc/$pid/stat")" '0 0 1'
is 'it holds no descriptor but its own' "$(fds "$pid")" "$(ls -l "/proc/$pid/fd" | grep -cE 'null|pipe:|server-std|socket:|anon_inode|server.lock|/\.server$|/t$')"
is 'its first environment is the caller'"'"'s and ours' "$(tr '\0' '\n' <"/proc/$pid/environ" | grep -c .)" 2
is 'its files are private' "$(umask 022; stat -c %a "$D/server.pid")" 600
exec 9<"$D/server.pid"; in_world start-server >/dev/null; exec 9<&-
is 'a second start finds it' "$(server_pid)" "$pid"

in_world stop-server; is 'stop-server' $? 0
is 'nothing runs' "$(servers)" 0
is 'a clean status' "$(jq -c . "$D/shutdown-status.json")" '{"errors":[]}'
[ ! -e "$D/sandbox-tools.sock" ] && [ ! -e "$D/server.pid" ]; succeeded 'no socket and no pid file are left' $?
in_world stop-server; is 'stop-server again' $? 0
[ ! -e "$D/shutdown-status.json" ]; succeeded 'which removes the status' $?
rm -rf "$D"; in_world stop-server; is 'stop-server makes nothing' "$?:$(ls "$R/tmp"; ls -d "$D" 2>/dev/null)" '0:'

# a server used to stay in the group of the call that started it
request remote_version 1 >"$W/req"
setsid -w sh -c 'env -i /usr/sbin/chroot "$1" /t exec <"$2/req" >"$2/out"; kill -KILL 0' sh "$R" "$W" 2>/dev/null
is 'a_server_outlives_the_group_of_the_call_that_started_it' "$(servers):$(call remote_version)" "1:$(cat "$W/out")"
in_world stop-server

# a dead one whose parent does not care used to count as alive
cat >"$W/unreaped" <<'END'
call() { timeout 100 "$1" exec '{"jsonrpc":"2.0","method":"remote_version","id":1}'; }
dead() { grep -c '^State:.Z' "/proc/$pid/status"; }
call "$1" | grep -o result
pid=$(jq .pid "$INSPECT_SANDBOX_TOOLS_DIR/server.pid")
kill -9 "$pid"
until [ "$(dead)" = 1 ]; do sleep 0.05; done
call "$1" | grep -o result
dead
"$1" stop-server
: >"$0.done"
END
INSPECT_SANDBOX_TOOLS_DIR=$W/unreaped.d unshare -m -p -f --mount-proc --kill-child \
  perl -e 'if (!fork) { exec "sh", @ARGV } select undef, undef, undef, 0.1 until -e "$ARGV[0].done"' "$W/unreaped" "$PROGRAM" >"$W/out" 2>&1
is 'a_dead_server_nobody_reaps_is_replaced' "$(tr '\n' ' ' <"$W/out")" 'result result 1 '

for i in 1 2 3; do
  jobs=
  for n in $(seq 10); do
    (in_world start-server >"$W/s.$n") & jobs="$jobs $!"
    (call remote_version >"$W/e.$n") & jobs="$jobs $!"
  done
  bad=0
  for j in $jobs; do wait "$j" || bad=1; done
  is "20 at once: one server (round $i)" "$bad:$(cat "$W"/s.* "$W"/e.* | grep -o '([0-9]*)' | sort | uniq -c | awk '{print $1}')" '0:20'
  is '… and no other process' "$(servers)" 1
  if [ $i = 2 ]; then kill -9 "$(server_pid)"; else in_world stop-server; fi
done

old=$(call remote_version); pid=$(server_pid)
kill -9 "$pid"
new=$(call remote_version)
[ "$old" != "$new" ] && fits 'a_killed_server_is_replaced at the next call' "$new" '*Server: /t*'
pid=$(server_pid); kill -STOP "$pid"; 
start=$(date +%s)
fits 'a_hanging_server_is_replaced' "$(call remote_version)" '*Server: /t*'
within $(($(date +%s) - start)) 17; succeeded '… in time' $?
kill -0 "$pid" 2>/dev/null; is '… and gone' $? 1
pid=$(server_pid)
rm "$D/sandbox-tools.sock"
wait_for test -S "$D/sandbox-tools.sock"; succeeded 'a removed socket comes back' $?
is '… from the same server' "$(server_pid)" "$pid"
rm "$D/sandbox-tools.sock"
is '… and a call right after the removal finds it' "$(server_pid)" "$pid"
touch "$D/other"; mv "$D/other" "$D/sandbox-tools.sock"
wait_for gone "$pid"; succeeded 'a server whose socket was replaced exits' $?
rm "$D/sandbox-tools.sock"

# what is removed, by root inside for one, comes back, and no job is lost with it
cp "$(command -v busybox)" "$R/bin/sh"; ln -s sh "$R/bin/sleep"
job() { request exec_remote_start 1 | sed 's/"id"/"params":{"command":"'"$1"'"},"id"/' | in_world exec | jq .result.pid; }
here() { [ -S "$D/sandbox-tools.sock" ] && [ -e "$D/server.lock" ] && [ "$(jq .pid "$D/server.pid")" = "$pid" ]; }
pid=$(server_pid); sleeper=$(job 'sleep 1000')
for how in 'rm -rf "$D"' 'mv "$D" "$W/moved"' 'find "$D" -mindepth 1 -delete' 'rm "$D/server.lock"' 'rm "$D/server.pid" "$D/server.lock" "$D/sandbox-tools.sock"'; do
  eval "$how" 2>/dev/null; wait_for here; succeeded "comes back after: $how" $?
  is '… from the same server, which is the only one' "$(server_pid):$(servers)" "$pid:1"
  is '… closed to others' "$(stat -c %a "$D" "$D/sandbox-tools.sock" "$D/server.lock" | tr '\n' ' ')" '700 600 600 '
  kill -0 "$sleeper"; succeeded '… with its job' $?
  rm -rf "$W/moved"
done
for i in $(seq 20); do rm -rf "$D" 2>/dev/null; done
wait_for here && kill -0 "$sleeper"; succeeded '… also after many times' $?
is '… holding nothing that is deleted' "$(ls -l "/proc/$pid/fd" | grep -c deleted)" 0
is '… nor anything twice' "$(fds "$pid")" "$(ls -l "/proc/$pid/fd" | grep -cE 'null|pipe:|server-std|socket:|anon_inode|server.lock|/\.server$|/t$')"
in_world stop-server; is '… and it can be stopped' "$?:$(servers):$(jq -c . "$D/shutdown-status.json")" '0:0:{"errors":[]}'
pid=$(server_pid); mkdir "$R/theirs"; chown 1000 "$R/theirs"
until rm -rf "$D" 2>/dev/null && mv -T "$R/theirs" "$D" 2>/dev/null; do :; done
wait_for gone "$pid"; succeeded 'one whose directory is another user'"'"'s now exits' $?; rmdir "$D"
cp "$R/t" "$R/brief"; env -i /usr/sbin/chroot "$R" /brief start-server >/dev/null; pid=$(server_pid)
rm "$R/brief"; rm -rf "$D" 2>/dev/null; wait_for gone "$pid"; succeeded 'so does one whose program was removed, too' $?; rm -rf "$D"
is 'nothing runs' "$(servers)" 0

echo '{"pid": 1, "created_at": 1.5}' >"$W/pid"; mkdir -m 700 "$D"; cp "$W/pid" "$D/server.pid"
fits 'a stale pid file that names a live process does not matter' "$(call remote_version)" '*Server*'
kill -9 "$(server_pid)"; printf 'garbage' >"$D/server.pid"; printf 'x' >"$D/shutdown-status.json"
fits 'nor does garbage' "$(call remote_version)" '*Server*'
in_world stop-server; is 'stop' $? 0

head -c 3000000 /dev/zero >"$D/server-stderr.log"
in_world start-server >/dev/null; is 'logs_do_not_grow_without_bound: an overlong one is emptied' "$(stat -c %s "$D/server-stderr.log")" 0
kill -TERM "$(server_pid)"; wait_for test -e "$D/shutdown-status.json"; succeeded 'SIGTERM ends it cleanly' $?
mkdir -p "$R/deep/dir"; TOOL_ENV='INSPECT_SANDBOX_TOOLS_DIR=/deep/dir/a//./b/../c'
in_world start-server >/dev/null; succeeded 'INSPECT_SANDBOX_TOOLS_DIR with missing parents' $?
is '… is used' "$(find "$R/deep" -name '*.sock')" "$R/deep/dir/a/c/sandbox-tools.sock"
in_world stop-server; succeeded '… and stopped' $?
long=/deep/$(printf 'x%.0s' $(seq 60))/$(printf 'y%.0s' $(seq 60)); TOOL_ENV="INSPECT_SANDBOX_TOOLS_DIR=$long"
in_world start-server >/dev/null; succeeded 'a directory too long for a socket address' $?
is '… has its socket there, too' "$(cd "$R$long" && echo *.sock):$(ls -A "$R/tmp")" 'sandbox-tools.sock:'
in_world stop-server; succeeded '… and stops' $?
TOOL_ENV=
done_testing
