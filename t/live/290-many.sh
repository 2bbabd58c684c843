#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: one command serves many containers, some at a time; those that fail stop none of the others,
# a terminal shows how far it is, and memory does not grow with their number.
# tier: sample
# soak: MANY=1000
# engines: docker28 podman58
# images: scratch
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
plain=$top/build/sbinject # a sanitizer keeps freed memory for a while
: "${MANY:=200}"
[ "${TIER:-}" != check ] || MANY=40

mapfile -t names < <(for i in $(seq "$MANY"); do unique "m$i"; done)
broken=(sbt-none-1 sbt-none-2)

# all COMMAND…: for the name of each container, some at a time.
all() {
  local name
  for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n || :; done
    "$@" "$name" >/dev/null &
  done
  wait
}

# terminal PROGRAM ARGUMENT…: with the progress and the errors on a terminal, then in $err; its
# results are in $out, and the most memory it had at a time, in KiB, is in $kib.
terminal() {
  run script -qec "/usr/bin/time -q -f %M -o '$tmp/kib' $* >'$tmp/results'" /dev/null
  err=$out out=$(<"$tmp/results") kib=$(<"$tmp/kib")
}

results() { jq -r --arg k "$1" 'select(.ok) | .[$k] // empty' <<<"$out" | sort | uniq -c | xargs; }

all ctr_create "$ENGINE" scratch
is 'they run' "$(api "$ENGINE" GET /containers/json | jq --arg k "$(unique m)" '[.[].Names[0] | select(contains($k))] | length')" "$MANY"

terminal "$plain" inject --json -j 8 "${names[@]:0:8}"
is 'a few: injected' "$(results result)" '8 injected'
few=$kib
terminal "$plain" inject --json -j 8 "${names[@]}" "${broken[@]}"
is 'many: some failed' "$rc" 8
is 'many: all others are injected' "$(results result)" "8 already $((MANY - 8)) injected"
is 'many: one object for each' "$(jq -s length <<<"$out")" "$((MANY + 2))"
is 'many: the failures are named' "$(jq -r 'select(.ok | not) | .container' <<<"$out" | sort | xargs)" "${broken[*]}"
like 'many: progress is shown' "$err" "injecting into $((MANY + 2)) containers: [1-9][0-9]* done, [0-2] failed"
[ "$kib" -lt $((few * 3 / 2)) ] && pass 'memory does not grow with their number' ||
  fail 'memory does not grow with their number' "$kib KiB for $MANY, $few KiB for 8"

run "$SBINJECT" status -j 16 "${names[@]}"
is 'status of all: exit' "$rc" 0
is 'status of all: healthy' "$(grep -c healthy <<<"$out")" "$MANY"
terminal "$SBINJECT" remove --json -j 16 "${names[@]}" "${broken[0]}"
is 'remove: exit' "$rc" 8
is 'remove: from all others' "$(results result)" "$MANY removed"
like 'remove: progress is shown' "$err" "removing from $((MANY + 1)) containers: [0-9]+ done, [01] failed"
run "$SBINJECT" status -j 16 "${names[@]}"
is 'removed from all' "$rc" 7
all ctr_rm "$ENGINE"
done_testing
