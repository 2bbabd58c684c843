#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: our programs are written as the artifacts of each known release: under its names, in its form,
# the same bytes each time, each file whole or not at all.
# tier: check
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

name=inspect-sandbox-tools
own=$("$SBINJECT" payloads --json | jq -r '.arch | select(. == "amd64" or . == "arm64")' | sort)
first=$(head -n 1 <<<"$own")
dir=$tmp/dir
mkdir "$dir"
names() { find "$dir" -mindepth 1 -printf '%P\n' | LC_ALL=C sort | xargs; }

# artifacts RELEASE ARGUMENT...
artifacts() { sb payloads --for "inspect_ai $1" "${@:2}"; }

# wanted NUMBER LIBC...: the names
wanted() {
  local arch libc
  for arch in $own; do
    for libc in "${@:2}"; do echo "$name-$arch$libc-v$1"; done
  done | LC_ALL=C sort | xargs
}

# ---- the forms ----

artifacts 0.3.239 -o "$dir"
exits 'executables: exit 0' 0
is 'executables: their names' "$(names)" "$(wanted 18 '')"
is 'executables: the programs' "$(cd "$dir" && sha256sum -- * | cut -d' ' -f1 | sort)" \
  "$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64" or .arch == "arm64") | .sha256' | sort)"
rm "$dir"/*

artifacts 0.3.240 -o "$dir"
exits 'archives: exit 0' 0
is 'archives: their names' "$(names)" "$(wanted 19 '' -musl)"
for arch in $own; do
  file=$dir/$name-$arch-v19
  size=$("$SBINJECT" payloads --json | jq "select(.arch == \"$arch\") | .size")
  is "$arch: one file, root's, without a time" "$(TZ=UTC tar -tvzf "$file" 2>&1 | xargs)" \
    "-rwxr-xr-x 0/0 $size 1970-01-01 00:00 $name"
  is "$arch: the program" "$(tar -xOzf "$file" "$name" | sha256sum)" \
    "$("$SBINJECT" payloads --extract "tools-$arch" | sha256sum)"
  is "$arch: gzip without a name and a time" "$(od -An -tx1 -N 8 "$file" | xargs)" '1f 8b 08 00 00 00 00 00'
  is "$arch: both names have the same" "$(cmp "$file" "$dir/$name-$arch-musl-v19" 2>&1)" ''
done
is 'archives: mode 0755' "$(stat -c %a "$dir"/* | sort -u)" 755

# ---- what is printed ----

cp -r "$dir" "$tmp/before"
TZ=Pacific/Auckland artifacts 0.3.240 --output "$dir" --json
cp "$tmp/run.out" "$tmp/objects"
is 'again: the same bytes' "$(diff -r "$tmp/before" "$dir" 2>&1)" ''
is '--json: six members' "$(jq -c keys_unsorted "$tmp/objects" | sort -u)" \
  '["name","path","form","number","size","sha256"]'
is '--json: form and number' "$(jq -r '"\(.form) \(.number)"' "$tmp/objects" | sort -u)" 'tar.gz 19'
is '--json: what each file is' "$(jq -r '"\(.sha256) \(.size) \(.path) \(.name)"' "$tmp/objects")" \
  "$(jq -r .path "$tmp/objects" | while read -r file; do
    echo "$(sha256sum <"$file" | cut -d' ' -f1) $(stat -c '%s %n' "$file") ${file##*/}"
  done)"
artifacts 0.3.240
exits 'without --output: exit 0' 0
is 'without --output: they are listed' "$out" \
  "$(jq -r '[.name, .form, .size, .sha256] | @tsv' "$tmp/objects" |
    awk '{ printf "%-36s %-10s %7d  %s\n", $1, $2, $3, $4 }')"
artifacts 0.3.240 --json
is 'without --output: no paths' "$(jq -c .path <<<"$out" | sort -u)" null

# ---- every release ----

rm -rf "$dir" "$tmp/before"
mkdir "$dir"
while read -r to form number; do
  artifacts "$to" -o "$dir" --json
  [ "$form" = tar.gz ] && libcs=('' -musl) || libcs=('')
  is "$to: $form, number $number" "$rc $(names)" "0 $(wanted "$number" "${libcs[@]}")"
  rm -f "$dir"/*
done < <("$SBINJECT" hosts --json | jq -r 'select(.served) | "\(.to) \(.artifact) \(.number)"')

# ---- what is there already ----

file=$dir/$name-$first-v35
echo old >"$dir/target"
ln -s target "$file"
touch "$file.tar" "$dir/$name-$first-v34" "$dir/$name-$first-v34.tar"
artifacts 0.3.285 -o "$dir/"
exits 'over others: exit 0' 0
is 'a link is replaced, and not followed' "$(stat -c %F "$file") $(cat "$dir/target")" 'regular file old'
is 'what was unpacked of it goes, and nothing else' "$(names)" \
  "$({ wanted 35 '' -musl | tr ' ' '\n' && printf '%s\n' target "$name-$first-v34" "$name-$first-v34.tar"; } |
    LC_ALL=C sort | xargs)"
rm "$dir"/*
echo old >"$file"
run bash -c 'trap "" XFSZ; ulimit -f 4; exec "$@"' - "$SBINJECT" payloads --for 'inspect_ai 0.3.285' -o "$dir"
exits 'a write that fails: exit 1' 1
one_line 'a write that fails: why' "cannot write '$dir/$name-[^']*': File too large"
is 'a write that fails leaves the old file, and no other' "$(cat "$file") $(names)" "old ${file##*/}"
artifacts 0.3.285 -o "$tmp/none"
exits 'no such directory: exit 1' 1
one_line 'no such directory: why' "directory '$tmp/none': No such file or directory"
artifacts 0.3.285 -o "$file"
exits 'no directory: exit 1' 1
one_line 'no directory: why' "'$file' is not a directory"

# ---- what is refused ----

rm "$dir"/*
for row in '99.0.0 6 use.a.newer.sbinject' '0.3.141 6 is.not.a.release' '0.3.132 5 inspect-tool-support' \
  '0.3.75 5 cannot.be.served'; do
  read -r release code why <<<"$row"
  artifacts "$release" -o "$dir"
  exits "$release: exit $code" "$code"
  one_line "$release: why" ".*$why"
done
sb payloads --for inspect_ai -o "$dir"
exits 'no release: exit 2' 2
one_line 'no release: why' "'inspect_ai' does not name a client and its release"
sb payloads --for 'inspect_ai 0.3.285' --extract "tools-$first"
exits 'with --extract: exit 2' 2
one_line 'with --extract: why' '--extract and --for cannot be combined'
is 'nothing is written then' "$(names)" ''

done_testing
