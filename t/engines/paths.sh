# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# paths.sh: where the private test engines and their caches live.  Sourced by
# every script under t/engines, t/images and t/live; does nothing by itself.

SBINJECT_ENGINES=${SBINJECT_ENGINES:-/var/tmp/sbinject-engines}
SBINJECT_CACHE=${SBINJECT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sbinject}
export SBINJECT_ENGINES SBINJECT_CACHE

# engine_socket NAME: path of an engine's Unix socket.  The rootless engines
# keep theirs in their own run-time directory.
engine_socket() {
  case $1 in
  podman*-rootless) printf '%s/%s/run/podman/podman.sock\n' "$SBINJECT_ENGINES" "$1" ;;
  docker*-rootless) printf '%s/%s/run/docker.sock\n' "$SBINJECT_ENGINES" "$1" ;;
  *) printf '%s/%s/sock\n' "$SBINJECT_ENGINES" "$1" ;;
  esac
}

# lock_engines: one test run at a time has them, until it ends; engine.sh is to know of it. Needs die().
# The lock is descriptor 9: what outlives the run must not inherit it.
lock_engines() {
  mkdir -p "$SBINJECT_ENGINES/.lock"
  exec 9>"$SBINJECT_ENGINES/.lock/run"
  flock -n 9 || die "another test run is using '$SBINJECT_ENGINES'"
  export SBINJECT_RUN_LOCKED=1
}

# mirror: address of the Debian archive this machine already uses.
mirror() {
  local m
  # shellcheck disable=SC2016
  m=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -v -e security -e backports | head -n 1)
  [ -n "$m" ] || { echo "no Debian archive configured in apt" >&2; return 1; }
  printf '%s\n' "$m"
}
