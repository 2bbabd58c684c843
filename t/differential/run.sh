#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh: the same requests to the in-container program that a release of inspect_ai brings, and to
# ours, each in a container of a private Docker engine; prints what differs, and a table. Exit
# status 1 if a difference has no reason in t/differential/by-design.
#   --only REGEX   of the groups in t/differential/cases, those that match
#   --whole        start the program for every request, also theirs, which takes half a second each
#                  time; else a process of it forks (forker.c), and its server is asked for what
#                  it answers
#   --jobs N       groups at a time        --verbose   show what differs by design, too
#   --keep         leave the engine running
# PAYLOAD is our program, build/payloads/ARCH/inspect-sandbox-tools if not set; WHEEL is a file, if
# that release is not to be fetched from the Python index that this machine is set up for.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
run=differential engine=docker28 keep=''
# shellcheck source=t/engines/one.sh
. "$here/../engines/one.sh"
release=0.3.285 version=35
arch=$(dpkg --print-architecture)
PAYLOAD=$(realpath "${PAYLOAD:-$top/build/payloads/$arch/inspect-sandbox-tools}")
arguments=()

# theirs: the archive with the program of the release, out of its wheel, which is kept.
theirs() {
  local kept=$SBINJECT_CACHE/reference wheel=${WHEEL:-}
  if [ -z "$wheel" ]; then
    wheel=$kept/inspect_ai-$release-py3-none-any.whl
    [ -f "$wheel" ] || {
      python3 -m venv "$work/venv" &&
        "$work/venv/bin/pip" -q download --no-deps --only-binary :all: -d "$kept" "inspect_ai==$release"
    } >&2 || die "inspect_ai $release cannot be fetched"
  fi
  python3 -c 'import gzip, sys, zipfile
data = zipfile.ZipFile(sys.argv[1]).read(sys.argv[2])
sys.stdout.buffer.write(gzip.decompress(data))' "$wheel" \
    "inspect_ai/binaries/inspect-sandbox-tools-$arch-v$version" >"$work/theirs.tar"
}

ours() {
  [ -x "$PAYLOAD" ] || die "no '$PAYLOAD'; run make first"
  install -D -m 755 "$PAYLOAD" "$work/ours/inspect-sandbox-tools"
  tar -C "$work/ours" --owner=0 --group=0 -cf "$work/ours.tar" inspect-sandbox-tools
}

forker() { cc -O2 -D_GNU_SOURCE -shared -fPIC -o "$work/forker.so" "$here/forker.c"; }

# Debian with accounts: user, who is in a group more, and other.
make_image() {
  local id
  # shellcheck disable=SC2016	# for the shell in the container
  id=$(docker run -d --network none sbinject-test/bookworm:1 sh -ec '
    printf "%s:x:%s:%s::%s:/bin/bash\n" user 1000 1000 /home/user other 1001 1001 /home/other \
      homeless 1002 1000 /nowhere >>/etc/passwd
    printf "user:x:1000:\nother:x:1001:\nextra:x:2000:user\n" >>/etc/group
    mkdir -m 700 /home/user /home/other && chown 1000:1000 /home/user && chown 1001:1001 /home/other
    mkdir -m 1777 /w')
  [ "$(docker wait "$id")" = 0 ] || die "the image cannot be made: $(docker logs "$id" 2>&1)"
  docker commit "$id" sbinject-test/differential:1
  docker rm "$id"
}

options() {
  while [ $# -gt 0 ]; do
    case $1 in
    --only | --jobs)
      arguments+=("$1" "${2:?}")
      shift
      ;;
    --whole | --verbose) arguments+=("$1") ;;
    --keep) keep=1 ;;
    -h | --help) sed -n '3,13s/^# *//p' "$0"; exit 0 ;;
    *) die "unknown option '$1'" ;;
    esac
    shift
  done
}

main() {
  options "$@"
  begin "$@"
  theirs
  ours
  forker
  start_engine bookworm
  make_image >/dev/null
  PYTHONDONTWRITEBYTECODE=1 python3 "$here/differ.py" "$work/theirs.tar" "$work/ours.tar" "$work/forker.so" \
    "${arguments[@]}"
}

main "$@"
