#!/bin/bash
# SPDX-License-Identifier: MIT
# unit.sh PROGRAM…: run cmocka test programs, their points as TAP numbered through; fails when one
# fails, dies, or runs no test.
set -u
points=0 failures=0
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1

for program in "$@"; do
  log=$(mktemp)
  CMOCKA_MESSAGE_OUTPUT=TAP "$program" >"$log" 2>&1
  status=$?
  name=${program##*/}
  ran=$(grep -cE '^(not )?ok [0-9]' "$log")
  bad=$(grep -cE '^not ok [0-9]' "$log")
  while IFS= read -r line; do
    points=$((points + 1))
    case $line in
      ok*) printf 'ok %d - %s: %s\n' "$points" "$name" "${line#* - }" ;;
      *) printf 'not ok %d - %s: %s\n' "$points" "$name" "${line#* - }" ;;
    esac
  done < <(grep -E '^(not )?ok [0-9]' "$log")
  if [ "$status" -ne 0 ] || [ "$ran" -eq 0 ] || [ "$bad" -ne 0 ]; then
    failures=$((failures + 1))
    if [ "$bad" -eq 0 ]; then
      points=$((points + 1))
      printf 'not ok %d - %s: ended with status %d after %d tests\n' "$points" "$name" "$status" "$ran"
    fi
    grep -vE '^ok [0-9]' "$log" | tail -n 60 | sed 's/^/#   /'
  fi
  rm -f "$log"
done
printf '1..%d\n' "$points"
[ "$failures" -eq 0 ] && [ "$points" -gt 0 ]
