#!/bin/bash
# SPDX-License-Identifier: MIT
# hosts.sh: is payloads/hosts.tsv right about every release of inspect_ai on the Python index? TAP.
# A release that is not in it is reported, as skipped, if it expects what the one before it does,
# and with what differs, as failed, if that has to be read first.
#   --write        add the former to the table, and to what inspect-sbinject knows
#   --index URL    look there; else where pip looks: PIP_INDEX_URL, pip.conf, its own default
#   --table FILE   another than payloads/hosts.tsv
# What is read of a release, about 300 kB, is kept; a second run fetches only the list of releases.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/engines/paths.sh
. "$here/../engines/paths.sh"
own=$here/../../payloads/hosts.tsv
index='' table=$own write=() contract=()

die() { printf 'hosts: %s\n' "$*" >&2; exit 2; }

# have_pip: any will do, for all have the same settings; Debian's Python may have none but in an
# environment.
have_pip() {
  pip=(python3 -m pip)
  ! "${pip[@]}" --version >/dev/null 2>&1 || return 0
  venv=$(mktemp -d "${TMPDIR:-/tmp}/sbt-hosts-XXXXXX")
  trap 'rm -rf "$venv"' EXIT
  python3 -m venv "$venv" >/dev/null || die "no pip; t/setup.sh test installs what makes one"
  pip=("$venv/bin/python" -m pip)
}

# setting NAME: what pip.conf says.
setting() { "${pip[@]}" config get "global.$1" 2>/dev/null || :; }

# address: that of the index. The help has the default, or what else pip goes by, without password.
address() {
  local url
  url=$(setting index-url)
  [ -n "$url" ] || url=$(COLUMNS=1000 "${pip[@]}" install --help |
    sed -n 's/^ *-i, --index-url .*(default \([^)]*\)).*/\1/p')
  [ -n "$url" ] || die "pip does not tell its index; name it with --index"
  printf '%s\n' "$url"
}

options() {
  while [ $# -gt 0 ]; do
    case $1 in
    --index | --table)
      [ $# -gt 1 ] || die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    --write) write=(--write) ;;
    -h | --help) sed -n '3,9s/^# *//p' "$0"; exit 0 ;;
    *) die "unknown option '$1'" ;;
    esac
    shift
  done
}

main() {
  options "$@"
  index=${index:-${PIP_INDEX_URL:-}}
  certificates=${PIP_CERT:-}
  [ -n "$index" ] || {
    have_pip
    index=$(address)
    certificates=${certificates:-$(setting cert)}
  }
  [ -z "$certificates" ] || export SSL_CERT_FILE=$certificates
  [ "$table" != "$own" ] ||
    contract=(--contract "$here/../../cmd/inspect-sbinject/inspect_sbinject/contract.tsv")
  INDEX_URL=$index PYTHONDONTWRITEBYTECODE=1 python3 "$here/hosts.py" --table "$table" \
    --cache "$SBINJECT_CACHE/hosts" "${contract[@]}" "${write[@]}"
}

main "$@"
