# shellcheck shell=bash disable=SC2034,SC2154	# variables for the tests, and of theirs
# SPDX-License-Identifier: MIT
# tap.sh: what the tests in shell (t/cli, t/live, t/payload) share: test points in TAP, and
# captured commands.  A point begins with its NAME.  Given: tmp (a directory).
out='' err='' rc=0
points=0 failures=0

diag() {
  local line
  while IFS= read -r line; do printf '#   %s\n' "$line"; done <<<"$*"
}

point() {	# point ok|not-ok NAME [DIRECTIVE]
  points=$((points + 1))
  [ "$1" = ok ] || failures=$((failures + 1))
  printf '%s %d - %s%s\n' "${1/-/ }" "$points" "$2" "${3:+ # $3}"
}

pass() { point ok "$1"; }
fail() { point not-ok "$1"; shift; [ $# -eq 0 ] || diag "$@"; }
skip() { point ok "$1" "SKIP $2"; }

# skip_all WHY: the whole file does not apply here.
skip_all() {
  printf '1..0 # SKIP %s\n' "$1"
  exit 0
}

# ok NAME COMMAND...: passes when the command succeeds.
ok() {
  local name=$1
  shift
  run "$@"
  if [ "$rc" -eq 0 ]; then
    pass "$name"
  else
    fail "$name" "exit $rc: $*"$'\n'"$out"$'\n'"$err"
  fi
}

# succeeded NAME STATUS: for a command that has run: STATUS is its $?.  The NAME must not run
# another one, which would change that.
succeeded() {
  if [ "$2" = 0 ]; then
    pass "$1"
  else
    fail "$1" "exit $2"
  fi
}

is() {	# is NAME GOT EXPECTED
  if [ "$2" = "$3" ]; then
    pass "$1"
  else
    fail "$1" "got:      $2"$'\n'"expected: $3"
  fi
}

like() {	# like NAME GOT EXTENDED-REGEX
  if [[ $2 =~ $3 ]]; then
    pass "$1"
  else
    fail "$1" "got:        $2"$'\n'"should fit: $3"
  fi
}

unlike() {	# unlike NAME GOT EXTENDED-REGEX
  if [[ $2 =~ $3 ]]; then
    fail "$1" "got:            $2"$'\n'"should not fit: $3"
  else
    pass "$1"
  fi
}

fits() {	# fits NAME GOT SHELL-PATTERN
  # shellcheck disable=SC2254
  case $2 in
  $3) pass "$1" ;;
  *) fail "$1" "got:        $2"$'\n'"should fit: $3" ;;
  esac
}

# last_points: what every test of a folder ends with; its lib.sh may define it anew.
last_points() { :; }

done_testing() {
  last_points
  printf '1..%d\n' "$points"
  [ "$failures" -eq 0 ] || exit 1
  exit 0
}

# run COMMAND...: never fails; sets $out, $err (without trailing newlines) and
# $rc; $tmp/run.out and $tmp/run.err have every byte.
run() {
  rc=0
  "$@" >"$tmp/run.out" 2>"$tmp/run.err" || rc=$?
  out=$(tr -d '\0' <"$tmp/run.out")
  err=$(tr -d '\0' <"$tmp/run.err")
}
