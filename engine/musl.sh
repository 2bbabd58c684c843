#!/bin/sh
# SPDX-License-Identifier: MIT
# musl.sh ARCH TOOLCHAIN DIR: make DIR/lib, DIR/include, DIR/libs and DIR/THIRD-PARTY, as static.sh does,
# with which the host command for ARCH is one file that needs nothing of the system it runs on. All
# libraries are built from Debian's sources, patches included, by the compiler in TOOLCHAIN (see
# payloads/toolchain.sh), whose jansson is taken. Sources and results are kept in
# ${SBINJECT_CACHE:-~/.cache/sbinject}. It never edits the system's apt sources, installs nothing and
# does nothing when DIR is complete.
set -eu

# arch | GNU triplet (binutils' prefix) | OpenSSL's name
table='
amd64 x86_64-linux-gnu  linux-x86_64
arm64 aarch64-linux-gnu linux-aarch64
'
recipe=1	# raise when the files made here change

# package, whose version counts | its source, one that make_… knows
built='
libcurl4-openssl-dev curl
libarchive-dev       libarchive
libssl-dev           openssl
zlib1g-dev           zlib
liblzma-dev          xz-utils
libzstd-dev          libzstd
libyaml-dev          libyaml
'

die() { echo "musl: $*" >&2; exit 1; }
say() { echo "musl: $*"; }

