#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: every payload is a plain static program, small, and the same from any build directory.
cd "$(dirname "$(realpath "$0")")/../.." || exit 1
B=${B:-build}; case $B in /*) ;; *) B=$PWD/$B ;; esac
count=0 failed=0
ok() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}
runner() { # how to run the programs of an architecture here
	case $1 in
	"$(dpkg --print-architecture)") echo env ;;
	arm64) echo qemu-aarch64-static ;; amd64) echo qemu-x86_64-static ;;
	armv7) echo qemu-arm-static ;; *) echo "qemu-$1-static" ;;
	esac
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
	size=$(stat -c %s "$f"); [ "$size" -lt 300000 ]; ok $? "$a: $size bytes"
	cmp -s "$tmp/one/out-one/payloads/$a/inspect-sandbox-tools" "$tmp/two/levels/out-two/payloads/$a/inspect-sandbox-tools"
	ok $? "$a: two build directories, the same bytes"
	! grep -aqF -e "$tmp" -e "$PWD" "$tmp/one/out-one/payloads/$a/inspect-sandbox-tools"; ok $? "$a: no build path inside"
	r=$(runner "$a")
	if command -v "$r" >/dev/null; then
		out=$(printf '{"jsonrpc":"2.0","method":"version","id":1}' | $r "$f" exec)
		case $out in '{"jsonrpc": "2.0", "result": "'*'", "id": 1}') ok 0 "$a: runs" ;; *) ok 1 "$a: runs: $out" ;; esac
		mkdir "$tmp/$a"
		# binfmt is not needed: the emulator is given the program again where it starts itself
		if [ "$r" = env ]; then
			out=$(INSPECT_SANDBOX_TOOLS_DIR=$tmp/$a "$f" start-server | wc -l)
			INSPECT_SANDBOX_TOOLS_DIR=$tmp/$a "$f" stop-server; [ "$?:$out" = 0:2 ]; ok $? "$a: serves"
		else
			(INSPECT_SANDBOX_TOOLS_DIR=$tmp/$a exec $r "$f" server >"$tmp/$a.log" 2>&1) & pid=$!
			i=0; while [ ! -S "$tmp/$a/sandbox-tools.sock" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.05; done
			out=$(printf '{"jsonrpc":"2.0","method":"remote_version","id":1}' | INSPECT_SANDBOX_TOOLS_DIR=$tmp/$a $r "$f" exec)
			case $out in *'"result": "Server: '*) ok 0 "$a: serves" ;; *) ok 1 "$a: serves: $out $(cat "$tmp/$a.log")" ;; esac
			INSPECT_SANDBOX_TOOLS_DIR=$tmp/$a $r "$f" stop-server; ok $? "$a: stops"
			wait $pid
		fi
	else
		echo "# no $r, $a not run"
	fi
done
echo "1..$count"
exit $failed
