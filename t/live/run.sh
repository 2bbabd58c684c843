#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh: the live test suite: every t/live/NNN-*.sh against every engine, or
# what of that the tier asks for (t/tiers.sh).  Starts private engines, loads the
# images the tests name, runs five engines' suites at a time, stops the engines
# it started.  usage() lists the options.  The output of each test is kept in
# $LOGS, build/check/live if not set.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/engines/paths.sh
. "$here/../engines/paths.sh"
# shellcheck source=t/tiers.sh
. "$here/../tiers.sh"
engine_sh=$here/../engines/engine.sh
image_sh=$here/../images/image.sh
binfmt_sh=$here/../engines/binfmt.sh

engines="docker20 docker20-tls docker20-rootless docker20-userns docker20-small podman43 podman43-rootless docker28 podman58"
regular="docker20 docker26 docker28 podman43 podman43-rootless podman54 podman58"	# for tests that name none
first="docker28 podman43"	# of those that a test runs on, the ones of "make check"
only=
keep=
jobs=5
default_limit=900	# seconds for a test: it ends hangs, and has to do on a busy machine

say() { printf '%s\n' "$*"; }
die() { printf 'live: %s\n' "$*" >&2; exit 1; }
now() { date +%s%3N; }

usage() {
  cat <<-END
	usage: run.sh [--engines "NAME..."] [--only PATTERN] [--keep] [--jobs N]
	  --engines  default: $engines
	  --only     test files whose name fits the shell pattern (or contains it)
	  --keep     leave the engines running
	  --jobs     engines tested at the same time, default $jobs
	END
}

options() {
  while [ $# -gt 0 ]; do
    case $1 in
    --engines | --only | --jobs)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      printf -v "${1#--}" '%s' "${2//,/ }"
      shift
      ;;
    --keep) keep=1 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift
  done
}

# engines_of FILE: of the engines of this run, those that it is for.
engines_of() {
  local name all
  all=" $(declared "$1" engines) "
  [ -n "${all// }" ] || all=" $regular "
  all+="$(declared "$1" also) "
  for name in $engines; do
    [[ $all != *" $name "* ]] || printf '%s\n' "$name"
  done
}

# first_of FILE KIND: its first Docker, or Podman: what it says itself ("# first:") comes before $first.
first_of() {
  local name found='' preferred
  preferred=" $(declared "$1" first) "
  [[ $preferred == *" $2"* ]] || preferred=" $first "
  for name in $(engines_of "$1" | grep "^$2" || :); do
    [[ -z $found || $preferred == *" $name "* ]] || continue
    found=$name
  done
  printf '%s\n' "$found"
}

