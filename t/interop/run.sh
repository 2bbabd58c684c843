#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh: unmodified releases of inspect_ai use the in-container program on a real Docker engine of
# our own: an evaluation with a mock model, by the ways in which they can come to use it; and their
# own program, where sbinject has put it there. TAP.
#   --only REGEX   of the lines of the plan below, those that match
#   --each         another plan: the first and the last release of every line of payloads/hosts.tsv
#   --bench [N]    measure instead: inspect_ai's provider and ours, N times (5); see bench.py
#   --keep         leave the engine running
# SBINJECT is the command, build/sbinject if not set.
# Packages come from the Python index and the Debian archive that this machine is set up for, once.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
run=interop keep=''
engine=docker28	# inspect_ai wants 24.0.6 or later
# shellcheck source=t/engines/one.sh
. "$here/../engines/one.sh"
# shellcheck source=t/images/packages.sh
. "$here/../images/packages.sh"
SBINJECT=$(realpath "${SBINJECT:-$top/build/sbinject}")
cache=$SBINJECT_CACHE/interop
suite=trixie	# whose docker and docker compose are new enough, and run on Debian 12
at_once=5
points=0 failures=0 rounds=''

# release  route  how much is done in the first container  containers; see evals.py.
plan="\
0.3.285 prepared all debian agent agent-user musl user uid nocaps nocaps-user
0.3.285 overlay all user agent musl nocaps-user
0.3.285 tree brief debian
0.3.285 provider all debian agent agent-user musl user uid nocaps nocaps-user readonly two
0.3.285 provider-trio all user debian nocaps-user two
0.3.285 exec all debian agent-user musl user uid nocaps nocaps-user readonly two
0.3.285 exec-trio all user debian nocaps-user two
0.3.285 switch all debian user nocaps-user readonly two
0.3.285 switch-trio brief user two
0.3.285 artifact all user musl nocaps-user two
0.3.285 artifact-trio brief user two
0.3.285 provider-faults
0.3.285 exec-faults
0.3.260 prepared all debian user
0.3.260 overlay all musl user
0.3.275 prepared brief debian user
0.3.275 overlay brief user
0.3.275 provider brief debian user
0.3.263 prepared brief debian user
0.3.263 overlay brief user
0.3.263 provider brief debian user
0.3.251 prepared brief debian user
0.3.251 overlay brief user
0.3.213 prepared brief debian user
0.3.213 overlay brief user
0.3.213 provider brief debian user
0.3.213 exec brief debian user
0.3.213 switch brief debian user
0.3.213 artifact brief user"

# each: that plan. Releases that run nothing of ours have no path in the table; /opt is none where a
# user who is not root could put a program, neither for us nor for those releases.
each() {
  awk -F '\t' '$1 == "inspect_ai" && $4 != "-" {
    for (i = 2; i <= 3; i++)
      if (!seen[$i]++) print $i " prepared brief debian" ($4 ~ "^/opt/" ? "" : " user") }' "$top/payloads/hosts.tsv"
}

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

# The requirements name all that is needed: nothing has to be found out, which takes minutes.
install=(-m pip install -q --no-input --no-deps --only-binary :all:)

# nearest RELEASE: of the releases that have requirements the first that is not before it.
nearest() {
  { ls "$here" | sed -n 's/^requirements-\([0-9.]*\)\.txt$/\1 have/p'; echo "$1 asked"; } | sort -V |
    awk '$2 == "asked" { on = 1 } on && $2 == "have" { print $1; exit }'
}

# borrow RELEASE: it alone, for the environment of the nearest, which lacks what only early ones use.
borrow() {
  local new=$cache/.new-$1
  rm -rf "$new" && "$cache/$(nearest "$1")/bin/python" "${install[@]}" --target "$new" \
    "inspect_ai==$1" -r "$here/requirements-early.txt" && mkdir -p "$cache/each" && mv "$new" "$cache/each/$1"
}

