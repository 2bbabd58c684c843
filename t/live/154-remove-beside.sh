#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: a removal beside many calls, by users with keys of their own, leaves no service, no file, and
# nothing for the next removal.
# tier: check
# soak: ROUNDS=40
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

: "${ROUNDS:=3}"
name=$(unique b)
id=$(ctr_create "$ENGINE" busybox "$name")
before=$(ctr_diff "$ENGINE" "$id")
services() { exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" ps -o args | grep -c '[ ]server$' || :; }

# calls KEY: until it is told to stop
calls() {
  while [ ! -e "$tmp/stop" ]; do
    XDG_STATE_HOME=$tmp/$1 timeout 60 "$SBINJECT" call "$name" remote_version >/dev/null 2>&1 || :
  done
}

wrong=
for ((i = 0; i < ROUNDS; i++)); do
  ok "round $i: inject" "$SBINJECT" "$name"
  rm -f "$tmp/stop"
  pids=()
  for key in state state state state a a b /; do
    calls "$key" &
    pids+=($!)
  done
  sleep 1
  ok "round $i: remove" "$SBINJECT" -t 120 remove "$name"
  touch "$tmp/stop"
  wait "${pids[@]}"
  left="$(services) $(ctr_diff "$ENGINE" "$id")"
  [ "$left" = "0 $before" ] || wrong+="$i: $left"$'\n'
  run "$SBINJECT" --json remove "$name"
  is "round $i: remove again" "$rc $(jq -r .result <<<"$out")" '0 absent'
done
is 'nothing is left after any removal' "$wrong" ''
done_testing
