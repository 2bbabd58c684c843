#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: bundles are made of what is here, the same byte for byte, and nothing wrong comes out of one.
# tier: check
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

fake=$(dirname "$SBINJECT")/t/fake # with a small catalogue; 'make fakes' makes it
[ -x "$fake/sbinject" ] || skip_all "no $fake/sbinject; 'make fakes' makes it"
SBINJECT=$fake/sbinject
cache=$XDG_CACHE_HOME/sbinject/sha256
a=upstream-v35-amd64 b=upstream-v18-arm64
digest() { awk -F'\t' -v n="$1" '$1 == n { print $8 }' "$fake/upstream.tsv"; }
fill() { rm -rf "$cache" && install -d -m 700 "$cache" && cp "$fake/mirror"/* "$cache"; }

# ---- to make one ----

sb bundle -o "$tmp/b.sbb" $a
exits "what is not here: exit 5" 5
one_line "what is not here: what to do" \
  "payload '$a' \(3\.0 MB\) is not here: run 'sbinject fetch $a', or take it along with 'sbinject bundle'$"
is "what is not here: nothing is left" "$(ls "$tmp"/*.sbb "$tmp"/.sbinject-* 2>/dev/null || :)" ""

fill
sb bundle -o "$tmp/one.sbb" $a $b $a
exits "two that are here" 0
like "the line says what was made" "$out" "^$tmp/one.sbb: 2 payloads, 3\.3 MB, sha256 [0-9a-f]{12}$"
sb bundle --json --output "$tmp/two.sbb" $b $a
is "the object says the same" "$(jq -c 'del(.sha256, .size)' <<<"$out")" \
  "{\"bundle\":\"$tmp/two.sbb\",\"ok\":true,\"payloads\":2}"
is "its size and digest are those of the file" "$(jq -r '"\(.size) \(.sha256)"' <<<"$out")" \
  "$(stat -c %s "$tmp/two.sbb") $(sha256sum <"$tmp/two.sbb" | cut -d' ' -f1)"
ok "in another order, it is the same byte for byte" cmp "$tmp/one.sbb" "$tmp/two.sbb"
is "tar lists it" "$(tar tf "$tmp/one.sbb")" \
  "$(echo manifest.json; printf 'sha256/%s\n' "$(digest $a)" "$(digest $b)" | sort)"
is "tar extracts the very bytes" "$(tar xOf "$tmp/one.sbb" "sha256/$(digest $a)" | sha256sum)" \
  "$(digest $a)  -"
is "nothing in it is of this machine" \
  "$(tar tvf "$tmp/one.sbb" --full-time | awk '{ print $1, $2, $4 }' | sort -u)" "-rw-r--r-- 0/0 1970-01-01"
is "the manifest says what it is" \
  "$(tar xOf "$tmp/one.sbb" manifest.json | jq -c '[.sbinject_bundle, (.payloads[] | .name, .arch, .format, .serves)]')" \
  '[1,"upstream-v18-arm64","arm64","executable","inspect_ai 0.3.227 to 0.3.239","upstream-v35-amd64","amd64","tar.gz","inspect_ai 0.3.281 to 0.3.285"]'
sb bundle -o "$tmp/for.sbb" --for 'inspect_ai 0.3.283' --arch amd64
is "--for with --arch takes that release's, for both libcs" \
  "$rc $("$SBINJECT" bundle --list "$tmp/for.sbb" | awk '{ print $1 }' | xargs)" \
  "0 upstream-v35-amd64 upstream-v35-amd64-musl"
sb bundle -o "$tmp/all.sbb" --all
is "--all takes all" "$rc $("$SBINJECT" bundle --list "$tmp/all.sbb" | wc -l)" "0 5"
rm "$cache/$(digest upstream-v35-amd64-musl)"
sb bundle -o "$tmp/all.sbb" --all
is "--all does without what is in no wheel" "$rc $("$SBINJECT" bundle --list "$tmp/all.sbb" | wc -l)" "0 4"
rm "$cache/$(digest $b)"
cp "$tmp/one.sbb" "$tmp/kept.sbb"
sb bundle -o "$tmp/kept.sbb" --all
exits "but not without others" 5
ok "the old file is as it was" cmp "$tmp/one.sbb" "$tmp/kept.sbb"
sb bundle -o "$tmp/c.sbb" --bundle "$tmp/one.sbb" $b
exits "one can be made of another" 0

for args in "" "-o x" "-o x $a --all" "-o x --all --for x" "-o x --arch amd64 $a" "-o x --all --arch mips" \
  "-o x tools-amd64" "-o x nothing" "--list" "--list x y" "--list --check x" "--check -o x y" "-o x --for nobody" \
  "-o $tmp $a"; do
  # shellcheck disable=SC2086
  sb bundle $args
  exits "'$args': exit 2" 2
  one_line "'$args': one line" ""
done
sb bundle -o x --for 'inspect_ai 9.9.9'
exits "a release that is not known: exit 6" 6
sb bundle -o x --for 'inspect_ai 0.3.100'
exits "a release that brings nothing: exit 5" 5
one_line "a release that brings nothing: why" "brings no such program: it runs inspect-tool-support"

# ---- to use one ----

sb bundle --check "$tmp/one.sbb"
is "--check" "$rc $out" "0 $b: ok
$a: ok"
sb bundle --list --json "$tmp/one.sbb"
is "--list --json" "$(jq -c 'keys_unsorted' <<<"$out" | sort -u) $(jq -r .sha256 <<<"$out" | xargs)" \
  "[\"name\",\"arch\",\"format\",\"serves\",\"size\",\"sha256\"] $(digest $b) $(digest $a)"

rm -rf "$cache"
for how in "env SBINJECT_BUNDLE=$tmp/one.sbb $SBINJECT bundle" "$SBINJECT bundle --bundle $tmp/one.sbb"; do
  run $how -o "$tmp/again.sbb" $a $b
  exits "${how%% *}: found in a bundle" 0
  ok "${how%% *}: with an empty cache, it gives the same bundle" cmp "$tmp/one.sbb" "$tmp/again.sbb"
done
if unshare -n true 2>/dev/null; then
  run unshare -n "$SBINJECT" bundle --bundle "$tmp/one.sbb" -o "$tmp/again.sbb" $a
  exits "without any network, nothing is missed" 0
else
  skip "without any network, nothing is missed" "no network namespaces here"
fi
sb bundle --bundle "$tmp/none.sbb" -o "$tmp/again.sbb" $a
exits "a bundle that is named has to be there: exit 2" 2
one_line "a bundle that is named has to be there" "no bundle '$tmp/none.sbb' \(from --bundle\)"
SBINJECT_BUNDLE=$tmp/none.sbb sb bundle -o "$tmp/again.sbb" $a
one_line "the same of SBINJECT_BUNDLE" "no bundle '$tmp/none.sbb' \(from SBINJECT_BUNDLE\)"

rm -rf "$XDG_CACHE_HOME/sbinject"
sb bundle --import "$tmp/one.sbb"
is "--import" "$rc $out" "0 $b: imported into the cache
$a: imported into the cache"
is "the cache has them, for this user alone" \
  "$(stat -c '%a %F' "$cache") $(cd "$cache" && sha256sum -- * | awk '$1 != $2'; ls "$cache" | sort | xargs)" \
  "700 directory $(printf '%s\n' "$(digest $a)" "$(digest $b)" | sort | xargs)"
sb bundle --json --import "$tmp/one.sbb"
is "--import again does nothing" "$rc $(jq -r '"\(.result) \(.path | sub(".*/"; ""))"' <<<"$out" | xargs)" \
  "0 already $(digest $b) already $(digest $a)"

# ---- the list of all ----

sb payloads --all --bundle "$tmp/one.sbb"
is "payloads --all: what is where" "$rc $(grep -v '^tools-' <<<"$out" | awk '{ print $1, $2, $4, $6 }')" \
  "0 upstream-v18-amd64 program 18 remote
$b program 18 bundle
$a tree 35 bundle
upstream-v35-arm64 tree 35 remote
upstream-v35-amd64-musl tree 35 remote"
is "payloads --all: what is embedded, too" "$(awk '/^tools-/ { print $6 }' <<<"$out" | sort -u)" embedded
sb payloads --all --json
is "payloads --all --json" "$(jq -c 'select(.name == "'$a'") | [.kind, .arch, .version, .serves, .size, .sha256, .where, .path]' <<<"$out")" \
  "[\"tree\",\"amd64\",\"35\",\"inspect_ai 0.3.281 to 0.3.285\",3000000,\"$(digest $a)\",\"cache\",\"$cache/$(digest $a)\"]"
sb payloads --bundle x
exits "payloads --bundle without --all: exit 2" 2

# ---- what is wrong ----

cp "$tmp/one.sbb" "$tmp/bad.sbb"
at=$(grep -abo "$(digest $b)" "$tmp/bad.sbb" | tail -n 1 | cut -d: -f1)
printf X | dd of="$tmp/bad.sbb" bs=1 seek=$((at + 2000)) conv=notrunc status=none
wrong=$(tar xOf "$tmp/bad.sbb" "sha256/$(digest $b)" | sha256sum | cut -d' ' -f1)
sb bundle --check "$tmp/bad.sbb"
exits "a changed byte: exit 6" 6
one_line "a changed byte: both digests" "'$b' in '$tmp/bad.sbb' .*$wrong.*$(digest $b)"
sb bundle --bundle "$tmp/bad.sbb" -o "$tmp/again.sbb" $b
exits "the cache does not make good what is wrong in a bundle: exit 6" 6
one_line "it names the place and both digests" "'$tmp/bad.sbb' \(bundle\) has sha256 $wrong, wanted is $(digest $b)"
sb bundle --bundle "$tmp/bad.sbb" -o "$tmp/again.sbb" $a
exits "what is right in it can be used" 0
echo oops >>"$cache/$(digest $b)"
sb bundle -o "$tmp/again.sbb" $b
exits "a wrong entry in the cache: exit 6" 6
one_line "it names the entry" "'$cache/$(digest $b)' \(cache\) has sha256 .*delete that file"
sb payloads --all
is "payloads --all tells of it, and goes on: exit 6" "$rc $(wc -l <"$tmp/run.err") $(grep -c upstream <<<"$out")" "6 1 4"
sb bundle --import "$tmp/one.sbb"
exits "--import does not replace it silently: exit 6" 6
for file in "$SBINJECT" "$top/README.md" /dev/null "$tmp"; do
  sb bundle --list "$file"
  like "'${file##*/}' is no bundle" "$rc $err" "^[26] .*'$file' is (no bundle of sbinject|not a regular file)"
done
sb bundle --list "$tmp/none.sbb"
exits "no such file: exit 2" 2
for name in good two-names empty wrong-digest later stranger; do
  sb bundle --list "$top/t/fuzz/corpus/bundle/$name"
  case $name in
  good | two-names | empty | wrong-digest) exits "$name can be listed" 0 ;;
  later) exits "$name: exit 5" 5 ;;
  stranger) exits "$name: exit 6" 6 ;;
  esac
done

# ---- a disk that is full ----

if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$tmp/small"
  run unshare -m bash -c 'mount -t tmpfs -o size=1m tmpfs "$1" && cd "$1" && shift &&
    { "$@" -o b.sbb '"$a"'; rc=$?; ls -A; exit $rc; }' - "$tmp/small" "$SBINJECT" bundle
  is "a full disk: exit 1, and nothing is left" "$rc $out" "1 "
  one_line "a full disk: why" "cannot write 'b.sbb': No space left on device"
  run unshare -m bash -c 'mount -t tmpfs -o size=1m,mode=700 tmpfs "$1" && export XDG_CACHE_HOME=$1 && shift && "$@"' \
    - "$tmp/small" "$SBINJECT" bundle --import "$tmp/one.sbb"
  exits "a full cache: exit 1" 1
  one_line "a full cache: why" "cannot write '$tmp/small/sbinject/sha256/[0-9a-f]*.part': No space left on device"
else
  skip "a full disk" "needs root"
fi

done_testing
