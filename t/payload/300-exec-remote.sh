#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: exec_remote_*: output whole and once, exact states and errors, nothing blocks, everything can be killed.
# tier: check
# also unprivileged: all but becoming others
# shellcheck disable=SC2154	# state, code and polls are set by follow
. "$(dirname "$(realpath "$0")")/lib.sh"

mkdir -m 755 "$W/d"
is_root || chown "$TEST_UID" "$W/d"
export INSPECT_SANDBOX_TOOLS_DIR="$W/d"
T=$TOOL
tool() { "$T" "$@"; }
reply() { rpc "exec_remote_$1" "$2"; }
poll() { reply poll "{\"pid\":$1,\"ack_seq\":${2:-0}}"; }
# the whole of it: state, code, texts, with everything acknowledged on the way
finish() { # finish PID: polls until the end; sets out, err, code, polls
  follow "$1"
  out=$(tr -d '\0' <"$W/out") err=$(cat "$W/err")
}
job() { finish "$(start "$@")"; } # job COMMAND [JQ]
reads() { awk '/^syscr/ {print $2}' "/proc/$(server)/io"; }

# ---- one command, one reply ----
pid=$(start true); [ "$pid" -gt 0 ]; succeeded 'start names a pid' $?
is 'true: one poll tells everything' "$(poll "$pid" | jq -c '.result|[.state,.exit_code,.seq,.stdout,.stderr]')" '["completed",0,1,"",""]'
pid=$(start 'echo hello; echo oops >&2; exit 42')
is 'small_output_comes_with_the_end: no second round trip' "$(poll "$pid" | jq -c '.result|[.state,.exit_code,.seq,.stdout,.stderr]')" '["completed",42,1,"hello\n","oops\n"]'
is 'a poll after the end is an error' "$(poll "$pid" | message)" "-32099 No job found with pid $pid"
is 'so is a kill' "$(reply kill "{\"pid\":$pid,\"ack_seq\":0}" | message)" "-32099 No job found with pid $pid"
is 'and a job that never was' "$(poll 99999 | message)" '-32099 No job found with pid 99999'
is 'numbers that are no pids are no jobs' "$(poll -1 | jq .error.code)$(poll 0 | jq .error.code)" '-32099-32099'
job nonexistent_command_xyz; is 'command not found' "$code" 127
fits '… is said' "$err" '*not found*'
# shellcheck disable=SC2016	# the command's own
job 'echo $0'; is 'shells_name_themselves_by_their_path' "$out" /bin/sh
job 'kill -9 $$'; is 'death by signal 9 is -9' "$code" -9
job 'kill -TERM $$'; is 'death by signal 15 is -15' "$code" -15
job 'printf "a\0b\300\257\355\240\200z"'
is 'NUL stays, what is no UTF-8 becomes U+FFFD' "$(od -An -tx1 "$W/out" | tr -d ' \n')" '6100''62efbfbdefbfbdefbfbdefbfbdefbfbd7a'
job 'printf "\303"; sleep 0.05; printf "\251"; printf "\342\202"'
is 'a character in two pieces; half of one at the end' "$(od -An -tx1 "$W/out" | tr -d ' \n')" 'c3a9efbfbd'
a=$(start 'echo a; sleep 0.2'); b=$(start 'echo b; sleep 0.1'); c=$(start 'echo c')
[ "$a" != "$b" ] && [ "$b" != "$c" ]; succeeded 'jobs at once have their own pids' $?
finish "$c"; x=$out; finish "$a"; x=$x$out; finish "$b"; is '… and their own output' "$x$out" cab

