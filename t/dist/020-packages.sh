#!/bin/bash
# Goal: the release tarball and the .deb, on a new minimal Debian older than any that sbinject can be
# built on: they are installed by one command, the command works with an engine, and nothing is left
# where they are removed. What they say of themselves is true.
# tier: all
# SPDX-License-Identifier: MIT
# shellcheck source=t/dist/lib.sh
. "$(dirname "$0")/lib.sh"

deb=sbinject_${release}_$native.deb
tarball=sbinject-$release-linux-$native

ok 'the digests are those in SHA256SUMS' sh -c "cd '$dist' && sha256sum -c --strict SHA256SUMS"
is 'SHA256SUMS names every package' "$(cut -c 67- "$dist/SHA256SUMS" | xargs)" \
  "$(cd "$dist" && ls -- *sbinject[-_]"$release"[-_.]* | LC_ALL=C sort | xargs)"

# ---- used on another system ----

use='sbinject --version && sbinject rules --check && sbinject ls && sbinject completion bash | head -n 1'

# installed NAME COMMAND: $out is what is said there, the first line its glibc's
installed() {
  run "$top/t/fresh.sh" --engine --with "$dist" bullseye "ldd --version | head -n 1; $2"
  is "$1: exit code" "$rc" 0
  [ "$rc" = 0 ] || diag "$err"
  like "$1: the system is an old one" "$out" 'GLIBC [^)]*\) 2\.31'
  like "$1: it says its release" "$out" $'\n'"sbinject ${release//./\\.} "
}

installed 'tarball' "tar -C /usr/local --strip-components=1 -xzf dist/$tarball.tar.gz && $use &&
  test -s /usr/local/share/man/man1/sbinject.1 && sbinject -v --version | grep musl"
installed '.deb' "dpkg -i dist/$deb && $use && dpkg -V sbinject && dpkg -P sbinject &&
  test -z \"\$(find / -xdev -name '*sbinject*' -not -path '*/proc/*' -not -path '/root/*' -not -path '/var/log/*')\""

# ---- what they say ----

for arch in $hosts; do
  file=$dist/sbinject_${release}_$arch.deb
  is "$arch: the .deb is for it, and needs nothing" \
    "$(dpkg-deb -f "$file" Package Version Architecture Depends | xargs)" \
    "Package: sbinject Version: $release Architecture: $arch"
  run lintian --fail-on error,warning "$file"
  is "$arch: lintian has nothing to say" "$rc $out" "0 "
  dpkg-deb -x "$file" "$tmp/$arch"
  ok "$arch: the command is the static one" cmp "$(static "$arch")" "$tmp/$arch/usr/bin/sbinject"
  doc=$tmp/$arch/usr/share/doc/sbinject
  bill=$doc/sbom.spdx.json
  ok "$arch: the list of what is in it is the one that stands alone" cmp "$bill" "$dist/sbinject-$release-$arch.spdx.json"
  is "$arch: it has the command's digest" "$(jq -r '.packages[] | select(.name == "sbinject").checksums[0].checksumValue' "$bill")" \
    "$(sha256sum <"$(static "$arch")" | cut -d' ' -f1)"
  is "$arch: it relates nothing that it does not have" "$(jq -c '([.packages[].SPDXID] + ["SPDXRef-DOCUMENT"]) as $all |
    [.relationships[] | .spdxElementId, .relatedSpdxElement] | unique - $all' "$bill")" '[]'
  while read -r name version; do
    like "$arch: $name: its licence is there" "$(grep -A 1 -E "^[a-z0-9-]+ ${version//+/\\+}$" "$doc/THIRD-PARTY" | xargs)" 'sha256'
  done < <(jq -r '.packages[] | select(.primaryPackagePurpose == "LIBRARY") | "\(.name) \(.versionInfo)"' "$bill")
done
is 'what the command says is in that list' \
  "$("$(static "$native")" --version --json | jq -r '.libraries[] | "\(.name) \(.version)"' | sort -u | xargs)" \
  "$(jq -r '.packages[] | select(.primaryPackagePurpose == "LIBRARY") | "\(.name) \(.versionInfo)"' \
    "$dist/sbinject-$release-$native.spdx.json" | sort -u | xargs)"

done_testing
