#!/bin/bash
# Goal: the manual pages and the help texts say the same, and the pages are well formed.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

page=$top/man/sbinject.1
mapfile -t all < <(commands)

# plain: man source on stdin without its macros and escapes, near enough.
plain() { sed -E 's/^\.(\\".*|[A-Z]+ ?|nf|fi)//; s/\\f[A-Z]|\\c|\\&//g; s/\\-/-/g; s/\\\(dq/"/g; s/" "//g; s/"//g'; }

# section NAME, sub NAME: the source of a section, or of a sub-section of COMMANDS.
section() { awk -v want="$1" '/^\.SH / { on = substr($0, 5) == want; next } on' "$page"; }
sub() {
  section COMMANDS | awk -v want="$1" '/^\.SS / { on = substr($0, 5) == want; next } on'
}

# long: the long options in a text, each once.
long() { grep -oE -- '(^|[^a-zA-Z0-9-])--[a-z][a-z0-9-]*' | grep -oE -- '--.*' | sort -u; }

# ---- sub-commands ----

synopsis=$(section SYNOPSIS | plain | grep .)
for c in "${all[@]}"; do
  sb "$c" --help
  usage=$(sed -n '1s/^usage: //p' <<<"$out")
  is "SYNOPSIS has the usage of $c" "$(grep -xF -- "$usage" <<<"$synopsis")" "$usage"
done
is "SYNOPSIS has nothing else" "$(grep -c . <<<"$synopsis")" "$((${#all[@]} + 1))"
is "COMMANDS has them in the order of the help" \
  "$(section COMMANDS | sed -n 's/^\.SS //p' | xargs)" "${all[*]}"

# ---- options ----

common="--help --verbose --version"
is "COMMANDS names the common options" \
  "$(section COMMANDS | sed '/^\.SS/,$d' | plain | long | grep -vx -- --json | xargs)" "$common"
for c in "${all[@]}"; do
  in_help=$("$SBINJECT" "$c" --help | sed -n '/^Options:/,$p' | long)
  in_page=$({ sub "$c" | sed -n '/^Options:/,$p' | plain && tr ' ' '\n' <<<"$common"; } | long)
  is "COMMANDS lists the options of $c" "$(xargs <<<"$in_page")" "$(xargs <<<"$in_help")"
  stray=$(sub "$c" | plain | long | grep -vxFe "$in_help" | xargs) || true
  is "what is said of $c needs no other option" "$stray" ""
done

# "-H --host URL" per option.
in_help=$("$SBINJECT" --help | sed -n '/^Options/,/^$/p' | grep -E '^ +(-[a-zA-Z],|--)' |
  sed -E 's/^ +//; s/,//; s/(--[a-z-]+ [A-Z=]+|--[a-z-]+).*/\1/' | sort)
in_page=$(section OPTIONS | grep -A1 '^\.TP' | grep -v -e '^\.TP' -e '^--$' | plain |
  sed 's/,//g; s/\.\.\.$//; s/  */ /g; s/ $//' | sort)
is "OPTIONS has every option with its letter and value" "$in_page" "$in_help"
known=$("$SBINJECT" --help | sed -n '/^Options/,/^$/p' | long)
is "no page of ours names an option that does not exist" \
  "$(cat "$top"/man/sbinject.1 "$top"/man/sbinject.yaml.5 | grep -v -e '^docker' -e '^inspect eval' | plain | long |
    grep -vxFe "$known" | xargs)" ""

# ---- exit codes ----

codes=$("$SBINJECT" --help | sed -n '/^Exit codes:/,/^$/p' | grep -oE '[0-9]+' | sort -n | xargs)
is "EXIT STATUS has the codes of the help" \
  "$(section "EXIT STATUS" | sed -nE 's/^\.B ([0-9]+)$/\1/p' | sort -n | xargs)" "$codes"
words=$(sed -n '/^const char \*sb_code_name/,/^}/s/.*{SB_[A-Z_]*, "\(.*\)"}.*/\1/p' \
  "$top/engine/err.c" | grep -v some-failed | sort | xargs)
is "EXIT STATUS has the words of --json" \
  "$(section "EXIT STATUS" | sed -nE 's/^\.BR ([a-z-]+) :$/\1/p' | sort | xargs)" "$words"

# ---- kinds of containers ----

