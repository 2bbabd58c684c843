#!/bin/bash
# Goal: what the manual says of a tree's digest computes the one that sbinject does; a rules file can be
# checked against archives.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# the commands, as the manual prints them
sed -n '/053-tree-digest/,/^\.EE/p' "$top/man/sbinject.1" |
  sed '/^\./d; s/\\e/\\/g; s/\\(aq/'\''/g; s/\\(dq/"/g; s/\\-/-/g' >"$tmp/digest.sh"
like 'the manual has the commands' "$(cat "$tmp/digest.sh")" '^find .*sha256sum$'
by_hand() { (cd "$1" && bash "$tmp/digest.sh") | cut -c-64; }
described() { "$SBINJECT" payloads --json --describe "$1" | jq -r .tree; }

t=$tmp/tree
mkdir -p "$t/bin" "$t/lib/deep/er" "$t/empty" "$t/a b"
cp /bin/true "$t/bin/run"
printf '#!/bin/sh\n' >"$t/bin/script" && chmod 755 "$t/bin/script"
head -c 300000 /dev/urandom >"$t/lib/data"
: >"$t/lib/deep/er/nothing"
echo text >"$t/ä ö ü"
echo text >"$t/a b/ blanks at both ends "
echo text >"$t/-n"
echo text >"$t/back\\slash"
echo text >"$t/lib.txt" # sorts between lib and what is in it
echo text >"$t/lib-a"
chmod 711 "$t/bin/run"
chmod 654 "$t/lib/data"
ln -s ../lib/data "$t/bin/data"
ln -s 'deep/er' "$t/lib/- link"
ln "$t/lib/data" "$t/other name"
for how in gz xz zst; do
  tar -C "$t" -caf "$tmp/tree.tar.$how" .
  is "a tree, $how: the digest is that of the archive" "$(described "$tmp/tree.tar.$how")" "$(by_hand "$t")"
done
# without lines for directories
(cd "$t" && find . ! -type d -print0 | tar --null --no-recursion -cf "$tmp/files.tar" -T -)
is 'an archive without directories' "$(described "$tmp/files.tar")" \
  "$(rmdir "$t/empty" && by_hand "$t" && mkdir "$t/empty")"
one=$(by_hand "$t")
chmod -R go-rwx "$t" && touch -d '1 day ago' "$t/lib/data"
is 'modes for others and times do not matter' "$(by_hand "$t")" "$one"
chmod u+x "$t/lib.txt"
tar -C "$t" -cf "$tmp/exec.tar" .
is 'what is executable does' "$(described "$tmp/exec.tar")" "$(by_hand "$t")"
unlike '… it is another tree' "$(by_hand "$t")" "^$one$"

# ---- rules --check ----

# rules SHA256 TREE [LINE...]: a file with such a payload
rules() {
  printf '%s\n' 'version: 1' 'payloads:' '  tools-amd64: {source: embedded}' '  thing:' '    source: file' \
    '    path: tree.tar.gz' '    format: tar' "    sha256: $1" "    tree: $2" '    install: /opt/thing' "${@:3}" \
    'rules:' '  - {when: {os: linux}, use: tools-amd64, with: [thing]}' >"$tmp/r.yaml"
}
sha256=$(sha256sum <"$tmp/tree.tar.gz" | cut -c-64)
tree=$(described "$tmp/tree.tar.gz")
none=$(printf '%064d' 0)
# warns NAME REGEX
warns() {
  sb rules --check "$tmp/r.yaml"
  like "$1" "$rc $out" "^0 warning: $tmp/r.yaml:4:3: $2.*1 rule, no errors$"
}
rules "$sha256" "$tree" '    launcher: bin/run'
sb rules --check "$tmp/r.yaml"
is 'an archive that is right' "$rc $out" "0 $tmp/r.yaml: 1 rule, no errors"
rules "$none" "$tree"
warns 'another archive' "payload 'thing' is not the pinned one: .* has sha256 $sha256"
rules "$sha256" "$none"
warns 'another tree in it' "payload 'thing' is not the pinned one: what is in it has the digest $tree"
rules "$sha256" "$tree" '    launcher: bin/data'
warns 'a launcher that is a link' "'$tmp/tree.tar.gz' has no executable file 'bin/data'"
rules "$sha256" "$tree" '    launcher: bin/script'
warns 'a launcher that is no program' "'$tmp/tree.tar.gz': the launcher 'bin/script' is not an ELF program"
tar -C "$t" -cf "$tmp/large.tar" lib
head -c 70000000 /dev/zero >"$tmp/zero"
tar -C "$tmp" -rf "$tmp/large.tar" zero
rules "$(sha256sum <"$tmp/large.tar" | cut -c-64)" "$(described "$tmp/large.tar")"
sed -i 's/tree\.tar\.gz/large.tar/' "$tmp/r.yaml"
sb rules --check "$tmp/r.yaml"
is 'an archive of more than 64 MiB' "$rc $out" "0 $tmp/r.yaml: 1 rule, no errors"
rules "$sha256" "$tree"
rm "$tmp/tree.tar.gz"
warns 'an archive that is missing' "payload 'thing': no such file '$tmp/tree.tar.gz'"
rules "$sha256" "$tree"
sed -i 's/source: file/source: store/; /path:/d' "$tmp/r.yaml"
sb rules --check "$tmp/r.yaml"
is 'one that is still to come into the store' "$rc $out" "0 $tmp/r.yaml: 1 rule, no errors"

# ---- the example ----

cp "$top/conf/examples/python3.yaml" "$tmp/r.yaml"
sb rules --check "$tmp/r.yaml"
is 'the rules of the example are rules' "$rc $out" \
  "0 warning: $tmp/r.yaml:10:3: payload 'python3': no such file '$tmp/python3.tar.gz'"$'\n'"$tmp/r.yaml: 2 rules, no errors"

done_testing
