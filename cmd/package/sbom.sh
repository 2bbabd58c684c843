#!/bin/bash
# SPDX-License-Identifier: MIT
# sbom.sh ARCH: dist/sbinject-RELEASE-ARCH.spdx.json, what the packages for ARCH hold, in which
# versions, under which licences.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

file=$tmp/sbinject-$RELEASE-$1.spdx.json
sbom "$1" >"$file"
done_with "$file"
