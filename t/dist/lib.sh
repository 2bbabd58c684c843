# shellcheck shell=bash disable=SC2034 # variables for the tests
# SPDX-License-Identifier: MIT
# lib.sh: what every test of the packages (t/dist/NNN-*.sh) sources: t/tap.sh, and the packages, made
# where they are not. Given here: top (the repository), tmp (removed at the end), release, native (the
# architecture of this machine), hosts (those of the packages; $HOSTS), dist (where they are).
set -eu -o pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/sbt-dist-XXXXXX")
trap 'rm -rf --one-file-system "$tmp"' EXIT
# shellcheck source=t/tap.sh
. "$top/t/tap.sh"

cd "$top"
unset MAKEFLAGS MAKELEVEL MFLAGS
release=$(sed -n 's/^RELEASE := //p' Makefile)
native=$(dpkg --print-architecture)
hosts=${HOSTS:-amd64 arm64}
dist=$top/dist

# make_ TARGET...: without a word where it goes well
make_() {
  make --no-print-directory -j"$(nproc)" HOSTS="$hosts" "$@" >"$tmp/make.log" 2>&1 || {
    tail -n 20 "$tmp/make.log" >&2
    fail "make $*"
    done_testing
  }
}

[ -f "$dist/SHA256SUMS" ] || make_ packages

# static ARCH: the static command
static() { printf '%s/build/host/%s/sbinject\n' "$top" "$1"; }

# in_root DIR COMMAND...: with that as its root, and nothing of this system but the kernel; $trace is
# what is traced
in_root() { run env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ SBINJECT_TRACE="${trace:-}" chroot "$@"; }

# runs_in NAME DIR PATH: the command there does what needs no engine
runs_in() {
  in_root "$2" "$3" --version
  like "$1: --version" "$rc $out" "^0 sbinject ${release//./\\.} "
  in_root "$2" "$3" rules --check
  is "$1: the rules are read" "$rc $err" "0 "
  in_root "$2" "$3" payloads --extract "tools-$native" --output /extracted
  is "$1: a payload is written" "$rc $err" "0 "
  in_root "$2" /extracted version
  is "$1: and runs" "$rc" 0
  in_root "$2" "$3" ls
  is "$1: without an engine: exit code" "$rc" 3
}
