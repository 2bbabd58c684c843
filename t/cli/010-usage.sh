#!/bin/bash
# Goal: the command line is understood as documented: help, versions, arguments, options, streams.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

export DOCKER_HOST=unix://$tmp/none.sock # whoever gets as far as an engine ends with 3
mapfile -t all < <(commands)

# ---- help and version ----

is "the help lists the sub-commands" "${all[*]}" \
  "inject probe status ls call pipe remove payloads fetch bundle hosts rules completion"
sb --help
exits "--help is a success" 0
is "--help says nothing on stderr" "$err" ""
like "--help begins with the usage" "$out" '^usage: sbinject CONTAINER\.\.\.'
help=$out
sb -h
is "-h is --help" "$rc $out" "0 $help"
sb
exits "no arguments: exit 2" 2
is "no arguments: the help on stderr" "$out$err" "$help"
sb --json
exits "only an option: exit 2" 2
is "the help fits 80 columns" "$(awk 'length > 79' <<<"$help")" ""

for c in "${all[@]}"; do
  sb "$c" --help
  like "$c --help: exit 0, its usage first" "$rc $out" "^0 usage: sbinject $c \[OPTIONS\]"
  like "$c --help lists its options" "$out" $'\nOptions:\n.*--help .*--version '
  is "$c --help fits 80 columns" "$(awk 'length > 79' <<<"$out")" ""
  run_out=$out
  sb -h "$c"
  is "-h $c is the same" "$rc $out$err" "0 $run_out"
done

sb --version
exits "--version is a success" 0
like "--version: release and wire first" "${out%%$'\n'*}" \
  '^sbinject [0-9]+\.[0-9]+\.[0-9]+ \(wire [0-9]+\)$'
is "--version: one line for each payload" "$(sed 1d <<<"$out" | awk '{ print $1, $NF }')" \
  "$("$SBINJECT" payloads | awk '{ print $1, $5 }')"
version=$out
sb -V
is "-V is --version" "$rc $out" "0 $version"
sb -v --version
is "-v --version: first the same" "$(head -n "$(wc -l <<<"$version")" <<<"$out")" "$version"
libraries=$(tail -n "+$(($(wc -l <<<"$version") + 1))" <<<"$out")
like "-v --version: what is linked in, with its licence" "$libraries" 'payloads: musl [^ ]+, licence MIT'
sb --version --json
is "--version --json: one object with the same" "$(jq -r '"sbinject \(.release) (wire \(.wire))",
  (.payloads[] | "\(.name) \(.size) bytes sha256 \(.sha256)"),
  (.libraries[] | "\(.in): \(.name) \(.version), licence \(.licence)")' <<<"$out")" "$version"$'\n'"$libraries"
is "--version --json: on one line" "$(wc -l <<<"$out")" 1

# ---- options ----

for args in --nope -y --jsonx "ls --nope" "--nope ls" -qy "--json=1 x" "--quiet= x"; do
  # shellcheck disable=SC2086
  sb $args
  exits "'$args': exit 2" 2
  one_line "'$args': one line says why" '(unknown option|takes no value)'
  is "'$args': nothing on stdout" "$out" ""
done
for args in "x --host" "x -H" "x --jobs" "x -j 0" "x -j many" "x -j 257" "x -j -1" "x --jobs=1x" \
  "x -t -1" "x -t 1.5" "x -t 86401" "x --require" "x --require nothing" "x --require wire=" \
  "x --require WIRE=1" "x --require wire=1 --require=wire=1" \
  "x --require wire=1 --require release=1 --require wire=2" "ls --dry-run" "x --require sha256=12" "probe --jobs 2 x" "payloads --host unix:///x" "x --all" \
  "call --json x version" "completion --json bash"; do
  # shellcheck disable=SC2086
  sb $args
  exits "'$args': exit 2" 2
  one_line "'$args': one line names the option" "--(host|jobs|timeout|require|dry-run|all|json)"
done
for args in "-j2 x" "-j 2 x" "--jobs=2 x" "--jobs 2 x" "x -j2" "x -qj2" "-vj 2 x" "inject x -j2" \
  "-j2 inject x" "x -H unix://$tmp/none.sock" "x --host=unix://$tmp/none.sock" \
  "x --require release=1 --require wire=1" "x --timeout 0"; do
  # shellcheck disable=SC2086
  sb $args
  exits "'$args' is understood" 3
