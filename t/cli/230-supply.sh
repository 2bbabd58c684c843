#!/bin/bash
# Goal: what is linked in is what Debian's archive has now: a newer version is asked for, what stands
# in the cache is used only as it was made, and the licences of all of it are named.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

arch=$("$SBINJECT" payloads --json | jq -r .arch | head -n 1)
has=$top/build/toolchain/$arch
export SBINJECT_CACHE=$tmp/cache
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

# An apt that knows what is in $tmp/versions, and an archive that cannot be reached.
mkdir "$tmp/bin"
cat >"$tmp/bin/apt-cache" <<END
#!/bin/sh
awk '{ printf "Package: %s\nVersion: %s\n\n", \$1, \$2 }' '$tmp/versions'
END
cat >"$tmp/bin/apt-get" <<END
#!/bin/sh
case " \$* " in *' indextargets '*) exec /usr/bin/apt-get "\$@" ;; esac
echo "\$*" >>'$tmp/asked'
[ -e '$tmp/reached' ] && [ "\$2" = update ] || { echo 'E: no network' >&2; exit 100; }
END
chmod 755 "$tmp/bin/apt-cache" "$tmp/bin/apt-get"
export PATH=$tmp/bin:$PATH

# cached: the cache has what the tree has, and nothing else; apt knows nothing newer.
cached() {
  rm -rf "$tmp/cache" "$tmp/made" "$tmp/asked" "$tmp/reached"
  cp "$has/.versions" "$tmp/versions"
  result=$tmp/cache/toolchain/$suite/$(awk 'NR == 1 { print $1 "-" $2 "-" $3 }' "$has/.stamp")
  result=$result-$(head -n 1 "$has/.stamp" | sha256sum | cut -c 1-16)
  mkdir -p "${result%/*}"
  cp -R "$has" "$result"
}

# newer: apt knows a newer musl.
newer() { sed -i 's/^musl-dev .*/musl-dev 99.9-1/' "$tmp/versions"; }

make_it() { run "$top/payloads/toolchain.sh" "$arch" "$tmp/made"; }

cached
make_it
exits 'as it was made: used' 0
ok 'as it was made: without the network' test ! -e "$tmp/asked"
make_it
is 'complete: nothing is done' "$rc$out$err" 0

cached
echo marker >>"$result/musl-lib/libc.a"
make_it
like 'a library was changed: said' "$err" 'is not as it was made'
exits 'a library was changed: nothing is made of it' 1
ok 'a library was changed: gone' test ! -e "$result"

cached
echo '#define marker' >"$result/musl-include/marker.h"
make_it
like 'a file was added: said' "$err" 'is not as it was made'

cached
rm -rf "$result"
source=$tmp/cache/sources/$suite/musl_$(awk '$1 == "musl-dev" { print $2 }' "$has/.versions")
mkdir -p "$source"
echo one >"$source/musl.orig.tar"
(cd "$source" && sha256sum ./musl.orig.tar >.sums)
echo another >"$source/musl.orig.tar"
make_it
like 'a source was changed: said' "$err" "sources/.*/musl_.* is not as it was made"
ok 'a source was changed: gone' test ! -e "$source"

cached
make_it
newer
touch -d 2001-01-01 "$tmp/made/.versions"
make_it
exits 'newer, no network: what the cache has' 0
like 'newer, no network: said' "$err" "cannot fetch the package lists.*linking with what the cache has: .*musl-dev $(awk '$1 == "musl-dev" { print $2 }' "$has/.versions")"
make_it
is 'newer, no network: until the lists change' "$rc$out$err" 0
touch "$tmp/reached"
touch -d 2001-01-01 "$tmp/made/.versions"
make_it
like 'newer: asked for' "$(cat "$tmp/asked")" ' source musl=99.9-1'

cached
touch "$tmp/reached"
dpkg-query -W -f '${Package} ${source:Version}\n' libcurl4-openssl-dev libarchive-dev libjansson-dev \
  libyaml-dev zlib1g-dev liblzma-dev libzstd-dev >"$tmp/versions"
