#!/bin/bash
# SPDX-License-Identifier: MIT
# image.sh: container images for the live tests, made without any registry from
# Debian packages and t/images/pause.c.  Each is a docker-archive tar cached in
# $SBINJECT_CACHE/images and loaded through an engine's REST API as
# sbinject-test/NAME:1.  usage() lists the commands, recipes the images.
# shellcheck disable=SC2317	# the recipes are called by computed names
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/engines/paths.sh
. "$here/../engines/paths.sh"
# shellcheck source=t/images/packages.sh
. "$here/packages.sh"

# name  version  what it is; a changed version (or pause.c) rebuilds the image.
recipes="\
scratch    1  one static program and nothing else
busybox    1  static busybox, no libc
musl       1  musl, dynamic busybox, an Alpine-like os-release
bookworm   1  Debian 12 (essential packages)
python     1  Debian 12 with Python
arm64      1  static arm64 busybox, labelled arm64/v8, needs binfmt
mislabel   1  amd64 programs only, labelled arm64
distroless 1  glibc without a shell, runs as user 65532
bullseye   1  Debian 11 (essential packages)
trixie     1  Debian 13 (essential packages)
forky      1  Debian testing (essential packages)
sid        1  Debian unstable (essential packages)
planted    1  busybox, and links at the names that sbinject uses"