# ---- long polls ----
pid=$(start 'sleep 4; echo late'); t=$(now)
is 'a quiet job is running' "$(poll "$pid" | jq -c '.result|[.state,.exit_code,.stdout]')" '["running",null,""]'
t=$(($(now) - t)); [ $t -ge 900 ] && within $t 2000; succeeded "… told after a second ($t ms)" $?
t=$(now); finish "$pid"; t=$(($(now) - t)); is 'its end is told' "$out:$code" 'late:0'
within $t 5000; succeeded "… when it comes ($t ms)" $?
pid=$(start 'echo 1; until [ -e go ]; do sleep 0.05; done; echo 2; echo 3'); t=$(now); poll "$pid" >"$W/r"; t=$(($(now) - t))
is 'output ends the waiting' "$(jq -r .result.stdout "$W/r")" 1
within $t 400; succeeded "… at once ($t ms)" $?
touch go
finish "$pid" 1; is '… and unacknowledged text comes again' "$out" '1
2
3'

# ---- numbers and acknowledgement ----
pid=$(start cat '{stdin_open:true}')
w() { reply write_stdin "{\"pid\":$pid,\"data\":\"$1\",\"ack_seq\":$2}" | jq -c '.result|[.seq,.stdout]'; }
w a 0 >/dev/null; sleep 0.2
is 'a write reports what came before' "$(w b 0)" '[2,"a"]'; sleep 0.2
is 'acknowledged text is gone' "$(reply close_stdin "{\"pid\":$pid,\"ack_seq\":2}" | jq -c '.result|[.seq,.stdout]')" '[3,"b"]'
is 'closing again is fine, and the rest comes again' "$(reply close_stdin "{\"pid\":$pid,\"ack_seq\":2}" | jq -c '.result|[.seq,.stdout]')" '[4,"b"]'
is 'also with the end' "$(poll "$pid" 2 | jq -c '.result|[.seq,.state,.stdout]')" '[5,"completed","b"]'
pid=$(start 'echo one; sleep 0.5; echo two')
poll "$pid" >/dev/null; is 'a client without numbers acknowledges everything' "$(reply poll "{\"pid\":$pid}" | jq -c '.result|[.seq,.stdout]')" '[2,"two\n"]'
pid=$(start 'echo one; sleep 0.5'); poll "$pid" 0 >/dev/null
is 'a number from the future acknowledges everything' "$(poll "$pid" 1000 | jq -c '.result|[.seq,.stdout]')" '[2,""]'

# ---- parameters ----
code_of() { reply "$1" "$2" | jq .error.code; }
is 'start without a command' "$(code_of start '{}')" -32602
is 'wrong and unknown members' "$(code_of start '{"command":1}')$(code_of start '{"command":"true","x":1}')$(code_of start '{"command":"true","stdin_open":1}')$(code_of start '{"command":"true","env":{"A":1}}')" '-32602-32602-32602-32602'
is 'a pid is an integer' "$(reply poll '{"pid":"5"}' | message)" "-32602 Invalid parameters: 'pid' Input should be a valid integer"
is 'and checked everywhere' "$(code_of poll '{}')$(code_of kill '{"pid":1.5}')$(code_of poll '{"pid":1,"ack_seq":true}')$(code_of poll '{"pid":1,"ack_seq":0,"x":0}')" '-32602-32602-32602-32602'
is 'no NUL in a command' "$(reply start '{"command":"a\u0000b"}' | message)" "-32098 ValueError('embedded null byte')"
is 'no = in a name' "$(reply start '{"command":"true","env":{"A=B":"c"}}' | message)" "-32098 ValueError('illegal environment variable name')"
is 'a cwd that does not exist' "$(reply start '{"command":"true","cwd":"/nowhere"}' | message)" "-32098 FileNotFoundError(2, 'No such file or directory')"
is '… or is empty' "$(reply start '{"command":"true","cwd":""}' | message)" "-32098 FileNotFoundError(2, 'No such file or directory')"
is '… or is too long' "$(reply start "{\"command\":\"true\",\"cwd\":\"/$(head -c 5000 /dev/zero | tr '\0' x)\"}" | message)" "-32098 OSError(36, 'File name too long')"
is '… or is none' "$(reply start '{"command":"true","cwd":"/etc/passwd"}' | message)" "-32098 NotADirectoryError(20, 'Not a directory')"
a=$(reply start '{"command":"sleep 5","request_id":"same"}' | jq .result.pid); b=$(reply start '{"command":"sleep 5","request_id":"same"}' | jq .result.pid)
is 'a_repeated_start_starts_once: with one request_id' "$a" "$b"; reply kill "{\"pid\":$a,\"request_id\":\"k\"}" >/dev/null

