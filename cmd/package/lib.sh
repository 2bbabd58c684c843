# shellcheck shell=bash disable=SC2034	# variables for the scripts
# SPDX-License-Identifier: MIT
# lib.sh: what the scripts that make packages source: the same bytes from the same source, in whatever
# directory, at whatever time. Given by make: RELEASE, and SELF, a static command that runs here.
# Given here: top; tmp, removed at the end; dist, where packages go; date, the release's, in
# seconds, and created, the same as documents have it.
set -eu -o pipefail
umask 022
export LC_ALL=C TZ=UTC
unset MAKEFLAGS MFLAGS MAKELEVEL

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$top"
dist=dist

die() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; exit 1; }

[ -n "${RELEASE:-}" ] || die "'make $(basename "$0" .sh)' calls this"
command -v jq >/dev/null || die "no jq; 't/setup.sh package' installs what packing needs"
# The notes of a release give its day; a date given counts first.
day=$(sed -n "s/^## ${RELEASE//./\\.} (\([0-9-]*\))$/\1/p" man/CHANGES.md)
[ -n "$day" ] || die "man/CHANGES.md has no entry '## $RELEASE (YYYY-MM-DD)'"
date=${SOURCE_DATE_EPOCH:-$(date -d "$day" +%s)}
export SOURCE_DATE_EPOCH=$date
created=$(date -d "@$date" +%Y-%m-%dT%H:%M:%SZ)

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbinject-package-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$dist"

# built ARCH: the static command for it
built() { printf 'build/host/%s/sbinject\n' "$1"; }

# staged ARCH DIR PREFIX: all that is installed below a prefix, and the list of what is linked in
staged() {
  mkdir -p "$2"
  "${MAKE:-make}" -s --no-print-directory RELEASE="$RELEASE" ARCHES="$ARCHES" MUSL="$1" B="build/host/$1" \
    SELF="$SELF" DESTDIR="$(realpath "$2")" PREFIX="$3" install >/dev/null
  sbom "$1" >"$2$3/share/doc/sbinject/sbom.spdx.json"
  find "$2" -type d -exec chmod 755 {} + -o -type f -perm -100 -exec chmod 755 {} + -o \
    -type f -exec chmod 644 {} +
}

# packed DIR: a tar of what is in it
packed() {
  (cd "$1" && tar --sort=name --format=ustar --mtime="@$date" --owner=0 --group=0 --numeric-owner \
    -cf - -- *)
}

# sbom ARCH: what the packages for it hold, as SPDX 2.3
sbom() {
  jq -n -S --rawfile linked "build/host/$1/linked.tsv" --arg release "$RELEASE" --arg arch "$1" \
    --arg sha256 "$(digest "$(built "$1")")" --arg created "$created" \
    -f cmd/package/sbom.jq
}

digest() { sha256sum "$@" | cut -d' ' -f1; }

# done_with FILE: it is whole; tell
done_with() {
  mv "$1" "$dist/"
  printf '%s/%s\n' "$dist" "${1##*/}"
}
