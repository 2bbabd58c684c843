#!/bin/sh
# SPDX-License-Identifier: MIT
# static.sh DIR: make DIR/lib and DIR/include, with which the host command links statically to all
# but the C library, DIR/libs, the linker flags for that, and DIR/THIRD-PARTY, their licences. libcurl
# (HTTP and HTTPS over TCP, Unix sockets and proxies) and libarchive (tar, read and written; zip, read;
# gzip, xz and zstd) are built without anything else from Debian's source packages, patches included;
# jansson, libyaml, OpenSSL, zlib, liblzma and libzstd are Debian's own .a files.
# All are of the newest versions that apt knows, also where older ones are installed: those of its
# lists, and where something has to be fetched, of new lists. So an update of the archive's is what
# makes a new DIR. Sources and results are kept in ${SBINJECT_CACHE:-~/.cache/sbinject}. It never
# edits the system's apt sources, installs nothing and does nothing when DIR is complete. CC is
# honoured. What cannot be had of the newest version is used as it is installed, which is said; where
# an archive has the libraries but not the sources, DIR/libs names the system's shared libraries; with
# STATIC=1 that is an error.
set -eu

recipe=4	# raise when the files made here change
built='libcurl4-openssl-dev libarchive-dev'
copied='libjansson-dev libyaml-dev libssl-dev zlib1g-dev liblzma-dev libzstd-dev'

die() { echo "static: $*" >&2; exit 1; }
say() { echo "static: $*"; }

[ $# -eq 1 ] || die "usage: static.sh DIR"
dir=$1
cc=${CC:-gcc}
# make gives these to its children when they are on its command line
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS LIBS B

# shellcheck source=payloads/apt.sh
. "${0%/*}/../payloads/apt.sh"
# shellcheck source=engine/libs.sh
. "${0%/*}/libs.sh"
kind="$recipe $($cc --version 2>/dev/null | head -n 1)" || :
[ "$kind" != "$recipe " ] || die "no compiler '$cc'"
cache=$apt_cache/static/$apt_suite
made=$cache/libs-$(echo "$kind $(dpkg --print-architecture)" | sha256sum | cut -c 1-8)
# shellcheck disable=SC2086
installed=$(dpkg-query -W -f 'Status: ${db:Status-Status}\nPackage: ${Package}\nVersion: ${source:Version}\n\n' \
  $built $copied 2>/dev/null | awk 'BEGIN { RS = "" } $2 == "installed"' | stanzas)
for p in $built $copied; do
  [ -n "$(version_in "$installed" "$p")" ] ||
    die "$p is missing; 't/setup.sh build' installs what building needs"
done

# choose VERSIONS: what is to be made, and its name in the cache
choose() {
  versions=$1
  stamp="$kind $(echo "$versions" | tr ' \n' '= ')"
  result=$made-$(echo "$stamp" | sha256sum | cut -c 1-16)
  curl=$(version_in "$versions" libcurl4-openssl-dev) archive=$(version_in "$versions" libarchive-dev)
}

# shellcheck disable=SC2086
choose "$(newest_by "$dir/.versions" $built $copied)"
case $(head -n 1 "$dir/.stamp" 2>/dev/null) in
"$stamp") up_to_date ;;
"$stamp shared") [ "${STATIC:-}" = 1 ] || up_to_date ;;
esac

begin

# Instead of the static ones, and not for the cache: elsewhere the sources may be had.
shared() {
  [ "${STATIC:-}" != 1 ] || exit 1
  mkdir -p "$new/lib" "$new/include"
  pkg-config --libs libcurl jansson libarchive yaml-0.1 >"$new/libs"
  echo "$stamp shared" >"$new/.stamp"
  echo "$versions" >"$new/.versions"
  rm -rf "$dir"
  mv -T "$new" "$dir"
  say "linking with the system's shared libraries instead ('make STATIC=1' insists on static ones)" >&2
  exit 0
}

# is_installed PACKAGE: in the version that is wanted
is_installed() { [ "$(version_in "$versions" "$1")" = "$(version_in "$installed" "$1")" ]; }

