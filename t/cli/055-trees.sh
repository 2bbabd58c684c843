#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the archive of a tree is described alike whatever wrote it, what cannot be one is refused in one
# line, and so is what --tree, --with and a rules file say of trees that cannot be.
# tier: check
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

dir=$tmp/dir T=$tmp/tree
mkdir "$dir"
export DOCKER_HOST=unix://$tmp/none # no engine answers

# ---- a tree, and its archives ----

long=$(printf 'n%.0s' {1..60})/$(printf 'm%.0s' {1..60}) # more than the 100 bytes of a header
mkdir -p "$T/bin" "$T/lib/empty" "$T/lib/$long"
printf '#!/bin/sh\n' >"$T/bin/run"
head -c 300000 /dev/urandom >"$T/lib/data"
echo text >"$T/lib/$long/file"
echo umlaut >"$T/lib/ä ö"
ln "$T/lib/data" "$T/lib/same"
ln -s ../lib/data "$T/bin/data"
ln -s "${long%/*}" "$T/lib/link"
find "$T" -type f -exec chmod 644 {} +
chmod 755 "$T/bin/run"
D=$(python3 "$top/t/payload/tree.py" digest "$T")

# described NAME FILE: it is this tree.
described() {
  sb payloads --describe "$2" --json
  is "$1" "$rc $(jq -r '"\(.tree) \(.files) \(.sha256) \(.size)"' <<<"$out" 2>/dev/null) $err" \
    "0 $D $(find "$T" ! -type d | wc -l) $(sha256sum <"$2" | cut -d' ' -f1) $(stat -c %s "$2") "
}

# pack NAME COMMAND...: with "TAR" for the archive; in the tree.
pack() {
  local name=$1
  shift
  if ! type "$1" >/dev/null 2>&1; then
    skip "$name" "no $1 here"
    return
  fi
  rm -f "$dir/x.tar"
  (cd "$T" && "${@//TAR/$dir/x.tar}") 2>"$tmp/pack.err" || { fail "$name" "$(cat "$tmp/pack.err")"; return; }
  described "$name" "$dir/x.tar"
}

pack 'GNU tar' tar -cf TAR .
pack 'GNU tar, without ./' tar -cf TAR bin lib
pack 'GNU tar, pax' tar --format=pax -cf TAR .
pack 'GNU tar, ustar' tar --format=ustar -cf TAR .
pack 'GNU tar, oldgnu' tar --format=oldgnu -cf TAR .
pack 'GNU tar, pax, in the C locale' env LC_ALL=C tar --format=pax -cf TAR .
pack 'GNU tar, without directories' bash -c 'find . ! -type d -o -empty | tar --no-recursion -T - -cf TAR'
pack 'GNU tar, hard links as files' tar --hard-dereference -cf TAR .
pack 'bsdtar' bsdtar -cf TAR .
pack 'bsdtar, pax' bsdtar --format=pax -cf TAR .
pack 'bsdtar, ustar' bsdtar --format=ustar -cf TAR bin lib
pack 'BusyBox tar' busybox tar -cf TAR .
# tarred FORMAT: by Python.
tarred() {
  python3 -c "import tarfile
with tarfile.open('$dir/x.tar', 'w', format=tarfile.${1^^}_FORMAT) as tar: tar.add('.')"
}
export -f tarred
export dir
for format in ustar gnu pax; do
  pack "Python's tarfile, $format" tarred "$format"
