# shellcheck shell=sh disable=SC2154	# tmp, cc and the flags
# SPDX-License-Identifier: MIT
# libs.sh: how libcurl and libarchive are built for the host command: HTTP and HTTPS over TCP, Unix
# sockets and proxies; tar, read and written; zip, read; gzip, xz and zstd. Sourced; uses of the script:
# $tmp, with the sources and with out/, where headers, libraries and results are; the compiler $cc and
# its $cppflags, $cflags and $ldflags; $ar; $host (configure's) where that is another system; $jobs.
# $openssl is curl's word for where OpenSSL is.

# configured SOURCE ARGS…: configure what is unpacked
configured() {
  cd "$tmp/$1" || return 1
  shift
  [ -x configure ] || autoreconf -fi || return 1
  # shellcheck disable=SC2086
  ./configure -q ${host:+"--host=$host"} --enable-static --disable-shared --disable-dependency-tracking \
    --disable-maintainer-mode CC="$cc" AR="$ar" AR_FLAGS=crD \
    CPPFLAGS="-isystem $tmp/out/include $cppflags" LDFLAGS="$ldflags" \
    CFLAGS="-O2 -g0 -fPIE -ffunction-sections -fdata-sections $cflags \
      -ffile-prefix-map=$tmp=." "$@"
}

# No certificates but those of CURLOPT_CAINFO count (no CA path), no openssl.cnf: what it may load
# needs the shared OpenSSL. A proxy may ask for a name and password, by the basic scheme alone.
make_curl() {
  configured curl "$openssl" --enable-unix-sockets --enable-threaded-resolver \
    --with-ca-bundle=/etc/ssl/certs/ca-certificates.crt --without-ca-path \
    --disable-openssl-auto-load-config --without-zlib --without-brotli --without-zstd \
    --without-nghttp2 --without-libidn2 --without-libpsl --without-libgsasl \
    --without-librtmp --without-libssh2 --disable-ldap --disable-ldaps --disable-ftp \
    --disable-file --disable-dict --disable-telnet --disable-tftp --disable-pop3 \
    --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt \
    --disable-rtsp --disable-websockets --disable-manual --disable-docs \
    --disable-libcurl-option --disable-ntlm --disable-tls-srp \
    --disable-crypto-auth --disable-bearer-auth --disable-digest-auth --disable-kerberos-auth \
    --disable-negotiate-auth --disable-aws --disable-cookies --disable-alt-svc --disable-hsts \
    --disable-doh --disable-netrc --disable-mime || return 1
  make -j"$jobs" -C lib libcurl.la || return 1
  cp lib/.libs/libcurl.a "$tmp/out/lib/" && mkdir -p "$tmp/out/include/curl" &&
    cp include/curl/*.h "$tmp/out/include/curl/"
}

make_libarchive() {
  configured libarchive --with-zlib --with-lzma --with-zstd --without-bz2lib --without-lz4 \
    --without-lzo2 --without-libb2 --without-xml2 --without-expat \
    --without-openssl --without-nettle --without-mbedtls --without-iconv --without-cng \
    --disable-acl --disable-xattr --disable-bsdtar --disable-bsdcpio --disable-bsdcat \
    --disable-bsdunzip || return 1
  # the other formats take most of the time; what tar needed of them would not link
  # shellcheck disable=SC2016	# make expands it
  printf 'objects:\n\t@echo $(libarchive_la_OBJECTS)\n' >"$tmp/objects.mk"
  objs=$(make -s -f Makefile -f "$tmp/objects.mk" objects | tr ' ' '\n' |
    grep -vE '7zip|_ar\.|cab|cpio|iso9660|lha|mtree|rar|warc|xar|write_.*_zip|ppmd7|blake2|xxhash|_disk')
  # shellcheck disable=SC2086
  make -j"$jobs" $objs || return 1
  "$ar" crD "$tmp/out/lib/libarchive.a" libarchive/*.o &&
    cp libarchive/archive.h libarchive/archive_entry.h "$tmp/out/include/"
}

# make_or_die NAME: make_NAME, whose last words are shown where it fails; ends the script then.
make_or_die() {
  (make_"$1") >"$tmp/$1.out" 2>&1 || {
    tail -n 15 "$tmp/$1.out" >&2
    die "cannot build $1"
  }
}
