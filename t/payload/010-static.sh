#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: every payload is a plain static program, small, and the same from any build directory.
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
for d in one two/levels; do
	mkdir -p "$tmp/$d" && cp -r payloads "$tmp/$d/"
	(cd "$tmp/$d" && make -s -j2 -f payloads/payload.mk ARCHES="$ARCHES" B=out-${d%/*} PB=out-${d%/*} payloads) >"$tmp/log" 2>&1 || cat "$tmp/log"
done
for a in $ARCHES; do
	f=$B/payloads/$a/inspect-sandbox-tools
	readelf -lW "$f" >"$tmp/headers" 2>&1
	[ -s "$tmp/headers" ] && ! grep -qE 'INTERP|DYNAMIC|Error' "$tmp/headers"; ok $? "$a: no interpreter, nothing dynamic"
	! grep -E 'GNU_STACK.*RWE|LOAD.*RWE' "$tmp/headers"; ok $? "$a: nothing both writable and executable"
	size=$(stat -c %s "$f"); [ "$size" -lt 350000 ]; ok $? "$a: $size bytes"
	cmp -s "$tmp/one/out-one/payloads/$a/inspect-sandbox-tools" "$tmp/two/levels/out-two/payloads/$a/inspect-sandbox-tools"
	ok $? "$a: two build directories, the same bytes"
	! grep -aqF -e "$tmp" -e "$PWD" "$tmp/one/out-one/payloads/$a/inspect-sandbox-tools"; ok $? "$a: no build path inside"
done
echo "1..$count"
exit $failed
