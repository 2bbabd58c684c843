#!/bin/sh
# SPDX-License-Identifier: MIT
# toolchain.sh ARCH DIR: make DIR/cc (musl compiler for ARCH, of static programs that run at any
# address), DIR/lib/libjansson.a and
# DIR/include/jansson.h. musl and jansson are built from Debian's sources, patches included, which
# come from the archive this machine already trusts, through private apt lists. Sources and results
# are kept in ${SBINJECT_CACHE:-~/.cache/sbinject}. It never edits the system's apt sources,
# installs nothing and does nothing when DIR is complete.
#
# toolchain.sh --list: the architectures.
# toolchain.sh --packages ARCH…: the Debian packages of the compilers that these need here.
# toolchain.sh --emulator ARCH: the command that runs programs of ARCH here; nothing if none need be.
set -eu

# arch | Debian arch | GNU triplet (compiler prefix) | qemu's name | extra compiler flags ('-' for none)
table='
amd64   amd64   x86_64-linux-gnu      x86_64  -
arm64   arm64   aarch64-linux-gnu     aarch64 -mno-outline-atomics
armv7   armhf   arm-linux-gnueabihf   arm     -march=armv7-a+fp
riscv64 riscv64 riscv64-linux-gnu     riscv64 -
ppc64le ppc64el powerpc64le-linux-gnu ppc64le -mlong-double-64
s390x   s390x   s390x-linux-gnu       s390x   -
'
recipe=5	# raise when the files made here change

die() { echo "toolchain: $*" >&2; exit 1; }
say() { echo "toolchain: $*"; }

# row ARCH: set deb, gnu, qemu and flags
row() {
  # shellcheck disable=SC2046
  set -- "$1" $(echo "$table" | awk -v a="$1" '$1 == a { print $2, $3, $4, $5 }')
  [ $# -eq 5 ] || die "unknown architecture '$1'"
  deb=$2 gnu=$3 qemu=$4 flags=$5
  [ "$flags" != - ] || flags=
}

is_native() { [ "$deb" = "$(dpkg --print-architecture)" ]; }

case ${1:-} in
--list) echo "$table" | awk 'NF { print $1 }'; exit 0 ;;
--packages)
  shift
  for arch; do
    row "$arch"
    is_native || echo "gcc-$(echo "$gnu" | tr _ -)"
  done
  exit 0 ;;
--emulator)
  row "${2:-}"
  is_native || echo "qemu-$qemu-static"
  exit 0 ;;
