#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: shells on real terminals: their output, when it is delivered, how they are interrupted and
# restarted.
# tier: check
# also unprivileged: all but becoming others
. "$(dirname "$(realpath "$0")")/lib.sh"

# full_world NAME: one with the host's programs and a /dev to have terminals in
full_world() {
  world "$1" tmp proc usr etc dev/pts root
  mount --bind /usr "$R/usr"
  for d in bin sbin lib lib64; do
    [ -L /$d ] && ln -s "usr/$d" "$R/$d"
  done
  printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n' >"$R/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$R/etc/group"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$R/dev/pts"
  ln -s pts/ptmx "$R/dev/ptmx"
  for d in null tty zero; do
    touch "$R/dev/$d"
    mount --bind "/dev/$d" "$R/dev/$d"
  done
}

new() { rpc bash_session_new_session "${1:-"{}"}" | jq -r '.result.session_name // .error'; }

# say SESSION INPUT [WAIT [IDLE [LIMIT]]]: what printf makes of INPUT; prints the output
say() {
  # shellcheck disable=SC2059
  printf "$2" | jq -Rsc --arg s "$1" --argjson w "${3:-5}" --argjson i "${4:-1}" --argjson l "${5:-null}" \
    '{session_name:$s,wait_for_output:$w,idle_timeout:$i,max_output_bytes:$l,input:.}' >"$W/params"
  rpc bash_session "$(cat "$W/params")" | jq -rj '.result // .error'
}
restart() { rpc bash_session '{"session_name":"'"$1"'","restart":true}'; }

full_world w
export TOOL_ENV='PATH=/usr/bin:/bin HOME=/root PS1=$'

# ---- sessions ----
is 'names' "$(new) $(new) $(new)" 'BashSession BashSession_1 BashSession_2'
is 'the prompt comes with the first interaction' "$(say BashSession '')" '$'
is 'input is not echoed' "$(say BashSession 'PS1=\n')" ''
is 'environment, directory, first in line for the OOM killer' "$(say BashSession 'echo "$TERM:$HOME:$PWD:$(cat /proc/self/oom_score_adj)"\n')" 'dumb:/root:/:1000'
is 'the settings of the terminal' "$(say BashSession 'stty -a | grep -o -- "-opost\\|-echo \\|-icanon\\|isig\\|rows 0; columns 0"\n')" 'rows 0; columns 0
-opost
isig
-icanon
-echo '
is 'the terminal is the controlling one' "$(say BashSession 'tty; ps -o sid=,tty=,tpgid= $$ | tr -s " "; echo $$\n' | awk 'NR==1{t=$1} NR==2{ok=($2 ~ /pts/)} NR==3{print t ~ /^\/dev\/pts\//, ok}')" '1 1'
is 'no descriptor of the server, and the umask of its starter' "$(say BashSession 'ls /proc/self/fd | wc -l; umask\n')" '4
0022'
is 'control sequences are stripped' \
  "$(say BashSession "printf 'a\\\\tb\\\\r\\\\e[31mred\\\\e[0m\\\\a \\\\e]0;title\\\\a end\\\\n'\n" | od -An -c | tr -s ' ')" "$(printf 'a\tb\rred 0;title end\n' | od -An -c | tr -s ' ')"
is 'UTF-8 in pieces' "$(say BashSession "printf 'h\\\\xc3'; sleep 0.1; printf '\\\\xa9\\\\xff\\\\xe2\\\\x82'; sleep 0.1; printf '\\\\xac!\\\\n'\n")" 'hé�€!'
is 'the last output of a shell' "$(say BashSession 'echo one; exit\n')" 'one
exit'
is 'afterwards there is silence' "$(say BashSession 'echo two\n' 1)" ''
is '… again' "$(say BashSession 'echo two\n' 0)" ''
is 'a restart revives it' "$(restart BashSession)" '{"jsonrpc": "2.0", "result": "shell restarted successfully", "id": 1}'
fits '… really' "$(hear BashSession 'PS1=; echo three\n' '*three')" '*three'

