#!/bin/bash
# Goal: the embedded payloads are listed truly, come out unharmed, and are static programs.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

max_amd64=400000

sb payloads --json
exits "payloads --json" 0
cp "$tmp/run.out" "$tmp/list"
is "every line is an object of six members" \
  "$(jq -c 'keys_unsorted' "$tmp/list" | sort -u)" \
  '["name","arch","release","wire","size","sha256"]'
is "types and forms are as documented" "$(jq -c '[(.name == "tools-" + .arch),
  (.release | test("^[0-9]+[.][0-9]+[.][0-9]+$")), (.wire | type), (.size > 10000),
  (.sha256 | test("^[0-9a-f]{64}$"))]' "$tmp/list" | sort -u)" '[true,true,"number",true,true]'
is "each architecture is there once" "$(jq -r .arch "$tmp/list" | sort | uniq -d)" ""
is "the table says the same" "$("$SBINJECT" payloads | awk '{ print $1, $2, $3, $4, $5 }')" \
  "$(jq -r '[.name, .arch, .release, (.size | tostring), .sha256] | join(" ")' "$tmp/list")"
sb payloads
is "--version agrees on release" "$("$SBINJECT" --version | awk 'NR == 1 { print $2 }')" \
  "$(jq -r .release "$tmp/list" | sort -u)"

machine=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/; s/armv7l/armv7/')
elf_machine() {
  case $1 in
    amd64) echo "Advanced Micro Devices X86-64" ;;
    arm64) echo AArch64 ;;
    armv7) echo ARM ;;
    riscv64) echo RISC-V ;;
    ppc64le) echo PowerPC64 ;;
    s390x) echo IBM S/390 ;;
    *) echo "$1" ;;
  esac
}

while read -r name arch size sum; do
  file=$tmp/$name
  sb payloads --extract "$name" --output "$file"
  is "$name: --output succeeds and says nothing" "$rc $out$err" "0 "
  is "$name: size and digest of the file" "$(stat -c %s "$file") $(sha256sum <"$file")" \
    "$size $sum  -"
  is "$name: digest through a pipe" "$("$SBINJECT" payloads --extract "$name" | sha256sum)" \
    "$sum  -"
  "$SBINJECT" payloads "--extract=$name" >"$file.2"
  cmp -s "$file" "$file.2" && same=yes || same=no
  is "$name: the same to a redirected stdout" "$same" yes
  [ -x "$file" ] && runs=yes || runs=no
  is "$name: the file is executable" "$runs" yes
  echo "a much longer text than before" >>"$file"
  "$SBINJECT" payloads --extract "$name" -o "$file"
  is "$name: an existing file is replaced whole" "$(sha256sum <"$file")" "$sum  -"

  is "$name: an ELF program for its machine" \
    "$(readelf -h "$file" | sed -nE 's/ +(Type|Machine): +//p' | xargs)" \
    "DYN (Position-Independent Executable file) $(elf_machine "$arch")"
  is "$name: static" "$(readelf -ldW "$file" | grep -cE 'INTERP|NEEDED')" 0
  is "$name: no executable stack" "$(readelf -lW "$file" | awk '$1 == "GNU_STACK" { print $7 }')" RW
  is "$name: stripped" "$(readelf -SW "$file" | grep -cE '\.(symtab|debug_)')" 0
  is "$name: no build id" "$(readelf -nW "$file" 2>/dev/null | grep -c 'Build ID')" 0
  is "$name: no path of the building machine" "$(grep -acF "$top" "$file")" 0
  if [ "$arch" = "$machine" ]; then
    run "$file" version
    is "$name: runs here and tells its release" "$rc $out" \
      "0 $(jq -r .release "$tmp/list" | sort -u)"
  fi
  if [ "$arch" = amd64 ]; then
    [ "$size" -lt "$max_amd64" ] && fits=yes || fits="no: $size"
    is "$name: smaller than $max_amd64 bytes" "$fits" yes
  fi
done < <(jq -r '[.name, .arch, (.size | tostring), .sha256] | join(" ")' "$tmp/list")

