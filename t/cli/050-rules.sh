#!/bin/bash
# Goal: rules files are found in the documented order, checked, and shown as they are.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

head=$'version: 1\npayloads:\n  tools-arm64: {source: embedded}\n  tools-amd64: {source: embedded}\n'

# good NAME COUNT TEXT: --check accepts it.
good() {
  printf '%s' "$3" >"$tmp/r.yaml"
  sb rules --check "$tmp/r.yaml"
  is "good: $1" "$rc $err ${out##*$'\n'}" "0  $tmp/r.yaml: $2, no errors"
}

# bad NAME PLACE REGEX TEXT: --check refuses it, there.
bad() {
  printf '%s' "$4" >"$tmp/r.yaml"
  sb rules --check "$tmp/r.yaml"
  exits "bad: $1: exit 2" 2
  one_line "bad: $1: the place and the cause" "$tmp/r.yaml:$2: .*$3"
  is "bad: $1: nothing on stdout" "$out" ""
}

# ---- without a file ----

sb rules
exits "rules" 0
is "rules: says where they come from" "${out%%$'\n'*}" \
  "# the rules in force: built-in (no rules file found)"
is "rules: the built-in text follows" "$(sed 1d "$tmp/run.out" | sha256sum)" \
  "$(sha256sum <"$top/conf/builtin.yaml")"
sb rules --check
is "rules --check: the built-in rules are good" "$rc $out" "0 built-in: 6 rules, no errors"

# What the text itself advises: write it to a file and go on from there.
mkdir -p "$XDG_CONFIG_HOME/sbinject"
mine=$XDG_CONFIG_HOME/sbinject/sbinject.yaml
"$SBINJECT" rules >"$tmp/copy.yaml"
good "the printed rules" "6 rules" "$(cat "$tmp/copy.yaml")"

for args in "--explain web x.yaml" "--check --explain web" "--explain web --check x.yaml" "x.yaml"; do
  # shellcheck disable=SC2086
  sb rules $args -H "$tmp/none.sock"
  exits "rules $args: exit 2" 2
  one_line "rules $args: why" "--check"
done

# ---- the order of search ----

where() { # where ARGUMENT...: the file in force and why
  "$SBINJECT" rules "$@" 2>&1 | sed -n '1s/^# the rules in force: //p'
}
one() { printf '%srules:\n  - {when: {os: linux}, use: tools-amd64}\n' "$head" >"$1"; }
one "$mine"
one "$tmp/env.yaml"
one "$tmp/arg.yaml"
mkdir -p "$HOME/elsewhere/sbinject"
one "$HOME/elsewhere/sbinject/sbinject.yaml"
is "the user's file" "$(where)" "$mine (the user's configuration)"
is "XDG_CONFIG_HOME moves it" "$(XDG_CONFIG_HOME=$HOME/elsewhere where)" \
  "$HOME/elsewhere/sbinject/sbinject.yaml (the user's configuration)"
is "without XDG_CONFIG_HOME it is below HOME" "$(XDG_CONFIG_HOME='' where)" \
  "$mine (the user's configuration)"
is "a relative XDG_CONFIG_HOME is ignored" "$(XDG_CONFIG_HOME=elsewhere where)" \
  "$mine (the user's configuration)"
is "SBINJECT_CONFIG comes before it" "$(SBINJECT_CONFIG=$tmp/env.yaml where)" \
  "$tmp/env.yaml (SBINJECT_CONFIG)"
is "an empty SBINJECT_CONFIG is none" "$(SBINJECT_CONFIG='' where)" \
  "$mine (the user's configuration)"
is "--config comes first" "$(SBINJECT_CONFIG=$tmp/env.yaml where --config "$tmp/arg.yaml")" \
  "$tmp/arg.yaml (--config)"
is "-c is --config" "$(where -c "$tmp/arg.yaml")" "$tmp/arg.yaml (--config)"
is "a file replaces the built-in rules" \
  "$("$SBINJECT" rules --config "$tmp/arg.yaml" | sed 1d | sha256sum)" "$(sha256sum <"$tmp/arg.yaml")"
sb rules --check
is "--check without a file is about the one in force" "$out" "$mine: 1 rule, no errors"
sb rules --check -c "$tmp/arg.yaml"
is "--check with --config" "$out" "$tmp/arg.yaml: 1 rule, no errors"
sb rules --check "$tmp/arg.yaml" -c "$tmp/env.yaml"
is "--check FILE is about that one" "$out" "$tmp/arg.yaml: 1 rule, no errors"

echo 'nonsense' >"$mine"
sb rules
exits "a broken file is an error, not passed over" 2
one_line "a broken file is named" "$mine:1:"
sb --host "$tmp/none.sock" web
exits "a broken file is found before the engine is asked" 2
if [ "$(id -u)" -ne 0 ]; then
  one "$mine"
  chmod 000 "$mine"
  sb rules
  exits "an unreadable file is an error, not passed over" 2
fi
rm -f "$mine"
mkdir "$mine"
sb rules
exits "a directory in its place is an error" 2
rmdir "$mine"
sb rules --check "$tmp/none.yaml"
exits "--check of a missing file: exit 2" 2
one_line "--check of a missing file names it" "'$tmp/none.yaml'"
sb rules -c "$tmp/none.yaml"
exits "--config of a missing file: exit 2" 2

