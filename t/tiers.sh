# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# tiers.sh: which tests run when; sourced by what runs them (t/check.sh, t/live/run.sh,
# t/payload/run.sh) and by t/lint.sh. Defines no actions. A test says in its head, "# tier: WORD":
#   check    all of it in "make check"
#   sample   some of it there, as it finds TIER=check in its environment
#   all      none of it there
# A run is of one tier, $TIER:
#   check    "make check": every test of the first two kinds once; a live test on one Docker and one
#            Podman, a test of the in-container program with the sanitized one
#   rest     what "make check-all" runs after that: all that check has left out
#   all      both in one: what a test or a runner does that is called by hand
#   soak     "make soak": the tests with "# soak: NAME=VALUE...", with these settings
: "${TIER:=all}"
export TIER
logs=${LOGS:-} # a directory for logs, and for the file "times"

# declared FILE KEY: what the head of a test says after "# KEY:".
declared() { sed -n "2,20s/^# $2: *//p" "$1" | head -n 1; }

# tier_of FILE: its word; fails where it has none.
tier_of() {
  local word
  word=$(declared "$1" tier)
  case $word in
  check | sample | all) printf '%s\n' "$word" ;;
  *) return 1 ;;
  esac
}

# wanted FILE [FIRST]: whether it is of this run's tier; FIRST, if not empty: this way of running it
# (engine, program) is one of those that check takes.
wanted() {
  case $TIER in
  all) return 0 ;;
  soak) [ -n "$(declared "$1" soak)" ] && [ -n "${2-1}" ] ;;
  check) [ -n "${2-1}" ] && [ "$(tier_of "$1")" != all ] ;;
  rest) [ -z "${2-1}" ] || [ "$(tier_of "$1")" != check ] ;;
  esac
}

# took SECONDS WHAT: for the list of the slowest.
took() { [ -z "$logs" ] || printf '%d\t%s\n' "$1" "$2" >>"$logs/times"; }