# ---- surroundings ----
job 'echo $A $B; echo ${INSPECT_SANDBOX_TOOLS_DIR-unset}; pwd; umask; cat /proc/self/oom_score_adj' '{env:{A:"1",B:"x y"},cwd:"/usr"}'
is 'env, cwd, umask, OOM score' "$out" "1 x y
unset
/usr
$(umask)
1000"
job pwd; is 'cwd is the first caller'"'"'s' "$out" "$W"
job 'echo $PATH' '{env:{}}'; is 'an empty env changes nothing' "$out" "$PATH"
job 'ps -o sid=,pgid=,tty= -p $$ | tr -d " \n"; echo; echo $$; ls /proc/self/fd | wc -l; grep -E "Sig(Blk|Ign)" /proc/self/status | cut -c17- | sed "s/^8/0/" | sort -u'
p=$(sed -n 2p "$W/out")
is 'own session and group, no terminal, descriptors 0 to 2, clean signals' "$(sed -n '1p;3,$p' "$W/out")" "$p$p?
4
00000000"
job 'ulimit -c; ulimit -n'; is 'limits of the caller' "$out" "$(bash -c 'ulimit -c; ulimit -n')"
if is_root; then
  grep -q "^nobody:" /etc/passwd
  job 'id -un; echo $HOME; id -G; cat /proc/self/oom_score_adj' '{user:"nobody",env:{X:"y"}}'
  is 'another user: HOME, groups, OOM score' "$out" "nobody
$(getent passwd nobody | cut -d: -f6)
$(id -G nobody)
1000"
  job 'echo $HOME' '{user:"nobody",env:{HOME:"/x"}}'; is '… whose HOME is the one that was given' "$out" /x
  job 'id -u; echo $HOME' '{user:"root",env:{HOME:"/x"}}'; is 'the own user is no switch' "$out" '0
/x'
  job id '{user:"nosuchuser"}'; is 'an unknown user is the job'"'"'s failure' "$code:$err" "1:sandbox-tools: user 'nosuchuser' not found in /etc/passwd"
fi

