#!/bin/bash
# Goal: payloads built in different directories are the same byte for byte, and those embedded.
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
sum=$("$SBINJECT" payloads --json | jq -r "select(.arch == \"$arch\") | .sha256")
file=build/payloads/$arch/inspect-sandbox-tools
if [ -z "$sum" ]; then
  printf '1..0 # SKIP no payload for %s is embedded\n' "$arch"
  exit 0
fi

# build DIR: of a copy of the sources, with the compiler that the tree has.
build() {
  mkdir -p "$1/build/toolchain"
  cp -r "$top/Makefile" "$top/payloads" "$1"
  cp -r "$top/build/toolchain/$arch" "$1/build/toolchain/"
  touch "$1/build/toolchain/$arch/.stamp"
  run make -C "$1" -f payloads/payload.mk -j2 "ARCHES=$arch" \
    "RELEASE=$("$SBINJECT" payloads --json | jq -rs '.[0].release')" payloads
  exits "it builds in a directory of ${#1} characters" 0
}

umask 022
build "$tmp/a"
umask 077
TZ=Pacific/Auckland LC_ALL=C build "$tmp/another/much-longer_directory.d"
digest() { sha256sum <"$1/$file" 2>&1 | cut -d' ' -f1; }
is "two directories, one result" "$(digest "$tmp/another/much-longer_directory.d")" "$(digest "$tmp/a")"
is "the result is what is embedded" "$(digest "$tmp/a")" "$sum"
is "the result is what the tree has" "$(digest "$top")" "$sum"

done_testing
