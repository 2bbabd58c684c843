#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: on a machine that has nothing but git and make, the README's first command installs what is
# missing, builds, and shows what sbinject does; and does it again without a network.
# tier: check
set -eu -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbt-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=t/tap.sh
. "$top/t/tap.sh"

# demo NAME FRESH-ARGUMENT...: $out and $err are what was said there
demo() {
  run "$top/t/fresh.sh" "${@:2}"
  is "$1: exit code" "$rc" 0
  is "$1: its last line" "$(tail -n 1 <<<"$out")" \
    "That was the demo. 'sbinject --help' explains the rest; 'make install' installs it."
  like "$1: says what it installs" "$out" 'setup: installing [^ ]*build-essential'
  like "$1: says how long building takes" "$out" 'demo: building .*minutes'
  like "$1: a tool call is shown" "$out" '"result": "File created successfully at: /hello.txt"'
  unlike "$1: no escapes into a pipe" "$out" $'\033'
  [ "$rc" = 0 ] || diag "$(tail -n 40 <<<"$out"$'\n'"$err")"
  diag "$(tail -n 1 <<<"$err")"
}

demo 'Debian 12, root, then without a network' bookworm 'make demo && unshare --net make demo'
demo 'Debian 13, a user with sudo' --user trixie make demo
done_testing