# ---- good files ----

good "the smallest" "1 rule" "$head"$'rules:\n- {when: {}, use: tools-amd64}\n'
good "lists, labels and globs" "1 rule" "$head"'rules:
  - when:
      os: linux
      arch: [amd64, arm64]
      image: "*/evals/*"
      label: {org.example.sandbox: ["1", "yes"]}
      client: inspect_ai 0.3.*
    use: tools-amd64
'
good "a path of one's own, links and arguments" "1 rule" "$head"'install:
  path: /opt/tools.d/inspect-sandbox-tools
  links: [/opt/inspect-sandbox-tools]
start: [start-server]
rules: [{when: {os: linux}, use: tools-amd64}]
'
good "a pinned file" "1 rule" "version: 1
payloads: {x: {source: file, path: x.bin, sha256: $(printf '%064d' 7)}}
rules: [{when: {os: linux}, use: x}]
"
like "a file that is not there: a warning" "$out" \
  "^warning: $tmp/r.yaml:2:12: payload 'x': no such file '$tmp/x.bin'"
echo other >"$tmp/x.bin"
sb rules --check "$tmp/r.yaml"
like "a file with another digest: a warning" "$rc $out" \
  "^0 warning: $tmp/r.yaml:2:12: payload 'x' is not the pinned one"
good "a pin that this sbinject does not have" "1 rule" "version: 1
payloads: {tools-amd64: {source: embedded, sha256: $(printf '%064d' 7)}}
rules: [{when: {os: linux}, use: tools-amd64}]
"
like "a pin that this sbinject does not have: a warning" "$out" "^warning: $tmp/r.yaml:2:12: .*pinned"
good "a helper container for a user's service" "1 rule" \
  "$head"$'rules:\n- {when: {}, use: tools-amd64, service: user, graft: true}\n'
like "a helper container for a user's service: a warning" "$out" \
  "^warning: $tmp/r.yaml:6:3: 'graft' has no effect with 'service: user'"
ties=$head'rules:
  - {when: {os: linux, arch: amd64}, use: tools-amd64}
  - {when: {os: linux, distro: kali}, use: tools-amd64}
'
good "rules that can tie" "2 rules" "$ties"
like "rules that can tie: a warning names both" "$out" \
  "^warning: $tmp/r.yaml:6:5 and :7:5: a container can match both"
good "a third that settles the tie" "3 rules" \
  "$ties"$'  - {when: {os: linux, arch: amd64, distro: kali}, use: tools-amd64}\n'
is "a third that settles the tie: no warning" "$(wc -l <<<"$out")" 1

# ---- bad files ----

bad "no version" 1:1 version $'payloads: {tools-amd64: {source: embedded}}\nrules: [{when: {}, use: tools-amd64}]\n'
bad "another version" 1:10 "'2'" $'version: 2\n'
bad "an unknown key" 5:1 "'rule'" "$head"$'rule: []\n'
bad "a duplicate key" 5:1 "" "$head"$'version: 1\nrules: [{when: {}, use: tools-amd64}]\n'
bad "an unknown fact" 6:12 "'distribution'" "$head"$'rules:\n  - when: {distribution: x}\n'
bad "an unknown payload" 6:23 "'nope'" "$head"$'rules:\n  - {when: {}, use:   nope}\n'
bad "a value that no container has" 6:18 "unknown arch 'x86_64'; known values: 386, amd64" \
  "$head"$'rules:\n  - when: {arch: x86_64}\n    use: tools-amd64\n'
bad "a pattern without quotes" 6:19 "begins with '\*' needs quotes" \
  "$head"$'rules:\n  - when: {image: */team/*}\n    use: tools-amd64\n'
bad "a wrong type" 5:8 "" "$head"$'rules: {}\n'
bad "an anchor" 6:5 "" "$head"$'rules:\n  - &x {when: {}, use: tools-amd64}\n'
bad "two documents" 7:1 "" "$head"$'rules:\n  - {when: {}, use: tools-amd64}\n---\nversion: 1\n'
bad "a tab" 2:1 "" $'version: 1\n\tx: 1\n'
bad "a file without its digest" 2:15 sha256 $'version: 1\npayloads: {x: {source: file, path: x}}\n'
bad "a relative path of the program" 6:9 "" "$head"$'install:\n  path: opt/x/y\n'
bad "a directory that is not the program's own" 6:9 "'/tmp" "$head"$'install:\n  path: /tmp/x\n'
rule=$'rules: [{when: {}, use: tools-amd64}]\n'
bad "a path that sbinject uses itself" 6:9 "'/.sbinject/current'" "$head"$'install:\n  path: /.sbinject/current\n'"$rule"
bad "a link to its own records" 6:11 "'/.sbinject/state.json'" "$head"$'install:\n  links: [/.sbinject/state.json]\n'"$rule"
bad "a link in the place of its socket" 6:11 "sbinject and its service keep files" \
  "$head"$'install:\n  links: [/var/tmp/.da7be258e003d428/.server/sandbox-tools.sock]\n'"$rule"
bad "two rules for the same" 7:5 "" \
  "$head"$'rules:\n  - {when: {os: linux}, use: tools-arm64}\n  - {when: {os: linux}, use: tools-amd64}\n'

done_testing
