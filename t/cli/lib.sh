# shellcheck shell=bash disable=SC2034 # variables for the tests
# SPDX-License-Identifier: MIT
# lib.sh: what every test of the command line (t/cli/NNN-*.sh) sources: test points in TAP, captured
# commands, and an environment in which no engine and no rules file is found. Given: SBINJECT.
# Given here: SBINJECT (absolute), tmp (removed at the end), top (the repository).
set -eu -o pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SBINJECT=$(realpath "${SBINJECT:-$top/build/sbinject}")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbinject-cli-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
out='' err='' rc=0
points=0 failures=0

unset DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_TLS_VERIFY DOCKER_TLS DOCKER_CERT_PATH \
  DOCKER_API_VERSION CONTAINER_HOST SBINJECT_CONFIG SBINJECT_TRACE
export HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home/.config XDG_RUNTIME_DIR=$tmp/run LC_ALL=C.UTF-8
mkdir -p "$HOME" "$XDG_CONFIG_HOME" "$XDG_RUNTIME_DIR"

pass() {
  points=$((points + 1))
  printf 'ok %d - %s\n' "$points" "$1"
}

fail() { # fail NAME [WHY]
  local line
  points=$((points + 1)) failures=$((failures + 1))
  printf 'not ok %d - %s\n' "$points" "$1"
  [ $# -lt 2 ] || while IFS= read -r line; do printf '#   %s\n' "$line"; done <<<"$2"
}

note() { printf '# %s\n' "$*"; }

is() { # is NAME GOT EXPECTED
  if [ "$2" = "$3" ]; then
    pass "$1"
  else
    fail "$1" "got:      $2"$'\n'"expected: $3"
  fi
}

like() { # like NAME GOT EXTENDED-REGEX
  if [[ $2 =~ $3 ]]; then
    pass "$1"
  else
    fail "$1" "got:        $2"$'\n'"should fit: $3"
  fi
}

# run COMMAND...: never fails; sets $out, $err (without trailing newlines) and $rc.
run() {
  rc=0
  "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
  out=$(tr -d '\0' <"$tmp/out")
  err=$(tr -d '\0' <"$tmp/err")
}

sb() { run "$SBINJECT" "$@"; }

# exits NAME CODE: what the last run ended with; shows all of it if not.
exits() {
  if [ "$rc" -eq "$2" ]; then
    pass "$1"
  else
    fail "$1" "exit $rc, expected $2"$'\n'"stdout: $out"$'\n'"stderr: $err"
  fi
}

# one_line NAME REGEX: stderr of the last run is a single line of ours that fits.
one_line() {
  if [ "$(wc -l <"$tmp/err")" -eq 1 ] && [[ $err =~ ^sbinject:\ .*$2 ]]; then
    pass "$1"
  else
    fail "$1" "stderr:     $err"$'\n'"should fit: ^sbinject: .*$2"
  fi
}

# The names of all sub-commands, as the help lists them.
commands() {
  "$SBINJECT" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\)  *.*/\1/p'
}

done_testing() {
  printf '1..%d\n' "$points"
  [ "$failures" -eq 0 ] || exit 1
  exit 0
}
