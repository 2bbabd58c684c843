#!/bin/bash
# SPDX-License-Identifier: MIT
# wheel.sh ARCH: the wheel of inspect-sbinject in dist/, with the static command in it.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

[ -f cmd/inspect-sbinject/wheel.py ] || die "no cmd/inspect-sbinject/wheel.py, which makes it"
python3 cmd/inspect-sbinject/wheel.py --binary "$(built "$1")" --arch "$1" --release "$RELEASE" --output "$dist"
