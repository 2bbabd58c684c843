#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh: what an injection costs, against the engine's own floor and against what a user would
# do by hand; what many at a time cost, against the same floor, and in memory; what a call costs,
# against an exec of cat; what a tree of files costs, against the engine's own upload of the same
# archive; what the in-container program costs, against the reference, the program of
# the same name that inspect_ai brings. Side by side in one run: each figure is the median with the
# quartiles, and what is compared is interleaved, so that a busy machine is busy for all.
#   ENGINES="docker20 podman43"   RUNS=21 (injections, processes)   TRIPS=1000 (round trips)
#   MANY=100 (containers; 0: leave them out)   JOBS="1 4 16" (at a time)   ROUNDS=3 (through all)
#   TREES="32 285" (megabytes; none: leave them out)   TREE_RUNS=5
#   CALLS=100000 (before memory is looked at again; the reference gets a tenth)
#   WHEEL=FILE   inspect_ai's wheel; else pip downloads it into the cache, once
set -eu -o pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top"
ENGINES=${ENGINES-docker20 podman43 podman43-rootless docker28 podman58}
RUNS=${RUNS:-21}
TRIPS=${TRIPS:-1000}
CALLS=${CALLS:-100000}
TREES=${TREES-32 285}
TREE_RUNS=${TREE_RUNS:-5}
MANY=${MANY:-100}
JOBS=${JOBS:-1 4 16}
ROUNDS=${ROUNDS:-3}
SBINJECT=${SBINJECT:-$top/build/sbinject}
floor=$top/build/bench/floor
trips=$top/build/bench/trips
arch=$(dpkg --print-architecture)
program=$top/build/payloads/$arch/inspect-sandbox-tools
version=0.3.285 # of inspect_ai, whose version 35 of the reference it is
bundle=inspect_ai/binaries/inspect-sandbox-tools-$arch-v35
reference='' why='' # the reference's program, or why there is none
# shellcheck source=t/engines/paths.sh
. t/engines/paths.sh
tmp=$(mktemp -d)
started=() ids=() # engines; containers of the last of them

finish() {
  remove_containers || :
  for engine in "${started[@]}"; do t/engines/engine.sh stop "$engine" >/dev/null || :; done
  stop_services 2>/dev/null || :
  rm -rf "$tmp"
}
trap finish EXIT

