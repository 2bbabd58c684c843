#!/bin/bash
# SPDX-License-Identifier: MIT
# fresh.sh [--user] [--engine[=NAME]] [--with DIR] [SUITE [COMMAND]]: run a command in a fresh clone of this repository
# on a new minimal Debian, "make demo" on bookworm if not said: what a newcomer would see.
#   --user     as a user with sudo, not as root
#   --engine   where a Docker engine runs already (one of t/engines, lent for this; docker20)
#   --with DIR   with a copy of this directory in the clone
# The system has apt, make, git and certificates, and nothing else. It has a root file system,
# process ids and a /run of its own; kernel, network and /dev are this machine's. Its base is
# kept in the cache as a tar. Only what is committed is cloned.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/engines/paths.sh
. "$here/engines/paths.sh"

user=root engine='' with=''

say() { printf 'fresh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
usage() { sed -n '3,7s/^# *//p' "$0"; }

# sources SUITE: one line for each archive this machine takes packages from, as of that suite.
sources() {
  local own
  own=$(. /etc/os-release && echo "$VERSION_CODENAME")
  # shellcheck disable=SC2016	# apt expands these
  apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    sort -u | while read -r name address; do
    case $name in
    "$own" | "$own-updates" | "$own-security") echo "deb $address $1${name#"$own"} main" ;;
    esac
  done
}

# base SUITE: its tar, made anew after a month.
base() {
  local tar=$SBINJECT_CACHE/fresh/$1.tar lines
  if [ -z "$(find "$tar" -mtime -30 2>/dev/null)" ]; then
    mkdir -p "${tar%/*}"
    lines=$(sources "$1")
    [ -n "$lines" ] || die "apt knows no archive with $1"
    say "making a minimal $1 (once a month, half a minute)"
    mmdebstrap --quiet --variant=minbase --mode=root --include=make,git,ca-certificates \
      --skip=output/dev "$1" "$tar.new.$$.tar" - <<<"$lines" >"$tar.log" 2>&1 || {
      tail -n 5 "$tar.log" >&2
      rm -f "$tar.new.$$.tar"
      die "cannot make a minimal $1"
    }
    mv "$tar.new.$$.tar" "$tar"
  fi
  printf '%s\n' "$tar"
}

# borrow ROOT: how this machine reaches its packages, where it is not by default: names, proxies,
# the Python index, certificates.
borrow() {
  local file
  cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
  for file in /etc/pip.conf /etc/apt/apt.conf.d/*prox*; do
    [ ! -f "$file" ] || cp "$file" "$1$file"
  done
  [ ! -d /usr/local/share/ca-certificates ] ||
    cp -r /usr/local/share/ca-certificates "$1/usr/local/share/"
}

# What runs as the first process of the new system, before its root is the root.
# shellcheck disable=SC2016
enter='
  root=$1 socket=$2 user=$3 command=$4
  mkdir -p "$root/dev" "$root/.old"
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  mkdir "$root/run/lock"
  [ -z "$socket" ] || {
    : >"$root/run/docker.sock"
    mount --bind "$socket" "$root/run/docker.sock"
  }
  cd "$root"
  pivot_root . .old
  cd /
  umount -l .old
  rmdir .old
  update-ca-certificates >/dev/null 2>&1
  [ "$user" = root ] || {
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends sudo >/dev/null 2>&1
    rm -rf /var/lib/apt/lists/*
    useradd --create-home --shell /bin/bash "$user"
    printf "%s ALL=(ALL) NOPASSWD: ALL\n" "$user" >"/etc/sudoers.d/$user"
    mv /root/sbinject "/home/$user/"
    chown -R "$user:" "/home/$user"
  }
  su - "$user" -c "cd sbinject && $command" </dev/null
'

finish() {
  local status=$?
  trap '' INT TERM HUP EXIT
  [ -z "${child:-}" ] || kill "$child" 2>/dev/null || :
  wait
  [ -z "${started:-}" ] || "$here/engines/engine.sh" stop "$engine" >&2 || status=1
  rm -rf --one-file-system "$work"
  exit "$status"
}

# lend_engine: set $socket.
lend_engine() {
  "$here/engines/engine.sh" status "$engine" 2>/dev/null || started=1
  "$here/engines/engine.sh" start "$engine" >&2
  socket=$(engine_socket "$engine")
}

options() {
  while [ $# -gt 0 ]; do
    case $1 in
    --user) user=newcomer ;;
    --engine) engine=docker20 ;;
    --engine=*) engine=${1#*=} ;;
    --with) with=${2:?--with needs a directory}; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) break ;;
    esac
    shift
  done
  suite=${1:-bookworm}
  [ $# -eq 0 ] || shift
  command=${*:-make demo}
}

main() {
  local tar began status=0 socket=
  options "$@"
  [ "$(id -u)" -eq 0 ] || exec sudo -E "$0" "$@"
  command -v mmdebstrap >/dev/null || die "no mmdebstrap; run t/setup.sh test"
  tar=$(base "$suite")
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/sbt-fresh-XXXXXX")
  trap finish EXIT
  trap 'exit 130' INT TERM HUP
  [ -z "$engine" ] || lend_engine
  mkdir "$work/root"
  tar -C "$work/root" --numeric-owner -xf "$tar"
  borrow "$work/root"
  git clone -q --no-local "$here/.." "$work/root/root/sbinject"
  [ -z "$with" ] || cp -R "$with" "$work/root/root/sbinject/"
  say "$command, as ${user}, on $suite"
  began=$SECONDS
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --mount --pid --fork --kill-child --propagation private \
    sh -euc "$enter" sh "$work/root" "$socket" "$user" "$command" &
  child=$!
  wait "$child" || status=$?
  child=
  say "$command on $suite: exit $status after $((SECONDS - began)) s"
  exit "$status"
}

main "$@"