[ $# -eq 3 ] || die "usage: musl.sh ARCH TOOLCHAIN DIR"
arch=$1 toolchain=$2 dir=$3
# shellcheck disable=SC2046
set -- $(echo "$table" | awk -v a="$arch" '$1 == a { print $2, $3 }')
[ $# -eq 2 ] || die "no static command for '$arch'; known: $(echo "$table" | awk '{ print $1 }' | xargs)"
gnu=$1 target=$2
[ -x "$toolchain/cc" ] || die "no compiler '$toolchain/cc'; payloads/toolchain.sh makes it"
toolchain=$(cd "$toolchain" && pwd)
# make gives these to its children when they are on its command line
unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS LIBS B

# shellcheck source=payloads/apt.sh
. "${0%/*}/../payloads/apt.sh"
# shellcheck source=engine/libs.sh
. "${0%/*}/libs.sh"
packages=$(echo "$built" | awk 'NF { print $1 }')
sources=$(echo "$built" | awk 'NF { print $2 }')
kind="$recipe $(head -n 1 "$toolchain/.stamp")"
cache=$apt_cache/musl/$apt_suite
made=$cache/$recipe-$arch

# choose VERSIONS: what is to be made, and its name in the cache
choose() {
  versions=$1
  stamp="$kind $(echo "$versions" | tr ' \n' '= ')"
  result=$made-$(echo "$stamp" | sha256sum | cut -c 1-16)
}

# package_of SOURCE, version_of SOURCE
package_of() { echo "$built" | awk -v s="$1" '$2 == s { print $1 }'; }
version_of() { version_in "$versions" "$(package_of "$1")"; }

# shellcheck disable=SC2086
choose "$(newest_by "$dir/.versions" $packages)"
[ "$(head -n 1 "$dir/.stamp" 2>/dev/null)" != "$stamp" ] || up_to_date

begin

# OpenSSL writes the compiler's command into what it makes, so that must not name a directory.
make_cc() {
  mkdir -p "$tmp/bin" "$tmp/include/linux"
  cat >"$tmp/bin/musl-cc" <<-EOT
		#!/bin/sh
		exec '$toolchain/cc' -isystem '$tmp/include' '-ffile-prefix-map=$tmp=.' "\$@"
	EOT
  chmod 755 "$tmp/bin/musl-cc"
  # all that OpenSSL wants of the kernel's headers, which musl does not have
  echo '#define MLOCK_ONFAULT 1' >"$tmp/include/linux/mman.h"
  PATH=$tmp/bin:$PATH
  # none of the libraries that the system has
  PKG_CONFIG=false SOURCE_DATE_EPOCH=1
  export PATH PKG_CONFIG SOURCE_DATE_EPOCH
  cc=musl-cc ar=$gnu-ar host=${gnu%-gnu}-musl jobs=$(nproc)
  cflags='' cppflags='' ldflags=-L$tmp/out/lib openssl=--with-openssl=$tmp/out
}

make_zlib() {
  cd "$tmp/zlib"
  CC="$cc" AR="$ar" RANLIB="$gnu-ranlib" CFLAGS='-O2 -ffunction-sections -fdata-sections' \
    ./configure --static || return 1
  make -j"$jobs" libz.a || return 1
  cp libz.a "$tmp/out/lib/" && cp zlib.h zconf.h "$tmp/out/include/"
}

make_xz_utils() {
  configured xz-utils --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo \
    --disable-lzma-links --disable-scripts --disable-doc --disable-nls --disable-threads || return 1
  make -j"$jobs" -C src/liblzma liblzma.la || return 1
  cp src/liblzma/.libs/liblzma.a "$tmp/out/lib/" && cp -R src/liblzma/api/lzma.h src/liblzma/api/lzma \
    "$tmp/out/include/"
}

make_libzstd() {
  cd "$tmp/libzstd/lib"
  make -j"$jobs" libzstd.a CC="$cc" AR="$ar" ZSTD_LEGACY_SUPPORT=0 ZSTD_LIB_DICTBUILDER=0 \
    ZSTD_LIB_DEPRECATED=0 CFLAGS='-O2 -ffunction-sections -fdata-sections' || return 1
  cp libzstd.a "$tmp/out/lib/" && cp zstd.h zstd_errors.h "$tmp/out/include/"
}

make_libyaml() {
  configured libyaml || return 1
  make -j"$jobs" -C src libyaml.la || return 1
  cp src/.libs/libyaml.a "$tmp/out/lib/" && cp include/yaml.h "$tmp/out/include/"
}

# TLS 1.2 and 1.3, PEM files, and what certificates are signed with; nothing is loaded at run time.
make_openssl() {
  cd "$tmp/openssl"
  AR="$ar" ARFLAGS=qcD RANLIB="$gnu-ranlib" ./Configure "$target" CC="$cc" --prefix=/usr \
    --openssldir=/etc/ssl --libdir=lib no-shared no-module no-engine no-dso no-autoload-config \
    no-legacy no-tests no-comp no-cms no-cmp no-ct no-ts no-srp no-psk no-dtls no-ssl3 no-tls1 \
    no-tls1_1 no-srtp no-nextprotoneg no-ui-console no-dsa no-ec2m no-gost no-idea no-seed \
    no-camellia no-aria no-bf no-cast no-rc2 no-rc4 no-md4 no-mdc2 no-rmd160 no-whirlpool \
    no-sm2 no-sm3 no-sm4 no-blake2 no-scrypt no-ocb no-siv \
    -ffunction-sections -fdata-sections || return 1
  make -j"$jobs" build_generated || return 1
  make -j"$jobs" libcrypto.a libssl.a || return 1
  cp libcrypto.a libssl.a "$tmp/out/lib/" && mkdir -p "$tmp/out/include/openssl" &&
    cp include/openssl/*.h "$tmp/out/include/openssl/"
}

# take_toolchain: what of it is linked in
take_toolchain() {
  cp "$toolchain/lib/libjansson.a" "$tmp/out/lib/"
  cp "$toolchain/include"/jansson*.h "$tmp/out/include/"
  libgcc=$(realpath "$("$gnu-gcc" -print-libgcc-file-name)")
  owner=$(dpkg -S "$libgcc" | cut -d: -f1)
  cat "/usr/share/doc/$owner/copyright" /usr/share/common-licenses/GPL-3 >"$tmp/libgcc.copyright"
  notice libgcc "$(dpkg-query -W -f '${source:Version}' "$owner")" "$libgcc" "$tmp/libgcc.copyright"
}

# Those that need others after these.
build() {
  mkdir -p "$tmp/out/lib" "$tmp/out/include"
  echo "$stamp" >"$tmp/out/.stamp"
  echo "$versions" >"$tmp/out/.versions"
  for s in $sources; do source_of "$s" "$(version_of "$s")"; done
  take_toolchain
  make_cc
  say "building OpenSSL, libcurl, libarchive and others for $arch (once, some minutes)"
  for s in zlib xz_utils libzstd libyaml openssl curl libarchive; do make_or_die "$s"; done
  echo '-lcurl -larchive -lyaml -ljansson -lssl -lcrypto -llzma -lzstd -lz' >"$tmp/out/libs"
  keep "$tmp/out" "$result"
}

have() { for s in $sources; do kept "$apt_sources/${s}_$(version_of "$s")" || return 1; done; }

# fetch_older SOURCE: the next newest that can be had, where an archive has not all that it lists
fetch_older() {
  missing=$(version_of "$1")
  for v in $(apt-cache showsrc --only-source "$1" | awk '$1 == "Version:" { print $2 }' | sort -Vru); do
    if [ "$v" != "$missing" ] && fetch_source "$1" "$v"; then
      say "using $1 $v instead of $missing" >&2
      choose "$(with_version "$(package_of "$1")" "$v")"
      return 0
    fi
  done
  return 1
}

# fetch: into the cache. Where something is missing there, the lists are not good enough either.
fetch() {
  private_apt || return 1
  # shellcheck disable=SC2086
  choose "$(newest $packages)"
  for s in $sources; do fetch_source "$s" "$(version_of "$s")" || fetch_older "$s" || return 1; done
}

# One at a time: the second finds the sources that the first has fetched, and needs no other cores.
exec 9>"$cache/.lock"
flock 9
kept "$result" || have || fetch || fall_back "$made" || die "no sources of the libraries to link with"
kept "$result" || build
exec 9>&-
hand_over
say "made libraries for a static command ($arch) in $dir"