images=$SBINJECT_CACHE/images
label=sbinject-test.recipe
date=@1700000000
export SOURCE_DATE_EPOCH=${date#@}

say() { printf 'image: %s\n' "$*"; }
die() { printf 'image: %s\n' "$*" >&2; exit 1; }

usage() {
  cat <<-END
	usage: image.sh build NAME | load ENGINE NAME... | list
	$recipes
	END
}

# recipe NAME: what the cached image must have been made from.
recipe() {
  local version
  version=$(awk -v n="$1" '$1 == n { print $2 }' <<<"$recipes")
  [ -n "$version" ] || die "unknown image '$1' (see image.sh list)"
  printf '%s-%s-%.12s\n' "$1" "$version" "$(sha256sum <"$here/pause.c")"
}

# --- ingredients ------------------------------------------------------------

pause_amd64() {
  musl-gcc -static -Os -s -Wl,-z,noseparate-code -o "$1/pause" "$here/pause.c"
}

pause_arm64() {
  aarch64-linux-gnu-gcc -static -Os -s -o "$1/pause" "$here/pause.c"
}

# accounts ROOT: passwd, group and the usual empty directories.
accounts() {
  mkdir -p "$1"/{dev,etc,home/user,proc,root,run,sys,tmp,usr/bin,var/tmp}
  cat >"$1/etc/passwd" <<-END
	root:x:0:0:root:/root:/bin/sh
	user:x:1000:1000:user:/home/user:/bin/sh
	nobody:x:65534:65534:nobody:/:/bin/false
	END
  printf 'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n' >"$1/etc/group"
  chmod 1777 "$1/tmp" "$1/var/tmp"
  chmod 700 "$1/root"
  chown 1000:1000 "$1/home/user"
}

# applets ROOT BUSYBOX-LIST: links to /bin/busybox for every applet named.
applets() {
  local path
  while read -r path; do
    path=${path##*/}
    [ "$path" = busybox ] || ln -sf busybox "$1/bin/$path"
  done <"$2"
}

# --- recipes: fill the root directory $1; $work is for intermediate files ---

make_scratch() { pause_amd64 "$1"; }

make_mislabel() { pause_amd64 "$1"; }

make_busybox() {
  accounts "$1"
  mkdir "$1/bin"
  cp /bin/busybox "$1/bin/busybox"
  /bin/busybox --list >"$work/applets"
  applets "$1" "$work/applets"
  pause_amd64 "$1"
}

make_planted() {
  make_busybox "$1"
  ln -s /etc "$1/.sbinject"
  ln -s /etc "$1/var/tmp/.da7be258e003d428"
}

make_arm64() {
  accounts "$1"
  mkdir "$1/bin"
  (cd "$work" && packages bookworm arm64 busybox-static && unpack busybox-static deb)
  cp "$work/deb/bin/busybox" "$1/bin/busybox"
  /bin/busybox --list >"$work/applets"
  applets "$1" "$work/applets"
  pause_arm64 "$1"
}

# musl: as close to Alpine as Debian's archive allows.
make_musl() {
  accounts "$1"
  mkdir -p "$1"/{bin,sbin,lib,etc/apk,usr/lib,usr/sbin}
  build_busybox
  cp "$work"/busybox-*/busybox "$1/bin/busybox"
  while read -r applet; do
    mkdir -p "$1/${applet%/*}"
    ln -sf /bin/busybox "$1/$applet"
  done <"$(echo "$work"/busybox-*/busybox.links)"
  cp -L /usr/lib/x86_64-linux-musl/libc.so "$1/lib/ld-musl-x86_64.so.1"
  ln -s ld-musl-x86_64.so.1 "$1/lib/libc.musl-x86_64.so.1"
  cat >"$1/usr/lib/os-release" <<-END
	NAME="Alpine Linux"
	ID=alpine
	VERSION_ID=3.18.0
	PRETTY_NAME="Alpine Linux v3.18"
	END
  ln -s ../usr/lib/os-release "$1/etc/os-release"
  echo 3.18.0 >"$1/etc/alpine-release"
  echo x86_64 >"$1/etc/apk/arch"
  pause_amd64 "$1"
}

# build_busybox: a busybox linked dynamically against musl, under $work.
build_busybox() {
  say "building busybox with musl-gcc (about a minute)"
  (
    cd "$work"
    package_lists bookworm amd64
    private_apt bookworm amd64 apt-get --download-only source busybox
    dpkg-source --no-check -x busybox_*.dsc
    cd busybox-*/
    make defconfig
    # what needs kernel headers that musl-gcc does not see, or glibc
    sed -i -E 's/^CONFIG_(TC|FEATURE_TC_.*|NSENTER|IFPLUGD|NBDCLIENT|UBI.*|FLASH.*|NAND.*|MTD.*|FEATURE_MOUNT_NFS|FEATURE_INETD_RPC|EXTRA_COMPAT|FEATURE_SYSTEMD|SELINUX|PAM)=y/# CONFIG_\1 is not set/' .config
    make -j4 CC="musl-gcc -idirafter /usr/include -idirafter /usr/include/$(gcc -dumpmachine)" \
      KCONFIG_NOTIMESTAMP=1 busybox busybox.links
  ) >"$work/log" 2>&1 </dev/null || {
    tail -n 15 "$work/log" >&2
    die "cannot build busybox"
  }
}

make_distroless() {
  accounts "$1"
  (cd "$work" && packages bookworm amd64 libc6 libgcc-s1 base-files netbase)
  for package in libc6 libgcc-s1 base-files netbase; do
    (cd "$work" && unpack "$package" "$1")
  done
  rm -rf "$1"/usr/share/{doc,man,lintian} "${1:?}"/{boot,media,mnt,srv}
  echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >>"$1/etc/passwd"
  echo 'nonroot:x:65532:' >>"$1/etc/group"
  install -d -o 65532 -g 65532 -m 700 "$1/home/nonroot"
  chmod 1777 "$1/tmp" "$1/var/tmp"
  pause_amd64 "$1"
}

# debian SUITE [PACKAGE]: its tar is made by mmdebstrap at once, as $work/layer.tar.
debian() {
  mkdir "$work/add"
  pause_amd64 "$work/add"
  mmdebstrap --variant=essential --mode=root --format=tar \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --customize-hook="copy-in $work/add/pause /" \
    --skip=output/dev ${2:+--include="$2"} \
    "$1" "$work/layer.tar" "$(mirror)" >"$work/log" 2>&1 || {
    tail -n 5 "$work/log" >&2
    die "cannot build $1"
  }
}

# --- building ---------------------------------------------------------------

# config NAME LAYER-SHA256: the image's configuration.
config() {
  local arch='{"architecture":"amd64"}' user=
  case $1 in
  arm64 | mislabel) arch='{"architecture":"arm64","variant":"v8"}' ;;
  distroless) user=65532 ;;
  esac
  jq -n -c --arg key "$label" --arg recipe "$(recipe "$1")" \
    --arg sha "sha256:$2" --arg user "$user" --argjson arch "$arch" '
    $arch + {os: "linux", created: "2023-11-14T22:13:20Z",
    config: {Cmd: ["/pause"], User: $user, WorkingDir: "/",
      Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      Labels: {($key): $recipe}},
    rootfs: {type: "layers", diff_ids: [$sha]},
    history: [{created: "2023-11-14T22:13:20Z", created_by: "image.sh"}]}'
}

