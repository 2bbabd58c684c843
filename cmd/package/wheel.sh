#!/bin/bash
# SPDX-License-Identifier: MIT
# wheel.sh ARCH: the wheel of inspect-sbinject in dist/, with the static command in it.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

sbom "$1" >"$tmp/sbom"
python3 cmd/inspect-sbinject/wheel.py --binary "$(built "$1")" --arch "$1" --release "$RELEASE" \
  --licences "build/host/$1/THIRD-PARTY" --sbom "$tmp/sbom" --output "$dist"
