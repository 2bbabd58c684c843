#!/bin/bash
# SPDX-License-Identifier: MIT
# setup.sh [build|package|demo|engine|test|bench|all]: install with apt what building,
# packing, demonstrating, a private Docker engine, testing and measuring sbinject
# need on Debian 12 or newer; "all" leaves out what only measuring needs.  Does nothing,
# silently, when all is there.  Nothing it installs is left running: engines are
# started only by t/engines/engine.sh.
#   ARCHES="amd64 arm64"   compilers for the payloads of these
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)

# One package per word; "a|b" means either will do, the first known one is taken.
build="build-essential pkg-config libcurl4-openssl-dev libjansson-dev
  libarchive-dev libyaml-dev libssl-dev zlib1g-dev liblzma-dev libzstd-dev dpkg-dev
  autoconf automake libtool"
compilers() { "$here/../payloads/toolchain.sh" --packages ${ARCHES:-amd64 arm64}; }
package="jq"
demo="curl"
engine="docker.io runc catatonit curl jq"
test="libcmocka-dev podman uidmap slirp4netns fuse-overlayfs rootlesskit
  iptables mmdebstrap debootstrap debian-archive-keyring
  qemu-user-static|qemu-user busybox-static musl-tools
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross zsh fish ca-certificates python3
  python3-venv valgrind clang clang-format clang-tidy cppcheck shellcheck git openssl man-db
  mandoc lintian util-linux procps time xz-utils zstd libarchive-tools"
bench="python3-pip"

policy=/usr/sbin/policy-rc.d
as_root=()

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

usage() {
  printf 'usage: %s [build|package|demo|engine|test|bench|all]\n' "$0"
}

# Packages that cannot be named before others are installed: the sanitizer
# runtime carries clang's version, the docker command is in docker.io on
# Debian 12 and in docker-cli after it.
late_packages() {
  local v
  case " $wanted " in *" clang "*) ;; *) return 0 ;; esac
  v=$(dpkg-query -W -f '${Version}' clang 2>/dev/null) || return 0
  v=${v#*:}
  printf 'libclang-rt-%s-dev\n' "${v%%[.~-]*}"
  command -v docker >/dev/null || printf 'docker-cli\n'
}

# missing PACKAGE...: print those of which no alternative is installed.
missing() {
  local have p alt found
  have=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' 2>/dev/null) "
  for p in "$@"; do
    found=
    for alt in ${p//|/ }; do
      case "$have" in *" installed:$alt "*) found=1 ;; esac
    done
    [ -n "$found" ] || printf '%s\n' "$p"
  done
}

# known PACKAGE...: replace each "a|b" by the first that apt can install.
known() {
  local p alt pick
  for p in "$@"; do
    pick=
    for alt in ${p//|/ }; do
      [ -n "$pick" ] || ! installable "$alt" || pick=$alt
    done
    printf '%s\n' "${pick:-${p%%|*}}"
  done
}

installable() {
  local policy
  policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)
  [[ $policy == *"Candidate: "[!\(]* ]]
}

# While packages are configured no service may start.
forbid_services() {
  trap allow_services EXIT
  trap 'exit 1' INT TERM HUP
  if [ -e "$policy" ]; then
    "${as_root[@]}" mv "$policy" "$policy.sbinject"
  fi
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
}

allow_services() {
  "${as_root[@]}" rm -f "$policy"
  if [ -e "$policy.sbinject" ]; then
    "${as_root[@]}" mv "$policy.sbinject" "$policy"
  fi
}

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -y -o DPkg::Lock::Timeout=600 "$@"
}

install_packages() {
  local p log
  log=$(mktemp)
  say "installing $*"
  for p in "$@"; do
    installable "$p" && continue
    say "apt-get update ($p is not known yet)"
    apt update
    break
  done
  apt install --no-install-recommends -- "$@" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get install failed"
  }
  rm -f "$log"
}

become_root() {
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null || die "needs root or sudo to install: $*"
  as_root=(sudo)
}

# One pass: install what is missing of "$@".
satisfy() {
  local need
  mapfile -t need < <(missing "$@")
  [ ${#need[@]} -gt 0 ] || return 0
  if [ -z "${prepared:-}" ]; then
    become_root "${need[@]}"
    forbid_services
    prepared=1
  fi
  mapfile -t need < <(known "${need[@]}")
  install_packages "${need[@]}"
}

main() {
  local late list
  build="$build $(compilers)"
  case ${1:-all} in
  build) wanted=$build ;;
  package) wanted="$build $package" ;;
  demo) wanted="$build $demo" ;;
  engine) wanted=$engine ;;
  test) wanted="$engine $test" ;;
  all) wanted="$build $package $demo $engine $test" ;;
  bench) wanted="$build $demo $engine $test $bench" ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
  esac
  [ -x /usr/bin/apt-get ] || die "needs apt (Debian or a relative of it)"
  read -r -d '' -a list <<<"$wanted" || :
  wanted=${list[*]}
  satisfy "${list[@]}"
  mapfile -t late < <(late_packages)
  satisfy "${late[@]}"
}

main "$@"
