#!/bin/bash
# Goal: the static command is one file that needs nothing: it runs in a root with nothing else, with
# musl, and with an old glibc; it finds names by hosts and by DNS, and certificates where each
# distribution has them. It is hardened as the one that is linked dynamically.
# tier: all
# SPDX-License-Identifier: MIT
if [ -z "${SBT_NETWORK:-}" ]; then
  exec env SBT_NETWORK=own unshare --net bash "$0"
fi
# shellcheck source=t/dist/lib.sh
. "$(dirname "$0")/lib.sh"

for arch in $hosts; do
  [ -x "$(static "$arch")" ] || { fail "the static command is built: $arch" "make static does it"; done_testing; }
done

# ---- the file ----

for arch in $hosts; do
  file=$(static "$arch")
  headers=$(readelf -hldW "$file")
  unlike "$arch: no loader" "$headers" 'INTERP'
  unlike "$arch: no library" "$headers" 'NEEDED'
  like "$arch: loaded anywhere" "$headers" 'Type: +DYN'
  like "$arch: sealed" "$headers" 'GNU_RELRO '
  like "$arch: the stack is not executable" "$headers" 'GNU_STACK [^'$'\n'']* RW '
  is "$arch: code, constants and data each by themselves" \
    "$(awk '$1 == "LOAD" { f = $7; if ($8 !~ /^0x/) f = f $8; print f }' <<<"$headers" | xargs)" 'R RE R RW'
  is "$arch: no path of this machine" "$(strings "$file" | grep -cF -e "$top" -e "${HOME:-/root}/" -e /.tmp.)" 0
  read -r -a emulator < <("$top/payloads/toolchain.sh" --emulator "$arch") || :
  run ${emulator[@]+"${emulator[@]}"} "$file" --version --json
  is "$arch: says what it was built for" "$(jq -r .arch <<<"$out")" "$arch"
  is "$arch: names what is linked in" "$(jq -r '.libraries[] | select(.in == "sbinject").name' <<<"$out" | sort | xargs)" \
    'curl jansson libarchive libgcc libyaml musl openssl xz zlib zstd'
done
run ldd "$(static "$native")"
like 'ldd finds nothing' "$out$err" '(not a dynamic executable|statically linked)'

# ---- roots ----

# root NAME: an empty one, with the command in it
root() {
  mkdir -p "$tmp/$1"
  cp "$(static "$native")" "$tmp/$1/sbinject"
}

root scratch
runs_in 'nothing else' "$tmp/scratch" /sbinject

root musl
mkdir -p "$tmp/musl/bin" "$tmp/musl/lib" "$tmp/musl/etc"
cp "$(command -v busybox)" "$tmp/musl/bin/"
for f in /lib/ld-musl-*.so.1; do [ ! -e "$f" ] || cp -L "$f" "$tmp/musl/lib/"; done
printf 'root:x:0:0::/:/bin/sh\n' >"$tmp/musl/etc/passwd"
ok 'musl: there is its loader' ls "$tmp"/musl/lib/ld-musl-*
runs_in 'musl' "$tmp/musl" /sbinject

# ---- names and certificates ----

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key.pem" -out "$tmp/cert.pem" -days 2 \
  -subj /CN=web.test -addext subjectAltName=DNS:web.test 2>/dev/null
cat "$tmp/key.pem" "$tmp/cert.pem" >"$tmp/both.pem"
"$top/t/dist/net.py" "$tmp/both.pem" "$tmp/ready" 2>"$tmp/net.log" &
net=$!
trap 'kill "$net" 2>/dev/null; rm -rf --one-file-system "$tmp"' EXIT
until [ -e "$tmp/ready" ]; do
  kill -0 "$net" || { fail 'the network is there' "$(cat "$tmp/net.log")"; done_testing; }
  sleep 0.1
done
mkdir -p "$tmp/scratch/etc"

listed() { in_root "$tmp/scratch" /sbinject ls --host "tcp://$1:2375"; }

printf '127.0.0.1 engine\n' >"$tmp/scratch/etc/hosts"
listed engine
is 'a name in hosts' "$rc $err" '0 '
printf 'nameserver 127.0.0.53\n' >"$tmp/scratch/etc/resolv.conf"
listed engine.test
is 'a name by DNS' "$rc $err" '0 '
listed nobody.example
is 'a name that nobody knows: exit code' "$rc" 3
like 'a name that nobody knows: said' "$err" 'nobody\.example'

fetched() { trace=http in_root "$tmp/scratch" /sbinject fetch --mirror https://web.test upstream-v35-amd64; }

fetched
is 'no certificates: exit code' "$rc" 1
like 'no certificates: what to do' "$err" 'SSL_CERT_FILE names a file of them'
mkdir -p "$tmp/scratch/etc/ssl"
openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out "$tmp/scratch/etc/ssl/cert.pem" -days 2 \
  -subj /CN=web.test -addext subjectAltName=DNS:web.test 2>/dev/null
fetched
is 'others: exit code' "$rc" 1
like 'others: said' "$err" 'cannot download .*certificate'
rm "$tmp/scratch/etc/ssl/cert.pem"
for file in etc/ssl/certs/ca-certificates.crt etc/pki/tls/certs/ca-bundle.crt \
  etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem etc/ssl/ca-bundle.pem etc/ssl/cert.pem; do
  mkdir -p "$tmp/scratch/${file%/*}"
  cp "$tmp/cert.pem" "$tmp/scratch/$file"
  fetched
  like "certificates in /$file" "$err" 'GET https://web\.test/[0-9a-f]+ .* -> 404'
  rm "$tmp/scratch/$file"
done

done_testing
