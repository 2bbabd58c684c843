#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: every payload is a static program that runs at any address, with nothing writable that only its
# start has to write to, and nothing writable that can be run; its code marks where calls may lead, and
# probes large frames; and small. (t/cli/210-reproducible.sh builds it anew.)
# tier: check
# shipped only: it is about how it was linked
cd "$(dirname "$(realpath "$0")")/../.." || exit 1
B=${B:-build}; case $B in /*) ;; *) B=$PWD/$B ;; esac
# shellcheck source=t/tap.sh
. t/tap.sh
ARCHES=${ARCHES:-amd64 arm64}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT

# segments FILE: the flags of what is loaded, in order
segments() { readelf -lW "$1" | awk '$1 == "LOAD" { f = $7; if ($8 !~ /^0x/) f = f $8; printf "%s%s", s, f; s = " " }'; }

# pages PID FILE: the same of the program as it runs
pages() { awk -v f="$2" '$6 == f { printf "%s%s", s, $2; s = " " }' "/proc/$1/maps"; }

for a in $ARCHES; do
  f=$B/payloads/$a/inspect-sandbox-tools
  readelf -hldW "$f" >"$tmp/headers" 2>&1
  grep -q 'Type: *DYN' "$tmp/headers" && ! grep -qE 'INTERP|NEEDED|TEXTREL|Error' "$tmp/headers"
  succeeded "$a: at any address, no interpreter, no library" $?
  [ "$(segments "$f")" = "R RE R RW" ]; succeeded "$a: code, constants and data each by themselves" $?
  grep -qE 'GNU_STACK.* RW ' "$tmp/headers"; succeeded "$a: no executable stack" $?
  grep -q GNU_RELRO "$tmp/headers" && grep -q 'FLAGS.*BIND_NOW' "$tmp/headers"; succeeded "$a: relocations are sealed, all at the start" $?
  case $a in
    amd64) objdump='x86_64-linux-gnu-objdump' mark='endbr64' probe='or[lq] +\$0x0,.*\(%rsp\)' ;;
    arm64) objdump='aarch64-linux-gnu-objdump' mark='paciasp|bti' probe='' ;;
    *) objdump='' ;;
  esac
  if [ -n "$objdump" ]; then
    "$objdump" -d --no-show-raw-insn "$f" >"$tmp/code"
    [ "$(grep -cE "\s($mark)" "$tmp/code")" -gt 500 ]; succeeded "$a: where calls may lead is marked" $?
    if [ -n "$probe" ]; then
      grep -qE "$probe" "$tmp/code"; succeeded "$a: large frames are probed" $?
    fi
  fi
  # where pages have 64 KiB, it grows by as much at a time
  size=$(stat -c %s "$f"); [ "$size" -lt "$([ "$a" = amd64 ] && echo 400000 || echo 625000)" ]; succeeded "$a: $size bytes" $?
  ! grep -aqF "$PWD" "$f"; succeeded "$a: no build path inside" $?
  [ -z "$(payloads/toolchain.sh --emulator "$a")" ] || continue
  mkfifo "$tmp/in" && exec 3<>"$tmp/in"
  "$f" pipe <"$tmp/in" >"$tmp/out" 3<&- &
  echo '{"jsonrpc":"2.0","method":"remote_version","id":1}' >&3
  for _ in $(seq 600); do [ ! -s "$tmp/out" ] || break; sleep 0.1; done
  [ "$(pages $! "$f")" = "r--p r-xp r--p r--p rw-p" ]; succeeded "$a: sealed while it runs" $?
  exec 3>&- && rm "$tmp/in" && wait $!
done
done_testing