# ---- users ----
is_root && own=root home=/tmp || own=nobody home=/root
is 'our own user is no switch' "$(new "{\"user\":\"$own\"}")" BashSession_3
is 'another user, or the same again' "$(new '{"user":"nobody"}')" BashSession_4
is '… gets no warnings about its terminal' "$(say BashSession_4 '')" '$'
say BashSession_4 'PS1=\n' >/dev/null
is '… its terminal, and its home' "$(say BashSession_4 'id -u; echo $HOME; stat -c %%U $(tty); ps -o tpgid= -p $$ | tr -d " -"; echo hi >/dev/tty\n' | sed 's/^[0-9]\{3,4\}$/N/;4s/.*/N/')" "65534
$home
nobody
N
hi"
rpc bash_session_new_session '{"user":"nosuch"}' >"$W/out"
! is_root || is 'an unknown user is no tool error' "$(jq -c '[.error.code,.error.message]' "$W/out")" '[-32098,"RuntimeError(\"User '"'nosuch'"' not found in /etc/passwd\")"]'

# a user who is not ours used to have no controlling terminal
for s in BashSession BashSession_4; do
  is "$s: interrupting a command, as whatever user" "$(say $s 'sleep 100; echo "not reached"\n' 1)" ''
  t=$(now); is "… ctrl-C: nothing is said" "$(say $s '\003' 5)" ''
  is '… and the shell reads again' "$(say $s 'echo back\n' 5)" 'back'
  within $(($(now) - t)) 9000; succeeded '… at once' $?
done
is 'traps work' "$(say BashSession_4 'sh -c "trap \\"echo got it; exit\\" INT; sleep 50"\n' 1; say BashSession_4 '\003')" 'got it'

# ---- time ----
t=$(now); is 'no output' "$(say BashSession 'sleep 30\n' 1)" ''; t=$(($(now) - t))
[ $t -ge 1000 ] && within $t 10000; succeeded "… takes wait_for_output ($t ms)" $?
say BashSession '\003' 1 >/dev/null
t=$(now); is 'some output' "$(say BashSession 'echo x\n' 9 0.5)" 'x'; t=$(($(now) - t))
[ $t -ge 500 ] && within $t 4000; succeeded "… takes idle_timeout ($t ms)" $?
t=$(now); is 'output that drips' "$(say BashSession 'for i in 1 2 3 4; do echo $i; sleep 0.3; done\n' 9 0.6 | wc -l)" 4; t=$(($(now) - t))
[ $t -ge 1400 ] && within $t 4400; succeeded "… is waited for ($t ms)" $?
t=$(now); say BashSession 'head -c 5000 /dev/zero | tr "\\\\0" x; sleep 0.3\n' 9 9 >"$W/out"; t=$(($(now) - t))
within $t 2000 && [ "$(wc -c <"$W/out")" -ge 4096 ]; succeeded "a burst is told at once ($t ms)" $?
say BashSession '' 1 >/dev/null
t=$(now); say BashSession 'echo y\n' -5 -1 >/dev/null; within $(($(now) - t)) 2000; succeeded 'negative times end at once' $?
is '… and the output is there the next time' "$(say BashSession '' 2)" y
say BashSession '(sleep 0.3; echo late)&\n' 0 >/dev/null; sleep 0.8
t=$(now); fits 'output between calls is kept' "$(say BashSession '' 9 0.2)" '*late*'
within $(($(now) - t)) 3000; succeeded '… and is no reason to wait' $?

# ---- callers who have gone ----
asker_goes() { # asker_goes SECONDS INPUT: it is killed when the shell has begun with INPUT
  rm -f "$R/tmp/go" "$R/tmp/told"
  (W=$W/4; mkdir -p "$W"; say BashSession ": >/tmp/told; until [ -e /tmp/go ]; do sleep 0.1; done; $2\n" "$1" >/dev/null) & j=$!
  wait_for test -e "$R/tmp/told"
  pkill -KILL -f '^/t exec'
  wait $j
  sleep 0.2
}
asker_goes 60 'echo PRECIOUS'; touch "$R/tmp/go"; sleep 1.5
is 'output_whose_asker_has_gone_is_kept_for_the_next' "$(say BashSession '' | tail -n1)" PRECIOUS
asker_goes 60 'seq 3000'; (W=$W/4; say BashSession '' 20 >"$W/next") & j=$!
sleep 0.5; touch "$R/tmp/go"; wait $j
[ "$(wc -c <"$W/4/next")" -ge 4096 ] && [ "$(sed -n 2p "$W/4/next")" = 2 ]; succeeded '… and a burst goes to the one who is there' $?
say BashSession '' 1 >/dev/null

