#!/bin/sh
# SPDX-License-Identifier: MIT
# static.sh DIR: make DIR/lib and DIR/include, with which the host command links statically to all
# but the C library, and DIR/libs, the linker flags for that. libcurl (HTTP and HTTPS over TCP and
# Unix sockets) and libarchive (tar) are built without anything else from the Debian source packages
# of the installed -dev packages, patches included; jansson, libyaml and OpenSSL are Debian's own .a
# files. So an upgrade of the system's libraries is what makes a new DIR. Sources and results are
# kept in ${SBINJECT_CACHE:-~/.cache/sbinject}. It never edits the system's apt sources, installs
# nothing and does nothing when DIR is complete. CC is honoured. Where an archive has the libraries
# but not the sources of these very versions, DIR/libs names the system's shared libraries; with
# STATIC=1 that is an error.
set -eu

recipe=1	# raise when the files made here change
built='curl:libcurl4-openssl-dev libarchive:libarchive-dev'	# source:package
copied='libjansson-dev libyaml-dev libssl-dev'

die() { echo "static: $*" >&2; exit 1; }
say() { echo "static: $*"; }

[ $# -eq 1 ] || die "usage: static.sh DIR"
dir=$1
cc=${CC:-gcc}
# make gives these to its children when they are on its command line
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CPPFLAGS LDFLAGS LIBS B

# version PACKAGE: that of its source
version() {
	dpkg-query -W -f '${db:Status-Status} ${source:Version}\n' "$1" 2>/dev/null |
		awk '$1 == "installed" { print $2; exit }'
}

stamp="$recipe $($cc --version 2>/dev/null | head -n 1)" || :
[ "$stamp" != "$recipe " ] || die "no compiler '$cc'"
for p in $built $copied; do
	v=$(version "${p#*:}")
	[ -n "$v" ] || die "${p#*:} is missing; 't/setup.sh build' installs what building needs"
	stamp="$stamp ${p%:*}=$v"
done
case $(cat "$dir/.stamp" 2>/dev/null) in
"$stamp") exit 0 ;;
"$stamp shared") [ "${STATIC:-}" = 1 ] || exit 0 ;;
esac

# shellcheck source=payloads/apt.sh
. "${0%/*}/../payloads/apt.sh"
cache=$apt_cache/static/$apt_suite
mkdir -p "$cache" "$(dirname "$dir")"
cache=$(cd "$cache" && pwd)
result=$cache/libs-$(echo "$stamp $(dpkg --print-architecture)" | sha256sum | cut -c 1-16)
new=$dir.new.$$
tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
trap 'rm -rf "$tmp" "$new"' EXIT
trap 'exit 1' HUP INT TERM

# fetch SOURCE VERSION: its files into a directory of the cache. Never another version: an older
# one may lack security fixes, and the stamp names this one.
fetch() {
	[ ! -d "$cache/$1_$2" ] || return 0
	private_apt "$tmp/apt" "$(dpkg --print-architecture)"
	say "downloading the source of $1 $2"
	rm -rf "$tmp/get"
	mkdir "$tmp/get"
	if ! (cd "$tmp/get" && apt-get -qq --download-only source \
		"$1=$2") >"$tmp/log" 2>&1 || [ ! -s "$tmp/get/$1_${2#*:}.dsc" ]; then
		tail -n 5 "$tmp/log" >&2
		say "cannot download the source of $1 $2, the installed version (is it up to date?)" >&2
		return 1
	fi
	mv -T "$tmp/get" "$cache/$1_$2" 2>/dev/null || [ -d "$cache/$1_$2" ] ||
		die "cannot write '$cache'"
}

