#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: every payload is a plain static program, and small. (t/cli/210-reproducible.sh builds it anew.)
# tier: check
# shipped only: it is about how it was linked
cd "$(dirname "$(realpath "$0")")/../.." || exit 1
B=${B:-build}; case $B in /*) ;; *) B=$PWD/$B ;; esac
count=0 failed=0
ok() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}
ARCHES=${ARCHES:-amd64 arm64}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
for a in $ARCHES; do
	f=$B/payloads/$a/inspect-sandbox-tools
	readelf -lW "$f" >"$tmp/headers" 2>&1
	[ -s "$tmp/headers" ] && ! grep -qE 'INTERP|DYNAMIC|Error' "$tmp/headers"; ok $? "$a: no interpreter, nothing dynamic"
	! grep -E 'GNU_STACK.*RWE|LOAD.*RWE' "$tmp/headers"; ok $? "$a: nothing both writable and executable"
	size=$(stat -c %s "$f"); [ "$size" -lt 350000 ]; ok $? "$a: $size bytes"
	! grep -aqF "$PWD" "$f"; ok $? "$a: no build path inside"
done
echo "1..$count"
exit $failed