first=$(jq -rs '.[0].name' "$tmp/list")
rc=0
out=$(script -qec "'$SBINJECT' payloads --extract $first" /dev/null </dev/null 2>&1) || rc=$?
is "a terminal is refused: exit 2" "$rc" 2
like "a terminal is refused: why" "$out" '^sbinject: .*terminal'
[ "${#out}" -lt 200 ] && short=yes || short="no: ${#out} bytes"
is "a terminal is refused: no bytes of it" "$short" yes
rc=0
script -qec "'$SBINJECT' payloads --extract $first -o '$tmp/t'" /dev/null </dev/null >/dev/null || rc=$?
is "from a terminal to a file is fine" "$rc $(sha256sum <"$tmp/t")" \
  "0 $(jq -rs '.[0].sha256' "$tmp/list")  -"

sb payloads --extract tools-pdp11
exits "an unknown payload: exit 2" 2
one_line "an unknown payload is named" "'tools-pdp11'.*'sbinject payloads'"
sb --json payloads --extract tools-pdp11
is "an unknown payload with --json" "$(jq -r .code <<<"$out")" usage
sb payloads --extract "$first" --output "$tmp/no/such"
exits "a file that cannot be written: exit 1" 1
one_line "a file that cannot be written is named" "cannot write '$tmp/no/such'"
sb payloads --extract "$first" --output /dev/full
exits "a full disk: exit 1" 1
sb payloads --output "$tmp/x"
exits "--output without --extract: exit 2" 2
one_line "--output without --extract: why" "--extract"

sb payloads --json --extract "$first"
exits "--json and bytes on one stdout: exit 2" 2
is "--json and bytes on one stdout: an object, no bytes" "$(jq -r .code <<<"$out")" usage
sb payloads --json --extract "$first" --output "$tmp/with-json"
is "--json with --output describes what was written" \
  "$rc $(jq -r '.name + " " + .sha256' <<<"$out")" "0 $first $(sha256sum <"$tmp/with-json" | cut -c-64)"

# ---- what --output leaves ----

sum=$(jq -rs '.[0].sha256' "$tmp/list")
names() { find . -mindepth 1 -printf '%P\n' | sort | xargs; }
mkdir "$tmp/dir"
cd "$tmp/dir"
echo old >plain
chmod 644 plain
ln -s plain link
: >untouched && ln untouched hard
for name in plain ./new link hard; do
  sb payloads --extract "$first" -o "$name"
  is "-o $name: whole, mode 0755" "$rc $(stat -Lc %a "$name") $(sha256sum <"$name")" "0 755 $sum  -"
done
is "-o: a link stays one" "$(readlink link)" plain
is "-o: the other name of a file keeps its bytes" "$(wc -c <untouched)" 0
is "-o: nothing else is left" "$(names)" "hard link new plain untouched"
rm new
echo old >plain
chmod 644 plain
for name in plain new; do
  # More than the limit cannot be written; the signal would kill.
  run bash -c 'trap "" XFSZ; ulimit -f 4; exec "$@"' - "$SBINJECT" payloads --extract "$first" -o $name
  exits "-o $name: a write that fails: exit 1" 1
  one_line "-o $name: a write that fails: why" "cannot write '$name': File too large"
done
is "a failure leaves the old file, and no other" "$(cat plain) $(stat -c %a plain) $(names)" \
  "old 644 hard link plain untouched"
sb payloads --extract "$first" -o "$tmp/dir"
exits "-o with a directory: exit 1" 1
sb payloads --extract "$first" -o ''
exits "-o with an empty name: exit 1" 1
sb payloads --extract "$first" -o /dev/null
is "-o /dev/null is written to" "$rc $(stat -c %F /dev/null)" "0 character special file"
is "-o /dev/stdout is written to" \
  "$("$SBINJECT" payloads --extract "$first" -o /dev/stdout | sha256sum)" "$sum  -"
mkfifo pipe
sha256sum <pipe >"$tmp/piped" &
sb payloads --extract "$first" -o pipe
wait $!
is "-o with a pipe is written to" "$rc $(cat "$tmp/piped")" "0 $sum  -"

done_testing
