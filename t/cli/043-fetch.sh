#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: archives come from where they are said to, whole and verified, also if a server or a disk fails.
# tier: check
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

fake=$(dirname "$SBINJECT")/t/fake # with a small catalogue; 'make fakes' makes it
[ -x "$fake/sbinject" ] || skip_all "no $fake/sbinject; 'make fakes' makes it"
SBINJECT=$fake/sbinject
unset PIP_INDEX_URL VIRTUAL_ENV http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY SSL_CERT_FILE
export PIP_CONFIG_FILE=/dev/null
cache=$XDG_CACHE_HOME/sbinject/sha256
a=upstream-v35-amd64 b=upstream-v35-arm64 old=upstream-v18-amd64 musl=upstream-v35-amd64-musl
digest() { awk -F'\t' -v n="$1" '$1 == n { print $8 }' "$fake/upstream.tsv"; }
file() { awk -F'\t' -v n="$1" '$1 == n { print $5 }' "$fake/upstream.tsv"; }
wheel=$(ls "$fake/wheels" | tail -n 1)
sum=$(digest $a)
empty() { rm -rf "$cache"; }

# serve NAME WORD...: a server (store.py) until the test ends; sets $url.
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$tmp"' EXIT
serve() {
  python3 "$top/t/cli/store.py" serve "$fake" "$tmp/$1" "${@:2}" &
  servers+=($!)
  until [ -s "$tmp/$1" ]; do sleep 0.02; done
  url=http://127.0.0.1:$(cat "$tmp/$1")
}
asked() { wc -l <"$tmp/$1.log"; }

# has NAME PAYLOAD: the cache has it, and nothing that is not whole.
has() {
  is "$1" "$(sha256sum <"$cache/$(digest "$2")" 2>&1) $(ls "$cache" | grep -c '[.]' || :)" "$(digest "$2")  - 0"
}

# ---- from an index ----

serve good
good=$url
sb fetch $a
exits "without an index: exit 2" 2
one_line "without an index: the ways are named" "no package index is known: .*--index.*PIP_INDEX_URL.*pip\.conf.*--mirror.*--from"
sb fetch --index "$good/simple" $a
exits "from an index" 0
like "from an index: the line" "$out" "^$a: fetched 3\.0 MB from $good/wheels/$wheel$"
has "from an index: it is in the cache" $a
like "from an index: no more than needed was asked for" "$(xargs <"$tmp/good.log")" \
  "^/simple/inspect-ai/ - /wheels/$wheel bytes=-65536 /wheels/$wheel bytes=[0-9]+-[0-9]+ /wheels/$wheel bytes=[0-9]+-1[0-9]{6}$"
before=$(asked good)
sb fetch --json --index "$good/simple" $a
is "again: it is here" "$rc $(jq -c '[.name, .ok, .result, .source, .path, .size, .sha256]' <<<"$out")" \
  "0 [\"$a\",true,\"already\",\"cache\",\"$cache/$sum\",3000000,\"$sum\"]"
is "again: nobody is asked" "$(asked good)" "$before"

empty
mkdir -p "$HOME/.config/pip"
printf '# pip\n[global]\ntimeout = 5\nindex_url: %s/simple/ \n' "$good" >"$HOME/.config/pip/pip.conf"
PIP_CONFIG_FILE='' sb fetch $a
exits "the index of pip.conf" 0
empty
PIP_CONFIG_FILE='' PIP_INDEX_URL=http://127.0.0.1:1 sb fetch $a
exits "PIP_INDEX_URL comes first" 1
one_line "PIP_INDEX_URL comes first: what failed" "cannot download 'http://127\.0\.0\.1:1/inspect-ai/'"
serve page html
PIP_INDEX_URL=http://user:secret@${url#http://}/simple sb fetch $a
exits "an index in HTML, with a password" 0
unlike "the password is not told" "$out$err" secret
has "an index in HTML: it is in the cache" $a

empty
serve whole no-ranges
sb fetch --index "$url/simple" $a
exits "a server without ranges" 0
is "a server without ranges: the wheel is kept, too" "$(ls "$cache" | wc -l)" 2
before=$(asked whole)
sb fetch --index "$url/simple" $b
is "so the next one is here" "$rc $(tail -n +$((before + 1)) "$tmp/whole.log" | grep -c ' -$')" "0 1"
sb fetch --index "$good/simple" $musl
exits "what is in no wheel: exit 5" 5
one_line "what is in no wheel: what to do" "'$musl' is not to be had: .*--mirror.*--from"
empty
sb fetch --index "$good/simple" --for 'inspect_ai 0.3.230'
is "--for: all architectures" "$rc $(wc -l <<<"$out")" "0 2"
sb fetch --index "$good/simple" --all
is "--all: what is in wheels" "$rc $(wc -l <<<"$out") $(ls "$cache" | wc -l)" "0 4 4"
sb fetch --index "$good" $musl $a
exits "one that is not to be had: exit 5" 5
like "the others are" "$out" "^$a: is here"

# ---- from a mirror ----

