# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# packages.sh: files of Debian's archive, of any suite and architecture, without installing them.
# Sourced after t/engines/paths.sh; defines no actions.

apt_dir=$SBINJECT_CACHE/apt
keys=/usr/share/keyrings/debian-archive-keyring.gpg

# private_apt SUITE ARCH COMMAND...: run an apt tool on its own package lists,
# so that the machine's sources and architectures stay as they are.
private_apt() {
  local suite=$1 arch=$2 dir=$apt_dir/$1-$2
  shift 2
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
  printf '%s [signed-by=%s] %s %s main\n' \
    deb "$keys" "$(mirror)" "$suite" \
    deb-src "$keys" "$(mirror)" "$suite" >"$dir/sources.list"
  "$1" -qq -o Dir::Etc::sourcelist="$dir/sources.list" \
    -o Dir::Etc::sourceparts=/nonexistent -o Dir::State::lists="$dir/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache="$dir/cache" \
    -o APT::Architecture="$arch" -o APT::Architectures="$arch" \
    -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Acquire::Check-Valid-Until=false "${@:2}" >&2
}

# package_lists SUITE ARCH: fetch them unless that was done within a week.
package_lists() {
  local stamp=$apt_dir/$1-$2/updated
  [ -z "$(find "$stamp" -mtime -7 2>/dev/null)" ] || return 0
  private_apt "$1" "$2" apt-get update
  touch "$stamp"
}

# packages SUITE ARCH NAME...: download .deb files into the current directory.
packages() {
  local suite=$1 arch=$2
  shift 2
  package_lists "$suite" "$arch"
  private_apt "$suite" "$arch" apt-get download "$@"
}

# unpack DEB-NAME DIRECTORY
unpack() { dpkg-deb -x "$1"_*.deb "$2"; }