done
# as Docker's export: no "./", root's, and no top
pack 'docker export' bash -c 'cd "$1" && python3 -c "import os, tarfile
with tarfile.open(\"$2\", \"w\", format=tarfile.PAX_FORMAT) as tar:
    for name in sorted(os.listdir()): tar.add(name)"' - "$T" TAR

tar -C "$T" -cf "$dir/plain.tar" .
gzip -k "$dir/plain.tar"
described 'gzip' "$dir/plain.tar.gz"
for packer in xz zstd; do
  if command -v $packer >/dev/null; then
    $packer -qk "$dir/plain.tar"
    described $packer "$(ls "$dir"/plain.tar.*z*"${packer:0:1}"* "$dir"/plain.tar."${packer:0:2}"* 2>/dev/null | grep -v gz | head -n 1)"
  else
    skip $packer "no $packer here"
  fi
done
cp "$dir/plain.tar" "$dir/with a name that says nothing"
described 'the name says nothing' "$dir/with a name that says nothing"
for locale in C C.UTF-8 POSIX; do
  export LC_ALL=$locale
  described "in the locale $locale" "$dir/plain.tar"
done
export LC_ALL=C.UTF-8

# ---- for people ----

sb payloads --describe "$dir/plain.tar"
exits 'for people: exit 0' 0
is 'for people: four lines, of which three go into a rules file' "$out" \
  "# $dir/plain.tar: $(find "$T" ! -type d | wc -l) files, $(find "$T" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }') bytes
format: tar
sha256: $(sha256sum <"$dir/plain.tar" | cut -d' ' -f1)
tree: $D"
lines=$(sed -n '2,4s/^/    /p' <<<"$out")
sb payloads --describe "$dir/plain.tar" --json
is '--json: seven members' "$(jq -c keys_unsorted <<<"$out")" \
  '["file","format","sha256","tree","size","files","bytes"]'

# ---- memory ----

head -c 300000000 /dev/zero >"$dir/zeros"
tar -C "$dir" -cf "$dir/large.tar" zeros
rm "$dir/zeros"
peak=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$SBINJECT" payloads --describe "$dir/large.tar")
echo "# peak memory with 300 MB: $peak KiB"
is '300 MB take less than 40 MB of memory' "$((peak < 40000))" 1
rm "$dir/large.tar"

# ---- what is no archive ----

# refused NAME REGEX FILE: by --describe and --tree, in one line.
refused() {
  sb payloads --describe "$3"
  exits "$1: exit 2" 2
  one_line "$1: why" "$2"
  sb --tree "/opt/t=$3" x
  exits "--tree, $1: exit 2" 2
  one_line "--tree, $1: why" "$2"
}

mkfifo "$dir/fifo"
echo 'hello, world' >"$dir/junk"
: >"$dir/empty"
tar -cf "$dir/none.tar" -T /dev/null
head -c 100000 "$dir/plain.tar" >"$dir/cut.tar"
head -c 100000 "$dir/plain.tar.gz" >"$dir/cut.tar.gz"
python3 -c "import tarfile
tar = tarfile.open('$dir/up.tar', 'w')
tar.addfile(tarfile.TarInfo('../up'))"
refused 'no such file' "no such file '$dir/no'" "$dir/no"
refused 'a directory' "'$dir' is not a regular file|'$dir': Is a directory" "$dir"
refused 'a FIFO' "'$dir/fifo' is not a regular file" "$dir/fifo"
refused 'a device' "'/dev/zero' is not a regular file" /dev/zero
refused 'junk' "'$dir/junk' is not a tar archive that can be read: " "$dir/junk"
refused 'nothing' "'$dir/empty' is not a tar archive that can be read: " "$dir/empty"
refused 'an empty archive' "'$dir/none.tar' is empty" "$dir/none.tar"
refused 'cut off' "'$dir/cut.tar'.*(not a tar archive that can be read: Truncated|less content)" "$dir/cut.tar"
refused 'gzip, cut off' "'$dir/cut.tar.gz'.*(not a tar archive that can be read: .*runcated|less content)" "$dir/cut.tar.gz"
head -c 1536 "$dir/plain.tar" >"$dir/short.tar"
refused 'cut off between members' "'$dir/short.tar' is cut off: it has no mark at its end" "$dir/short.tar"
refused 'a name that leaves' "'$dir/up.tar': '../up': its path is not a plain relative one" "$dir/up.tar"
if [ "$(id -u)" -ne 0 ]; then
  chmod 0 "$dir/junk"
  refused 'not to be read' "'$dir/junk': Permission denied" "$dir/junk"
fi

# ---- --describe with others ----

sb payloads --describe "$dir/plain.tar" --extract tools-amd64
exits '--describe, --extract: exit 2' 2
one_line '--describe, --extract: why' '--extract and --describe cannot be combined'
sb payloads --describe "$dir/plain.tar" --for 'inspect_ai 0.3.285'
one_line '--describe, --for: why' '--for and --describe cannot be combined'
sb payloads --describe
exits '--describe without a file: exit 2' 2

# ---- --tree ----

# usage NAME REGEX ARGUMENT...
usage() {
  sb "${@:3}" x
  exits "$1: exit 2" 2
  one_line "$1: why" "$2"
}

file=$dir/plain.tar
usage '--tree without =' "--tree: '/opt/t' is not DIR=FILE" --tree /opt/t
usage '--tree without a directory' "--tree: '' cannot be a tree's directory: it is not absolute" --tree "=$file"
usage '--tree without a file' "no such file ''" --tree /opt/t=
for row in 'opt/t it.is.not.absolute' '/opt/t/ a.slash.too.many' '/opt/../t contains' '/opt well-known' \
  '/ a.slash.too.many|well-known' '/usr/lib well-known' '/home/me well-known' '/proc/t cannot.hold.files' \
  '/var/tmp/.sbinject/t files.of.their.own' $'/opt/\xc3\xa4 printable'; do
  read -r path why <<<"$row"
  usage "--tree $path" "--tree: .*cannot be a tree's directory: .*($why)" --tree "$path=$file"
done
usage '--tree twice the same' "the directory '/opt/t' of 't' overlaps that of 't'" \
  --tree "/opt/t=$file" --tree "/opt/t=$file"
usage '--tree in another' "the directory '/opt/t/u' of 'u' overlaps that of 't'" \
  --tree "/opt/t=$file" --tree "/opt/t/u=$file"
usage "--tree in the service's directory" "overlaps that of the service" \
  --tree "/var/tmp/.da7be258e003d428/t=$file"
usage "--tree for the service's directory" "overlaps that of the service" \
  --tree "/var/tmp/.da7be258e003d428=$file"
nine=()
for i in 1 2 3 4 5 6 7 8 9; do nine+=(--tree "/opt/t$i=$file"); done
usage 'nine trees' '--tree: at most 8 trees' "${nine[@]}"
sb "${nine[@]:0:16}" x
exits 'eight trees and no engine: exit 3' 3

# ---- --with, and rules ----

usage '--with what is not there' "--with: the rules in force \(built-in\) have no payload 'x'" --with x
usage '--with a program' "payload 'tools-amd64' is no tree with 'install'; only those can be added" \
  --with tools-amd64

# rules [RULE] [KEY]: a rules file in $tmp/rules.yaml
rules() {
  cat >"$tmp/rules.yaml" <<RULES
version: 1
payloads:
  tools-amd64: {source: embedded}
  tree:
    source: file
    path: dir/plain.tar
${2-$lines}
    install: /opt/t
rules:
- {when: {}, use: tools-amd64${1:+, $1}}
RULES
}

rules 'with: [tree]'
sb rules --check "$tmp/rules.yaml"
exits 'a rules file with what --describe prints: exit 0' 0
sb --config "$tmp/rules.yaml" --with tree x
exits '--with a tree of the rules, no engine: exit 3' 3
usage '--with one twice' "the directory '/opt/t' of 'tree' overlaps that of 'tree'" \
  --config "$tmp/rules.yaml" --with tree,tree
usage '--with, and --tree in it' "the directory '/opt/t/u' of 'u' overlaps that of 'tree'" \
  --config "$tmp/rules.yaml" --with tree --tree "/opt/t/u=$file"
usage '--with nine' '--with: at most 8 trees' --config "$tmp/rules.yaml" \
  --with tree,tree,tree,tree,tree,tree,tree,tree,tree
usage '--with nothing between commas' "have no payload ''" --config "$tmp/rules.yaml" --with tree,,tree

# wrong NAME REGEX [RULE] [KEYS]
wrong() {
  rules "${@:3}"
  sb rules --check "$tmp/rules.yaml"
  exits "rules: $1: exit 2" 2
  one_line "rules: $1: why" "$tmp/rules.yaml:[0-9]+:[0-9]+: $2"
}

wrong 'not a list' "'with' must be a list, not a string" 'with: tree'
wrong 'not defined' "payload 'other' is not defined" 'with: [other]'
wrong 'a program' "payload 'tools-amd64' is no tree with 'install'" 'with: [tools-amd64]'
wrong 'no digest of the tree' "payload 'tree' is a tree and needs the key 'tree'; 'sbinject payloads --describe FILE' prints it" \
  '' "$(sed '$d' <<<"$lines")"
wrong 'no format' "'tree' needs 'format: tar'" '' "$(sed 1d <<<"$lines")"
wrong 'a format of the name' "unknown format 'tar.gz'; known formats: binary, tar" '' "$(sed 's/: tar$/: tar.gz/' <<<"$lines")"
wrong 'a launcher that leaves' "'../x' cannot be the launcher: it contains '.' or '..'" '' \
  "$lines"$'\n    launcher: ../x'

done_testing
