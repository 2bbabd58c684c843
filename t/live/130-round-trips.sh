#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an injection costs few requests, and only cheap ones.
# tier: check
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

name=$(unique r)
id=$(ctr_create "$ENGINE" busybox "$name")

# requests FILE [REGEX]
requests() { grep -cE "^sbinject: http: ${2:-}" "$1" || :; }

budget() { # budget NAME FILE MAX PUTS
  [ "$(requests "$2")" -le "$3" ] && pass "$1: at most $3 requests" || fail "$1: at most $3 requests" "$(cat "$2")"
  is "$1: uploads" "$(requests "$2" 'PUT ')" "$4"
  is "$1: one exec is made" "$(requests "$2" 'POST [^ ]*/containers/[0-9a-f]*/exec ')" 1
  is "$1: one exec is started" "$(requests "$2" 'POST [^ ]*/exec/[0-9a-f]*/start ')" 1
  is "$1: no file is read" "$(requests "$2" 'GET [^ ]*/archive')" 0
}

SBINJECT_TRACE=http run "$SBINJECT" "$name"
is 'first injection' "$rc" 0
cp "$tmp/run.err" "$tmp/first"
budget 'first injection' "$tmp/first" 8 1
SBINJECT_TRACE=http run "$SBINJECT" "$name"
cp "$tmp/run.err" "$tmp/second"
budget 'already healthy' "$tmp/second" 6 0
diag "first: $(requests "$tmp/first") requests, repeated: $(requests "$tmp/second")"

proxy_start
DOCKER_HOST=$proxy_host run "$SBINJECT" "$name"
is 'what is traced is what is sent' "$(proxy_requests)" "$(requests "$tmp/second")"
proxy_stop
done_testing
