# shellcheck shell=bash disable=SC2034 # variables for the tests
# SPDX-License-Identifier: MIT
# lib.sh: what every test of the command line (t/cli/NNN-*.sh) sources: t/tap.sh, and an environment
# in which no engine and no rules file is found. Given: SBINJECT.
# Given here: SBINJECT (absolute), tmp (removed at the end), top (the repository).
set -eu -o pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SBINJECT=$(realpath "${SBINJECT:-$top/build/sbinject}")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbinject-cli-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=t/tap.sh
. "$top/t/tap.sh"

unset DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_TLS_VERIFY DOCKER_TLS DOCKER_CERT_PATH \
  DOCKER_API_VERSION CONTAINER_HOST SBINJECT_CONFIG SBINJECT_TRACE SBINJECT_BUNDLE SBINJECT_MIRROR
export HOME=$tmp/home XDG_CONFIG_HOME=$tmp/home/.config XDG_CACHE_HOME=$tmp/home/.cache XDG_RUNTIME_DIR=$tmp/run LC_ALL=C.UTF-8
mkdir -p "$HOME" "$XDG_CONFIG_HOME" "$XDG_CACHE_HOME" "$XDG_RUNTIME_DIR"

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
  if [ "$(wc -l <"$tmp/run.err")" -eq 1 ] && [[ $err =~ ^sbinject:\ .*$2 ]]; then
    pass "$1"
  else
    fail "$1" "stderr:     $err"$'\n'"should fit: ^sbinject: .*$2"
  fi
}

# The names of all sub-commands, as the help lists them.
commands() {
  "$SBINJECT" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\)  *.*/\1/p'
}