# ---- limits ----
say BashSession 'echo HEAD; seq 100000; sleep 0.1; echo END\n' 9 0.5 2048 >"$W/out"
[ "$(wc -c <"$W/out")" -le 2048 ]; succeeded 'output_limit_is_enforced: no more than the limit' $?
fits '… with a notice' "$(cat "$W/out")" '*inspect_sandbox_tools: bash_session output exceeded 2 KiB; showing the tail; * bytes omitted]*'
grep -qx HEAD "$W/out"; is '… never the head' $? 1
sleep 1; say BashSession '' 5 0.5 2048 >"$W/out"; is '… and the end comes last' "$(tail -n1 "$W/out"):$(($(wc -c <"$W/out") <= 2048))" 'END:1'
is 'a_line_below_the_limit_is_complete' "$(say BashSession "printf '%%3000s\\\\n' x\n" 5 0.5 8000 | wc -c)" 3001
say BashSession 'for i in $(seq 3000); do printf "€😀"; done; echo\n' 5 0.5 4096 >"$W/out"
grep -q '�' "$W/out"; is 'no_replacement_characters_from_cutting' "$?:$(($(wc -c <"$W/out") <= 4096))" 1:1
sleep 0.5; say BashSession '' 1 0.3 4096 >"$W/out"; grep -q '�' "$W/out"; is '… neither in the rest' $? 1
say BashSession 'yes\n' 1 >/dev/null; sleep 3
server=$(server_pid)
say BashSession '\003' 2 0.5 2048 >/dev/null
fits 'a flood can be interrupted' "$(say BashSession 'echo; echo alive\n' 5 0.5 2048)" '*alive'
peak=$(peak "$server"); [ "$peak" -lt 100000 ]; costs "… and cost no memory ($peak kB)" $?
t=$(now); say BashSession 'head -c 30000000 /dev/zero | tr "\\\\0" z; echo; echo DONE\n' 1 0.1 1000 >/dev/null
until say BashSession '' 1 0.1 1000 | grep -q DONE; do within $(($(now) - t)) 20000 || break; done
t=$(($(now) - t)); within $t 15000; succeeded "30 MB through a terminal in $t ms" $?
say BashSession 'PS1=; head -c 1500000 | cksum\n' 1 0.3 >/dev/null
head -c 1500000 /dev/zero | tr '\0' a >"$W/big"
t=$(now); jq -Rsc '{jsonrpc:"2.0",method:"bash_session",id:1,params:{session_name:"BashSession",wait_for_output:20,idle_timeout:0.5,input:.}}' <"$W/big" | in_world exec >"$W/out"
is "1.5 MB of input in $(($(now) - t)) ms" "$(jq -r .result "$W/out")" "$(cksum <"$W/big")"
say BashSession 'sleep 100\n' 0 >/dev/null
t=$(now); jq -Rsc '{jsonrpc:"2.0",method:"bash_session",id:1,params:{session_name:"BashSession",wait_for_output:1,idle_timeout:0.5,input:.}}' <"$W/big" | in_world exec >"$W/out"
within $(($(now) - t)) 10000; succeeded 'input that nobody reads is not waited for' $?
is '… and an interrupt passes it' "$(say BashSession '\003' 2; say BashSession 'echo back\n')" "$(printf '\nback')"

# ---- restart ----
say BashSession 'trap "" TERM HUP; (trap "" TERM HUP; sleep 1000) & setsid -w sleep 1001 & sleep 0.2; pgrep -f "^sleep 100[01]"; echo $$\n' 5 0.6 | grep -E '^[0-9]+$' >"$W/pids"
n=$(wc -l <"$W/pids")
# shellcheck disable=SC2046
alive $(cat "$W/pids"); succeeded "a shell that ignores signals, with children ($n)" $?
t=$(now); fits 'restart_does_not_wait_for_a_stubborn_shell' "$(restart BashSession)" '*restarted*'; t=$(($(now) - t))
within $t 10000; succeeded "… $t ms" $?
fits '… the new one works' "$(hear BashSession 'PS1=; echo new\n' '*new')" '*new'
# shellcheck disable=SC2046
wait_for dead $(cat "$W/pids"); succeeded 'restart_ends_the_old_shell_and_its_children' $?
say BashSession 'sleep 100\n' 0 >/dev/null
(say BashSession '' 60 >"$W/out"; now >"$W/t") & j=$!
sleep 0.5; t=$(now); restart BashSession >/dev/null; wait $j
within $(($(cat "$W/t") - t)) 10000; succeeded 'restart_answers_pending_interacts' $?
rm -f "$R/tmp/go" "$R/tmp/told"
say BashSession 'PS1=; until [ -e /tmp/go ]; do sleep 0.1; done; printf part; : >/tmp/told; sleep 100\n' 0 >/dev/null
n=$(fds "$server"); (say BashSession '' 60 30 >"$W/out") & j=$!
wait_for has_fds "$server" $((n + 1))
touch "$R/tmp/go"
wait_for test -e "$R/tmp/told"
restart BashSession >/dev/null
wait $j
fits '… with what they have' "$(cat "$W/out")" '*part'
restart BashSession_4 >/dev/null; fits 'a restarted session keeps its user' "$(hear BashSession_4 'id -un\n' '*nobody*')" '*nobody*'