empty
export SBINJECT_MIRROR=$good/mirror/
sb fetch $a $musl
exits "from a mirror" 0
has "from a mirror: it is in the cache" $a
has "from a mirror: also what is in no wheel" $musl
empty
sb fetch --mirror "$good/none" --index "$good/simple" $a
like "what the mirror lacks comes from the index" "$rc $out" "^0 $a: fetched .*/wheels/"
empty
sb fetch --mirror http://127.0.0.1:1 --index "$good/simple" $a
exits "a mirror that cannot be reached: exit 1" 1
serve wrong wrong
wrong=$url
for args in "--mirror $wrong/mirror --index $good/simple" "--mirror= --index $wrong/simple"; do
  empty
  # shellcheck disable=SC2086
  sb fetch $args $a
  exits "wrong bytes: exit 6 (${args%% *})" 6
  is "wrong bytes: nothing is kept (${args%% *})" "$(ls "$cache")" ""
done
sb fetch --mirror "$wrong/mirror" --index "$good/simple" $a
like "wrong bytes: the place, both digests, and no other source" "$rc $err $(asked good)" \
  "^6 .*from '$wrong/mirror/$sum' has sha256 [0-9a-f]{64}, wanted is $sum $(asked good)$"
serve huge huge
sb fetch --mirror "$url/mirror" $a
exits "more than there should be: exit 6" 6
one_line "more than there should be: said so" "larger than the expected 3000000 bytes"

# ---- what breaks off ----

serve once cut=1000000 once
sb fetch --mirror "$url/mirror" $a
exits "a connection that breaks once" 0
is "it goes on from there" "$(cut -d' ' -f2 "$tmp/once.log" | xargs)" "- bytes=1000000-"
has "it is whole" $a
empty
serve cut cut=700000
sb fetch --mirror "$url/mirror" $a
exits "a connection that always breaks" 0
is "each try brings some" "$(cut -d' ' -f2 "$tmp/cut.log" | xargs)" "- bytes=700000- bytes=1400000- bytes=2100000- bytes=2800000-"
empty
serve slow slow=100000
"$SBINJECT" fetch --mirror "$url/mirror" $b 2>/dev/null &
pid=$!
until [ "$(stat -c %s "$cache/$(digest $b).part" 2>/dev/null || echo 0)" -gt 300000 ]; do sleep 0.05; done
kill -TERM $pid
rc=0
wait $pid || rc=$?
exits "interrupted: exit 130" 130
part=$(stat -c %s "$cache/$(digest $b).part")
like "interrupted: what has come is kept" "$part" '^[1-9][0-9]{5}'
sb fetch --mirror "$good/mirror" $b
is "the next goes on from there" "$rc $(tail -n 1 "$tmp/good.log")" "0 /mirror/$(digest $b) bytes=$part-"
has "it is whole" $b
empty
install -d -m 700 "$cache"
head -c 1000000 /dev/zero >"$cache/$(digest $b).part"
sb fetch --mirror "$good/mirror" $b
is "what was left of other bytes is not the mirror's fault" "$rc $(tail -n 1 "$tmp/good.log")" "0 /mirror/$(digest $b) -"
has "it is whole" $b
empty
install -d -m 700 "$cache"
head -c 100000 /dev/zero >"$cache/$(digest $b).entry"
sb fetch --mirror= --index "$good/simple" $b
exits "the same of a part of a wheel" 0
has "it is whole" $b
serve stall stall
sb fetch --timeout 1 --mirror "$url/mirror" $old
exits "a server that falls silent: exit 1" 1
one_line "a server that falls silent: said so" "sends nothing any more"

# ---- two at once ----

empty
serve both slow=200000
"$SBINJECT" fetch --mirror "$url/mirror" $a >"$tmp/first" 2>&1 &
pid=$!
until [ -s "$cache/$sum.part" ]; do sleep 0.05; done
sb fetch --mirror "$url/mirror" $a
is "two at once: the second waits, with a word" "$rc $out | $err" \
  "0 $a: is here, in '$cache/$sum' (cache) | sbinject: note: $a: another sbinject is fetching it; waiting for that"
rc=0
wait $pid || rc=$?
is "two at once: one of them asks" "$rc $(asked both)" "0 1"

# ---- where to ----

empty
sb fetch --mirror "$good/mirror" --output "$tmp/mirror" $a $old
is "--output" "$rc $(ls "$tmp/mirror") $(ls "$cache" 2>/dev/null)" \
  "0 $(printf '%s\n' "$sum" "$(digest $old)" | sort) "
before=$(asked good)
sb fetch --mirror "$good/mirror" -o "$tmp/mirror" --json $a
is "--output again does nothing" "$rc $(jq -r '"\(.result) \(.path)"' <<<"$out") $(asked good)" "0 already $tmp/mirror/$sum $before"
sb fetch --mirror "$good/mirror" $a
before=$(asked good)
sb fetch --mirror "$good/mirror" -o "$tmp/other" --json $a
is "--output copies what is here" "$rc $(jq -r '"\(.result) \(.from)"' <<<"$out") $(asked good)" "0 copied $cache/$sum $before"
sb fetch -o "$tmp/none/dir" $a
exits "--output below what is not there: exit 2" 2
sb fetch --dry-run $a $b
is "--dry-run" "$rc $out" "0 payload '$a' (3.0 MB) is here
would fetch payload '$b' (3.0 MB)"
chmod 777 "$cache"
empty_out=$(sb fetch --mirror "$good/mirror" $old; echo "$rc $err")
like "a cache that others can write to is not used" "$empty_out" "^1 .*'$cache' as the cache"
chmod 700 "$cache"

