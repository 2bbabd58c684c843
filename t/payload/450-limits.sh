#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: hostile and hapless clients, and a server without descriptors, processes or memory: each gets a
# defined answer, and the server that is there stays.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
[ -x /usr/bin/python3 ] || { echo "1..0 # skip needs /usr/bin/python3"; exit 77; }

AS=
T=$W/t; cp "$PROGRAM" "$T"; chmod 755 "$W" "$T"
tool() { $AS "$T" "$@"; }
try() { rpc exec_remote_start "$(jq -nc --arg c "$1" '{command:$c}')"; } # try COMMAND: the reply
told() { # told COMMAND: by a job that says it at once
   rpc exec_remote_poll "{\"pid\":$(start "$1"),\"ack_seq\":0}" | jq -r .result.stdout; }
place() { # place NAME [MODE]: a new server directory
  D=$W/$1
  mkdir -m "${2:-755}" "$D"
  export INSPECT_SANDBOX_TOOLS_DIR="$D"
}
same() { is "$1" "$(server):$(servers):$(rpc remote_version | grep -c result)" "$first:1:1"; }
begin() { # begin WHAT…: a client that holds on until finish; what it has to say goes to $W/o
  : >"$W/o"
  mkfifo "$W/hold"
  client "$@" <"$W/hold" >"$W/o" & j=$!
  exec 7>"$W/hold"
  wait_for test -s "$W/o"
}
finish() { exec 7>&-; wait $j; rm "$W/hold"; }

# ---- what comes over the socket ----
place a; "$T" start-server >/dev/null; first=$(server); base=$(fds "$first")
is 'what is no request: an error, or the end of the connection' "$(client bad)" 'length:closed, just over:closed, empty:-32700, http:closed, no json:-32700, zeros:-32700, deep:-32700, cut:closed'
same '… and of nothing else'
is 'a request byte by byte, and others meanwhile' "$(client slow)" answered
is 'callers that do not wait' "$(client hurried 100)" '100 sent'
wait_for eval '[ "$(pgrep -P "$(server)" -c)" = 0 ]'; same '… are nothing special'
begin deaf 4000; same 'nor are those that do not read their answers'; finish
is 'who reads late gets everything, one after the other' "$(client upto 200000)" '200000 answered'
below '… for little memory' 30000
begin half 20 2000000
is '20 requests of which half arrives' "$(cat "$W/o")" '20 begun 0 refused'
below '… take no more memory than has come' 90000
same '… and hold nobody up'; finish
same_fds '… and are forgotten' "$first" "$base"
below '… with their memory' 3000
is '1000 connections at once' "$(client many 1000)" '1000 answered'
is '30000 calls, 1000 at once' "$(client calls 30000 1000)" '30000 answered'
below '… leave no memory behind' 3000
same_fds '… and no descriptor' "$first" "$base"
begin half 11 50000000
is '550 MB of half requests: who is silent for longest is sent away' "$(awk '{print $1, ($4 > 0)}' "$W/o")" '11 1'
below '… memory is bounded' 600000
same '… the server is'; finish
"$T" stop-server

# answers that nobody reads: one connection waits with its requests, and many are bounded together
place d; "$T" start-server >/dev/null; first=$(server)
begin unread 1 40 8388608
peak=$(peak "$first"); [ "$peak" -lt 400000 ]; costs "one client that reads none of 40 long answers ($peak kB)" $?
finish
begin unread 12 12 8388608
peak=$(peak "$first"); [ "$peak" -lt 400000 ]; costs "12 of them, with 12 answers each ($peak kB)" $?
is '… others are answered' "$(CLIENT_LIMIT=20 client calls 100)" '100 answered'
same '… it is the same server'; finish
"$T" stop-server

# ---- no descriptors left ----
place b; prlimit --nofile=60:60 "$T" start-server >/dev/null; first=$(server)
begin hold 70
(exec 7>&-; rpc remote_version >"$W/out" 2>&1) & k=$!
sleep 1; is 'more connections than it can have: nobody takes it for dead' "$(servers):$(kill -0 "$first" && echo alive)" 1:alive
finish; wait $k
fits '… who came too late is served when there is room' "$(cat "$W/out")" "*Server: $T ($first)*"
same '… by the same server'
i=0; while [ $i -lt 40 ]; do try 'sleep 50'; i=$((i + 1)); done >"$W/out"
n=$(grep -c '"pid"' "$W/out"); [ "$n" -ge 10 ]; succeeded "more jobs than it has descriptors for: some run ($n)" $?
is '… the others are refused, with the reason' "$(jq -c 'select(.error)|[.error.code,.error.message]' "$W/out" | sort -u)" "[-32098,\"OSError(24, 'Too many open files')\"]"
for i in 1 2 3 4 5 6; do out=$(rpc bash_session_new_session); case $out in *error*) break ;; esac; done
fits '… so is a shell' "$out" "*error*-32098*Too many open files*"
out=$(rpc mcp_launch_server '{"server_params":{"command":"cat"}}'); fits '… and an MCP server' "$out" "*error*-32098*Too many open files*"
same '… it still answers'
for pid in $(jq -r '.result.pid // empty' "$W/out"); do rpc exec_remote_kill "{\"pid\":$pid}"; done | grep -c '"seq": 1' >"$W/n"
is '… and kills them all' "$(cat "$W/n")" "$(grep -c '"pid"' "$W/out")"
is '… and runs others then' "$(told 'echo back')" back
begin hold 70
"$T" stop-server; is 'it can be stopped while it takes no connections' "$?:$(servers)" 0:0
finish

