#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh: unmodified releases of inspect_ai use the in-container program on a real Docker engine of
# our own: an evaluation with a mock model, by both ways in which they can come to use it. TAP.
#   --only REGEX   of the lines of the plan below, those that match
#   --keep         leave the engine running
# SBINJECT is the command, build/sbinject if not set.
# Packages come from the Python index and the Debian archive that this machine is set up for, once.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
# shellcheck source=t/engines/paths.sh
. "$here/../engines/paths.sh"
# shellcheck source=t/images/packages.sh
. "$here/../images/packages.sh"
SBINJECT=$(realpath "${SBINJECT:-$top/build/sbinject}")
engine_sh=$here/../engines/engine.sh
image_sh=$here/../images/image.sh
cache=$SBINJECT_CACHE/interop
engine=docker28	# inspect_ai wants 24.0.6 or later
suite=trixie	# whose docker and docker compose are new enough, and run on Debian 12
points=0 failures=0 keep=

# release  route  containers, the first thoroughly; see evals.py. Old releases look for the tools as
# the container's user (up to 0.3.262), and run shells as the service does (up to 0.3.263).
plan="\
0.3.285 prepared debian musl user uid nocaps nocaps-user
0.3.285 artifact user musl nocaps-user
0.3.260 prepared debian user-service
0.3.260 artifact musl"

die() { printf 'interop: %s\n' "$*" >&2; exit 1; }
pass() { printf 'ok %d - %s\n' "$((++points))" "$1"; }
fail() { printf 'not ok %d - %s\n' "$((++points))" "$1"; failures=$((failures + 1)); }
skip() { printf 'ok %d - %s # SKIP %s\n' "$((++points))" "$1" "$2"; }

# points_of FILE: number the points in it, with what explains the failed ones.
points_of() {
  local line
  while IFS= read -r line; do
    case $line in
    'ok - '*) pass "${line#ok - }" ;;
    'not ok - '*) fail "${line#not ok - }" ;;
    '#'*) printf '%s\n' "$line" ;;
    esac
  done <"$1"
}

# --- what has to be fetched ---------------------------------------------------

# offline LOG: whether what failed there failed for want of a network.
offline() {
  grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|Could not (connect|resolve)|Temporary failure resolving|Network is unreachable' "$1"
}

# fetched WHAT COMMAND...: run it; false, after a point, if it fails. Without a network that is one
# skipped, but for a continuous integration (CI is set), which would go without the test for ever.
# Commands are chains of &&: where a failure is handled, set -e does not hold.
fetched() {
  local what=$1 log=$work/fetch.log
  shift
  ! "$@" >"$log" 2>&1 </dev/null || return 0
  rm -rf "$cache"/.new-*
  if [ -z "${CI:-}" ] && offline "$log"; then
    skip "$what" "cannot be fetched: no network"
  else
    fail "$what can be fetched"
    tail -n 20 "$log" | sed 's/^/#   /'
  fi
  return 1
}

# docker_command: the client and its compose plugin, apart from what is installed.
docker_command() {
  local new=$cache/.new-docker
  rm -rf "$new" && mkdir -p "$new/cli-plugins" "$new/debs" && (
    cd "$new/debs" &&
      packages "$suite" "$(dpkg --print-architecture)" docker-cli docker-compose &&
      unpack docker-cli . && unpack docker-compose .
  ) && mv "$new/debs/usr/bin/docker" "$new/docker" &&
    mv "$new/debs/usr/libexec/docker/cli-plugins/docker-compose" "$new/cli-plugins/" &&
    rm -rf "$new/debs" && mv "$new" "$cache/docker-$suite"
}

# python: one that can make environments and is new enough for the requirements.
python() {
  local p
  for p in python3 /usr/bin/python3; do
    ! "$p" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
      echo "$p"
      return
    }
  done
  die "no Python 3.11 with venv; t/setup.sh test installs it"
}

# environment RELEASE: with what its requirements name, and nothing built from source.
environment() {
  local requirements=$here/requirements-$1.txt new=$cache/.new-$1
  rm -rf "$new" "${cache:?}/$1" && "$(python)" -m venv "$new" &&
    "$new/bin/python" -m pip install -q --no-input --only-binary :all: -r "$requirements" &&
    cp "$requirements" "$new/requirements.txt" && mv "$new" "$cache/$1"
}

# fetch: false without a docker command; what cannot be had besides is taken out of the plan.
fetch() {
  local release
  exec 7>"$cache/.lock"
  flock 7
  [ -d "$cache/docker-$suite" ] || fetched "docker compose" docker_command || return 1
  for release in $(cut -d' ' -f1 <<<"$plan" | sort -u); do
    cmp -s "$here/requirements-$release.txt" "$cache/$release/requirements.txt" ||
      fetched "inspect_ai $release" environment "$release" ||
      plan=$(grep -v "^$release " <<<"$plan") || :
  done
  exec 7>&-
}

# --- the engine, and what runs on it -------------------------------------------

finish() {
  local status=$?
  trap '' INT TERM HUP EXIT
  jobs -p | xargs -r kill 2>/dev/null || :
  wait
  [ -z "${started:-}" ] || [ -n "$keep" ] || "$engine_sh" stop "$engine" >&2 || status=1
  rm -rf "$work"
  exit "$status"
}

