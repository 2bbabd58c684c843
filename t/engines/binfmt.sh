#!/bin/bash
# SPDX-License-Identifier: MIT
# binfmt.sh on|off|status|remove ARCH: let the kernel run programs of another
# architecture (aarch64) through qemu-user-static, or not.  "off" disables the
# handler and "on" brings it back; "remove" takes it out of the kernel.  Global
# to the machine; t/live/lib.sh binfmt_need serialises its use by tests.
set -eu -o pipefail

misc=/proc/sys/fs/binfmt_misc

die() { printf 'binfmt: %s\n' "$*" >&2; exit 1; }

# rule ARCH: the registration line of the package, made to open the
# interpreter at once (F) so that containers need no qemu inside.
rule() {
  local file line flags
  for file in "/usr/lib/binfmt.d/qemu-$1.conf" "/usr/share/qemu/binfmt.d/qemu-$1.conf"; do
    [ -f "$file" ] || continue
    line=$(grep -v '^#' "$file" | head -n 1)
    flags=${line##*:}
    [[ $flags == *F* ]] || line=${line}F
    printf '%s\n' "$line"
    return
  done
  die "no binfmt rule for '$1': install qemu-user-static"
}

state() {
  [ -f "$misc/qemu-$1" ] || { echo absent; return; }
  case $(head -n 1 "$misc/qemu-$1") in
  enabled) echo on ;;
  *) echo off ;;
  esac
}

on() {
  local line
  [ -f "$misc/register" ] || mount -t binfmt_misc binfmt_misc "$misc" ||
    die "cannot mount binfmt_misc"
  case $(state "$1") in
  on) ;;
  off) echo 1 >"$misc/qemu-$1" ;;
  absent)
    line=$(rule "$1")
    printf '%s' "$line" >"$misc/register"
    ;;
  esac
}

main() {
  local arch=${2:-aarch64}
  case ${1:-} in
  status) state "$arch" ;;
  on) on "$arch" ;;
  off) [ "$(state "$arch")" != on ] || echo 0 >"$misc/qemu-$arch" ;;
  remove) [ "$(state "$arch")" = absent ] || echo -1 >"$misc/qemu-$arch" ;;
  *) echo "usage: binfmt.sh on|off|status|remove ARCH" >&2; exit 2 ;;
  esac
}

main "$@"
