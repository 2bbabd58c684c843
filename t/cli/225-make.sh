#!/bin/bash
# Goal: another release or other flags build anew what is built already; the same ones build nothing.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# What the build that runs this test says of its own must not reach these.
unset MAKEFLAGS MAKELEVEL MFLAGS

# One object of each kind stands for all: they are made by one rule.
arch=$("$SBINJECT" payloads --json | jq -r .arch | head -n 1)
mkdir -p "$tmp/b/toolchain"
cp -r "$top/build/toolchain/$arch" "$tmp/b/toolchain/"
touch "$tmp/b/toolchain/$arch/.stamp"
host=obj/cmd/main.o
payload=payloads/$arch/payloads/sandbox-tools/tools.o

# builds NAME WHAT SETTING...: what of the two objects is made, and nothing but that
builds() {
  local name=$1 wanted=$2 got='' object
  shift 2
  touch "$tmp/before"
  run make -C "$top" B="$tmp/b" PB="$tmp/b" STATIC= ARCHES="$arch" "$@" "$tmp/b/$host" "$tmp/b/$payload"
  exits "$name: it builds" 0
  for object in "$host" "$payload"; do
    [ ! "$tmp/b/$object" -nt "$tmp/before" ] || got+=" $object"
  done
  is "$name" "$got" "$wanted"
  sleep 0.01 # for file systems whose times have gaps
}
holds() { is "$1: $2" "$(grep -c "$2" "$tmp/b/$3")" 1; }

builds "at first all is built" " $host $payload" RELEASE=1.2.3
holds "the release is in the payload" '1\.2\.3' "$payload"
builds "then nothing" "" RELEASE=1.2.3
builds "with DEV=1 nothing" "" RELEASE=1.2.3 DEV=1
builds "another release builds both" " $host $payload" RELEASE=1.2.4
holds "the new one is in the payload" '1\.2\.4' "$payload"
builds "a flag of the host's builds that" " $host" RELEASE=1.2.4 CFLAGS=-g0

done_testing
