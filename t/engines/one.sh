# shellcheck shell=bash disable=SC2154	# variables of the scripts
# SPDX-License-Identifier: MIT
# one.sh: a run of tests that has one private engine to itself; sourced by t/interop/run.sh and
# t/differential/run.sh. Defines no actions. Given: run, the name of the run; engine; keep, if not
# empty: leave the engine running. Given here: work, a directory that is removed at the end.
engines=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=t/engines/paths.sh
. "$engines/paths.sh"
engine_sh=$engines/engine.sh
image_sh=$engines/../images/image.sh

die() { printf '%s: %s\n' "$run" "$*" >&2; exit 1; }

finish() {
  local status=$?
  trap '' INT TERM HUP EXIT
  jobs -p | xargs -r kill 2>/dev/null || :
  wait
  [ -z "${started:-}" ] || [ -n "$keep" ] || "$engine_sh" stop "$engine" >&2 || status=1
  rm -rf "$work"
  exit "$status"
}

# begin [ARGUMENT...]: go on as root, with these arguments of the script, alone.
begin() {
  [ "$(id -u)" -eq 0 ] || exec sudo -E "$0" "$@"
  work=$(mktemp -d "${TMPDIR:-/tmp}/sbt-$run-XXXXXX")
  trap finish EXIT
  trap 'exit 1' INT TERM HUP
  lock_engines
}

# load IMAGE...: into the engine.
load() { "$image_sh" load "$engine" "$@" 9>&- </dev/null >&2; }

# start_engine IMAGE...: with these; the docker command uses it, and nothing of the user's.
start_engine() {
  "$engine_sh" status "$engine" 2>/dev/null || started=1
  "$engine_sh" start "$engine" 9>&- </dev/null >&2
  load "$@"
  mkdir -p "$work/docker"
  DOCKER_HOST=$("$engine_sh" sock "$engine")
  export DOCKER_HOST DOCKER_CONFIG=$work/docker
}