# ---- no processes left ----
nobody() { setpriv --reuid=64123 --regid=64123 --clear-groups "$@"; }
place c 700; chown 64123 "$D"; AS=nobody; nobody prlimit --nproc=7:7 "$T" start-server >/dev/null; first=$(server)
pid=$(start 'exec sleep 50')
# each costs one: until none is left
for i in 1 2 3 4 5 6; do try 'exec sleep 51'; done >"$W/out"
[ "$(grep -c '"pid"' "$W/out")" -ge 3 ]; succeeded 'as many jobs as there may be processes' $?
is '… the others are refused, with the reason' "$(jq -c 'select(.error)|[.error.code,.error.message]' "$W/out" | sort -u)" "[-32098,\"BlockingIOError(11, 'Resource temporarily unavailable')\"]"
fits '… so is a shell' "$(rpc bash_session_new_session)" '*"error"*-32098*Resource temporarily unavailable*'
fits '… and an MCP server' "$(rpc mcp_launch_server '{"server_params":{"command":"cat"}}')" '*"error"*-32098*Resource temporarily unavailable*'
rpc exec_remote_kill "{\"pid\":$pid}" | jq -e .result >/dev/null; succeeded '… one can be killed' $?
is '… which makes room for another' "$(told 'echo back')" back
same '… it is the same server'
out=$(INSPECT_SANDBOX_TOOLS_DIR=$W/c/x nobody prlimit --nproc=1:1 "$T" start-server 2>&1)
fits 'no process for a server: it says so' "$?:$out" '1:error: cannot start the server: Resource temporarily unavailable'
nobody "$T" stop-server; is '… it stops' "$?:$(servers)" 0:0
AS=

# ---- no memory left ----
shipped || done_testing # sanitizers need more room than this to begin with
place e; prlimit --as=60000000 "$T" start-server >/dev/null; first=$(server)
pids=$(client flood 'yes | head -c 30000000' 4)
sleep 1.5; same 'more output than memory: it lives'
is 'those_that_have_taken_all_memory_starve_nobody' "$(client drain 'seq 300000' | awk '{print $1, $5}')" "1988895 $(seq 300000 | md5sum | cut -d' ' -f1)"
bad=0; for pid in $pids; do
  ack=0 size=0 state=running
  while [ "$state" = running ]; do
    rpc exec_remote_poll "{\"pid\":$pid,\"ack_seq\":$ack}" >"$W/out" 2>&1
    jq -e .result "$W/out" >/dev/null 2>&1 || { echo "# $(cut -c1-200 "$W/out")"; break; }
    eval "$(jq -r '"state=\(.result.state) ack=\(.result.seq) size=\($size + (.result.stdout|length))"' --argjson size $size "$W/out")"
  done
  [ $size = 30000000 ] || bad=$((bad + 1))
done
is '… and nothing is lost of it' $bad 0
head -c 40000000 /dev/zero | tr '\0' x | jq -Rsc '{jsonrpc:"2.0",id:1,method:"exec_remote_start",params:{command:"wc -c",input:.}}' >"$W/big"
out=$("$T" exec <"$W/big" 2>&1); r=$?
case $r:$out in 1:"error: the server closed the connection without a reply" | 0:*'"error"'*) r=0 ;; *) r=1 ;; esac
succeeded "a request that does not fit: $(echo "$out" | cut -c1-100)" $r
same '… harms nobody else'
is '… and later ones work' "$(told 'echo back')" back
"$T" stop-server; is 'it stops' "$?:$(servers)" 0:0
head -c 3000000 /dev/zero | tr '\0' x | jq -Rsc '{jsonrpc:"2.0",method:"version",id:7,params:{a:.}}' >"$W/big"
as=2000000
while [ $as -lt 24000000 ]; do
  prlimit --as=$as "$T" exec <"$W/big" >"$W/out" 2>"$W/err"; r=$?
  echo "$r $(grep -cE '"result"|-32700' "$W/out") $(grep -c '^error: ' "$W/err")"
  as=$((as + 500000))
done | sort | uniq -c >"$W/ends"
is 'whatever memory is missing: a reply, or an error and exit 1' "$(awk '{print $2, $3, $4}' "$W/ends" | tr '\n' ',')" '0 1 0,1 0 1,'
done_testing