# have: all but what is installed, without the network
have() {
  kept "$apt_sources/curl_$curl" && kept "$apt_sources/libarchive_$archive" || return 1
  for p in $copied; do
    is_installed "$p" || kept "$apt_sources/${p}_$(version_in "$versions" "$p")" || return 1
  done
}

# settle PACKAGE: for the version that is installed
settle() {
  v=$(version_in "$installed" "$1")
  say "using $1 $v, which is installed, instead of $(version_in "$versions" "$1")" >&2
  choose "$(with_version "$1" "$v")"
}

# fetch: into the cache. Where something is missing there, the lists are not good enough either.
fetch() {
  # shellcheck disable=SC2086
  if private_apt; then choose "$(newest $built $copied)"; else ! fall_back "$made" || return 0; fi
  for p in $copied; do
    is_installed "$p" || fetch_package "$p" "$(version_in "$versions" "$p")" || settle "$p"
  done
  fetch_source curl "$curl" || { ! is_installed libcurl4-openssl-dev &&
    settle libcurl4-openssl-dev && fetch_source curl "$curl"; } || return 1
  fetch_source libarchive "$archive" || { ! is_installed libarchive-dev &&
    settle libarchive-dev && fetch_source libarchive "$archive"; }
}

# copy PACKAGE: its headers and copyright; from the package where that is newer than what is installed
copy() {
  v=$(version_in "$versions" "$1")
  if is_installed "$1"; then
    notice "$1" "$v" "$(dpkg -L "$1" | grep '\.a$' | head -n 1)" "/usr/share/doc/$1/copyright"
    return 0
  fi
  dpkg-deb -x "$apt_sources/$1_$v"/*.deb "$tmp/deb"
  notice "$1" "$v" "$apt_sources/$1_$v"/*.deb "$tmp/deb/usr/share/doc/$1/copyright"
  cp -R "$tmp/deb/usr/include/." "$tmp/out/include"
  [ ! -d "$tmp/out/include/$multiarch" ] || cp -R "$tmp/out/include/$multiarch/." "$tmp/out/include"
}

# library NAME: the newest there is; those that OpenSSL needs are named, too
library() {
  a=$tmp/deb/usr/lib/$multiarch/lib$1.a
  [ -f "$a" ] || a=$(realpath "$($cc -print-file-name="lib$1.a")")
  [ -f "$a" ] || die "no static library for $1"
  cp "$a" "$tmp/out/lib/"
  owner=$(dpkg -S "$a" 2>/dev/null | cut -d: -f1)
  case " $copied  " in *" $owner "*) return 0 ;; esac
  notice "$owner" "$(dpkg-query -W -f '${source:Version}' "$owner")" "$a" "/usr/share/doc/$owner/copyright"
}

# copy_libraries: those of others, each once in the flags, after all that need it
copy_libraries() {
  # shellcheck disable=SC2046
  set -- -lyaml -ljansson $(pkg-config --static --libs-only-l libssl libcrypto) -llzma -lzstd -lz
  others=$(echo "$*" | awk '{
    for (i = NF; i; i--) if ($i !~ /^-l(dl|pthread|m)$/ && !seen[$i]++) list = " " $i list
    print list }')
  for l in $others; do library "${l#-l}"; done
  echo "-lcurl -larchive$others" >"$tmp/out/libs"
}

build() {
  mkdir -p "$tmp/out/lib" "$tmp/out/include"
  echo "$stamp" >"$tmp/out/.stamp"
  echo "$versions" >"$tmp/out/.versions"
  jobs=$(nproc) multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  # shellcheck disable=SC2086	# perhaps of two words
  hard=$("${0%/*}/../payloads/hardening.sh" host $cc)
  cflags=${hard%% -U*} cppflags=-U${hard#* -U} ldflags='' ar=${AR:-ar} host=''
  openssl=--with-openssl
  source_of curl "$curl"
  source_of libarchive "$archive"
  for p in $copied; do copy "$p"; done
  copy_libraries
  say "building libcurl and libarchive (once, about a minute)"
  make_or_die libarchive &
  other=$! failed=
  (make_or_die curl) || failed=1
  wait "$other" || failed=1
  [ -z "$failed" ] || exit 1
  keep "$tmp/out" "$result"
}

kept "$result" || have || fetch || shared
kept "$result" || build
hand_over
say "made static libraries in $dir"
