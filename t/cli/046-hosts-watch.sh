#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: t/interop/hosts.sh finds every mistake in the table of client releases, adds the releases
# that expect nothing new and no others, and believes neither an index nor a wheel.
# tier: check
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

export no_proxy='*' SBINJECT_CACHE=$tmp/cache
unset CI PIP_INDEX_URL PIP_CERT
"$top/t/cli/index.py" "$tmp/port" 2>>"$tmp/requests" &
index_pid=$!
trap 'kill "$index_pid" 2>/dev/null || :; rm -rf "$tmp"' EXIT
until [ -s "$tmp/port" ]; do sleep 0.05; done
url=http://127.0.0.1:$(cat "$tmp/port")

# table [LAST LINE...]: the one that is right about every scenario.
table() {
  printf '%s\n' '#client	from	to' \
    'inspect_ai	0.3.1	0.3.1	-	-	-	-	-	it has none' \
    'inspect_ai	0.3.3	0.3.4	/a/b/inspect-sandbox-tools	user	executable	2	-	-' \
    'inspect_ai	0.3.8	0.3.8	/a/b/inspect-sandbox-tools	auto	tar.gz	3	sh tar	-' >"$tmp/table"
  cp "$tmp/table" "$tmp/before"
}

# watch SCENARIO [OPTION...]: of index.py; nothing is known of its wheels yet.
watch() {
  rm -rf "$SBINJECT_CACHE"
  table
  again "$@"
}

again() {
  : >"$tmp/requests"
  run "$top/t/interop/hosts.sh" --index "$url/$1" --table "$tmp/table" "${@:2}"
}

# ranges: the table's.
ranges() { sed -n 's/^inspect_ai\t\(\S*\)\t\(\S*\).*/\1-\2/p' "$tmp/table" | xargs; }

# fails NAME SCENARIO REGEX: with --write the scenario is reported, by one point, and changes nothing.
fails() {
  watch "$2" --write
  is "$1: fails" "$rc $(grep -c '^not ok' <<<"$out") $err" "1 1 "
  like "… it is said what is wrong" "$out" "$3"
  is "… and nothing is written" "$(diff "$tmp/before" "$tmp/table")" ""
}

watch known
exits "a table that is right" 0
is "… all points are passed" "$(grep -c '^ok' <<<"$out") $(grep -vc '^ok' <<<"$out")" "5 1"
like "… the newest release is named" "$out" "the newest is 0.3.8"
unlike "… no wheel is fetched whole" "$(grep whl "$tmp/requests")" all
again known
is "a second run only asks for the list" "$(cat "$tmp/requests")" "/known/inspect-ai/ all"

watch equal
exits "new releases that expect the same are no failure" 0
like "… they are reported" "$out" \
  "ok 5 - inspect_ai 0\.3\.9 is in the table # SKIP .*0\.3\.8.*--write.*ok 6 - inspect_ai 0\.3\.10 is in the table # SKIP .*0\.3\.9"
is "… the table is as before" "$(diff "$tmp/before" "$tmp/table")" ""
again equal --write
exits "… with --write" 0
is "… the range is longer, and the rest as before" "$(diff "$tmp/before" "$tmp/table" | grep '^[<>]' | cut -f 3-)" \
  "0.3.8	/a/b/inspect-sandbox-tools	auto	tar.gz	3	sh tar	-
0.3.10	/a/b/inspect-sandbox-tools	auto	tar.gz	3	sh tar	-"
again equal
like "… then all are known" "$rc $out" "^0 .*the newest is 0\.3\.10"

watch different --write
exits "a new release that differs is a failure" 1
like "… what differs is shown" "$out" "not ok 5 - inspect_ai 0\.3\.9 .*docker\.py differs:.*-run = 1.*\+run = 2\?"
like "… the next is compared with it" "$out" "not ok 6 - inspect_ai 0\.3\.10 .*what 0\.3\.9 does, which is in no range"
like "… and one that is as before is not put into a range around them" "$out" "not ok 7 - inspect_ai 0\.3\.11 "
is "… nothing is written" "$(diff "$tmp/before" "$tmp/table")" ""
watch gap --write
is "releases between two ranges go to the one they are like" "$rc $(ranges)" "0 0.3.1-0.3.1 0.3.3-0.3.5 0.3.7-0.3.8"
fails "one between that differs from both" gap-different "0\.3\.6 is in the table.*docker\.py differs"
fails "a file of the contract that is gone" gone "docker\.py differs:.*-run = 1"