# ---- several at once ----
(new >"$W/a") & a=$!; (new >"$W/b") & b=$!; wait $a; wait $b
is 'two_simultaneous_new_sessions_do_not_deadlock' "$(sort "$W/a" "$W/b")" 'BashSession_5
BashSession_6'
fits '… the server answers' "$(call remote_version)" '*Server*'
say BashSession_5 'PS1=\n' >/dev/null
(t=$(now); say BashSession_5 'sleep 1.01; echo a\n' 5 >"$W/a"; echo $(($(now) - t)) >"$W/ta") & a=$!
wait_for pgrep -xf 'sleep 1.01' >/dev/null
(t=$(now); W=$W/2; mkdir -p "$W"; say BashSession_5 'echo b\n' 5 >"$W/../b"; echo $(($(now) - t)) >"$W/../tb") & b=$!
wait $a; wait $b
is 'simultaneous_interacts_end' "$(cat "$W/a" "$W/b" | tr '\n' ' ')$(($(cat "$W/ta") < 7000 && $(cat "$W/tb") < 7000))" 'a b 1'
(W=$W/3; mkdir -p "$W"; say BashSession_5 'cat\n' 30 >/dev/null) & a=$!
sleep 0.5; say BashSession_5 '\003' 2 >/dev/null; wait $a; is 'an interrupt passes a waiting call' "$(say BashSession_5 'echo c\n')" c

before=$(rss "$server"); t=$(now)
for i in $(seq 200); do request bash_session_new_session "$i"; echo; done | in_world pipe >"$W/out"
is "200 sessions in $(($(now) - t)) ms" "$(jq -r .result.session_name "$W/out" | sort -u | wc -l)" 200
say BashSession_150 '' >/dev/null; say BashSession_150 'PS1=\n' >/dev/null; is '… one of them' "$(say BashSession_150 'echo here\n')" here
n=$(($(rss "$server") - before)); [ $n -lt 8000 ]; costs "… for $n kB" $?

# ---- errors ----
code() { jq -c '.error.code'; }
is 'an unknown session' "$(rpc bash_session '{"session_name":"X","wait_for_output":1,"idle_timeout":1}' | jq -c '[.error.code,.error.message]')" "[-32098,\"KeyError('X')\"]"
is '… to restart' "$(restart X | jq -c '[.error.code,.error.message]')" "[-32098,\"KeyError('X')\"]"
for p in '{}' '{"session_name":"BashSession"}' '{"session_name":"BashSession","restart":false}' '{"session_name":"BashSession","restart":1}' \
  '{"session_name":"BashSession","restart":true,"input":"x"}' '{"session_name":"BashSession","wait_for_output":1.5,"idle_timeout":1}' \
  '{"session_name":"BashSession","wait_for_output":1,"idle_timeout":"1"}' '{"session_name":"BashSession","wait_for_output":true,"idle_timeout":1}' \
  '{"session_name":"BashSession","wait_for_output":1,"idle_timeout":1,"extra":1}' '{"session_name":1,"restart":true}' \
  '{"session_name":"BashSession","wait_for_output":1,"idle_timeout":1,"max_output_bytes":"1"}' \
  '{"session_name":"BashSession","wait_for_output":1,"idle_timeout":1,"input":5}'; do
  is "refused: $p" "$(rpc bash_session "$p" | code)" -32602
