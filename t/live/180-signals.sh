#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an interrupt at any moment ends with 130, leaves nothing inside, and leaves a service that
# was there before alone; an engine that dies in the middle is reported, and repaired afterwards.
# tier: check
# first: docker20
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

name=$(unique s)
id=$(ctr_create "$ENGINE" busybox "$name")
before=$(ctr_diff "$ENGINE" "$id")
version='/v1\.[0-9]+'

# strike SPEC: interrupt while the proxy holds that request back; sets $code, $tmp/out, $tmp/err and
# $took, the seconds from then to the end.
strike() {
  local pid i
  code=0
  proxy_start "$1"
  # a shell starts what runs in the background with SIGINT ignored
  DOCKER_HOST=$proxy_host env --default-signal=INT "$SBINJECT" "$name" >"$tmp/out" 2>"$tmp/err" &
  pid=$!
  for i in $(seq 100); do
    [ "$(proxy_faults)" -eq 0 ] || break
    sleep 0.05
  done
  sleep 0.2
  took=$SECONDS
  kill -INT "$pid"
  wait "$pid" || code=$?
  took=$((SECONDS - took))
  proxy_stop
}

interrupted() {
  strike "$1"
  is "interrupted at $1: exit code" "$code" 130
  is "interrupted at $1: one line" "$(wc -l <"$tmp/err")" 1
  like "interrupted at $1: said" "$(cat "$tmp/err")" 'interrupted'
}

for spec in 'stall:resp@GET /_ping:0,4' "stall:resp@GET $version/containers/.*/json:0,4" \
  "stall:req-body@PUT $version/containers/.*/archive#1:50000,4" \
  "stall:resp@PUT $version/containers/.*/archive#1:0,4" \
  "stall:resp@POST $version/exec/.*/start#1:0,4" \
  "stall:resp-body@POST $version/exec/.*/start#1:0,4"; do
  interrupted "$spec"
  is "interrupted at $spec: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
  "$SBINJECT" -q remove "$name" || :
done

# Nothing that is run says a word any more: neither the program that was interrupted nor the one that
# is to undo it. All of that is over after twenty seconds.
interrupted "stall:resp-body@POST $version/exec/.*/start:0,60"
[ "$took" -le $((20 + slack_s)) ] && pass 'interrupted, and all programs silent: ends in time' ||
  fail 'interrupted, and all programs silent: ends in time' "$took s"
like 'interrupted, and all programs silent: says what may be left' "$(cat "$tmp/err")" 'may be left inside'
ok 'interrupted, and all programs silent: remove' "$SBINJECT" remove "$name"
is 'interrupted, and all programs silent: nothing is left then' "$(ctr_diff "$ENGINE" "$id")" "$before"

ok 'inject' "$SBINJECT" "$name"
pid=$("$SBINJECT" status --json "$name" | jq .pid)
# What was there already has been checked when the interrupt is obeyed: that is no loss, and is told.
strike "stall:resp-body@POST $version/exec/.*/start#1:0,4"
is 'interrupted over a service from before: done all the same' "$code" 0
like 'interrupted over a service from before: said' "$(cat "$tmp/out")" 'already there and healthy'
ok 'a service from before is healthy still' "$SBINJECT" status "$name"
is 'and the same process' "$("$SBINJECT" status --json "$name" | jq .pid)" "$pid"
ok 'remove' "$SBINJECT" remove "$name"

# The engine is killed in the middle of an upload, and of an exec.
kill_engine="$top/t/engines/engine.sh kill $ENGINE"
for spec in "run@PUT $version/containers/.*/archive#1:$kill_engine" \
  "run@POST $version/exec/.*/start#1:$kill_engine"; do
  where=${spec%%:*}
  proxy_start "$spec"
  DOCKER_HOST=$proxy_host run "$SBINJECT" -t 10 "$name"
  is "engine killed, $where: exit code" "$rc" 3
  is "engine killed, $where: one line" "$(wc -l <<<"$err")" 1
  proxy_stop
  ok "engine started again" "$top/t/engines/engine.sh" start "$ENGINE"
  # dockerd without live-restore takes its containers with it
  [ "$(ctr_inspect "$ENGINE" "$id" | jq .State.Running)" = true ] || ctr_start "$ENGINE" "$id"
  ok "engine killed, $where: a second run succeeds" "$SBINJECT" "$name"
  ok "engine killed, $where: healthy" "$SBINJECT" status "$name"
  ok "engine killed, $where: remove" "$SBINJECT" remove "$name"
  is "engine killed, $where: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
done
done_testing
