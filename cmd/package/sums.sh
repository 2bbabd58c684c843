#!/bin/bash
# SPDX-License-Identifier: MIT
# sums.sh: dist/SHA256SUMS, of the packages of this release that are there.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

# several packages may be made at once
exec 9<"$dist"
flock 9
cd "$dist"
find . -maxdepth 1 -type f -name '*sbinject*' -name "*[-_]${RELEASE}[-_.]*" -printf '%P\n' | sort |
  xargs -r sha256sum >"$tmp/SHA256SUMS"
mv "$tmp/SHA256SUMS" .