# ---- from what is here ----

unset SBINJECT_MIRROR
mkdir -p "$tmp/site/inspect_ai" "$tmp/plain"
cp -r "$fake/binaries" "$tmp/site/inspect_ai/binaries"
cp "$fake/binaries/$(file $a)" "$tmp/plain/$(digest $a)"
for from in "$tmp/site" "$tmp/site/inspect_ai" "$tmp/site/inspect_ai/binaries" "$tmp/plain" "$fake/wheels/$wheel" \
  "$tmp/plain/$(digest $a)"; do
  empty
  sb fetch --from "$from" $a
  exits "--from ${from#"$tmp/"}" 0
  has "--from ${from#"$tmp/"}: it is in the cache" $a
done
sb fetch --from "$tmp/plain" $b
exits "--from a directory that does not have it: exit 5" 5
one_line "--from a directory that does not have it" "'$b' is not in '$tmp/plain'"
sb fetch --from "$fake/wheels/$wheel" $old
exits "--from a wheel that does not have it: exit 5" 5
sb fetch --from "$tmp/none" $b
exits "--from what is not there: exit 2" 2
sb fetch --from "$tmp/plain" --all
is "--from with --all takes what is there" "$rc $(wc -l <<<"$out")" "0 1"
empty
sb fetch --from "$tmp/run" --all
exits "--from with --all, but nothing is there: exit 5" 5
head -c 2000 /dev/urandom >"$tmp/plain/$(file $b)"
sb fetch --from "$tmp/plain" $b
exits "--from with other bytes: exit 6" 6
head -c 2000000 "$fake/wheels/$wheel" >"$tmp/cut.whl"
sb fetch --from "$tmp/cut.whl" $b
exits "--from a wheel that is cut off: exit 6" 6
one_line "--from a wheel that is cut off: said so" "cannot read '.*' in '$tmp/cut.whl'|'$tmp/cut.whl'"
is "nothing of all that is kept" "$(ls "$cache")" ""
if unshare -n true 2>/dev/null; then
  empty
  run unshare -n "$SBINJECT" fetch --from "$tmp/site" --all
  is "without any network, nothing is missed" "$rc $(wc -l <<<"$out")" "0 5"
  run unshare -n "$SBINJECT" fetch --all
  is "what is here needs no network and no index" "$rc" 0
fi

# ---- https ----

if openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key.pem" -out "$tmp/cert.pem" -days 2 -subj /CN=localhost \
  -addext subjectAltName=IP:127.0.0.1 2>/dev/null; then
  cat "$tmp/key.pem" "$tmp/cert.pem" >"$tmp/both.pem"
  serve tls "tls=$tmp/both.pem"
  tls=https://${url#http://}
  empty
  sb fetch --mirror "$tls/mirror" $old
  exits "a certificate that is not known: exit 1" 1
  one_line "a certificate that is not known: said so" "certificate"
  SSL_CERT_FILE=$tmp/cert.pem sb fetch --mirror "$tls/mirror" $old
  exits "SSL_CERT_FILE names it" 0
  serve away "tls=$tmp/both.pem" "to=$good"
  empty
  SSL_CERT_FILE=$tmp/cert.pem sb fetch --mirror "https://${url#http://}/mirror" $old
  exits "from https, none is led to http: exit 1" 1
  one_line "from https, none is led to http" "cannot download 'https://"
  serve back "to=$tls"
  SSL_CERT_FILE=$tmp/cert.pem sb fetch --mirror "$url/mirror" $old
  exits "from http to https is well" 0
else
  skip "https" "no openssl"
fi
serve proxy
empty
http_proxy=$url sb fetch --mirror http://mirror.invalid/mirror $old
exits "a mirror that lacks it, and no index: exit 2" 2
like "a proxy of the environment is asked for the URL" "$(cat "$tmp/proxy.log")" '^http://mirror\.invalid/mirror/'

# ---- a disk that is full ----

if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$tmp/small"
  run unshare -m bash -c 'mount -t tmpfs -o size=1m,mode=700 tmpfs "$1" && export XDG_CACHE_HOME=$1 && shift && "$@"' \
    - "$tmp/small" "$SBINJECT" fetch --mirror "$good/mirror" $a
  exits "a full disk: exit 1" 1
  one_line "a full disk: why" "cannot write '$tmp/small/sbinject/sha256/$sum.part': No space left on device"
else
  skip "a full disk" "needs root"
fi

for args in "" "$a --all" "--arch amd64 $a" "nothing" "tools-amd64" "--all --arch vax"; do
  # shellcheck disable=SC2086
  sb fetch $args
  exits "'$args': exit 2" 2
done

done_testing