# environment RELEASE: with what its requirements name, and nothing built from source.
environment() {
  local requirements=$here/requirements-$1.txt new=$cache/.new-$1
  rm -rf "$new" "$cache/${1:?}" && "$(python)" -m venv "$new" &&
    "$new/bin/python" "${install[@]}" -r "$requirements" &&
    "$new/bin/python" -m pip check &&
    cp "$requirements" "$new/requirements.txt" && mv "$new" "$cache/$1"
}

# agent: the libraries of the agent, for the Python of the image.
agent() {
  local requirements=$here/requirements-agent.txt new=$cache/.new-agent
  rm -rf "$new" "$cache/agent" && "$(python)" -m venv "$new/venv" &&
    "$new/venv/bin/python" "${install[@]}" --platform "manylinux_2_28_$(uname -m)" \
      --platform "manylinux2014_$(uname -m)" \
      --python-version 3.11 --implementation cp \
      --target "$new/lib" -r "$requirements" &&
    rm -rf "$new/venv" && cp "$requirements" "$new/requirements.txt" && mv "$new" "$cache/agent"
}

# trio: another kind of event loop, for those that have only one.
trio() {
  local requirements=$here/requirements-trio.txt new=$cache/.new-trio
  rm -rf "$new" "$cache/trio" && "$(python)" -m venv "$new/venv" &&
    "$new/venv/bin/python" "${install[@]}" --target "$new/lib" -r "$requirements" &&
    rm -rf "$new/venv" && cp "$requirements" "$new/requirements.txt" && mv "$new" "$cache/trio"
}

with_agent() { [[ $plan == *agent* ]]; }
with_trio() { [[ $plan == *-trio* ]]; }

# has WHAT: it is there, and is what is wanted now.
has() { cmp -s "$here/requirements-$1.txt" "$cache/$1/requirements.txt"; }

# fetch_release RELEASE: its own environment, or with that of the nearest.
fetch_release() {
  local with
  with=$(nearest "$1")
  has "$with" || fetched "inspect_ai $with" environment "$with" || return 1
  [ "$with" = "$1" ] || [ -d "$cache/each/$1" ] || fetched "inspect_ai $1" borrow "$1"
}

# fetch: false without a docker command; what cannot be had besides is taken out of the plan.
fetch() {
  local release
  exec 7>"$cache/.lock"
  flock 7
  [ -d "$cache/docker-$suite" ] || fetched "docker compose" docker_command || return 1
  for release in $(cut -d' ' -f1 <<<"$plan" | sort -u); do
    fetch_release "$release" || plan=$(grep -v "^$release " <<<"$plan") || :
  done
  ! with_agent || has agent || fetched "libraries for the agent" agent ||
    plan=$(sed -E 's/ agent\S*//g' <<<"$plan")
  ! with_trio || has trio || fetched "trio" trio || plan=$(grep -v -e -trio <<<"$plan") || :
  exec 7>&-
}

# --- the engine, and what runs on it -------------------------------------------

set_up() {
  start_engine bookworm busybox musl
  mkdir -p "$work/home" "$work/tmp"
  ln -s "$cache/docker-$suite/cli-plugins" "$work/docker/cli-plugins"
  clean=(env -i PATH="$cache/docker-$suite:/usr/bin:/bin" HOME="$work/home" TMPDIR="$work/tmp"
    LC_ALL=C.UTF-8 DOCKER_CONFIG="$DOCKER_CONFIG" DOCKER_HOST="$DOCKER_HOST"
    SBINJECT="$SBINJECT" PYTHONDONTWRITEBYTECODE=1)
}

# image NAME BASE CHANGE: another, with an account and what else is in $work/NAME.
image() {
  local id root=$work/$1
  mkdir -p "$root/etc" "$root/home"
  install -d -o 1000 -g 1000 "$root/home/user"
  id=$("${clean[@]}" docker create "sbinject-test/$2:1")
  "${clean[@]}" docker cp "$id:/etc/passwd" "$root/etc/passwd"
  "${clean[@]}" docker cp "$id:/etc/group" "$root/etc/group"
  echo 'user:x:1000:1000:user:/home/user:/bin/bash' >>"$root/etc/passwd"
  echo 'user:x:1000:' >>"$root/etc/group"
  tar -C "$root" -c . | "${clean[@]}" docker cp - "$id:/"
  "${clean[@]}" docker rmi "sbinject-test/$1:1" 2>/dev/null || :
  "${clean[@]}" docker commit -c "$3" "$id" "sbinject-test/$1:1"
  "${clean[@]}" docker rm "$id"
}