pack() { tar --sort=name --mtime="$date" --numeric-owner --format=gnu "$@"; }

# archive NAME FILE: wrap $work/layer.tar as a docker-archive.
archive() {
  local sha
  sha=$(sha256sum <"$work/layer.tar")
  config "$1" "${sha%% *}" >"$work/config.json"
  jq -n -c --arg tag "sbinject-test/$1:1" \
    '[{Config: "config.json", RepoTags: [$tag], Layers: ["layer.tar"]}]' \
    >"$work/manifest.json"
  pack --owner=0 --group=0 -C "$work" -cf "$2" manifest.json config.json layer.tar
}

make_image() {
  local name=$1
  work=$(mktemp -d "$images/.new-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  case $name in
  bookworm | bullseye | trixie | forky | sid)
    say "building $name with mmdebstrap (about 15 s)"
    debian "$name"
    ;;
  python)
    say "building $name with mmdebstrap (about 30 s)"
    debian bookworm python3
    ;;
  *)
    mkdir -m 755 "$work/root"
    "make_$name" "$work/root"
    pack -C "$work/root" -cf "$work/layer.tar" .
    ;;
  esac
  archive "$name" "$work/image.tar"
  mv "$work/image.tar" "$images/$name.tar"
  recipe "$name" >"$images/$name.recipe"
  rm -rf "$work"
  trap - EXIT
}

# build NAME: unless the cache has it from the same recipe.
build() {
  local want began
  want=$(recipe "$1")
  mkdir -p "$images"
  [ "$(cat "$images/$1.recipe" 2>/dev/null)" != "$want" ] || return 0
  [ "$(id -u)" -eq 0 ] || die "needs root to build '$1'"
  exec 7>"$images/.lock"
  flock -n 7 || { say "waiting for another build"; flock 7; }
  find "$images" -maxdepth 1 -name '.new-*' -exec rm -rf '{}' +
  if [ "$(cat "$images/$1.recipe" 2>/dev/null)" != "$want" ]; then
    began=$(date +%s%3N)
    (make_image "$1")
    say "$1 built in $(($(date +%s%3N) - began)) ms ($(du -h "$images/$1.tar" | cut -f1))"
  fi
  exec 7>&-
}

# --- loading ----------------------------------------------------------------

api() { curl -sS -m 300 --unix-socket "$sock" "$@"; }

# loaded NAME: recipe of the image the engine holds, or nothing.
loaded() {
  api "http://d/images/sbinject-test/$1:1/json" |
    jq -r --arg l "$label" '.Config.Labels[$l] // empty' 2>/dev/null
}

load() {
  local began
  sock=$(engine_socket "$1")
  build "$2"
  [ "$(loaded "$2")" != "$(recipe "$2")" ] || return 0
  began=$(date +%s%3N)
  api -o "$images/.answer.$$" -X POST -H 'Content-Type: application/x-tar' \
    -T "$images/$2.tar" 'http://d/images/load?quiet=1' ||
    die "cannot reach engine '$1'"
  if [ "$(loaded "$2")" != "$(recipe "$2")" ]; then
    cat "$images/.answer.$$" >&2
    rm -f "$images/.answer.$$"
    die "engine '$1' did not take image '$2'"
  fi
  rm -f "$images/.answer.$$"
  say "$2 loaded into $1 in $(($(date +%s%3N) - began)) ms"
}

list() {
  local name rest state
  while read -r name rest; do
    state=-
    [ "$(cat "$images/$name.recipe" 2>/dev/null)" != "$(recipe "$name")" ] ||
      state=built
    printf '%-11s %-6s %s\n' "$name" "$state" "${rest#* }"
  done <<<"$recipes"
}

main() {
  local engine name
  case ${1:-} in
  build)
    shift
    [ $# -gt 0 ] || die "which image?"
    for name in "$@"; do build "$name"; done
    ;;
  load)
    [ $# -ge 3 ] || die "which engine and image?"
    engine=$2
    shift 2
    for name in "$@"; do load "$engine" "$name"; done
    ;;
  list) list ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
  esac
}

main "$@"