# create: one more container
create() {
  ids+=("$(curl -sf --unix-socket "$socket" -H 'Content-Type: application/json' \
    -d '{"Image":"sbinject-test/scratch:1","HostConfig":{"NetworkMode":"none"}}' \
    "http://d/containers/create" | jq -r .Id)")
  curl -sf -o /dev/null --unix-socket "$socket" -X POST "http://d/containers/${ids[-1]}/start"
}
remove_containers() {
  [ "${#ids[@]}" -eq 0 ] || printf 'http://d/containers/%s?force=1\n' "${ids[@]}" |
    xargs -P 8 -n 1 curl -s -o /dev/null --unix-socket "$socket" -X DELETE
  ids=()
}

# timed NAME COMMAND…: one measurement, appended to $tmp/NAME.
timed() {
  local name=$1 from to
  shift
  from=$(date +%s%N)
  "$@" >/dev/null 2>"$tmp/err" || { cat "$tmp/err" >&2; exit 1; }
  to=$(date +%s%N)
  echo $(((to - from) / 1000)) | sed 's/...$/.&/' >>"$tmp/$name"
}

# peak NAME COMMAND…: the same, and the most memory that it had at a time, in kB, to $tmp/NAME.kb.
peak() { timed "$1" /usr/bin/time -a -o "$tmp/$1.kb" -f %M "${@:2}"; }

# trip CHANNEL…: many measurements, into $tmp/NAME and, of processor time, $tmp/NAME.cpu; see trips.c.
trip() { "$trips" "$@" | awk -v d="$tmp/" '{ print $2 >>(d $1) } NF > 2 { print $3 >>(d $1 ".cpu") }'; }

# figure NAME [DIGITS]: "median (quartile-quartile)"
figure() {
  sort -g "$tmp/$1" | awk -v f="%.${2:-1}f" '{ v[NR] = $1 } END {
    printf "%7s (" f "-" f ")", sprintf(f, v[int((NR + 1) / 2)]), v[int((NR + 3) / 4)], v[int((3 * NR + 1) / 4)] }'
}
median() { sort -g "$tmp/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
ratio() { awk -v a="$(median "$1")" -v b="$(median "$2")" 'BEGIN { printf "%.*f", a / b < 0.1 ? 4 : 2, a / b }'; }

by_hand() { # what a user types: copy, then run
  docker -H "unix://$socket" cp "$tmp/payload" "$id:/by-hand"
  docker -H "unix://$socket" exec -u 0:0 "$id" /by-hand start-server
}
undo_by_hand() {
  docker -H "unix://$socket" exec -u 0:0 "$id" /by-hand stop-server >/dev/null
}

# upload FILE NAME: into the container's root directory
upload() {
  curl -sf -o /dev/null --unix-socket "$socket" -X PUT "http://d/containers/$id/archive?path=/" \
    -T <(tar -C "$(dirname "$1")" --transform "s/.*/$2/" -cf - "$(basename "$1")")
}

bench_trips() {
  local contract=/var/tmp/.da7be258e003d428/inspect-sandbox-tools
  upload /bin/busybox cat
  "$SBINJECT" -q "$id"
  trip "$TRIPS" "$id" cat version exec /cat -- inside version exec $contract pipe -- \
    pipe version here "$SBINJECT" pipe "$id" -- \
    served remote_version here "$SBINJECT" pipe "$id"
  printf '%-18s pipe  %s   exec of cat %s  x%s   through the service %s\n' '' "$(figure pipe 3)" \
    "$(figure cat 3)" "$(ratio pipe cat)" "$(figure served 3)"
  printf '%-18s       of it, sbinject x%s of the same exec by itself %s\n' '' \
    "$(ratio pipe inside)" "$(figure inside 3)"
}

# make_tree MEGABYTES: an archive of as many files, of all sizes, that do not compress; once
make_tree() {
  local i
  [ ! -f "$tmp/$1.tar" ] || return 0
  mkdir -p "$tmp/content/put"
  for ((i = 1; i <= $1; i++)); do
    head -c $((i * 2000000 / ($1 + 1))) /dev/urandom >"$tmp/content/put/$i"
  done
  tar -C "$tmp/content" -cf "$tmp/$1.tar" put
  rm -r "$tmp/content"
}

put_tree() { curl -sf -o /dev/null --unix-socket "$socket" -X PUT "http://d/containers/$id/archive?path=/" -T "$1"; }

# A tree alone: the service is there.
bench_trees() {
  local size i
  "$SBINJECT" -q "$id"
  for size in $TREES; do
    make_tree "$size"
    rm -f "$tmp"/{tree,again,put}{,.kb}
    for ((i = 0; i < TREE_RUNS; i++)); do
      timed put put_tree "$tmp/$size.tar"
      peak tree "$SBINJECT" --tree "/srv/tree=$tmp/$size.tar" "$id"
      timed again "$SBINJECT" --tree "/srv/tree=$tmp/$size.tar" "$id"
      "$SBINJECT" -q remove "$id"
      "$SBINJECT" -q "$id"
    done
    printf '%-18s tree of %3d MB %s   upload %s  x%s   again %s   memory %s kB\n' '' "$size" \
      "$(figure tree)" "$(figure put)" "$(ratio tree put)" "$(figure again)" "$(median tree.kb)"
  done
  "$SBINJECT" -q remove "$id"
}

# rates NAME…: of milliseconds for all containers, injections per second
rates() { for name; do awk -v n="$MANY" '{ print n * 1000 / $1 }' "$tmp/$name" >"$tmp/$name.rate"; done; }

bench_many() {
  local jobs i id name few
  while [ "${#ids[@]}" -lt "$MANY" ]; do create; done
  for id in "${ids[@]}"; do upload "$tmp/payload" payload; done
  for jobs in $JOBS; do
    few=("${ids[@]:0:jobs < 10 ? 10 : jobs}") # something to do for each worker
    rm -f "$tmp"/{least,many,few}{,.kb}
    for ((i = 0; i < ROUNDS; i++)); do
      "$floor" /payload "$size" "$jobs" "${ids[@]}" >>"$tmp/least"
      peak many "$SBINJECT" -j "$jobs" "${ids[@]}"
      "$SBINJECT" -q remove -j 16 "${ids[@]}"
      peak few "$SBINJECT" -j "$jobs" "${few[@]}"
      "$SBINJECT" -q remove -j 16 "${few[@]}"
    done
    rates many least
    printf '%-18s -j %-3s %s a second   floor %s  x%s   memory %s kB, of %d containers %s kB\n' '' "$jobs" \
      "$(figure many.rate)" "$(figure least.rate)" "$(ratio many.rate least.rate)" "$(median many.kb)" \
      "${#few[@]}" "$(median few.kb)"
  done
}

bench_engine() {
  local engine=$1 i id size
  t/engines/engine.sh start "$engine" >/dev/null
  started+=("$engine")
  t/images/image.sh load "$engine" scratch >/dev/null
  socket=$(t/engines/engine.sh sock "$engine")
  socket=${socket#unix://}
  export DOCKER_HOST=unix://$socket
  create
  id=${ids[0]}
  "$SBINJECT" payloads --extract "tools-$arch" -o "$tmp/payload"
  size=$(stat -c %s "$tmp/payload")
  upload "$tmp/payload" payload
  rm -f "$tmp"/{floor1,floor0,first,again,hand,start,cat,inside,pipe,served}
  for ((i = 0; i < RUNS; i++)); do
    "$floor" /payload "$size" 1 "$id" >>"$tmp/floor1"
    timed first "$SBINJECT" "$id"
    "$floor" /payload 0 1 "$id" >>"$tmp/floor0"
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
  bench_trips
  bench_trees
  remove_containers
  [ "$MANY" -eq 0 ] || bench_many
  remove_containers
  t/engines/engine.sh stop "$engine" >/dev/null
}

# ---- the in-container program, and the reference ----

# Sets reference, or why.
find_reference() {
  local kept=$SBINJECT_CACHE/reference wheel=${WHEEL:-}
  if [ -z "$wheel" ]; then
    wheel=$kept/inspect_ai-$version-py3-none-any.whl
    [ -f "$wheel" ] || python3 -m pip -q --disable-pip-version-check --retries 1 download --no-deps \
      -d "$kept" "inspect_ai==$version" >/dev/null 2>"$tmp/err" ||
      { why="pip: $(tail -n 1 "$tmp/err")"; return; }
  fi
  python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$wheel" "$bundle" \
    >"$tmp/bundle" 2>"$tmp/err" || { why="$wheel: $(tail -n 1 "$tmp/err")"; return; }
  mkdir "$tmp/unpacked"
  tar -xf "$tmp/bundle" -C "$tmp/unpacked"
  reference=$tmp/unpacked/inspect-sandbox-tools
}

# of WHOSE COMMAND…: with the directory of that one's service
of() { INSPECT_SANDBOX_TOOLS_DIR=$tmp/service-$1 "${@:2}"; }
service_pid() { # service_pid WHOSE PROGRAM: starts it if need be
  of "$1" "$2" exec '{"jsonrpc":"2.0","method":"remote_version","id":1}' | sed -n 's/.*(\([0-9]*\)).*/\1/p'
}
stop_services() {
  [ ! -d "$tmp/service-ours" ] || of ours "$program" stop-server
  [ ! -d "$tmp/service-reference" ] || of reference "$reference" stop-server
}

# memory PID: private and resident kB
memory() {
  awk '/^Private_/ { p += $2 } /^Rss:/ { r = $2 } END { printf "%d kB private, %d resident", p, r }' \
    "/proc/$1/smaps_rollup"
}

ask_by_http() { # ask_by_http N: the reference, many times over one connection
  curl -sf -o /dev/null --unix-socket "$tmp/service-reference/sandbox-tools.sock" \
    -d '{"jsonrpc":"2.0","method":"remote_version","id":1}' "http://d/?[1-$1]"
}

show() { printf '%-28s %s\n' "$@"; }
against() { [ -z "$reference" ] || printf '   reference %s  x%s' "$(figure "reference_$1" "${2:-1}")" "$(ratio "$1" "reference_$1")"; }

bench_calls() {
  local i
  for ((i = 0; i < RUNS; i++)); do
    of ours trip 1 - version version call "$program" exec -- \
      remote remote_version call "$program" exec
    [ -z "$reference" ] ||
      of reference trip 1 - reference_version version call "$reference" exec -- \
        reference_remote remote_version call "$reference" exec
  done
  show 'exec version' "$(figure version 2)$(against version)"
  show '  processor time' "$(figure version.cpu 2)$(against version.cpu)"
  show 'exec of a remote method' "$(figure remote 2)$(against remote)"
  show '  processor time' "$(figure remote.cpu 2)$(against remote.cpu)"
  of ours trip "$TRIPS" - local version here "$program" pipe -- local_served remote_version here "$program" pipe
  show 'pipe version, no engine' "$(figure local 3)"
  show 'pipe of a remote method' "$(figure local_served 3)"
}

bench_memory() {
  local pid
  pid=$(service_pid ours "$program")
  show 'service, idle' "$(memory "$pid")"
  of ours trip "$CALLS" - many remote_version here "$program" pipe
  show "  after $CALLS calls" "$(memory "$pid")"
  [ -n "$reference" ] || return 0
  pid=$(service_pid reference "$reference")
  show 'reference, idle' "$(memory "$pid")"
  ask_by_http $((CALLS / 10))
  show "  after $((CALLS / 10)) calls" "$(memory "$pid")"
}

bench_sizes() {
  local f
  show sbinject "$(stat -c %s "$SBINJECT") bytes"
  for f in build/payloads/*/inspect-sandbox-tools; do
    show "  payload $(basename "$(dirname "$f")")" "$(stat -c %s "$f")"
  done
  [ -z "$reference" ] || show "  reference $arch" "$(stat -c %s "$tmp/bundle") compressed, $(du -sb "$tmp/unpacked" | cut -f 1) unpacked, $(find "$tmp/unpacked" -type f | wc -l) files"
}

bench_inside() {
  find_reference
  [ -n "$reference" ] || echo "reference not measured: $why"
  mkdir -p "$tmp/service-ours"
  [ -z "$reference" ] || mkdir "$tmp/service-reference"
  service_pid ours "$program" >/dev/null
  [ -z "$reference" ] || service_pid reference "$reference" >/dev/null
  bench_calls
  stop_services
  bench_memory
  stop_services
  rm -rf "$tmp"/service-*
}

printf 'milliseconds: median of %d injections and processes, %d round trips (quartiles); x: ratio of the medians\n' \
  "$RUNS" "$TRIPS"
[ "$MANY" -eq 0 ] || printf 'at a time: injections per second into %d containers by one command, %d times\n' "$MANY" "$ROUNDS"
bench_inside
for engine in $ENGINES; do bench_engine "$engine"; done
bench_sizes