is "KINDS OF CONTAINERS has the table that the live tests go by" \
  "$(section "KINDS OF CONTAINERS" | sed -n '/^\.TS/,/^\.TE/p')" "$("$top/t/live/kinds.sh" man)"

# ---- the environment ----

used=$(cat "$top"/cmd/*.c "$top"/engine/*.c "$top"/conf/*.c "$top"/payloads/*.c |
  grep -oE '(getenv|env)\("[A-Z_]+"\)|\{"[A-Z_]+", "/' | grep -oE '[A-Z_]{4,}' | sort -u | xargs)
is "ENVIRONMENT has what the program reads" \
  "$(section ENVIRONMENT | grep -A1 '^\.TP' | plain | grep -oE '[A-Z_]{4,}' | sort -u | xargs)" \
  "$used"

# ---- the JSON fields ----

fields() { sub "$1" | sed -n '/^\.TS/,/^\.TE/p' | sed -nE 's/^([a-z_0-9, ]+)\t.*/\1/p' | tr -d ,; }
echo >"$tmp/in-tree"
tar -C "$tmp" -cf "$tmp/tree.tar" in-tree
is "payloads: the fields are those of --json, also with --for and --describe" "$(fields payloads | xargs)" \
  "$({ "$SBINJECT" payloads --json && "$SBINJECT" payloads --json --for 'inspect_ai 0.3.285' &&
    "$SBINJECT" payloads --json --describe "$tmp/tree.tar"; } |
    jq -r 'keys_unsorted | join(" ")' | uniq | xargs)"
sb --json -H "$tmp/none.sock" web
is "failures: the fields are those of --json" \
  "$(section COMMANDS | sed '/^\.SS/,$d' | sed -nE 's/^([a-z]+)\t.*/\1/p' | xargs)" \
  "$(jq -r 'keys_unsorted[]' <<<"$out" | xargs)"
for c in inject probe status ls remove; do
  missing=
  for field in $(fields "$c"); do
    grep -q "\"$field\"" "$top/cmd/$c.c" || missing+=" $field"
  done
  is "$c: the fields are in its source" "$missing" ""
done

# ---- the program in the container ----

inner=$top/man/inspect-sandbox-tools.1
arch=$("$SBINJECT" payloads --json | jq -r .arch |
  grep -x "$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')") || arch=
if [ -n "$arch" ]; then
  "$SBINJECT" payloads --extract "tools-$arch" --output "$tmp/inner"
  is "inspect-sandbox-tools(1) has the sub-commands of the program" \
    "$(sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' "$inner" | plain |
      awk '/^inspect/ { print $2 }' | sort | xargs)" \
    "$("$tmp/inner" --help | awk '/^  [a-z]/ { print $1 }' | sort | xargs)"
  is "inspect-sandbox-tools(1) has the methods of the program" \
    "$(sed -n '/^Methods of/,/^\.TE/s/^\([a-z_]*\)\t.*/\1/p' "$inner" | sort | xargs)" \
    "$(sed -nE 's/^\t\{ ?"([^"]+)", RPC_.*/\1/p' "$top"/payloads/sandbox-tools/{tools,*/methods}.c | sort | xargs)"
fi

# ---- form ----

for m in "$top"/man/*.[1-8]; do
  name=${m##*/}
  if command -v mandoc >/dev/null; then
    is "$name: mandoc has nothing to say" "$(mandoc -Tlint -W warning "$m" 2>&1)" ""
  fi
  if command -v groff >/dev/null && man --help 2>&1 | grep -q warnings; then
    # it thinks of pages, which a terminal has not
    is "$name: man has nothing to say" \
      "$(MANWIDTH=80 man --warnings -l "$m" 2>&1 >/dev/null | grep -v 'will not fit on one page')" ""
    like "$name fits 80 columns" "$(MANWIDTH=80 man -l "$m" 2>/dev/null | wc -L)" '^([1-7]?[0-9]|80)$'
  fi
  is "$name: names its licence" "$(grep -c 'SPDX-License-Identifier: MIT' "$m")" 1
  for other in $(plain <"$m" | grep -oE '[a-z.-]+ ?\([157]\)' | tr -d ' '); do
    case $other in docker* | podman* | ssh*) continue ;; esac
    file=$top/man/${other%\(*}.${other##*\(}
    [ -f "${file%\)}" ] || fail "$name refers to $other" "there is no such page"
  done
done

done_testing