esac
[ $# -eq 2 ] || die "usage: toolchain.sh ARCH DIR"
arch=$1 dir=$2
row "$arch"
# make gives these to its children when they are on its command line
unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS LIBS B

gcc=$gnu-gcc
command -v "$gcc" >/dev/null || die "no $gcc; 'ARCHES=$arch t/setup.sh build' installs what building needs"
packages='musl-dev libjansson-dev'

# shellcheck source=payloads/apt.sh
. "${0%/*}/apt.sh"
cache=$apt_cache/toolchain/$apt_suite
kind="$recipe $("$gcc" -dumpfullversion) $arch"

made=$cache/$(echo "$kind" | tr ' ' -)

# choose VERSIONS: what is to be made, and its name in the cache
choose() {
  versions=$1
  stamp="$kind $(echo "$versions" | tr ' \n' '= ')"
  result=$made-$(echo "$stamp" | sha256sum | cut -c 1-16)
  musl=$(version_in "$versions" musl-dev) jansson=$(version_in "$versions" libjansson-dev)
}

# shellcheck disable=SC2086
choose "$(newest_by "$dir/.versions" $packages)"
if [ -f "$dir/.stamp" ] && [ "$(head -n 1 "$dir/.stamp")" = "$stamp" ]; then
  up_to_date
fi

begin

make_musl() {
  source_of musl "$musl"
  (cd "$tmp/musl" &&
    ./configure --target="$gnu" --disable-shared --disable-wrapper --prefix=/ \
      --libdir=/musl-lib --includedir=/musl-include CROSS_COMPILE="$gnu-" \
      CC="$gcc $flags" CFLAGS="-g0 $hard -ffile-prefix-map=$tmp=." &&
    make -j"$(nproc)" install DESTDIR="$tmp/out") >"$tmp/log" 2>&1 || {
    tail -n 15 "$tmp/log" >&2
    die "cannot build musl for $arch"
  }
}

# The wrapper finds its files beside itself, so DIR may move and builds stay path independent. gcc's
# crtbegin and crtend are for C++ and for unwinding, of which there is none; its -static-pie asks for a
# loader on arm and riscv64.
make_cc() {
  cat >"$tmp/out/cc" <<-EOT
		#!/bin/sh
		# static musl compiler for $arch; made by payloads/toolchain.sh
		d=\${0%/*}
		set -- $hard -nostdinc -isystem "\$d/musl-include" \\
			-isystem "\$($gcc -print-file-name=include)" "\$@"
		for a; do
			case \$a in -c|-S|-E|-M|-MM|-fsyntax-only) exec $gcc $flags "\$@";; esac
		done
		exec $gcc $flags -nostdlib -static -Wl,-pie,--no-dynamic-linker,-z,text \\
			"\$d/musl-lib/rcrt1.o" "\$d/musl-lib/crti.o" "\$@" -L"\$d/musl-lib" \\
			-Wl,--start-group -lc -lgcc -Wl,--end-group "\$d/musl-lib/crtn.o"
	EOT
  chmod 755 "$tmp/out/cc"
}

# The parser does not look whether a character could be saved, and where there is no memory it goes
# past the end of what it has. Let it be a read error instead.
mend_jansson() {
  load=$tmp/jansson/src/load.c
  sed -i -e '/^static void lex_save(lex_t/s/{ \(.*\); }$/{ if (\1) lex->stream.state = STREAM_STATE_ERROR; }/' \
    -e '/^static int lex_get_save(/,/^}/s/return c;/return lex->stream.state == STREAM_STATE_ERROR ? STREAM_STATE_ERROR : c;/' "$load"
  [ "$(grep -cE '^static void lex_save.*if \(strbuffer_append_byte.*STATE_ERROR|return lex->stream.state ==' "$load")" = 2 ] ||
    die "this jansson's parser is not the one that is known; look at lex_save in load.c"
}

# Everything configure would say is here and on the command line.
make_jansson() {
  mkdir -p "$tmp/out/lib" "$tmp/out/include" "$tmp/private"
  source_of jansson "$jansson"
  mend_jansson
  cp "$tmp/jansson/src/jansson.h" "$tmp/out/include/"
  cat >"$tmp/out/include/jansson_config.h" <<-'EOT'
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
  : >"$tmp/private/jansson_private_config.h"
  objs=
  for c in "$tmp"/jansson/src/*.c; do
    o=$tmp/$(basename "$c" .c).o
    "$tmp/out/cc" -c -Os -g0 -std=gnu11 -ffunction-sections -fdata-sections \
      -fno-asynchronous-unwind-tables \
      -ffile-prefix-map="$tmp=." -DHAVE_ENDIAN_H -DHAVE_FCNTL_H \
      -DHAVE_SCHED_H -DHAVE_UNISTD_H -DHAVE_SYS_PARAM_H -DHAVE_SYS_STAT_H \
      -DHAVE_SYS_TIME_H -DHAVE_SYS_TYPES_H -DHAVE_STDINT_H -DHAVE_OPEN \
      -DHAVE_CLOSE -DHAVE_READ -DHAVE_GETPID -DHAVE_GETTIMEOFDAY \
      -DHAVE_SCHED_YIELD -DHAVE_STRTOLL -DHAVE_ATOMIC_BUILTINS \
      -DHAVE_SYNC_BUILTINS -DHAVE_UINT32_T -DHAVE_UINT16_T -DHAVE_UINT8_T \
      -DHAVE_SSIZE_T -DHAVE_INT32_T -DUSE_URANDOM -DINITIAL_HASHTABLE_ORDER=3 \
      -I"$tmp/out/include" -I"$tmp/private" -o "$o" "$c" ||
      die "cannot compile jansson's $(basename "$c")"
    objs="$objs $o"
  done
  # shellcheck disable=SC2086
  "$gnu-ar" rcD "$tmp/out/lib/libjansson.a" $objs
}

build() {
  hard="-fPIE $("${0%/*}/hardening.sh" musl "$gcc")"
  say "building musl and jansson for $arch (once, half a minute)"
  mkdir "$tmp/out"
  echo "$stamp" >"$tmp/out/.stamp"
  echo "$versions" >"$tmp/out/.versions"
  make_musl
  make_cc
  make_jansson
  keep "$tmp/out" "$result"
}

have() { kept "$apt_sources/musl_$musl" && kept "$apt_sources/jansson_$jansson"; }

# fetch: into the cache. Where something is missing there, the lists are not good enough either.
fetch() {
  private_apt || return 1
  # shellcheck disable=SC2086
  choose "$(newest $packages)"
  fetch_source musl "$musl" && fetch_source jansson "$jansson"
}

# One at a time: the second finds the sources that the first has fetched.
exec 9>"$cache/.lock"
flock 9
{ [ -n "$musl" ] && [ -n "$jansson" ]; } || fall_back "$made" || :
kept "$result" || have || fetch || fall_back "$made" || die "no musl and jansson to link with"
kept "$result" || build
exec 9>&-
hand_over
say "made $arch toolchain in $dir"
