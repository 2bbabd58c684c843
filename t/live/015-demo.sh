#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the demo uses the engine that runs, shows commands that can be pasted, colours nothing that is
# no terminal, and leaves neither container nor image.
# tier: check
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

list() { api "$ENGINE" GET '/containers/json?all=1' | jq -r '.[].Image' | grep sbinject-demo || :
  api "$ENGINE" GET /images/json | jq -r '.[].RepoTags[]?' | grep sbinject-demo || :; }

before=$(list)
run "$top/t/demo.sh" "$SBINJECT"
is 'exit code' "$rc" 0
[ "$rc" = 0 ] || diag "$err"
like 'ends with what to do next' "$(tail -n 1 <<<"$out")" "sbinject --help"
unlike 'no escapes into a pipe' "$out" $'\033'
is 'nothing is left on the engine' "$(list)" "$before"

# Each as a shell reads it, with a program that says what it was given.
printf '#!/bin/sh\nfor a; do printf "%%s\\n" "$a"; done\n' >"$tmp/words"
chmod 755 "$tmp/words"
sed -n 's/^\$ //p' <<<"$out" >"$tmp/commands"
is 'commands' "$(wc -l <"$tmp/commands")" 7
is 'the engine is set' "$(sed -n '/^export/{p;q}' "$tmp/commands")" "export DOCKER_HOST=$DOCKER_HOST"
sed "s|^$SBINJECT |$tmp/words |" "$tmp/commands" | bash >"$tmp/said"
is 'pasted, a call has its three words' "$(sed -n '/^call$/,/^}/p' "$tmp/said" | grep -c '^{.*}$')" 2
sed -n 's/^\({.*}\)$/\1/p' "$tmp/said" | jq -e . >/dev/null && pass 'and its parameters are JSON' ||
  fail 'and its parameters are JSON' "$(cat "$tmp/said")"

colours() { run script -qec "env $1 TERM=xterm '$top/t/demo.sh' '$SBINJECT'" /dev/null; }
colours NO_COLOR=
like 'on a terminal: bold headings' "$out" $'\033\\[1mPut the tool service into it'
colours NO_COLOR=1
unlike 'NO_COLOR is heeded' "$out" $'\033\\[[0-9;]*m'
done_testing
