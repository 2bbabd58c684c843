#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: many jobs, much output that is read slowly or never, shells that flood: memory stays bounded,
# nothing is lost, everything can be stopped. Figures: t/bench/faults.sh.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
[ -x /usr/bin/python3 ] || { echo "1..0 # skip needs /usr/bin/python3"; exit 77; }

mkdir -m 755 "$W/d"
export INSPECT_SANDBOX_TOOLS_DIR="$W/d"
T=$PROGRAM
tool() { "$T" "$@"; }
zombies() { ps -o stat= --ppid "$(server)" | grep -c Z; }
quiet() { # until the server has used no time for a while
  a=$(awk '{print $14 + $15}' "/proc/$(server)/stat")
  sleep 0.3
  [ "$(awk '{print $14 + $15}' "/proc/$(server)/stat")" -le $((a + 1)) ]
}
"$T" start-server >/dev/null

# ---- many jobs ----
client jobs 1200 300 >/dev/null
f=$(fds "$(server)") before=$(rss)
is '600 jobs one after the other: each its output and code' "$(client jobs 600 1)" '600 jobs 1 at once 0 wrong'
is '900 jobs, 300 at once' "$(client jobs 900 300)" '900 jobs 300 at once 0 wrong'
r=$(rss); [ $((r - before)) -lt 300 ]; costs "… cost no memory ($before → $r kB)" $?
same_fds '… no descriptor' "$(server)" "$f"
is '… and no zombie' "$(zombies)" 0

n=3000; shipped || n=300
is "$n jobs that are asked for late: nothing is lost" "$(client late $n)" "$n jobs 0 wrong"

# ---- much output ----
sum() { md5sum | cut -d' ' -f1; }
is '60 MB, polled at once: whole' "$(client drain 'yes 0123456789abcde | head -c 60000000' | awk '{print $1, $5}')" "60000000 $(yes 0123456789abcde | head -c 60000000 | sum)"
is '7 MB, polled slowly: whole' "$(client drain 'seq 1000000' 30 | awk '{print $1, $5}')" "6888896 $(seq 1000000 | sum)"
below 'the memory is given back' 5000
pid=$(client flood 'yes | head -c 300000000; sleep 100' 1)
wait_for quiet; succeeded '300 MB that nobody asks for: the job waits' $?
below '… memory for 100 MB' 130000
ack=$(rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":0}" | jq .result.seq)
rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":$ack}" | jq -j .result.stdout | wc -c >"$W/n"
is '… and the rest is to be had' "$(cat "$W/n")" 1048576
rpc exec_remote_kill "{\"pid\":$pid}" | jq -e .result >/dev/null; succeeded '… it can be killed' $?
below '… and its memory is free' 20000
# shellcheck disable=SC2046
set -- $(client flood 'exec yes' 12)
wait_for quiet; below '12 jobs that flood: memory for 256 MB and a little for each' 330000
is '… and another one tells all it has to tell' "$(client drain 'seq 300000' | awk '{print $1, $5}')" "1988895 $(seq 300000 | sum)"
for pid; do rpc exec_remote_kill "{\"pid\":$pid}" | jq -e .result >/dev/null || echo "# $pid"; done
is '… all can be killed' "$(pgrep -fc '^yes')" 0
below '… and the memory is free' 20000
same_fds '… and their descriptors' "$(server)" "$f"

# ---- shells ----
seq 30 | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"bash_session_new_session"}/' | "$T" pipe | jq -r .result.session_name | sort -u >"$W/names"
is '30 shells' "$(wc -l <"$W/names")" 30
say() { # say SESSION INPUT [WAIT]
  rpc bash_session "$(jq -nc --arg s "$1" --arg i "$2" --argjson w "${3:-5}" '{session_name:$s,wait_for_output:$w,idle_timeout:0.3,max_output_bytes:4096,input:$i}')" | jq -rj '.result // .error'
}
head -n 6 "$W/names" | while read -r s; do say "$s" "PS1=; yes 'it floods'
" 0; done >/dev/null
sleep 2
below 'six of them flood, unread' 200000
s=$(sed -n 1p "$W/names")
fits '… what is told is the end of it' "$(say "$s" '' 1)" '*bash_session output exceeded 4 KiB*it floods*'
t=$(sed -n 30p "$W/names"); fits '… others answer' "$(say "$t" 'echo here
')" '*here*'
say "$s" "$(printf '\003')" 1 >/dev/null
for i in 1 2 3; do say "$s" '' 0; done >/dev/null
fits '… one is interrupted, and reads again' "$(say "$s" 'echo; echo back
')" '*back'
for s in $(sed -n 2,4p "$W/names"); do rpc bash_session '{"session_name":"'"$s"'","restart":true}'; done >"$W/out"
is '… three are restarted amid their floods' "$(grep -c 'shell restarted' "$W/out")" 3
s=$(sed -n 2p "$W/names"); fits '… and are new' "$(say "$s" 'echo new
')" '*new*'
wait_for eval '[ "$(pgrep -fc "^yes it floods")" = 2 ]'; is '… nothing floods on from the old ones' "$(pgrep -fc '^yes it floods')" 2
"$T" stop-server; is 'stop-server ends the floods' "$?:$(pgrep -fc '^yes')" 0:0

# each may have 10 MiB, as long as not all do
shipped || done_testing
"$T" start-server >/dev/null
for i in $(seq 0 29); do printf '{"jsonrpc":"2.0","id":1,"method":"bash_session_new_session"}\n'; done | "$T" pipe >"$W/out"
for s in $(jq -r .result.session_name "$W/out"); do
  rpc bash_session "$(jq -nc --arg s "$s" --arg i "PS1=; head -c 14000000 /dev/zero | tr '\\0' x; echo end; touch $W/said.$s
" '{session_name:$s,wait_for_output:0,idle_timeout:0,input:$i}')"
done >/dev/null
wait_for eval '[ "$(ls "$W" | grep -c "^said")" = 30 ]'; wait_for quiet
below '30 shells that have said 14 MB each, unread' 290000
peak=$(peak); [ "$peak" -lt 290000 ]; succeeded "… nor was it ever more ($peak kB)" $?
for s in $(jq -r .result.session_name "$W/out"); do
  rpc bash_session "$(jq -nc --arg s "$s" '{session_name:$s,wait_for_output:0,idle_timeout:0}')" | jq -r .result | grep -v '^$' >"$W/told"
  echo "$(sed -n '1s/.* \([0-9]* bytes omitted\).*/\1/p' "$W/told" | grep -c omitted) $(tail -n1 "$W/told" | tail -c 5)"
done | sort | uniq -c >"$W/ends"
is 'each tells its end, and how much is missing' "$(awk '{n += $1} END {print n, NR}' "$W/ends"):$(awk '{print $2, $3}' "$W/ends")" '30 1:1 xend'
below 'and the memory is free' 5000
"$T" stop-server
done_testing
