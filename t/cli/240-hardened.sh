#!/bin/bash
# Goal: the command is loaded anywhere, is sealed before it runs, has code and data apart, checks its
# stack and its copies, and marks where calls may lead. (t/payload/010-static.sh asks that of the payloads.)
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

headers=$(readelf -hldW "$SBINJECT")
like 'loaded anywhere' "$headers" 'Type: +DYN'
like 'relocations are done at the start' "$headers" 'FLAGS_1\) +Flags: NOW PIE'
like '... and sealed' "$headers" 'GNU_RELRO '
like 'the stack is not executable' "$headers" 'GNU_STACK [^'$'\n'']* RW '
is 'code, constants and data each by themselves' \
  "$(awk '$1 == "LOAD" { f = $7; if ($8 !~ /^0x/) f = f $8; print f }' <<<"$headers" | xargs)" 'R RE R RW'
symbols=$(nm -D --undefined-only "$SBINJECT")
like 'the stack has canaries' "$symbols" '__stack_chk_fail'
like 'copies know their sizes' "$symbols" '__memcpy_chk'
case $(uname -m) in
  x86_64) probe='or[ql] +\$0x0,.*\(%rsp\)' mark='endbr64' ;;
  aarch64) probe='str +xzr, \[sp, #1024\]' mark='paciasp|bti' ;;
  *) skip 'large frames are probed' 'how it looks here is not known'; done_testing; exit ;;
esac
objdump -d --no-show-raw-insn "$SBINJECT" >"$tmp/code"
probes=$(grep -cE "$probe" "$tmp/code") || :
ok 'large frames are probed' test "$probes" -gt 0
marks=$(grep -cE "\\s($mark)" "$tmp/code") || :
ok 'where calls may lead is marked' test "$marks" -gt 500 # those of linked libraries alone are 50
done_testing