start_engine() {
  "$engine_sh" status "$engine" 2>/dev/null || started=1
  "$engine_sh" start "$engine" 9>&- </dev/null >&2
  "$image_sh" load "$engine" bookworm busybox musl 9>&- </dev/null >&2
  mkdir -p "$work/home" "$work/docker" "$work/tmp"
  ln -s "$cache/docker-$suite/cli-plugins" "$work/docker/cli-plugins"
  clean=(env -i PATH="$cache/docker-$suite:/usr/bin:/bin" HOME="$work/home" TMPDIR="$work/tmp"
    LC_ALL=C.UTF-8 DOCKER_CONFIG="$work/docker" DOCKER_HOST="$("$engine_sh" sock "$engine")"
    SBINJECT="$SBINJECT" PYTHONDONTWRITEBYTECODE=1)
}

# user_image: Debian with an account, and that as the image's user.
user_image() {
  local id root=$work/user
  mkdir -p "$root/etc" "$root/home"
  install -d -o 1000 -g 1000 "$root/home/user"
  id=$("${clean[@]}" docker create sbinject-test/bookworm:1)
  "${clean[@]}" docker cp "$id:/etc/passwd" "$root/etc/passwd"
  "${clean[@]}" docker cp "$id:/etc/group" "$root/etc/group"
  echo 'user:x:1000:1000:user:/home/user:/bin/bash' >>"$root/etc/passwd"
  echo 'user:x:1000:' >>"$root/etc/group"
  tar -C "$root" -c . | "${clean[@]}" docker cp - "$id:/"
  "${clean[@]}" docker commit -c 'USER user' "$id" sbinject-test/user:1
  "${clean[@]}" docker rm "$id"
}

# overlay RELEASE: its package, with our program for the ones it brings.
overlay() {
  local arch version site artifact program=$work/program/inspect-sandbox-tools path=$work/overlay-$1
  arch=$(dpkg --print-architecture)
  site=$(echo "$cache/$1"/lib/python3*/site-packages)
  version=$(cat "$site/inspect_ai/tool/_sandbox_tools_utils/sandbox_tools_version.txt")
  artifact=$path/inspect_ai/binaries/inspect-sandbox-tools-$arch
  mkdir -p "$path" "$work/program"
  cp -rs "$site/inspect_ai" "$path/"
  rm -rf "$path/inspect_ai/binaries"
  mkdir "$path/inspect_ai/binaries"
  "$SBINJECT" payloads --extract "tools-$arch" --output "$program"
  tar -C "$work/program" --owner=0 --group=0 -czf "$artifact-v$version" inspect-sandbox-tools
  ln "$artifact-v$version" "$artifact-musl-v$version"
}

# start NAME COMMAND...: in a directory of its own, its output in the file log there.
start() {
  local name=$1
  shift
  mkdir "$work/$name"
  (
    cd "$work/$name"
    exec timeout -k 20 900 "${clean[@]}" "$@" >log 2>&1 </dev/null 9>&-
  ) &
  runs[$name]=$!
}

# evaluate RELEASE ROUTE CONTAINER...: the limit makes replies come in chunks.
evaluate() {
  local path=''
  [ "$2" = prepared ] || path=$work/overlay-$1
  start "$1-$2" INSPECT_SANDBOX_MAX_EXEC_OUTPUT_SIZE=262144 PYTHONPATH="$path" \
    "$cache/$1/bin/python" "$here/evals.py" "${@:2}"
}

# result NAME: its points; one more if it ended badly and they do not tell why.
result() {
  local log=$work/$1/log status=0
  wait "${runs[$1]}" || status=$?
  points_of "$log"
  [ "$status" -ne 0 ] || return 0
  ! grep -q '^not ok - ' "$log" || return 0
  fail "$1: ended with status $status"
  tail -n 20 "$log" | sed 's/^/#   /'
}

run_all() {
  local name release route boxes
  declare -A runs
  start adapter "$(python)" "$here/adapter_test.py"
  [ -z "$plan" ] || while read -r release route boxes; do
    [ "$route" = prepared ] || overlay "$release"
    # shellcheck disable=SC2086	# one word for each container
    evaluate "$release" "$route" $boxes
  done <<<"$plan"
  for name in adapter $(awk 'NF { print $1 "-" $2 }' <<<"$plan"); do
    result "$name"
  done
}

options() {
  while [ $# -gt 0 ]; do
    case $1 in
    --only)
      plan=$(grep -E -- "${2:-}" <<<"$plan") || die "nothing is planned for '${2:-}'"
      shift
      ;;
    --keep) keep=1 ;;
    -h | --help) sed -n '3,8s/^# *//p' "$0"; exit 0 ;;
    *) die "unknown option '$1'" ;;
    esac
    shift
  done
}

main() {
  options "$@"
  [ "$(id -u)" -eq 0 ] || exec sudo -E "$0" "$@"
  [ -x "$SBINJECT" ] || die "no '$SBINJECT'; run make first"
  work=$(mktemp -d "${TMPDIR:-/tmp}/sbt-interop-XXXXXX")
  trap finish EXIT
  trap 'exit 1' INT TERM HUP
  mkdir -p "$cache"
  lock_engines
  if fetch; then
    start_engine
    user_image >/dev/null
    run_all
  fi
  printf '1..%d\n' "$points"
  [ "$failures" -eq 0 ]
}

main "$@"
