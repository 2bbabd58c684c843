#!/bin/sh
# SPDX-License-Identifier: MIT
# toolchain.sh ARCH DIR: make DIR/cc (static musl compiler for ARCH), DIR/lib/libjansson.a and
# DIR/include/jansson.h. Downloads musl-dev:ARCH and jansson's source from the Debian sources this
# machine already trusts, through private apt lists, into ${SBINJECT_CACHE:-~/.cache/sbinject}.
# It never edits the system's apt sources, installs nothing and does nothing when DIR is complete.
set -eu

# arch | Debian arch | GNU triplet (compiler prefix) | musl triplet | extra compiler flags
# ('-' for none). Debian 12 has no riscv64: that row needs Debian 13 or later.
table='
amd64   amd64   x86_64-linux-gnu      x86_64-linux-musl      -
arm64   arm64   aarch64-linux-gnu     aarch64-linux-musl     -mno-outline-atomics
armv7   armhf   arm-linux-gnueabihf   arm-linux-musleabihf   -march=armv7-a+fp
riscv64 riscv64 riscv64-linux-gnu     riscv64-linux-musl     -
ppc64le ppc64el powerpc64le-linux-gnu powerpc64le-linux-musl -mlong-double-64
s390x   s390x   s390x-linux-gnu       s390x-linux-musl       -
'
recipe=1	# raise when the files made here change

die() { echo "toolchain: $*" >&2; exit 1; }
say() { echo "toolchain: $*"; }