images() {
  image user bookworm 'USER user'
  ! with_agent || {
    load python
    mkdir -p "$work/agent/agent"
    cp -a "$here/agent.py" "$cache/agent/lib" "$work/agent/agent/"
    chown -R 0:0 "$work/agent/agent"
    image agent python 'ENV PYTHONPATH=/agent/lib'
    rm -rf "$work/agent"
  }
}

# wheel DIR: of inspect-sbinject, with the program that is tested.
wheel() {
  "$top/cmd/inspect-sbinject/wheel.py" --binary "$SBINJECT" --arch "$(dpkg --print-architecture)" \
    --release "$("$SBINJECT" --version | awk 'NR == 1 { print $2 }')" --output "$work/$1"
}

# package: as it is installed; and in an environment with inspect_ai, for installed.sh.
package() {
  wheel wheel
  cp -as "$cache/$(nearest "${plan%% *}")" "$work/venv"
  "$work/venv/bin/python" "${install[@]}" --no-index --target "$work/site" "$work"/wheel/*.whl
  "$work/venv/bin/python" "${install[@]}" --no-index "$work"/wheel/*.whl
}

# same_wheel: another time and another umask do not change it.
same_wheel() {
  (umask 077 && wheel again >/dev/null)
  if cmp "$work"/wheel/*.whl "$work"/again/*.whl; then
    pass "wheel: the same bytes each time"
  else
    fail "wheel: the same bytes each time"
  fi
}

# overlay RELEASE: its package, with our program for the ones it brings, in the form of those.
overlay() {
  local site own path=$work/overlay-$1
  site=$(echo "$cache/$1"/lib/python3*/site-packages)
  mkdir -p "$path"
  cp -rs "$site/inspect_ai" "$path/"
  rm -rf "$path/inspect_ai/binaries"
  mkdir "$path/inspect_ai/binaries"
  "$SBINJECT" payloads --for "inspect_ai $1" --output "$path/inspect_ai/binaries" >/dev/null
  for own in "$site"/inspect_ai/binaries/inspect-sandbox-tools-*; do
    [ -f "$path/inspect_ai/binaries/${own##*/}" ] || die "$1 brings ${own##*/}, and we do not"
  done
}

# rules RELEASE: of sbinject, with the program that it brings as the service.
rules() {
  local own
  own=$(echo "$cache/$1"/lib/python3*/site-packages/inspect_ai/binaries/inspect-sandbox-tools-"$(dpkg --print-architecture)"-v*[0-9])
  cat >"$work/rules-$1.yaml" <<-END
	version: 1
	payloads:
	  upstream:
	    source: file
	    path: $own
	    launcher: inspect-sandbox-tools
	$("$SBINJECT" payloads --describe "$own" | sed '/^#/d; s/^/    /')
	rules: [{when: {os: linux}, use: upstream, service: root}]
	END
}

# start NAME COMMAND...: in a directory of its own, its output in the file log there; not too many
# at a time, or one waits longer for another than it waits for anything.
start() {
  local name=$1
  shift
  while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do sleep 0.2; done
  mkdir "$work/$name"
  (
    cd "$work/$name"
    # Written down: a shell that starts many programs forgets how the first one ended.
    # shellcheck disable=SC2016	# for that sh
    exec timeout -k 20 900 sh -c '"$@"; echo $? >status' sh "${clean[@]}" "$@" >log 2>&1 \
      </dev/null 9>&-
  ) &
  runs[$name]=$!
}

