#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh: what an injection costs, against the engine's own floor and against what a user would
# do by hand, side by side in one run. Each figure is the median of RUNS runs with the quartiles;
# what is compared is interleaved, so that a busy machine is busy for all.
#   ENGINES="docker20 podman43"   RUNS=21
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
ENGINES=${ENGINES:-docker20 podman43 podman43-rootless docker28 podman58}
RUNS=${RUNS:-21}
SBINJECT=${SBINJECT:-$top/build/sbinject}
floor=$top/build/bench/floor
tmp=$(mktemp -d)
started=()

finish() {
  [ -z "${id:-}" ] || curl -s -o /dev/null --unix-socket "$socket" -X DELETE "http://d/containers/$id?force=1" || :
  for engine in "${started[@]}"; do t/engines/engine.sh stop "$engine" >/dev/null || :; done
  rm -rf "$tmp"
}
trap finish EXIT


# timed NAME COMMAND…: one measurement, appended to $tmp/NAME.
timed() {
  local name=$1 from to
  shift
  from=$(date +%s%N)
  "$@" >/dev/null 2>"$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
  to=$(date +%s%N)
  echo $(((to - from) / 1000)) | sed 's/...$/.&/' >>"$tmp/$name"
}

# figure NAME: "median (quartile-quartile)"
figure() {
  sort -n "$tmp/$1" | awk '{ v[NR] = $1 } END {
    printf "%7.1f (%.1f-%.1f)", v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 1) / 4)] }'
}
median() { sort -n "$tmp/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ratio() { awk -v a="$(median "$1")" -v b="$(median "$2")" 'BEGIN { printf "%5.2f", a / b }'; }

by_hand() { # what a user types: copy, then run
  docker -H "unix://$socket" cp "$tmp/payload" "$id:/by-hand"
  docker -H "unix://$socket" exec -u 0:0 "$id" /by-hand start-server
}
undo_by_hand() {
  docker -H "unix://$socket" exec -u 0:0 "$id" /by-hand stop-server >/dev/null
}

bench_engine() {
  local engine=$1 i noop
  t/engines/engine.sh start "$engine" >/dev/null
  started+=("$engine")
  t/images/image.sh load "$engine" scratch >/dev/null
  socket=$(t/engines/engine.sh sock "$engine")
  socket=${socket#unix://}
  export DOCKER_HOST=unix://$socket
  id=$(curl -sf --unix-socket "$socket" -H 'Content-Type: application/json' \
    -d '{"Image":"sbinject-test/scratch:1","HostConfig":{"NetworkMode":"none"}}' \
    "http://d/containers/create" | jq -r .Id)
  curl -sf -o /dev/null --unix-socket "$socket" -X POST "http://d/containers/$id/start"
  "$SBINJECT" payloads --extract tools-amd64 -o "$tmp/payload"
  curl -sf -o /dev/null --unix-socket "$socket" -X PUT -T <(tar -C "$tmp" --transform 's/payload/noop/' -cf - payload) \
    "http://d/containers/$id/archive?path=/"
  noop=/noop
  rm -f "$tmp"/{floor1,floor0,first,again,hand,start}
  for ((i = 0; i < RUNS; i++)); do
    "$floor" "$id" 1 "$noop" "$(stat -c %s "$tmp/payload")" 1 >>"$tmp/floor1"
    timed first "$SBINJECT" "$id"
    "$floor" "$id" 1 "$noop" 0 0 >>"$tmp/floor0"
    timed again "$SBINJECT" "$id"
    "$SBINJECT" -q remove "$id"
    timed hand by_hand
    undo_by_hand
    timed start "$SBINJECT" --version
  done
  printf '%-18s first %s   floor %s  x%s   by hand %s  x%s\n' "$engine" "$(figure first)" \
    "$(figure floor1)" "$(ratio first floor1)" "$(figure hand)" "$(ratio first hand)"
  printf '%-18s again %s   floor %s  x%s   of it, start of the program %s\n' '' "$(figure again)" \
    "$(figure floor0)" "$(ratio again floor0)" "$(figure start)"
  curl -s -o /dev/null --unix-socket "$socket" -X DELETE "http://d/containers/$id?force=1"
  id=
  t/engines/engine.sh stop "$engine" >/dev/null
}

printf 'milliseconds: median of %d (quartiles); x: ratio of the medians\n' "$RUNS"
for engine in $ENGINES; do bench_engine "$engine"; done
printf 'sizes: sbinject %d bytes' "$(stat -c %s "$SBINJECT")"
for f in build/payloads/*/inspect-sandbox-tools; do
  printf ', payload %s %d' "$(basename "$(dirname "$f")")" "$(stat -c %s "$f")"
done
printf '\n'
