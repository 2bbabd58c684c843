#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh: what the in-container program costs under load and abuse: the server's memory before, at
# most and after, its descriptors, volumes and durations. Needs root; touches no engine.
#   CALLS=1000000 JOBS=10000 GIGABYTES=10 SESSIONS=200   ONLY="calls jobs"
CLIENT=${CLIENT:-$(dirname "$(realpath "$0")")/../payload/client.py}
export CLIENT
. "$(dirname "$(realpath "$0")")/../payload/lib.sh"
: "${CALLS:=1000000}" "${JOBS:=10000}" "${GIGABYTES:=10}" "${SESSIONS:=200}"

export INSPECT_SANDBOX_TOOLS_DIR="$W/d"
mkdir -m 755 "$W/d"
S=$W/d/sandbox-tools.sock
client() { python3 "$CLIENT" "$S" "$@"; }
rpc() { printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' "$1" "${2:-"{}"}" | "$PROGRAM" exec; }
server() { jq .pid "$W/d/server.pid"; }
status() { awk -v k="$1:" '$1 == k {print $2}' "/proc/$(server)/status"; }
fds() { ls "/proc/$(server)/fd" | wc -l; }
zombies() { ps -o stat= --ppid "$(server)" | grep -c Z; }
ms() { echo $(($(date +%s%N) / 1000000)); }
cpu() { awk '{print ($14 + $15) * 10}' "/proc/$(server)/stat"; }

fresh() { # a new server, so that its peak is that of one figure
  "$PROGRAM" stop-server && "$PROGRAM" start-server >/dev/null || exit 1
  rpc exec_remote_poll '{"pid":1}' >/dev/null
  before=$(status VmRSS) descriptors=$(fds) began=$(ms)
}
line() { # line NAME RESULT
  took=$(($(ms) - began))
  sleep 0.2
  printf '%-34s %8s %8s %8s  %3s→%-3s %2s %7s.%01d %7d  %s\n' "$1" "$before" "$(status VmHWM)" "$(status VmRSS)" \
    "$descriptors" "$(fds)" "$(zombies)" $((took / 1000)) $((took % 1000 / 100)) "$(cpu)" "$2"
}
wants() { [ -z "${ONLY:-}" ] || case " $ONLY " in *" $1 "*) ;; *) return 1 ;; esac; }
started() { # started WHAT…: a client in the background that holds on until stopped
  : >"$W/o"
  mkfifo "$W/hold"
  client "$@" <"$W/hold" >"$W/o" & holder=$!
  exec 7>"$W/hold"
  wait_for test -s "$W/o"
}
stopped() { exec 7>&-; wait "$holder"; rm "$W/hold"; }
settle() { # until the server has nothing to do
  until c=$(cpu) && sleep 0.5 && [ "$(cpu)" -le $((c + 10)) ]; do :; done
}

echo "$("$PROGRAM" exec '{"jsonrpc":"2.0","id":1,"method":"version"}' | jq -r .result), $(stat -c %s "$PROGRAM") bytes, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), Linux $(uname -r)"
printf '%-34s %8s %8s %8s  %8s %2s %9s %7s  %s\n' '' 'kB idle' 'kB peak' 'kB after' 'fds' 'Z' 'seconds' 'cpu ms' 'result'
if wants calls; then
  fresh; r=$(client calls "$CALLS" 64); line "$CALLS calls, 64 under way" "$r"
  fresh; r=$(for i in $(seq 500); do rpc remote_version; done | grep -c result); line '500 calls, a process each' "$r answered"
  fresh; for i in $(seq 500); do rpc remote_version & done >"$W/out"; wait; line '500 processes at once' "$(grep -o '"result"' "$W/out" | wc -l) answered"
fi
if wants jobs; then
  fresh; r=$(client jobs "$JOBS" 1); line "$JOBS jobs, one by one" "$r"
  fresh; r=$(client jobs "$JOBS" 300); line "$JOBS jobs, 300 at once" "$r"
  fresh; r=$(client late "$JOBS"); line "$JOBS jobs, asked for late" "$r"
  fresh; r=$(client flood 'exec sleep 1000' 1000 | wc -w); line '1000 jobs that sleep' "$r started"
  began=$(ms); "$PROGRAM" stop-server; echo "  stopped in $(($(ms) - began)) ms, $(pgrep -fc '^sleep 1000') left"
  fresh; pids=$(client flood 'setsid sleep 1001 & exec sleep 1000' 1000); began=$(ms)
  r=$(for pid in $pids; do echo '{"jsonrpc":"2.0","id":1,"method":"exec_remote_kill","params":{"pid":'"$pid"'}}'; done | "$PROGRAM" pipe | grep -c '"result"')
  line '1000 jobs killed at once' "$r killed, $(pgrep -fc '^sleep 100[01]') left"
