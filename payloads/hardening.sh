#!/bin/sh
# SPDX-License-Identifier: MIT
# hardening.sh host|musl COMPILER…: the flags against exploits that this compiler takes without a
# word, on one line; those that need the GNU C library, or cost time, for the host's programs only.
set -eu

fortify='-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE'
case ${1:-} in
host | musl) kind=$1 ;;
*) echo "usage: hardening.sh host|musl COMPILER..." >&2; exit 2 ;;
esac
shift

# takes COMPILER… FLAG…: with a header, which says what it thinks of FORTIFY
takes() { echo '#include <stdlib.h>' | "$@" -Werror -O2 -c -o /dev/null -x c - 2>/dev/null; }

flags=-fstack-protector-strong
for f in -fstack-clash-protection -fcf-protection -mbranch-protection=standard \
  $([ "$kind" = musl ] || echo -ftrivial-auto-var-init=zero); do
  ! takes "$@" "$f" || flags="$flags $f"
done
if [ "$kind" = host ]; then
  # shellcheck disable=SC2086
  if takes "$@" $fortify=3; then flags="$flags $fortify=3"; else flags="$flags $fortify=2"; fi
fi
echo "$flags"
