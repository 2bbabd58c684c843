#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an engine that restarts before or after any request, and connections cut at any byte, end in
# the right exit code, in time and in one line: success only if the service is there, and nothing is
# left that the line does not report. A second run repairs everything.
# tier: sample
# first: docker28 podman58
# soak: CUTS=300
# engines: docker20 podman43 podman43-rootless docker28 podman58
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/faults.sh
. "$top/t/live/faults.sh"
need_sbinject
CUTS=${CUTS:-20} # cuts at random bytes
[ "${TIER:-}" != check ] || CUTS=2

engine_sh=$top/t/engines/engine.sh
faults_container

restart=$tmp/restart
cat >"$restart" <<END
#!/bin/sh
"$engine_sh" kill "$ENGINE" && "$engine_sh" start "$ENGINE" && touch "$restart.done"
END
chmod 755 "$restart"

# restored: repaired, though dockerd without live-restore takes its containers with it.
restored() {
  runs || ctr_start "$ENGINE" "$id"
  repaired
}

# fault SPEC CODES
fault() {
  faulty "$1" "$2" 15 inject "$name"
  truthful
  restored
}

learn inject "$name"
[ "${#requests[@]}" -ge 5 ] && pass 'the requests are known' || fail 'the requests are known' "${requests[*]}"
without_service

# restarted WHEN REQUEST: sbinject need not wait for the engine, but the next run has to.
restarted() {
  rm -f "$restart.done"
  awaited=$restart.done faulty "$1@${selector[$2]}#1:$restart" 034 15 inject "$name"
  truthful
  restored
}

for request in "${requests[@]}"; do
  [ "${TIER:-}" != check ] || [[ $request == put || $request == start ]] || continue
  restarted run "$request"
  restarted run:after "$request"
done

# The socket is another engine's, or what is there is none, once the container has been inspected.
socket=$tmp/proxy.sock
fault "run:after@${selector[inspect]}#1:ln -sfn '$(engine_socket "$ENGINE")' '$socket'" 0
fault "run:after@${selector[inspect]}#1:rm '$socket' && touch '$socket'" 3

# Two at once, and the engine restarts under both: its socket is another one afterwards.
for i in 1 2; do
  timeout -k 5 40 "$SBINJECT" -t 15 "$name" >"$tmp/out.$i" 2>"$tmp/err.$i" &
  pids[i]=$!
done
"$engine_sh" kill "$ENGINE" >/dev/null
"$engine_sh" start "$ENGINE" >/dev/null
for i in 1 2; do
  what="two at once and a restart, number $i"
  rc=0
  wait "${pids[i]}" || rc=$?
  err=$(<"$tmp/err.$i")
  exits 0134
done
restored

# Cut somewhere in what is sent, or in the answer; the lengths of heads, and of what a program says, are guessed.
RANDOM=${SEED:=$$}
printf '# SEED=%s CUTS=%s\n' "$SEED" "$CUTS"
for ((i = 0; i < CUTS; i++)); do
  request=${requests[RANDOM % ${#requests[@]}]}
  place=resp most=$((half_in[$request] * 2 + 600))
  ((half_out[$request] == 0 || RANDOM % 2)) || place=req-body most=$((half_out[$request] * 2))
  fault "$(at "cut:$place@:$(((RANDOM * 32768 + RANDOM) % most))" "$request")" 03
done
done_testing