# make_plan: a line "ENGINE FILE" for each test of this tier on each engine.
make_plan() {
  local file engine docker podman is_first
  for file in "$here"/[0-9][0-9][0-9]-*.sh; do
    # shellcheck disable=SC2053
    [ -z "$only" ] || [[ ${file##*/} == $only || ${file##*/} == *"$only"* ]] || continue
    docker=$(first_of "$file" docker) podman=$(first_of "$file" podman)
    for engine in $(engines_of "$file"); do
      is_first=
      [[ $engine != "$docker" && $engine != "$podman" ]] || is_first=1
      ! wanted "$file" "$is_first" || printf '%s %s\n' "$engine" "$file"
    done
  done >"$results/plan"
}

# by_length: the engines of the plan, those with the most work first, so that none is waited for in
# the end. The tests that "make check" takes samples of are the longest.
by_length() {
  local engine file
  while read -r engine file; do
    printf '%s %s\n' "$engine" "$([ "$(tier_of "$file")" = sample ] && echo 10 || echo 1)"
  done <"$results/plan" | awk '{ n[$1] += $2 } END { for (e in n) print n[e], e }' |
    sort -rn | cut -d' ' -f2
}

# tests_for ENGINE
tests_for() { sed -n "s/^$1 //p" "$results/plan"; }

images_for() {
  local file
  tests_for "$1" | while read -r file; do declared "$file" images; done |
    tr -s ' ' '\n' | sort -u
}

programs_for() {
  local file
  tests_for "$1" | while read -r file; do declared "$file" programs; done |
    tr -s ' ' '\n' | sort -u
}

# --- one test file ----------------------------------------------------------

# count FILE REGEX
count() { grep -cE "$2" "$1" || :; }

# run_test ENGINE FILE: buffer its output, print one line and what failed.
run_test() {
  local engine=$1 name=${2##*/} log=$results/$1.${2##*/} status=0 began
  local limit passed failed skipped note='' settings=()
  limit=$(declared "$2" timeout)
  [ "$TIER" != soak ] || read -ra settings < <(declared "$2" soak)
  [ "$TIER" != soak ] || limit=$((${limit:-$default_limit} * 10))
  began=$(now)
  env "${settings[@]}" ENGINE="$engine" timeout -k 20 "${limit:=$default_limit}" \
    bash "$2" >"$log" 2>&1 </dev/null 9>&- &
  child=$!
  wait "$child" || status=$?
  skipped=$(count "$log" '^(ok [0-9].*|1\.\.0) # SKIP')
  passed=$(($(count "$log" '^ok [0-9]') - $(count "$log" '^ok [0-9].* # SKIP')))
  failed=$(count "$log" '^not ok [0-9]')
  if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
    note="timed out after $limit s"
  elif ! grep -qE '^1\.\.[0-9]+' "$log"; then
    note="ended early with status $status"
  fi
  [ -z "$note" ] || failed=$((failed + 1))
  printf '%s %s %s %s %s\n' "$engine" "$name" "$passed" "$failed" "$skipped" \
    >>"$results/counts"
  sed -nE "s/^(ok [0-9]+ - |1\.\.0)(.*) # SKIP (.*)/\3\t$engine $name \2/p" "$log" \
    >>"$results/skips"
  report_test
}

report_test() {
  {
    printf '%-18s %-26s %3d passed, %d failed, %d skipped  %5d ms\n' "$engine" \
      "$name" "$passed" "$failed" "$skipped" "$(($(now) - began))"
    if [ "$failed" -gt 0 ]; then
      [ -z "$note" ] || printf '  %s\n' "$note"
      awk '/^not ok/ { on = 1 } /^ok/ { on = 0 } on' "$log" | sed 's/^/  /'
      [ -z "$note" ] || tail -n 5 "$log" | sed 's/^/  /'
    fi
  } >"$log.report"
  cat "$log.report"
  took "$((($(now) - began) / 1000))" "$name on $engine"
}

# --- one engine -------------------------------------------------------------

engine_failed() {
  say "$1: $2"
  printf '%s (engine) 0 1 0\n' "$1" >>"$results/counts"
}

# release ENGINE: stop it, unless it ran before us or is to be kept.
release() {
  [ -n "$keep" ] || [ -e "$results/ran-before.$1" ] || "$engine_sh" stop "$1"
}

run_engine() {
  local engine=$1 file images child=
  trap '[ -z "$child" ] || { kill "$child"; wait "$child"; }; exit 1' TERM
  ! "$engine_sh" status "$engine" 2>/dev/null || touch "$results/ran-before.$engine"
  "$engine_sh" start "$engine" </dev/null || {
    engine_failed "$engine" "cannot be started"
    return
  }
  mapfile -t images < <(images_for "$engine")
  if [ ${#images[@]} -gt 0 ]; then
    "$image_sh" load "$engine" "${images[@]}" </dev/null || {
      engine_failed "$engine" "cannot load its images"
      return
    }
  fi
  for file in $(tests_for "$engine"); do
    run_test "$engine" "$file"
  done
  release "$engine"
}

# --- the whole --------------------------------------------------------------

build_images() {
  local engine images
  mapfile -t images < <(for engine in $engines; do images_for "$engine"; done | sort -u)
  [ ${#images[@]} -gt 0 ] || return 0
  "$image_sh" build "${images[@]}" 9>&-
  [[ " ${images[*]} " != *" arm64 "* ]] || [ "$("$binfmt_sh" status aarch64)" = on ] || {
    binfmt=1
    "$binfmt_sh" on aarch64
  }
}

# Programs that the tests run in containers, by their targets in the Makefile.
build_programs() {
  local engine programs
  mapfile -t programs < <(for engine in $engines; do programs_for "$engine"; done | sort -u)
  [ ${#programs[@]} -eq 0 ] || make -s -C "$here/../.." "${programs[@]}" </dev/null 9>&-
}

finish() {
  local status=$? engine
  trap '' INT TERM HUP EXIT
  jobs -p | xargs -r kill 2>/dev/null || :
  wait
  for engine in $engines; do
    release "$engine" || status=1
  done
  [ -n "$keep" ] || [ -z "${binfmt:-}" ] || "$binfmt_sh" remove aarch64
  exit "$status"
}

# hostile_figures FILE...: a table of the lines "# hostile: ENGINE<tab>WHO<tab>NUMBER..." in them
# (t/live/hostile.sh), with a total.
hostile_figures() {
  sed -n 's/^# hostile: //p' "$@" | awk -F '\t' '
    function row(name, n) {
      printf "%-34s %9d %9d %8.1f %6d %7d %9d %6d %8d %6d\n", name, n[3], n[4],
        n[5] / 60000, n[6], n[7], n[8], n[9], n[10], n[11] }
    BEGIN { printf "%-34s %9s %9s %8s %6s %7s %9s %6s %8s %6s\n", "adversary", "rounds",
      "commands", "minutes", "true", "forged", "untrue", "hangs", "escapes", "other" }
    { for (i = 3; i <= 11; i++) { one[i] = $i; all[i] += $i }
      row($1 " " $2, one) }
    END { row("total", all) }'
}

summary() {
  local engine
  for engine in $(cut -d' ' -f1 "$results/counts" | sort -u); do
    awk -v e="$engine" '$1 == e { p += $3; f += $4; s += $5 } END {
      printf "%-18s %d passed, %d failed, %d skipped\n", e, p, f, s }' \
      "$results/counts"
  done
  sort "$results/skips" | awk -F '\t' '
    { n[$1]++; where[$1] = where[$1] "\n    " $2 }
    END { for (w in n) printf "skipped %d: %s%s\n", n[w], w, where[w] }'
  ! grep -qs '^# outcome: ' "$results"/*.sh || "$here/kinds.sh" outcomes "$results"/*.sh
  ! grep -qs '^# hostile: ' "$results"/*.sh || hostile_figures "$results"/*.sh
  awk '{ p += $3; f += $4; s += $5 } END {
    printf "live: %d passed, %d failed, %d skipped\n", p, f, s
    exit f > 0 || p == 0 }' "$results/counts"
}

main() {
  local engine
  options "$@"
  [ "$(id -u)" -eq 0 ] || die "needs root to run private engines"
  lock_engines
  results=${logs:-$here/../../build/check}/live
  rm -rf "$results"
  mkdir -p "$results"
  touch "$results/counts" "$results/skips"
  trap finish EXIT
  trap 'exit 130' INT TERM HUP
  make_plan
  build_images
  build_programs
  for engine in $(by_length); do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || :; done
    run_engine "$engine" &
  done
  wait
  summary
}

main "$@"
