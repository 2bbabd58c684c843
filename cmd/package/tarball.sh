#!/bin/bash
# SPDX-License-Identifier: MIT
# tarball.sh ARCH: dist/sbinject-RELEASE-linux-ARCH.tar.gz, one directory, of which the rest goes
# anywhere or below a prefix: bin/ and share/.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

name=sbinject-$RELEASE-linux-$1
staged "$1" "$tmp/root/$name" ''
packed "$tmp/root" | gzip -n9 >"$tmp/$name.tar.gz"
done_with "$tmp/$name.tar.gz"
