#!/bin/bash
# Goal: payloads built in different directories are the same byte for byte, and those embedded.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

arches=$("$SBINJECT" payloads --json | jq -r .arch | xargs)

# build DIR: of a copy of the sources, with the compilers that the tree has.
build() {
  local arch
  mkdir -p "$1/build/toolchain"
  cp -r "$top/Makefile" "$top/payloads" "$1"
  for arch in $arches; do
    cp -r "$top/build/toolchain/$arch" "$1/build/toolchain/"
    touch "$1/build/toolchain/$arch/.stamp"
  done
  run make -C "$1" -f payloads/payload.mk -j2 "ARCHES=$arches" \
    "RELEASE=$("$SBINJECT" payloads --json | jq -rs '.[0].release')" payloads
  exits "it builds in a directory of ${#1} characters" 0
}

umask 022
build "$tmp/a"
umask 077
TZ=Pacific/Auckland LC_ALL=C build "$tmp/another/much-longer_directory.d"
for arch in $arches; do
  digest() { sha256sum <"$1/build/payloads/$arch/inspect-sandbox-tools" 2>&1 | cut -d' ' -f1; }
  is "$arch: two directories, one result" "$(digest "$tmp/another/much-longer_directory.d")" "$(digest "$tmp/a")"
  is "$arch: the result is what is embedded" "$(digest "$tmp/a")" \
    "$("$SBINJECT" payloads --json | jq -r "select(.arch == \"$arch\") | .sha256")"
  is "$arch: the result is what the tree has" "$(digest "$top")" "$(digest "$tmp/a")"
done

done_testing