watch whole
like "where no ranges are served, the whole wheel is read" "$rc $out" "^0 .*0\.3\.9 is in the table # SKIP"
is "… at once" "$(grep -c 0.3.9 "$tmp/requests")" 1

fails "a wheel without its end" broken "not ok 5 - inspect_ai 0\.3\.9 .*its wheel cannot be read"
fails "a file that is no longer what was packed" garbage "0\.3\.9 .*its wheel cannot be read"
fails "a wheel that the server refuses" refused "0\.3\.9 .*0\.3\.9-py3-none-any\.whl': the server says 404"
fails "a server that gives other bytes than it is asked for" shifted "0\.3\.3: .* not given them"
fails "a file of which RECORD has another digest" record "docker\.py in its wheel is not what its RECORD has"
fails "… or the digest of the release before" lying "docker\.py in its wheel is not what its RECORD has"
fails "… or none" no-digest "its RECORD has no SHA-256 of inspect_ai/"
fails "… or a path" path-digest "its RECORD has no SHA-256 of inspect_ai/"
fails "a file without measure" large "docker\.py in its wheel is larger than"

fails "a program that is not there" no-program "0\.3\.4: it brings number -, and the table says 2"
fails "a program that should not be there" a-program "0\.3\.1: it brings number 1, and the table says -"
fails "a number that is wrong" number "0\.3\.8: it brings number 4, and the table says 3"
fails "a form that is wrong" form "0\.3\.8: .*-v3 is of the form executable, and the table says tar\.gz"
fails "a path that is wrong" place "0\.3\.8: it does not look for the program in /a/b, as the table says"
fails "a number that is two programs" another "amd64-v2 is one program in 0\.3\.3, and another in 0\.3\.4"
fails "a range that ends with no release" fewer "0\.3\.8 ends a range, and is not on the index"
fails "an index without releases" none "no release of inspect_ai since 0\.3\.1"
fails "an index that refuses" nowhere "the server says 403"
watch odd
like "releases that are not three numbers are none" "$rc $out" "^0 .*the newest is 0\.3\.8"

table
sed -i 's/0.3.1\t0.3.1/0.3.1\t0.3.3/' "$tmp/table"
again known
like "a release in two ranges is found" "$rc $out" "^1 .*0\.3\.3 is in 2 ranges"
printf 'inspect_ai\t0.3.9\n' >>"$tmp/table"
again known
like "a line that is none is found" "$rc $out$err" "^1 .*line 5 of the table cannot be read"

watch cut
like "without a network it is skipped" "$rc $out" "^0 ok 1 - .* # SKIP no index: .*IncompleteRead"
CI=1 watch cut
like "… but not in a continuous integration" "$rc $out" "^1 not ok 1 - "
run "$top/t/interop/hosts.sh" --index http://127.0.0.1:1/x
like "… the reason is given" "$rc $out" "^0 ok 1 - .* # SKIP no index: .*127\.0\.0\.1:1/x/inspect-ai/.*refused"

url=${url/127/me:p%40ss@127}
watch account
is "the account in an address is used" "$rc $err" "0 "
rm -rf "$SBINJECT_CACHE"
url=${url/p%40ss/wrong}
again account
like "… and not printed" "$rc $out" "^1 .*'http://127[^ ]*': the server says 403"
url=http://${url#*@}

table
PIP_INDEX_URL=$url/known run "$top/t/interop/hosts.sh" --table "$tmp/table"
like "the index is that of PIP_INDEX_URL" "$rc $out" "^0 .*the newest is 0\.3\.8"
printf '[global]\nindex-url = %s\n' "$url/equal" >"$tmp/pip.conf"
PIP_CONFIG_FILE=$tmp/pip.conf run "$top/t/interop/hosts.sh" --table "$tmp/table"
like "… or of pip.conf" "$rc $out" "^0 .*0\.3\.9 is in the table # SKIP"
printf '[install]\nindex-url = %s\n' "$url/equal" >"$tmp/pip.conf"
PIP_CONFIG_FILE=$tmp/pip.conf run "$top/t/interop/hosts.sh" --table "$tmp/table"
like "… or what pip's help says" "$rc $out" "^0 .*0\.3\.9 is in the table # SKIP"
run "$top/t/interop/hosts.sh" --nonsense
like "an option that is none" "$rc $err" "^2 hosts: unknown option '--nonsense'"
done_testing