# configured SOURCE DIRECTORY ARGS…: unpack and configure
configured() {
	dpkg-source --no-check -x "$cache/$1"/*.dsc "$tmp/$2" >"$tmp/$2.log" 2>&1 || return 1
	cd "$tmp/$2"
	shift 2
	[ -x configure ] || autoreconf -fi || return 1
	./configure -q --enable-static --disable-shared --disable-dependency-tracking \
		--disable-maintainer-mode CC="$cc" AR_FLAGS=crD CPPFLAGS="-D_FORTIFY_SOURCE=2" \
		CFLAGS="-O2 -g0 -fPIE -ffunction-sections -fdata-sections \
			-fstack-protector-strong -ffile-prefix-map=$tmp=." "$@"
}

# No certificates but those of CURLOPT_CAINFO count (no CA path), no openssl.cnf: what it may load
# needs the shared OpenSSL.
make_curl() {
	configured "$1" curl --with-openssl --enable-unix-sockets --enable-threaded-resolver \
		--with-ca-bundle=/etc/ssl/certs/ca-certificates.crt --without-ca-path \
		--disable-openssl-auto-load-config --without-zlib --without-brotli --without-zstd \
		--without-nghttp2 --without-libidn2 --without-libpsl --without-libgsasl \
		--without-librtmp --without-libssh2 --disable-ldap --disable-ldaps --disable-ftp \
		--disable-file --disable-dict --disable-telnet --disable-tftp --disable-pop3 \
		--disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt \
		--disable-rtsp --disable-websockets --disable-manual --disable-docs \
		--disable-libcurl-option --disable-ntlm --disable-tls-srp --disable-http-auth \
		--disable-proxy --disable-cookies --disable-alt-svc --disable-hsts --disable-doh \
		--disable-netrc --disable-mime || return 1
	make -j"$jobs" -C lib libcurl.la || return 1
	cp lib/.libs/libcurl.a "$tmp/out/lib/" && mkdir -p "$tmp/out/include/curl" &&
		cp include/curl/*.h "$tmp/out/include/curl/"
}

make_libarchive() {
	configured "$1" libarchive --without-zlib --without-bz2lib --without-lzma --without-lz4 \
		--without-zstd --without-lzo2 --without-libb2 --without-xml2 --without-expat \
		--without-openssl --without-nettle --without-mbedtls --without-iconv --without-cng \
		--disable-acl --disable-xattr --disable-bsdtar --disable-bsdcpio --disable-bsdcat \
		--disable-bsdunzip || return 1
	# the other formats take most of the time; what tar needed of them would not link
	# shellcheck disable=SC2016	# make expands it
	printf 'objects:\n\t@echo $(libarchive_la_OBJECTS)\n' >"$tmp/objects.mk"
	objs=$(make -s -f Makefile -f "$tmp/objects.mk" objects | tr ' ' '\n' |
		grep -vE '7zip|_ar\.|cab|cpio|iso9660|lha|mtree|rar|warc|xar|_zip|ppmd|blake2|xxhash|_disk')
	# shellcheck disable=SC2086
	make -j"$jobs" $objs || return 1
	"${AR:-ar}" crD "$tmp/out/lib/libarchive.a" libarchive/*.o &&
		cp libarchive/archive.h libarchive/archive_entry.h "$tmp/out/include/"
}

# Instead of the static ones, and not for the cache: elsewhere the sources may be had.
shared() {
	[ "${STATIC:-}" != 1 ] || exit 1
	mkdir -p "$new/lib" "$new/include"
	pkg-config --libs libcurl jansson libarchive yaml-0.1 >"$new/libs"
	echo "$stamp shared" >"$new/.stamp"
	rm -rf "$dir"
	mv -T "$new" "$dir"
	say "linking with the system's shared libraries instead ('make STATIC=1' insists on static ones)" >&2
	exit 0
}

build() {
	for p in $built; do
		fetch "${p%:*}" "$(version "${p#*:}")" || shared
	done
	mkdir -p "$tmp/out/lib" "$tmp/out/include"
	jobs=$(nproc)
	say "building libcurl and libarchive (once, about a minute)"
	(make_libarchive "libarchive_$(version libarchive-dev)") >"$tmp/libarchive.out" 2>&1 &
	archive=$!
	(make_curl "curl_$(version libcurl4-openssl-dev)") >"$tmp/curl.out" 2>&1 || failed=curl
	wait "$archive" || failed=libarchive
	if [ -n "${failed:-}" ]; then
		tail -n 15 "$tmp/$failed.out" >&2
		die "cannot build $failed"
	fi
	flags='-lcurl -larchive -lyaml -ljansson'
	# shellcheck disable=SC2046
	set -- $(pkg-config --static --libs-only-l libssl libcrypto)
	for l in -lyaml -ljansson "$@"; do
		case $l in -ldl | -lpthread | -lm) continue ;; esac
		a=$($cc -print-file-name="lib${l#-l}.a")
		[ -f "$a" ] || die "no static library for $l"
		cp "$a" "$tmp/out/lib/"
		case " $flags " in *" $l "*) ;; *) flags="$flags $l" ;; esac
	done
	echo "$flags" >"$tmp/out/libs"
	echo "$stamp" >"$tmp/out/.stamp"
	chmod -R u=rwX,go=rX "$tmp/out"
	mv -T "$tmp/out" "$result" 2>/dev/null || [ -f "$result/.stamp" ] || die "cannot write '$cache'"
}

[ -f "$result/.stamp" ] || build
rm -rf "$new"
cp -R "$result" "$new"
rm -rf "$dir"
mv -T "$new" "$dir" 2>/dev/null || { [ -f "$dir/.stamp" ] || die "cannot create '$dir'"; }
say "made static libraries in $dir"
