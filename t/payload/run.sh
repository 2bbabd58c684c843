#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh: the black-box tests, several at a time because they wait a lot; each in a world of its
# own. What they say comes in their order. B and ARCHES as for make. The tier (t/tiers.sh) chooses.
#   JOBS=4   at a time       TESTS="t/payload/100-exec.sh"   these only
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/tiers.sh
. t/tiers.sh
B=$(realpath "${B:-build}")
export B
sanitized=$(realpath "${SAN_PROGRAM:-$B/payloads/san/inspect-sandbox-tools}")
jobs=${JOBS:-$((3 * $(nproc)))} # most of the time they wait
limit=1800 # seconds: many times what the longest takes
out=${logs:-$PWD/build/check}/payload
rm -rf "$out"
mkdir -p "$out"

# Every test with the program under sanitizers, and with the one that is shipped: only that where it
# says "# shipped only:", and as nobody, too, where it says "# also unprivileged:".
list=()
for t in ${TESTS:-t/payload/[0-9]*.sh}; do
  shipped=$(declared "$t" 'shipped only')
  [ -n "$shipped" ] || ! wanted "$t" || list+=("$t sanitized")
  ! wanted "$t" "$shipped" || list+=("$t static")
  [ -z "$(declared "$t" 'also unprivileged')" ] || ! wanted "$t" '' || list+=("$t unprivileged")
done

# one SCRIPT KIND: its output and its status, into files that are named by both
one() {
  local start=$SECONDS status program='' as='' file=$out/${1##*/}.$2
  exec >"$file.log" 2>&1
  echo "# $1, $2"
  [ "$2" != sanitized ] || program=$sanitized
  [ "$2" != unprivileged ] || as=65534
  PROGRAM=$program TEST_UID=$as timeout -k 5 "$limit" bash "$1" </dev/null
  status=$?
  [ "$status" -ne 124 ] || echo "not ok - $1, $2: ended after $limit s"
  echo "# $1, $2: $((SECONDS - start)) s"
  took "$((SECONDS - start))" "${1##*/}, $2"
  echo $status >"$file.status"
}

show() {
  local file=$out/${1##*/}.$2
  while [ ! -s "$file.status" ]; do sleep 0.1; done
  cat "$file.log"
  [ "$(cat "$file.status")" = 0 ] || failed=1
}

# The longest first, by the number of their lines, so that none is waited for in the end.
failed=0 running=0
mapfile -t order < <(for each in "${list[@]}"; do
  echo "$(wc -l <"${each% *}") $each"
done | sort -rn | cut -d' ' -f2-)
{
  # shellcheck disable=SC2086 # script and kind
  for each in "${order[@]}"; do
    [ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
    (one $each) &
    running=$((running + 1))
  done
  wait
} &
# shellcheck disable=SC2086
for each in "${list[@]}"; do show $each; done
wait
exit $failed
