#!/bin/sh
# SPDX-License-Identifier: MIT
# linked.sh PART=STAMP…: what is linked into each part of sbinject, as the files .stamp of
# engine/static.sh, engine/musl.sh and payloads/toolchain.sh say: lines of part, name, version of
# Debian's source package, licence (SPDX), SHA-256 of what it was taken from, and name of the source
# package, between tabs. A STAMP that is not there, or of shared libraries, has none. The licence of a
# library has to be known here.
set -eu

# Debian's name | its source | ours | licence
export TABLE='
curl|curl|curl|curl
libarchive|libarchive|libarchive|BSD-2-Clause
libgcc|gcc-*|libgcc|GPL-3.0-or-later WITH GCC-exception-3.1
jansson|jansson|jansson|MIT
libjansson-dev|jansson|jansson|MIT
libyaml|libyaml|libyaml|MIT
libyaml-dev|libyaml|libyaml|MIT
openssl|openssl|openssl|Apache-2.0
libssl-dev|openssl|openssl|Apache-2.0
musl|musl|musl|MIT
zlib|zlib|zlib|Zlib
zlib1g-dev|zlib|zlib|Zlib
xz-utils|xz-utils|xz|0BSD
liblzma-dev|xz-utils|xz|0BSD
libzstd|libzstd|zstd|BSD-3-Clause OR GPL-2.0-only
libzstd-dev|libzstd|zstd|BSD-3-Clause OR GPL-2.0-only
'

for given; do
  [ -f "${given#*=}" ] || continue
  awk -v part="${given%%=*}" '
    BEGIN {
      OFS = "\t"
      count = split(ENVIRON["TABLE"], lines, "\n")
      for (i = 1; i <= count; i++)
        if (split(lines[i], cells, "|") == 4) {
          source[cells[1]] = cells[2]
          name[cells[1]] = cells[3]
          licence[cells[1]] = cells[4]
        }
    }
    NR == 1 || NF != 3 { next }
    !($1 in name) { print "linked: the licence of " $1 " is not known; see cmd/linked.sh" >"/dev/stderr"; exit 1 }
    {
      given = licence[$1]
      # as it was before
      if (name[$1] == "xz" && $2 ~ /^5\.[0-5]\./)
        given = "LicenseRef-public-domain"
      package = source[$1]
      sub(/\*$/, int($2) ($2 ~ /cross/ ? "-cross" : ""), package)
      print part, name[$1], $2, given, $3, package
    }' "${given#*=}"
done