done
run env SBINJECT_TRACE=http,nope "$SBINJECT" payloads
exits "SBINJECT_TRACE with an unknown word: exit 2" 2
one_line "SBINJECT_TRACE with an unknown word is named" "SBINJECT_TRACE.*'nope'"

# ---- arguments ----

for c in inject probe status call pipe remove completion; do
  sb "$c"
  exits "$c without arguments: exit 2" 2
  one_line "$c without arguments: usage" "usage: sbinject $c "
done
for args in "probe x y" "ls x" "pipe x y" "call x y {} z" "payloads x" "rules a b" \
  "completion bash zsh"; do
  # shellcheck disable=SC2086
  sb $args
  exits "'$args': exit 2" 2
  one_line "'$args': one argument too many" "unexpected argument '[a-z]+'; usage: sbinject ${args%% *}( [][A-Z. ]*[^ ])?"
done
sb call x version '[1]'
exits "call: PARAMS that are no object: exit 2" 2
one_line "call: PARAMS that are no object" "PARAMS"
run "$SBINJECT" call x </dev/null
exits "call: no request at all: exit 2" 2
sb completion tcsh
exits "completion: unknown shell: exit 2" 2
sb rules somewhere.yaml
exits "rules FILE without --check: exit 2" 2

# A name is a sub-command's only where one can stand.
for args in "web" "list" "-- ls" "inject ls" "inject -- ls" "-- --help" "inject -- -x" "-q -- ls" \
  "inject inject" "-"; do
  # shellcheck disable=SC2086
  sb $args
  exits "'$args' is about a container" 3
  one_line "'$args' names the container" ""
  last=${args##* }
  is "'$args': its name is '$last'" "$(cut -d: -f2 <<<"$err")" " $last"
done
for args in "ls" "ls --" "-v ls" "--host unix://$tmp/none.sock ls" "ls -a"; do
  # shellcheck disable=SC2086
  sb $args
  exits "'$args' is the sub-command" 3
  like "'$args' is about no container" "$err" "sbinject: cannot reach"
done
sb inject web db
is "of several, each is named once" "$rc $(cut -d: -f2 <<<"$err" | sort | tr -d '\n')" "3  db web"
sb lst web
is "without a command, nothing is done if the first is none" "$rc $(cut -d: -f2 <<<"$err")" "3  lst"

# Bytes that a terminal would obey are not passed on.
sb $'a\033[2Jb\nc'
exits "a name with control characters" 3
one_line "a name with control characters stays one line" ""
is "a name with control characters is escaped" "$(tr -d ' -~\n' <"$tmp/run.err" | wc -c)" 0

# ---- streams ----

# with REDIRECTION ARGUMENT...
with() {
  local how=$1
  shift
  run bash -c 'exec "$0" "$@" '"$how" "$SBINJECT" "$@"
}
for args in --version "--version --json" --help "ls --help" payloads "payloads --json" rules "rules --check" \
  "completion bash" "completion zsh" "completion fish" "payloads --extract $("$SBINJECT" payloads |
    awk '{ print $1; exit }')"; do
  for how in '>/dev/full' '>&-'; do
    # shellcheck disable=SC2086
    with "$how" $args
    exits "'${args:0:20}' with stdout $how is a failure" 1
    one_line "'${args:0:20}' with stdout $how: one line" "cannot write"
  done
done
for how in '<&-' '2>&-' '<&- 2>&-' '2>/dev/full'; do
  with "$how" payloads
  is "payloads with $how does no harm" "$rc $out" "0 $("$SBINJECT" payloads)"
  with "$how" web
  exits "a failure with $how keeps its code" 3
  is "a failure with $how says nothing on stdout" "$out" ""
done
with '<&- >&- 2>&-' web
like "with everything closed, a failure is one" "$rc" '^[1-9]'
with '>&-' payloads --extract tools-amd64 -o /dev/null
exits "what prints nothing needs no stdout" 0
{ "$SBINJECT" rules || echo "$?" >"$tmp/status"; } 2>/dev/null | true
like "a reader that goes away does not kill it" "$(cat "$tmp/status" 2>/dev/null || echo 0)" '^[01]$'

done_testing