echo 'libssl-dev 99.9-1' >>"$tmp/versions"
run env STATIC=auto "$top/engine/static.sh" "$tmp/made"
like 'a newer OpenSSL: asked for' "$(cat "$tmp/asked")" ' download libssl-dev'
like 'a newer OpenSSL, not to be had: said' "$err" 'using libssl-dev [0-9][^ ]*, which is installed, instead of 99.9-1'

if [ -f "$top/build/static/.sums" ]; then
  cached
  line=$(head -n 1 "$top/build/static/.stamp") kind=${line%% lib*-dev=*}
  cc=${kind#* } cc=${cc%% *}
  result=$tmp/cache/static/$suite/libs-$(echo "$kind $(dpkg --print-architecture)" | sha256sum | cut -c 1-8)
  mkdir -p "${result%/*}"
  cp -R "$top/build/static" "$result-$(echo "$line" | sha256sum | cut -c 1-16)"
  sed 's/^libssl-dev .*/libssl-dev 99.9-1/' "$top/build/static/.versions" >"$tmp/versions"
  run env "CC=$cc" "$top/engine/static.sh" "$tmp/made"
  exits 'a newer OpenSSL, no network: what the cache has' 0
  is 'a newer OpenSSL, no network: the last that was made' "$(head -n 1 "$tmp/made/.stamp")" "$line"
fi

# An archive that lists a version, of which it does not have the source.
cached
touch "$tmp/reached"
printf '%s 1.0-1\n' libcurl4-openssl-dev libarchive-dev zlib1g-dev liblzma-dev libzstd-dev libyaml-dev >"$tmp/versions"
echo 'libssl-dev 99.9-1' >>"$tmp/versions"
mv "$tmp/bin/apt-cache" "$tmp/bin/apt-cache.show"
mv "$tmp/bin/apt-get" "$tmp/bin/apt-get.no"
cat >"$tmp/bin/apt-cache" <<'END'
#!/bin/sh
[ "$1" = showsrc ] || exec "$0.show" "$@"
printf 'Package: openssl\nVersion: %s\n\n' 3.0.9-1 99.9-1 3.0.20-1
END
cat >"$tmp/bin/apt-get" <<'END'
#!/bin/sh
case " $* " in
  *' source openssl=99.9-1 '*) ;;
  *' source '*) : >one.dsc; exit ;;
esac
exec "$0.no" "$@"
END
chmod 755 "$tmp/bin/apt-cache" "$tmp/bin/apt-get"
run "$top/engine/musl.sh" "$arch" "$has" "$tmp/made"
like 'no source of the newest: the next one, which is said' "$err" 'using openssl 3\.0\.20-1 instead of 99\.9-1'
exits 'no source that can be unpacked: nothing is made' 1
ok 'no source that can be unpacked: nothing is there' test ! -e "$tmp/made"

printf 'kind\nlibssl-dev 3.0.1-1 00\nxz-utils 5.4.1-1 01\nxz-utils 5.8.1-1 02\n' >"$tmp/stamp"
run "$top/cmd/linked.sh" "sbinject=$tmp/stamp" "payloads=$tmp/none"
is 'linked.sh: name, version, licence' "$(cut -f 1-4 <<<"$out" | tr '\t' ' ')" "sbinject openssl 3.0.1-1 Apache-2.0
sbinject xz 5.4.1-1 LicenseRef-public-domain
sbinject xz 5.8.1-1 0BSD"
echo 'libnew-dev 1.0-1 03' >>"$tmp/stamp"
run "$top/cmd/linked.sh" "sbinject=$tmp/stamp"
exits 'linked.sh: a library of unknown licence is an error' 1
like 'linked.sh: it is named' "$err" 'licence of libnew-dev is not known'

while read -r name version sum; do
  like "$name: in THIRD-PARTY" "$(grep -A 1 -xF "$name $version" "$top/build/THIRD-PARTY" || :)" "sha256 $sum"
done < <(tail -qn +2 "$has/.stamp" "$top/build/static/.stamp")
done_testing