[ $# -eq 2 ] || die "usage: toolchain.sh ARCH DIR"
arch=$1
row=$(echo "$table" | awk -v a="$arch" '$1 == a { print $2, $3, $4, $5 }')
[ -n "$row" ] || die "unknown architecture '$arch'"
# shellcheck disable=SC2086
set -- "$2" $row
dir=$1 deb=$2 gnu=$3 musl=$4 flags=$5
[ "$flags" != - ] || flags=

gcc=$gnu-gcc
command -v "$gcc" >/dev/null || die "no $gcc: install gcc-$(echo "$gnu" | tr _ -)"
stamp="$recipe $("$gcc" -dumpfullversion) $arch"
if [ -f "$dir/.stamp" ] && [ "$(cat "$dir/.stamp")" = "$stamp" ]; then
	exit 0
fi

# shellcheck source=payloads/apt.sh
. "${0%/*}/apt.sh"
cache=$apt_cache/toolchain/$apt_suite
mkdir -p "$cache" "$(dirname "$dir")"
tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# fetch NAME GLOB APT-ARGS…: put the one file that apt downloads as GLOB into the cache as NAME
fetch() {
	name=$1 glob=$2
	shift 2
	[ ! -s "$cache/$name" ] || return 0
	private_apt "$tmp/apt" "$(dpkg --print-architecture)" "$deb"
	say "downloading $name"
	mkdir -p "$tmp/get"
	(cd "$tmp/get" && apt-get -qq "$@" >&2) ||
		die "cannot download $name"
	# shellcheck disable=SC2086
	set -- "$tmp"/get/$glob
	[ $# -eq 1 ] && [ -s "$1" ] || die "apt brought no $glob"
	mv "$1" "$cache/$name"
}

fetch "musl-dev_$deb.deb" 'musl-dev_*.deb' download "musl-dev:$deb"
fetch jansson.tar.gz 'jansson_*.orig.tar.*' --download-only source jansson

new=$dir.new.$$
rm -rf "$new"
mkdir -p "$new/lib" "$new/include" "$tmp/jansson"
trap 'rm -rf "$tmp" "$new"' EXIT
dpkg-deb -x "$cache/musl-dev_$deb.deb" "$tmp/musl"
mv "$tmp/musl/usr/lib/$musl" "$new/musl-lib"
mv "$tmp/musl/usr/include/$musl" "$new/musl-include"
rm -f "$new"/musl-lib/*.so "$new"/musl-lib/*.specs

# The wrapper finds its files beside itself, so DIR may move and builds stay path independent.
cat >"$new/cc" <<EOT
#!/bin/sh
# static musl compiler for $arch; made by payloads/toolchain.sh
d=\${0%/*}
for a; do
	case \$a in -c|-S|-E|-M|-MM|-fsyntax-only) exec $gcc -fno-pie $flags \\
		-nostdinc -isystem "\$d/musl-include" -isystem "\$($gcc -print-file-name=include)" "\$@";; esac
done
exec $gcc -fno-pie $flags -nostdinc -isystem "\$d/musl-include" \\
	-isystem "\$($gcc -print-file-name=include)" -static -no-pie -nostdlib \\
	"\$d/musl-lib/crt1.o" "\$d/musl-lib/crti.o" "\$($gcc -print-file-name=crtbeginT.o)" "\$@" \\
	-L"\$d/musl-lib" -Wl,--start-group -lc -lgcc -lgcc_eh -Wl,--end-group \\
	"\$($gcc -print-file-name=crtend.o)" "\$d/musl-lib/crtn.o"
EOT
chmod 755 "$new/cc"
tar -xf "$cache/jansson.tar.gz" -C "$tmp/jansson" --strip-components=1
cp "$tmp/jansson/src/jansson.h" "$new/include/"
cat >"$new/include/jansson_config.h" <<'EOT'
/* what jansson's configure would find with gcc and musl; made by payloads/toolchain.sh */
#ifndef JANSSON_CONFIG_H
#define JANSSON_CONFIG_H
#define JSON_INLINE inline
#define JSON_INTEGER_IS_LONG_LONG 1
#define JSON_HAVE_LOCALECONV 0
#define JSON_HAVE_ATOMIC_BUILTINS 1
#define JSON_HAVE_SYNC_BUILTINS 1
#define JSON_PARSER_MAX_DEPTH 1000
#endif
EOT
# everything configure would say is on the command line below
: >"$new/include/jansson_private_config.h"
objs=
for c in "$tmp"/jansson/src/*.c; do
	o=$tmp/$(basename "$c" .c).o
	"$new/cc" -c -Os -g0 -std=gnu11 -ffunction-sections -fdata-sections -fstack-protector-strong \
		-fno-asynchronous-unwind-tables -ffile-prefix-map="$tmp=." \
		-DHAVE_ENDIAN_H -DHAVE_FCNTL_H -DHAVE_SCHED_H -DHAVE_UNISTD_H -DHAVE_SYS_PARAM_H \
		-DHAVE_SYS_STAT_H -DHAVE_SYS_TIME_H -DHAVE_SYS_TYPES_H -DHAVE_STDINT_H \
		-DHAVE_OPEN -DHAVE_CLOSE -DHAVE_READ -DHAVE_GETPID -DHAVE_GETTIMEOFDAY \
		-DHAVE_SCHED_YIELD -DHAVE_STRTOLL -DHAVE_ATOMIC_BUILTINS -DHAVE_SYNC_BUILTINS \
		-DHAVE_UINT32_T -DHAVE_UINT16_T -DHAVE_UINT8_T -DHAVE_SSIZE_T -DHAVE_INT32_T \
		-DUSE_URANDOM -DINITIAL_HASHTABLE_ORDER=3 -I"$new/include" -o "$o" "$c" ||
		die "cannot compile jansson's $(basename "$c")"
	objs="$objs $o"
done
# shellcheck disable=SC2086
"$gnu-ar" rcD "$new/lib/libjansson.a" $objs
rm -f "$new/include/jansson_private_config.h"
echo "$stamp" >"$new/.stamp"
rm -rf "$dir"
mv "$new" "$dir" 2>/dev/null || { [ -f "$dir/.stamp" ] || die "cannot create '$dir'"; }
say "made $arch toolchain in $dir"
