#!/bin/bash
# Goal: where the sources of the libraries cannot be had, the command is linked with the system's
# shared ones, which is said; static ones that are insisted on are an error.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# An archive without sources.
mkdir "$tmp/bin"
cat >"$tmp/bin/apt-get" <<'END'
#!/bin/sh
case " $* " in
  *' indextargets '*) exec /usr/bin/apt-get "$@" ;;
  *' source '*) echo 'E: Failed to fetch some archives.' >&2; exit 100 ;;
esac
END
chmod 755 "$tmp/bin/apt-get"
export PATH=$tmp/bin:$PATH SBINJECT_CACHE=$tmp/cache

static() { STATIC=$1 run "$top/engine/static.sh" "$tmp/static"; }

static 1
is 'insisted on: exit code' "$rc" 1
like 'insisted on: what is missing is named' "$err" 'cannot download the source of curl [0-9]'
ok 'insisted on: nothing is made' test ! -e "$tmp/static"
static auto
is 'else: exit code' "$rc" 0
like 'else: said' "$err" "linking with the system's shared libraries instead"
like "else: the system's libraries" "$(cat "$tmp/static/libs")" '-lcurl .*-ljansson'
static auto
is 'again: nothing is tried' "$rc$out$err" 0
static 1
is 'insisted on, then: exit code' "$rc" 1
done_testing
