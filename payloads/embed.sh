#!/bin/sh
# SPDX-License-Identifier: MIT
# embed.sh OUTDIR ARCH=FILE…: write OUTDIR/embed.S, which holds the files, and
# OUTDIR/payload_list.inc, their list with digests, for catalogue.c.
set -eu
out=$1
shift
: >"$out/payload_list.inc"
printf '\t.section .rodata\n' >"$out/embed.S"
for pair in "$@"; do
  arch=${pair%%=*} file=${pair#*=}
  sum=$(sha256sum "$file" | cut -d' ' -f1)
  printf 'PAYLOAD(%s, "%s")\n' "$arch" "$sum" >>"$out/payload_list.inc"
  cat >>"$out/embed.S" <<-S
		.balign 64
		.globl payload_${arch}_data, payload_${arch}_size
		.type payload_${arch}_data, %object
		.type payload_${arch}_size, %object
		payload_${arch}_data: .incbin "$file"
		1:
		.balign 8
		payload_${arch}_size: .quad 1b - payload_${arch}_data
	S
done
printf '\t.section .note.GNU-stack,"",%%progbits\n' >>"$out/embed.S"