# ---- stdin ----
job 'cat; echo end'; is 'jobs_do_not_read_the_stdin_of_a_caller: the end of file at once' "$out" end
echo text >"$W/in"; pid=$(printf '{"jsonrpc":"2.0","id":1,"method":"exec_remote_start","params":{"command":"readlink /proc/self/fd/0"}}' | "$T" exec | jq .result.pid); finish "$pid"
is '… from /dev/null' "$out" /dev/null
job cat '{input:"some\ntext\n"}'; is 'input' "$out" 'some
text'
job 'cat; echo end' '{input:""}'; is 'empty input' "$out" end
is 'no stdin to write to' "$(reply write_stdin "{\"pid\":$(start 'sleep 1'),\"data\":\"x\",\"ack_seq\":0}" | message)" '-32099 stdin is not available (process started without stdin_open=True)'
pid=$(start 'sleep 1' '{input:"x"}')
is 'one that is closed' "$(reply write_stdin "{\"pid\":$pid,\"data\":\"x\",\"ack_seq\":0}" | message)" '-32099 stdin is already closed'
is '… can be closed again' "$(reply close_stdin "{\"pid\":$pid,\"ack_seq\":0}" | jq .result.seq)" 1
pid=$(start 'exit 0' '{stdin_open:true}'); sleep 0.2
is 'writing to a job that has ended' "$(reply write_stdin "{\"pid\":$pid,\"data\":\"x\",\"ack_seq\":0}" | message)" '-32099 stdin is already closed'
pid=$(start 'read a; echo "1$a"; read b; echo "2$b"; cat' '{stdin_open:true,input:"first\n"}')
reply write_stdin "{\"pid\":$pid,\"data\":\"second\\nthird\\n\",\"ack_seq\":0}" >/dev/null; reply close_stdin "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null
finish "$pid"; is 'input, then writes, in order' "$out" '1first
2second
third'
bad=0; for i in $(seq 100); do p=$(start true '{input:"hello"}'); [ "$p" -gt 0 ] 2>/dev/null || bad=$((bad + 1)); poll "$p" | grep -q '"completed"' || bad=$((bad + 1)); done
is 'input_nobody_reads_is_no_error: 100 times to true' $bad 0
jq -nc '{jsonrpc:"2.0",id:1,method:"exec_remote_start",params:{command:"sleep 900",input:("x"*1000000)}}' >"$W/big"
t=$(now)
pid=$("$T" exec <"$W/big" | jq .result.pid)
t=$(($(now) - t))
[ "$pid" -gt 0 ] && within $t 5000
succeeded "input_nobody_reads_does_not_hold_up_the_start: 1 MB ($t ms)" $?
reply kill "{\"pid\":$pid,\"ack_seq\":0}" | jq -e .result >/dev/null; succeeded '… and it can be killed' $?
jq -nc '{jsonrpc:"2.0",id:1,method:"exec_remote_start",params:{command:"sleep 0.3; wc -c",input:("x"*20000000)}}' >"$W/big"
finish "$("$T" exec <"$W/big" | jq .result.pid)"; is 'no_limit_of_1_MiB_on_requests: 20 MB of input, slowly read' "$out" 20000000
pid=$(start 'sleep 900' '{stdin_open:true}')
jq -nc --argjson p "$pid" '{jsonrpc:"2.0",id:1,method:"exec_remote_write_stdin",params:{pid:$p,ack_seq:0,data:("x"*40000000)}}' >"$W/big"
a=$("$T" exec <"$W/big" | jq -c .result.seq) b=$("$T" exec <"$W/big" | jq -c .error.code)
is 'more than 64 MiB that nobody reads is refused' "$a$b" '1-32099'
reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null

# ---- much output ----
job 'head -c 200000 /dev/zero | tr "\0" x'; is '200 KB' "$(wc -c <"$W/out")" 200000
[ "$polls" -gt 1 ]; succeeded 'big output does not come with the end: it could be asked for again' $?
job 'yes 0123456789abcde | head -c 30000000; yes err | head -c 3000000 >&2'
is '30 MB and 3 MB' "$(wc -c <"$W/out"):$(wc -c <"$W/err")" '30000000:3000000'
is '… in order' "$(md5sum <"$W/out")" "$(yes 0123456789abcde | head -c 30000000 | md5sum)"
bad=0
for i in $(seq 100); do
  job 'head -c 60000 /dev/zero | tr "\0" x; echo end'
  [ "$(wc -c <"$W/out")" = 60004 ] || bad=$((bad + 1))
