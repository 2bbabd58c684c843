#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh: the black-box tests, several at a time because they wait a lot; each in a world of its
# own. What they say comes in their order. B and ARCHES as for make.
#   JOBS=4   at a time       TESTS="t/payload/100-exec.sh"   these only
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
export B
sanitized=$(realpath "${SAN_PROGRAM:-$B/payloads/san/inspect-sandbox-tools}")
jobs=${JOBS:-4}
limit=900 # seconds: many times what the longest takes
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Every test with the program as it is shipped, and with the one under sanitizers all but those that
# say "# shipped only:"; those that say "# also unprivileged:" with the first as nobody, too.
list=()
for t in ${TESTS:-t/payload/[0-9]*.sh}; do
  list+=("$t static")
  grep -q '^# shipped only:' "$t" || list+=("$t sanitized")
  ! grep -q '^# also unprivileged:' "$t" || list+=("$t unprivileged")
done

# one NUMBER SCRIPT KIND
one() {
  local start=$SECONDS status program='' as=''
  echo "# $2, $3"
  [ "$3" != sanitized ] || program=$sanitized
  [ "$3" != unprivileged ] || as=65534
  PROGRAM=$program TEST_UID=$as timeout -k 5 "$limit" sh "$2" </dev/null
  status=$?
  [ "$status" -ne 124 ] || echo "not ok - $2, $3: ended after $limit s"
  echo "# $2, $3: $((SECONDS - start)) s"
  echo $status >"$out/$1.status"
}

show() {
  while [ ! -e "$out/$1.status" ]; do sleep 0.1; done
  cat "$out/$1.log"
  [ "$(cat "$out/$1.status")" = 0 ] || failed=1
}

# The longest first, by the number of their lines, so that none is waited for in the end.
failed=0 running=0
mapfile -t order < <(for i in "${!list[@]}"; do
  echo "$(wc -l <"${list[i]% *}") $i"
done | sort -rn | cut -d' ' -f2)
{
  for i in "${order[@]}"; do
    [ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
    # shellcheck disable=SC2086 # script and kind
    one "$i" ${list[i]} >"$out/$i.log" 2>&1 &
    running=$((running + 1))
  done
  wait
} &
for i in "${!list[@]}"; do show "$i"; done
wait
exit $failed