done
fits '… both shapes are reported' "$(rpc bash_session '{"session_name":"BashSession"}' | jq -r .error.message)" "Invalid parameters: 'InteractParams.wait_for_output' Field required
*'RestartParams.restart' Field required*"
is 'a user is a name' "$(rpc bash_session_new_session '{"user":5}' | code)" -32602
is 'there is nothing else to say' "$(rpc bash_session_new_session '{"name":"x"}' | code)" -32602
is 'nulls and negative limits are defaults' "$(rpc bash_session '{"session_name":"BashSession_5","wait_for_output":1,"idle_timeout":0,"max_output_bytes":-3,"input":null}' | jq -r .result)" ''

# ---- the end ----
say BashSession_5 'setsid sleep 1002 & sleep 1003 &\n' 1 >/dev/null
(say BashSession_5 'sleep 60\n' 100 >"$W/out"; echo $? >"$W/r") & j=$!
sleep 0.5; t=$(now); in_world stop-server; is 'stop-server' $? 0; wait $j
t=$(($(now) - t)); within $t 12000; succeeded "… in bounded time ($t ms)" $?
is '… ends all shells and their children' "$(ps -eo stat=,args= | grep -v '^Z' | grep -cE '[b]ash -i|[s]leep 10')" 0

is_root || done_testing

# ---- other worlds ----
rm -rf "$R/.server"; chown 65534 "$R"
as_user 65534 exec '{"jsonrpc":"2.0","method":"bash_session_new_session","id":1,"params":{"user":"root"}}' >"$W/out"
is 'an unprivileged server cannot switch: a tool error' "$(jq -c '[.error.code,.error.message]' "$W/out")" "[-32099,\"Cannot switch to user 'root': server is not running as root\"]"
is '… whoever it is' "$(as_user 65534 exec '{"jsonrpc":"2.0","method":"bash_session_new_session","id":1,"params":{"user":"nosuch"}}' | code)" -32099
is 'its own user is fine' "$(as_user 65534 exec '{"jsonrpc":"2.0","method":"bash_session_new_session","id":1,"params":{"user":"nobody"}}' | jq -r .result.session_name)" BashSession
fits '… and has a shell' "$(as_user 65534 exec '{"jsonrpc":"2.0","method":"bash_session","id":1,"params":{"session_name":"BashSession","wait_for_output":5,"idle_timeout":0.5,"input":"id -u; sleep 50\n"}}' | jq -r .result)" '*65534*'
fits '… that can be interrupted' "$(as_user 65534 exec '{"jsonrpc":"2.0","method":"bash_session","id":1,"params":{"session_name":"BashSession","wait_for_output":5,"idle_timeout":0.5,"input":"\u0003"}}' | jq -r .result)" '*$'
as_user 65534 stop-server

world nobash tmp proc bin dev/pts etc
cp "$(command -v busybox)" "$R/bin/busybox" 2>/dev/null
if ldd "$R/bin/busybox" 2>/dev/null | grep -q '=>'; then echo '# busybox is not static'; fi
for c in sh sleep echo stty; do ln -s busybox "$R/bin/$c"; done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$R/dev/pts"
TOOL_ENV='PATH=/bin'
if [ -s "$R/bin/busybox" ] && in_world version >/dev/null && chroot "$R" /bin/sh -c : 2>/dev/null; then
  is 'no bash, and /dev/ptmx is missing' "$(new)" BashSession
  fits '… sh says so' "$(say BashSession '' 5 0.5)" '\[inspect_sandbox_tools: no /bin/bash here; this is /bin/sh]
*# '
  is '… it does not echo' "$(say BashSession 'PS1=\n')" ''
  is '… and works' "$(say BashSession 'echo hi\n')" hi
  is '… and can be interrupted' "$({ say BashSession 'sleep 100\n' 1; say BashSession '\003' 2; say BashSession 'echo back\n' 5; } | tail -n1)" back
  in_world stop-server
fi
umount "$R/dev/pts"
is 'no terminals: says so' "$(rpc bash_session_new_session | jq -c '[.error.code, (.error.message|startswith("OSError(2, "))]')" '[-32098,true]'
fits '… and goes on' "$(call remote_version)" '*Server*'
world empty tmp proc dev/pts; TOOL_ENV=
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$R/dev/pts"
is 'no shell at all' "$(rpc bash_session_new_session | jq -c '[.error.code,.error.message]')" '[-32098,"FileNotFoundError(2, '"'No such file or directory'"')"]'
fits '… and goes on' "$(call remote_version)" '*Server*'
server=$(server_pid); f=$(fds "$server"); rpc bash_session_new_session >/dev/null
same_fds '… without losing descriptors' "$server" "$f"
done_testing
