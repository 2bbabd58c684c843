#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: one command serves many containers, some at a time; those that fail stop none of the others,
# and memory does not grow with their number.
# engines: docker28 podman58
# images: scratch
# timeout: 400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
plain=$top/build/sbinject # a sanitizer keeps freed memory for a while
MANY=${MANY:-40}

names=()
for i in $(seq "$MANY"); do
  names+=("$(unique "m$i")")
  ctr_create "$ENGINE" scratch "${names[-1]}" >/dev/null
done
broken=(sbt-none-1 sbt-none-2)

# peak COMMAND…: run it, and the most memory it had at a time in KiB, in $kib.
peak() {
  run /usr/bin/time -q -f %M -o "$tmp/kib" "$@"
  kib=$(<"$tmp/kib")
}

results() { jq -r --arg k "$1" 'select(.ok) | .[$k] // empty' <<<"$out" | sort | uniq -c | xargs; }

peak "$plain" --json -j 8 "${names[@]:0:8}"
is 'a few: injected' "$(results result)" '8 injected'
few=$kib
peak "$plain" --json -j 8 "${names[@]}" "${broken[@]}"
is 'many: some failed' "$rc" 8
is 'many: all others are injected' "$(results result)" "8 already $((MANY - 8)) injected"
is 'many: one object for each' "$(jq -s length <<<"$out")" "$((MANY + 2))"
is 'many: the failures are named' "$(jq -r 'select(.ok | not) | .container' <<<"$out" | sort | xargs)" "${broken[*]}"
all=$kib
[ "$all" -lt $((few * 3 / 2)) ] && pass 'memory does not grow with their number' ||
  fail 'memory does not grow with their number' "$all KiB for $MANY, $few KiB for 8"

run "$SBINJECT" status -j 16 "${names[@]}"
is 'status of all: exit' "$rc" 0
is 'status of all: healthy' "$(grep -c healthy <<<"$out")" "$MANY"
run script -qec "'$SBINJECT' remove -j 16 ${names[*]} ${broken[0]}" /dev/null
is 'remove on a terminal: exit' "$rc" 8
like 'remove on a terminal: progress is shown' "$out" "removing from $((MANY + 1)) containers: [0-9]+ done, [01] failed"
run "$SBINJECT" status -j 16 "${names[@]}"
is 'removed from all' "$rc" 7
done_testing