# evaluate RELEASE ROUTE HOW-MUCH CONTAINER...: the limit makes replies come in chunks.
evaluate() {
  local path=$work/site backend=asyncio with
  with=$(nearest "$1")
  [ "$with" = "$1" ] || path=$cache/each/$1:$path
  [ "$2" != overlay ] || path=$work/overlay-$1:$path
  [[ $2 != *-trio ]] || path=$path:$cache/trio/lib backend=trio
  start "$1-$2" RULES="$work/rules-$1.yaml" INSPECT_SANDBOX_MAX_EXEC_OUTPUT_SIZE=262144 \
    INSPECT_SBINJECT_GRAFT=1 INSPECT_ASYNC_BACKEND="$backend" PYTHONPATH="$path" \
    "$cache/$with/bin/python" "$here/evals.py" "${@:2}"
}

# faults RELEASE ROUTE: what goes wrong; see faults.py.
faults() {
  start "$1-$2" PYTHONPATH="$work/site" "$cache/$1/bin/python" "$here/faults.py" "${2%-faults}"
}

# result NAME: its points; one more if it ended badly and they do not tell why.
result() {
  local log=$work/$1/log status
  wait "${runs[$1]}" 2>/dev/null || :
  status=$(cat "$work/$1/status" 2>/dev/null) || status=none
  points_of "$log"
  [ "$status" != 0 ] || return 0
  ! grep -q '^not ok - ' "$log" || return 0
  fail "$1: ended with status $status"
  tail -n 20 "$log" | sed 's/^/#   /'
}

# index: that of pip, as it is configured, or its own default.
index() {
  local p
  p=$(python)
  [ -z "${PIP_INDEX_URL:-}" ] || { echo "$PIP_INDEX_URL"; return; }
  "$p" -m pip config get global.index-url 2>/dev/null || "$p" -m pip config get install.index-url 2>/dev/null ||
    "$p" -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)' 2>/dev/null || :
}

# bench: with the newest release, in the terminal.
bench() {
  local newest
  newest=${plan%% *}
  (
    cd "$work/tmp"
    "${clean[@]}" PYTHONPATH="$work/site" "$cache/$newest/bin/python" "$here/bench.py" "$rounds"
  )
}

run_all() {
  local name release route rest
  declare -A runs
  [ -z "$plan" ] || same_wheel
  [ -z "$plan" ] || start installed bash "$here/installed.sh" "$work/venv"
  [ -z "$plan" ] || start client PYTHONPATH="$work/site:$cache/trio/lib" \
    "$cache/$(nearest "${plan%% *}")/bin/python" "$here/client_test.py"
  start fetch INDEX="$(index)" SSL_CERT_FILE="${SSL_CERT_FILE:-}" https_proxy="${https_proxy:-${HTTPS_PROXY:-}}" \
    bash "$here/fetch.sh"
  [ -z "$plan" ] || while read -r release route rest; do
    [ "$route" != overlay ] || overlay "$release"
    [ "$route" != tree ] || rules "$release"
    [[ $route != *-faults ]] || { faults "$release" "$route"; continue; }
    # shellcheck disable=SC2086	# one word for each container
    evaluate "$release" "$route" $rest
  done <<<"$plan"
  for name in ${plan:+installed client} fetch $(awk 'NF { print $1 "-" $2 }' <<<"$plan"); do
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
    --each) plan=$(each) ;;
    --keep) keep=1 ;;
    --bench)
      rounds=5
      [[ ! ${2:-} =~ ^[0-9]+$ ]] || { rounds=$2; shift; }
      plan=$(grep '^0.3.285 provider ' <<<"$plan")
      ;;
    -h | --help) sed -n '3,11s/^# *//p' "$0"; exit 0 ;;
    *) die "unknown option '$1'" ;;
    esac
    shift
  done
}

main() {
  options "$@"
  [ -x "$SBINJECT" ] || die "no '$SBINJECT'; run make first"
  begin "$@"
  mkdir -p "$cache"
  if fetch; then
    set_up
    images >/dev/null
    [ -z "$plan" ] || package >/dev/null
    [ -z "$rounds" ] || { bench; return; }
    run_all
  fi
  printf '1..%d\n' "$points"
  [ "$failures" -eq 0 ]
}

main "$@"