done
is 'output_before_the_end_is_never_lost: 60 KB, polled tightly, 100 times' $bad 0
pid=$(start 'head -c 3000000 /dev/zero | tr "\0" x; : >said'); wait_for test -e said
is 'a poll brings at most 1 MiB of a stream' "$(poll "$pid" | jq '.result.stdout|length')" 1048576
is '(no stdin)' "$(reply write_stdin "{\"pid\":$pid,\"ack_seq\":0,\"data\":\"\"}" | jq .error.code)" -32099
reply kill "{\"pid\":$pid,\"ack_seq\":1}" >"$W/r"; is 'a kill brings the rest' "$(jq '.result.stdout|length' "$W/r")" 1951424
pid=$(start 'head -c 3000000 /dev/zero | tr "\0" x; : >all; cat' '{stdin_open:true}'); wait_for test -e all
is 'the_reply_to_a_write_is_bounded' "$(reply write_stdin "{\"pid\":$pid,\"data\":\"x\",\"ack_seq\":0}" | jq '.result.stdout|length')" 1048576
is '… to a close, too' "$(reply close_stdin "{\"pid\":$pid,\"ack_seq\":1}" | jq '.result.stdout|length')" 1048576
reply kill "{\"pid\":$pid,\"ack_seq\":2}" >/dev/null
pid=$(start 'exec head -c 104857600 /dev/zero'); before=$(rss); i=0
until [ "$(awk '{print $3}' "/proc/$pid/stat" 2>/dev/null || echo Z)" = Z ] || gone "$pid" || [ $i -gt 400 ]; do i=$((i + 1)); sleep 0.05; done
r=$(rss); [ $((r - before)) -lt 130000 ]; costs "100 MB waiting take no more memory ($before → $r KB)" $?
cpu() { awk '{print $14 + $15}' "/proc/$(server)/stat"; }
c=$(cpu); reply kill "{\"pid\":$pid,\"ack_seq\":0}" >"$W/r"
is 'the_reply_to_a_kill_is_bounded: and says so' "$(jq -r '.result.stdout|split("\n")[1]' "$W/r")" '[inspect_sandbox_tools: exec_remote output exceeded 4 MiB; showing the tail; 100663296 bytes omitted]'
n=$(($(cpu) - c)); [ $n -lt 40 ]; costs "… and takes no long time, NUL by NUL (${n}0 ms)" $?
below '… and the memory is free again' 60000
pid=$(start 'head -c 105500000 /dev/zero | tr "\0" "~"; echo end >&2'); sleep 2
kill -0 "$pid"; succeeded 'a full buffer makes the job wait' $?
c=$(cpu); sleep 1; [ $(($(cpu) - c)) -lt 50 ]; costs '… without work for the server' $?
n=0 ack=0 end=
until [ "$end" = '"end\n"' ] && ! grep -q '"state": "running"' "$W/r"; do
  poll "$pid" $ack >"$W/r"
  n=$((n + $(tr -cd '~' <"$W/r" | wc -c))) ack=$(grep -o '"seq": [0-9]*' "$W/r") ack=${ack##* }
  ! grep -q '"error"' "$W/r" || break
  [ "$end" ] || end=$(grep -o '"end.n"' "$W/r")
done
is 'a_backlog_beyond_100_MiB_loses_nothing: it goes on when somebody reads' "$n:$end" '105500000:"end\n"'

# ---- kill ----
pid=$(start 'echo before; sleep 100'); sleep 0.2; t=$(now)
is 'kill brings the output' "$(reply kill "{\"pid\":$pid,\"ack_seq\":0}" | jq -c .result)" '{"seq":1,"stdout":"before\n","stderr":""}'
t=$(($(now) - t)); within $t 2000; succeeded "… at once ($t ms)" $?
is 'a second kill is an error' "$(reply kill "{\"pid\":$pid,\"ack_seq\":0}" | message)" "-32099 No job found with pid $pid"
pid=$(start 'echo out; exit 3'); sleep 0.2
is 'kill of a job that has ended' "$(reply kill "{\"pid\":$pid,\"ack_seq\":0}" | jq -r .result.stdout)" out
pid=$(start 'sleep 201 & sleep 202 | cat & echo $!; wait'); sleep 0.2; reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null; sleep 0.1
is 'children and pipelines die with the job' "$(pgrep -fc 'sleep 20[12]')" 0
pid=$(start 'setsid sleep 203 & setsid sh -c "sleep 204; :" & timeout 100 sleep 205 & wait'); sleep 0.3; t=$(now); reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null; t=$(($(now) - t)); sleep 0.2
is 'so do children in other sessions and groups' "$(pgrep -fc 'sleep 20[345]')" 0
within $t 900
succeeded "kill_does_not_wait_for_pipes_of_escaped_children ($t ms)" $?
pid=$(start 'trap "" TERM; sleep 206 & echo $$; while :; do wait; sleep 0.1; done'); sleep 0.3; t=$(now)
reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null
t=$(($(now) - t))
[ $t -ge 4900 ] && within $t 6500
succeeded "who ignores TERM is killed after 5 s ($t ms)" $?
gone "$pid" && [ "$(pgrep -fc 'sleep 206')" = 0 ]; succeeded '… with its children' $?
pid=$(start '(trap "" TERM; exec sleep 207) & sleep 208'); sleep 0.3; t=$(now); reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null; t=$(($(now) - t))
within $t 2000; succeeded "a child that ignores TERM delays the reply no more than 1 s ($t ms)" $?
wait_for eval '[ "$(pgrep -fc "sleep 20[78]")" = 0 ]'; succeeded '… and is killed nevertheless' $?
pid=$(start 'sleep 100')
kill -STOP "$pid"
t=$(now)
reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null
t=$(($(now) - t))
within $t 2000
succeeded "a stopped job need not be killed hard ($t ms)" $?
pid=$(start 'echo x; sleep 100'); poll "$pid" >/dev/null; (poll "$pid" 1 >"$W/p") & bg=$!; sleep 0.3; reply kill "{\"pid\":$pid,\"ack_seq\":1}" >"$W/k"; wait $bg
is 'a poll under way learns of the kill' "$(jq -r .result.state "$W/p"):$(jq .result.seq "$W/k")" 'killed:2'

# ---- what stays behind ----
t=$(now); job 'sleep 301 & echo started'; t=$(($(now) - t))
is 'a background process holds the pipes' "$out:$code" 'started:0'
within $t 5000; succeeded "… the end is told after 1 s ($t ms)" $?
is '… and it lives on' "$(pgrep -fc 'sleep 301')" 1
job '(sleep 1.3; echo more; echo more; sleep 1; echo alive >'"$W/alive"') & echo started'
wait_for test -s "$W/alive"; succeeded 'a background process may go on writing' $?
job 'yes & echo started'; n=$(reads) t=$(now); sleep 1; n=$(($(reads) - n)) t=$(($(now) - t))
[ $n -gt 0 ] && [ $((n * 10)) -lt $((3 * t)) ]; succeeded "… also without end, which is read a little at a time ($n times in $t ms)" $?
pkill -x yes
asker_goes() { # asker_goes PID: it is killed while it waits for the job
  "$T" exec '{"jsonrpc":"2.0","id":1,"method":"exec_remote_poll","params":{"pid":'"$1"',"ack_seq":0}}' >/dev/null &
  wait_for eval "ls -l /proc/$!/fd | grep -q socket:"; sleep 0.1
  kill -KILL $!; wait $! 2>/dev/null
}
pid=$(start 'sleep 5; echo lost'); asker_goes "$pid"
is 'a job whose asker has gone can be killed' "$(reply kill "{\"pid\":$pid,\"ack_seq\":0}" | jq -c .result.stdout)" '""'
pid=$(start "until [ -e '$W/asked' ]; do sleep 0.05; done; echo kept"); asker_goes "$pid"; touch "$W/asked"; finish "$pid"
is 'an end whose asker has gone is kept for the next' "$out:$code" 'kept:0'
is 'no zombies' "$(ps -o stat= --ppid "$(server)" | grep -c Z)" 0
others=; for i in $(seq 300); do sleep 900 & others="$others $!"; done
n=$(reads); for i in $(seq 20); do poll "$(start true)" >/dev/null; done; n=$((($(reads) - n) / 20))
[ $n -lt 100 ]; succeeded "the_end_of_a_job_costs_no_look_at_every_process ($n reads, with 300 of them)" $?
all=$(seq 100 | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_start","params":{"command":"setsid sleep 209 \& sleep 210"}}/' | "$T" pipe | jq .result.pid)
wait_for eval '[ "$(pgrep -fc "^sleep (209|210)")" = 200 ]'
n=$(reads); for pid in $all; do echo '{"jsonrpc":"2.0","id":1,"method":"exec_remote_kill","params":{"pid":'"$pid"',"ack_seq":0}}'; done | "$T" pipe | grep -c '"seq": 1' >"$W/n"
wait_for eval '[ "$(pgrep -fc "^sleep (209|210)")" = 0 ]'
is 'many killed at once are all gone, with what they started' "$(cat "$W/n"):$(pgrep -fc '^sleep (209|210)')" 100:0
n=$((($(reads) - n) / 100)); [ $n -lt 300 ]; succeeded "endings_at_once_share_a_look_at_every_process ($n reads each, with 600 of them)" $?
# shellcheck disable=SC2086
kill $others
many=1000; shipped || many=100 # a process under sanitizers is slow to fork
for i in $(seq 50); do start true; done >/dev/null; sleep 0.3; a=$(rss) f=$(fds "$(server)")
seq $many | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_start","params":{"command":"echo &"}}/' | "$T" pipe | jq .result.pid >"$W/pids"
sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_poll","params":{"pid":&,"ack_seq":0}}/' "$W/pids" | "$T" pipe >"$W/r"
is "$many jobs, each with its output and end" "$(jq -r 'select(.result.state=="completed").result.stdout' "$W/r" | sort -n | grep . | tr '\n' ' ' | md5sum)" "$(seq $many | tr '\n' ' ' | md5sum)"
for n in 1 2 3; do
  seq $many | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_start","params":{"command":"echo &"}}/' | "$T" pipe | jq .result.pid >"$W/pids"
  sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_poll","params":{"pid":&,"ack_seq":0}}/' "$W/pids" | "$T" pipe >"$W/r"
  [ $n = 1 ] && b=$(rss)
done
same_fds '… leave no descriptor' "$(server)" "$f"
r=$(rss); [ $((r - b)) -lt 500 ]; costs "… and no memory ($a, $b → $r KB)" $?
# a caller may be late: what has ended is kept for a minute, and only then by number
n=3000; shipped || n=300
seq $n | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_start","params":{"command":"true"}}/' | "$T" pipe | jq .result.pid >"$W/pids"
wait_for eval '! pgrep -P "$(server)" -f "sh -c true" >/dev/null'
is "$n jobs that were asked for late are all there" "$(sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"exec_remote_poll","params":{"pid":&,"ack_seq":0}}/' "$W/pids" | "$T" pipe | grep -c '"completed"')" $n
"$T" stop-server; succeeded 'stop' $?
is 'nothing is left' "$(pgrep -fc 'sleep [23]0')" 0

is_root || done_testing

# ---- as somebody else ----
mkdir -m 700 "$W/u"; chown 65534 "$W/u"; cp "$T" "$W/t"; chmod 755 "$W" "$W/t"
T=$W/as-nobody
printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups %s "$@"\n' "$W/t" >"$T"
chmod 755 "$T"
export INSPECT_SANDBOX_TOOLS_DIR="$W/u"
job 'id -u; cat /proc/self/oom_score_adj'; is 'a server without privileges' "$out" '65534
1000'
is 'cannot become somebody else' "$(reply start '{"command":"true","user":"root"}' | message)" "-32099 Cannot switch to user 'root': server is not running as root"
is '… whoever that is' "$(reply start '{"command":"true","user":"nosuch"}' | message)" "-32099 Cannot switch to user 'nosuch': server is not running as root"
job 'id -u' '{user:"nobody"}'; is 'its own name is no switch' "$out" 65534
pid=$(start 'setsid sleep 401 & sleep 402')
sleep 0.2
reply kill "{\"pid\":$pid,\"ack_seq\":0}" >/dev/null
sleep 0.1
is 'kills its trees' "$(pgrep -fc 'sleep 40')" 0
job 'setsid sleep 403 >/dev/null 2>&1 &'; "$T" stop-server; succeeded 'stops' $?
is 'and leaves nothing' "$(pgrep -fc 'sleep 403')" 0
done_testing
