#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh: all tests, in the order in which a failure is cheapest to understand. Every step prints
# what it does; the last line counts. Called by "make check", after t/setup.sh.
#   ONLY="unit cli"   run these steps only       ENGINES="docker20 podman43"   live tests on these
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0 began=$SECONDS
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
MAKE=${MAKE:-make}
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -E) # private engines and containers of our own need root
jobs=-j$(nproc)

# count LOG: add its TAP points; a step without any counts as one.
count() {
  local skips bad good
  skips=$(grep -cE '^(ok [0-9]+.*|1\.\.0) # SKIP' "$1")
  bad=$(grep -cE '^not ok ' "$1")
  good=$(($(grep -cE '^ok ' "$1") - $(grep -cE '^ok [0-9].* # SKIP' "$1")))
  [ "$2" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  [ "$2" -ne 0 ] || [ "$((good + bad + skips))" -gt 0 ] || good=1
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skips))
  printf '   %s: %d passed, %d failed, %d skipped (%d s)\n' "$3" "$good" "$bad" "$skips" "$4"
}

# step NAME WHAT COMMAND…: quiet unless it fails.
step() {
  local name=$1 what=$2 log status start=$SECONDS
  shift 2
  [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $name "* ]] || return 0
  log=$logs/$name
  printf '== %s: %s\n' "$name" "$what"
  "$@" >"$log" 2>&1
  status=$?
  if [ "$status" -ne 0 ]; then
    if grep -qE '^not ok ' "$log"; then
      awk '/^not ok/ { on = 1 } /^ok/ { on = 0 } on' "$log" | head -n 300 | sed 's/^/   /'
    else
      tail -n 60 "$log" | sed 's/^/   /'
    fi
  fi
  grep -E '^ok .* # SKIP' "$log" | sed 's/^/   /'
  count "$log" "$status" "$name" "$((SECONDS - start))"
}

build() { "$MAKE" --no-print-directory $jobs DEV=1 all; }
build_san() { "$MAKE" --no-print-directory $jobs DEV=1 SAN=1 all; }
unit() { "$MAKE" --no-print-directory $jobs DEV=1 SAN=1 unit; }
payload() { "${as_root[@]}" "$MAKE" --no-print-directory $jobs DEV=1 payload-check; }
fuzz() { "$MAKE" --no-print-directory $jobs fuzz-replay; }

cli() {
  local status=0 t
  for t in t/cli/[0-9]*.sh; do
    echo "# $t"
    SBINJECT=build/sbinject bash "$t" || status=1
  done
  return $status
}

# Its own last line counts; what it says while it runs is worth seeing.
live() {
  local log=$logs/live status last
  [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" live "* ]] || return 0
  printf '== live: real engines, host side under sanitizers\n'
  ASAN_OPTIONS=detect_leaks=1:log_to_syslog=0 SBINJECT=$PWD/build-san/sbinject \
    "${as_root[@]}" t/live/run.sh ${ENGINES:+--engines "$ENGINES"} 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  last=$(grep -E '^live: [0-9]+ passed' "$log" | tail -n 1)
  if [[ $last =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + BASH_REMATCH[3]))
    [ "$status" -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || failed=$((failed + 1))
  else
    failed=$((failed + 1))
  fi
}

step build "sbinject and its payloads, warnings are errors" build
step san "the same under ASan and UBSan" build_san
step unit "unit tests under ASan and UBSan" unit
step payload "the in-container program: unit tests, and the static binary as a black box" payload
step cli "the command line, without an engine" cli
step fuzz "replay of the fuzzers' corpora" fuzz
step lint "style, layering, gcc, clang, cppcheck, shellcheck" t/lint.sh
live
step interop "inspect_ai as published, with a mock model, on a private Docker" t/interop/run.sh

printf 'took %d s\n' "$((SECONDS - began))"
printf 'check: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
