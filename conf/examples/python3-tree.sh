#!/bin/bash
# SPDX-License-Identifier: MIT
# python3-tree.sh: make an archive with Python that runs in containers with another libc, or none,
# for "sbinject --tree". It is made from this system's Debian packages; nothing is installed, and no
# root is needed. The same packages make the same bytes.
#
# A program that is linked dynamically is started by a loader, whose path is in it. So Python is told
# to use the loader and the libraries of the tree. It is therefore for one directory only.
set -eu -o pipefail

dir=/opt/python3

usage() {
  cat <<-END
	usage: python3-tree.sh [-d DIR] FILE
	  -d DIR   the directory in the container, default $dir
	  FILE     the archive: .tar, .tar.gz, .tar.xz or .tar.zst
	Then: sbinject --tree DIR=FILE CONTAINER
	END
}

die() { printf 'python3-tree: %s\n' "$*" >&2; exit 1; }

while getopts d:h option; do
  case $option in
  d) dir=${OPTARG%/} ;;
  h) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] && [[ $dir == /?* ]] || { usage >&2; exit 2; }
case $1 in
*.tar) compress=(cat) ;;
*.tar.gz) compress=(gzip -n9) ;;
*.tar.xz) compress=(xz) ;;
*.tar.zst) compress=(zstd -q) ;;
*) die "'$1': the name must end in .tar, .tar.gz, .tar.xz or .tar.zst" ;;
esac
for tool in apt-get apt-cache dpkg-deb "${compress[0]}"; do
  command -v "$tool" >/dev/null || die "'$tool' is not installed"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$work/debs" "$work/files" "$work/tools" "$tree/bin" "$tree/lib"

# download DIRECTORY PACKAGE...: unpacked there.
download() {
  local to=$1
  shift
  (cd "$work/debs" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download "$@") >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    die "cannot download the packages; 'apt-get update' may help"
  }
  for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$to"; done
  rm "$work"/debs/*.deb
}

# Of what Python depends on, the libraries.
python=$(apt-cache depends python3 | sed -n 's/^ *Depends: \(python3\.[0-9]*\)$/\1/p')
[ -n "$python" ] || die "apt knows no package 'python3'; 'apt-get update' may help"
mapfile -t packages < <(apt-cache depends --recurse --important "$python-minimal" "lib$python-stdlib" |
  grep -E '^(lib|zlib)[^: ]*$' | sort -u)
download "$work/files" "$python-minimal" "${packages[@]}"

cp "$work/files/usr/bin/$python" "$tree/bin/"
ln -s "$python" "$tree/bin/python3"
cp -r "$work/files/usr/lib/$python" "$tree/lib/"
# links to settings of the system
find "$tree" -type l -lname '/*' -delete

# The loader that Python names, and what it and its modules need. A module that needs a library which
# none of the packages has is left out.
if ! command -v patchelf >/dev/null; then
  download "$work/tools" patchelf
  PATH+=:$work/tools/usr/bin
fi
find_library() { find "$work"/files/{,usr/}lib/*-linux-* -maxdepth 1 -name "$1" 2>/dev/null | head -n 1; }
add_needed() {
  local name path
  for name in $(patchelf --print-needed "$1"); do
    [ ! -e "$tree/lib/$name" ] || continue
    path=$(find_library "$name")
    [ -n "$path" ] || return 1
    cp -L "$path" "$tree/lib/$name"
    add_needed "$path" || return 1
  done
}
loader=$(patchelf --print-interpreter "$tree/bin/$python")
loader=${loader##*/}
cp -L "$(find_library "$loader")" "$tree/lib/$loader"
add_needed "$tree/bin/$python" || die "a library of $python is missing"
for module in "$tree/lib/$python"/lib-dynload/*.so; do
  add_needed "$module" || rm "$module"
done
# one after the other, in this order: patchelf 0.18 makes programs that crash otherwise
patchelf --force-rpath --set-rpath "$dir/lib" "$tree/bin/$python"
patchelf --set-interpreter "$dir/lib/$loader" "$tree/bin/$python"
find "$tree" -type d -exec chmod 755 {} + -o -type f -exec chmod u=rwX,go=rX {} +
chmod 755 "$tree/lib/$loader"

# Bytecode that is never compared with its source: Python would write it into the tree otherwise,
# which would no longer be what it was. This runs Python once, too.
PYTHONHASHSEED=0 "$tree/lib/$loader" --library-path "$tree/lib" "$tree/bin/$python" -IBm compileall \
  -q --invalidation-mode unchecked-hash -s "$tree" -p "$dir" "$tree/lib/$python" >&2

tar --create --directory="$tree" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
  --format=gnu bin lib | "${compress[@]}" >"$work/archive"
cp "$work/archive" "$1"
printf "%s: %s, %s; 'sbinject --tree %s=%s CONTAINER' puts it at %s\n" "$1" "$python" \
  "$(du -h "$1" | cut -f1)" "$dir" "$1" "$dir"
