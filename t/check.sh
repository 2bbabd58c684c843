#!/bin/bash
# SPDX-License-Identifier: MIT
# check.sh [check|rest|soak]: the tests of a tier (t/tiers.sh), in steps; called by the targets of
# the Makefile, after t/setup.sh. Steps that wait run beside steps that compute. The logs are kept in
# build/check, build/check-rest or build/soak; the last line counts.
#   ONLY="unit cli"   run these steps only       ENGINES="docker20 podman43"   live tests on these
set -u
cd "$(dirname "$0")/.." || exit 1
TIER=${1:-check}
# shellcheck source=t/tiers.sh
. t/tiers.sh
case $TIER in
  check | soak) title=$TIER ;;
  rest) title=check-rest ;;
  *) echo "usage: check.sh [check|rest|soak]" >&2; exit 2 ;;
esac
MAKE=${MAKE:-make}
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -E) # private engines and containers of our own need root
jobs=-j$(nproc)
lanes=()
export LOGS=$PWD/build/$title
logs=$LOGS
"${as_root[@]}" rm -rf "$logs"
mkdir -p "$logs"
touch "$logs/counts" "$logs/times"

finish() {
  trap '' INT TERM HUP EXIT
  local pid
  for pid in "${lanes[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  wait
  [ ${#as_root[@]} -eq 0 ] || "${as_root[@]}" chown -R "$(id -u):$(id -g)" "$logs"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# count LOG STATUS: set $good, $bad and $skips to its TAP points; a step without any counts as one.
count() {
  skips=$(grep -cE '^(ok [0-9]+.*|1\.\.0) # SKIP' "$1")
  bad=$(grep -cE '^not ok ' "$1")
  good=$(($(grep -cE '^ok ' "$1") - $(grep -cE '^ok [0-9].* # SKIP' "$1")))
  [ "$2" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  [ "$2" -ne 0 ] || [ "$((good + bad + skips))" -gt 0 ] || good=1
}

# report NAME LOG STATUS SECONDS: what failed, what was skipped, how much passed.
report() {
  local good bad skips
  count "$2" "$3"
  echo "$good $bad $skips" >>"$logs/counts"
  if [ "$bad" -gt 0 ]; then
    if grep -qE '^not ok ' "$2"; then
      awk '/^not ok/ { on = 1 } /^ok/ { on = 0 } on' "$2" | head -n 300 | sed 's/^/   /'
    else
      tail -n 60 "$2" | sed 's/^/   /'
    fi
  fi
  grep -E '^ok .* # SKIP' "$2" | sed 's/^/   /'
  printf '   %s: %d passed, %d failed, %d skipped (%d s)\n' "$1" "$good" "$bad" "$skips" "$4"
}

chosen() { [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]; }

# step NAME WHAT COMMAND...: quiet unless it fails.
step() {
  local name=$1 status=0 start=$SECONDS
  chosen "$name" || return 0
  printf '== %s: %s\n' "$name" "$2"
  "${@:3}" >"$logs/$name.log" 2>&1 || status=$?
  report "$name" "$logs/$name.log" "$status" "$((SECONDS - start))" >"$logs/$name.report"
  cat "$logs/$name.report"
  printf '%d\t%s\n' "$((SECONDS - start))" "$name" >>"$logs/steps"
}

# What the live tests say while they run is worth seeing, and their own last line counts.
live() {
  local status last start=$SECONDS
  chosen live || return 0
  printf '== live: real engines, host side under sanitizers\n'
  ASAN_OPTIONS=detect_leaks=1:log_to_syslog=0 SBINJECT=$PWD/build-san/sbinject \
    "${as_root[@]}" t/live/run.sh ${ENGINES:+--engines "$ENGINES"} 2>&1 | tee "$logs/live.log"
  status=${PIPESTATUS[0]}
  last=$(grep -E '^live: [0-9]+ passed' "$logs/live.log" | tail -n 1)
  if [[ $last =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped ]]; then
    echo "${BASH_REMATCH[*]:1}" >>"$logs/counts"
    [ "$status" -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || echo "0 1 0" >>"$logs/counts"
  else
    echo "0 1 0" >>"$logs/counts"
  fi
  printf '%d\t%s\n' "$((SECONDS - start))" live >>"$logs/steps"
}

# lane COMMAND...: go on beside it; in a process group of its own, which finish() can end.
lane() {
  set -m
  "$@" </dev/null &
  lanes+=($!)
  set +m
}

make_() { "$MAKE" --no-print-directory $jobs DEV=1 "$@"; }
build() { make_ all fakes; }
build_san() { make_ SAN=1 all; }
unit() { make_ SAN=1 unit; }
payload() { "${as_root[@]}" "$MAKE" --no-print-directory $jobs DEV=1 "$1"; }
fuzz() { make_ fuzz-replay; }

# scripts FOLDER FIRST COMMAND...: run those of the folder that are of this tier (FIRST as for wanted).
scripts() {
  local status=0 t start
  for t in "$1"/[0-9]*.sh; do
    wanted "$t" "$2" || continue
    start=$SECONDS
    echo "# $t"
    "${@:3}" "$t" || status=1
    took "$((SECONDS - start))" "${t##*/}"
  done
  return $status
}

cli() { scripts t/cli 1 env SBINJECT=build/sbinject bash; }
fresh() { scripts t/fresh '' "${as_root[@]}" bash; }
packages() { make_ packages; }
dist() { scripts t/dist '' "${as_root[@]}" bash; }

built() {
  step build "sbinject and its payloads, warnings are errors" build
  step san "the same under ASan and UBSan" build_san
}

computing() {
  step unit "unit tests under ASan and UBSan" unit
  step fuzz "replay of the fuzzers' corpora" fuzz
  step cli "the command line, without an engine" cli
  step lint "style, layering, gcc, clang, cppcheck, shellcheck" t/lint.sh
}

steps_of_check() {
  lane step payload "the in-container program: unit tests, and as a black box" payload payload-check
  lane computing
  live
}

steps_of_rest() {
  step packages "the static command, and the packages with it" packages
  lane step payload "the in-container program as it is shipped, as a black box" payload payload-black-box
  lane step fresh "the README's first command on new minimal systems" fresh
  live
  step interop "inspect_ai as published, with a mock model, on a private Docker" t/interop/run.sh
  step dist "the packages, each on a new minimal system" dist
}

steps_of_soak() {
  live
  step fuzz "half an hour for every parser" make_ FUZZ_SECONDS="${FUZZ_SECONDS:-1800}" fuzz
  step arches "the in-container program on every architecture" payload payload-arches
}

built
"steps_of_$TIER"
wait
echo "slowest:"
sort -rn "$logs/times" | head -n 10 | awk -F '\t' '{ printf "   %4d s  %s\n", $1, $2 }'
printf 'steps: %s; logs in %s\n' "$(awk -F '\t' '{ printf "%s%s %d s", s, $2, $1; s = ", " }' "$logs/steps")" "build/$title"
printf 'took %d s\n' "$SECONDS"
awk -v title="$title" '{ p += $1; f += $2; s += $3 } END {
  printf "%s: %d passed, %d failed, %d skipped\n", title, p, f, s
  exit f > 0 || p == 0 }' "$logs/counts"