fi
if wants output; then
  bytes=$((GIGABYTES * 1000000000))
  fresh; r=$(client drain "yes 0123456789abcde | head -c $bytes"); line "$GIGABYTES GB, polled at once" "$r"
  fresh; r=$(client drain 'yes 0123456789abcde | head -c 300000000' 50); line '300 MB, a poll every 50 ms' "$r"
  fresh; pid=$(client flood "yes | head -c $bytes" 1); settle; line "$GIGABYTES GB that nobody asks for" "job waits"
  began=$(ms); rpc exec_remote_kill "{\"pid\":$pid}" >/dev/null; line '  killed' "$(pgrep -fc '^(yes|head)') processes left"
  fresh; pids=$(client flood 'exec yes' 50); settle; line '50 jobs that flood, unread' 'they wait'
  began=$(ms); for pid in $pids; do rpc exec_remote_kill "{\"pid\":$pid}" >/dev/null; done; line '  killed' "$(pgrep -fc '^yes') processes left"
fi
if wants shells; then
  fresh
  seq "$SESSIONS" | sed 's/.*/{"jsonrpc":"2.0","id":&,"method":"bash_session_new_session"}/' | "$PROGRAM" pipe >"$W/out"
  line "$SESSIONS shells" "$(jq -r .result.session_name "$W/out" | sort -u | wc -l) names"
  say() { rpc bash_session "$(jq -nc --arg s "$1" --arg i "$2" '{session_name:$s,wait_for_output:2,idle_timeout:0.2,max_output_bytes:4096,input:$i}')"; }
  began=$(ms); for i in 1 2 3 4 5 6 7 8 9 10; do say "BashSession_$i" 'yes
' >/dev/null; done; sleep 10; line '  ten of them flood for 10 s' unread
  began=$(ms); say BashSession_150 '' >/dev/null; say BashSession_150 'echo here
' >"$W/out"; line '  another one is asked' "$(grep -c here "$W/out") answered"
  began=$(ms); say BashSession_1 "$(printf '\003')" >/dev/null; say BashSession_1 'echo; echo here
' >"$W/out"; line '  one is interrupted' "$(grep -c here "$W/out") answered"
  began=$(ms); for i in 2 3 4 5 6 7 8 9 10; do rpc bash_session "{\"session_name\":\"BashSession_$i\",\"restart\":true}"; done >"$W/out"; line '  nine are restarted' "$(grep -c restarted "$W/out") restarted"
  began=$(ms); "$PROGRAM" stop-server; echo "  stopped in $(($(ms) - began)) ms, $(pgrep -fc '^(yes|.*bash -i)') left"
  "$PROGRAM" start-server >/dev/null
fi
if wants clients; then
  fresh; started many 1500; stopped; line '1500 connections, a call over each' "$(cat "$W/o")"
  fresh; started hold 1500; line '1500 connections that say nothing' "$(cat "$W/o")"; stopped
  fresh; started half 100 1000000; line '100 requests, 1 MB of 60 has come' "$(cat "$W/o")"; stopped; line '  closed' ''
  fresh; started half 20 50000000; line '20 requests, 50 MB of 60 has come' "$(cat "$W/o")"; stopped; line '  closed' ''
  fresh; r=$(client hurried 2000); line '2000 callers that do not wait' "$r"
fi
if wants kill; then
  fresh; pid=$(client flood 'sleep 1000' 1)
  worst=0
  for i in $(seq 20); do
    kill -9 "$(server)"; began=$(ms); rpc remote_version >/dev/null
    took=$(($(ms) - began)); [ $took -lt $worst ] || worst=$took
  done
  line '20 times killed' "the next call answered after $worst ms at the latest; $(pgrep -fc '^sleep 1000') jobs left"
fi
"$PROGRAM" stop-server
