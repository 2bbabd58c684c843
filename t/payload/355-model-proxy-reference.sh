#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: where the format is fixed, model_proxy answers byte by byte as the program of inspect_ai does; what both cost is printed.
# tier: all
# shipped only: yes
# The wheel comes from the Python index, once; WHEEL names another file.
. "$(dirname "$(realpath "$0")")/../engines/paths.sh" # before HOME is the test's
export SBINJECT_CACHE
. "$(dirname "$(realpath "$0")")/lib.sh"
arch=$(dpkg --print-architecture)
version=0.3.285 # of inspect_ai
kept=$SBINJECT_CACHE/reference
wheel=${WHEEL:-$kept/inspect_ai-$version-py3-none-any.whl}
here=$(dirname "$(realpath "$0")")
[ -x /usr/bin/python3 ] || { echo "1..0 # skip needs /usr/bin/python3"; exit 0; }
case $arch in amd64 | arm64) ;; *) echo "1..0 # skip there is no reference for $arch"; exit 0 ;; esac
[ -f "$wheel" ] || python3 -m pip -q --disable-pip-version-check --retries 1 download --no-deps \
  -d "$kept" "inspect_ai==$version" >/dev/null 2>&1 || { echo "1..0 # skip no wheel of inspect_ai $version"; exit 0; }

python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
name = next(n for n in wheel.namelist() if f"/inspect-sandbox-tools-{sys.argv[2]}-v" in n)
sys.stdout.buffer.write(wheel.read(name))' "$wheel" "$arch" >"$W/bundle"
mkdir "$W/reference" "$W/tmp"
tar -xf "$W/bundle" -C "$W/reference"
mount -t tmpfs none /var/tmp
service=/var/tmp/sandbox-services/bridge_model_service
mkdir -p "$service/requests" "$service/responses"

# proxy PROGRAM: one that listens; sets pid and port, and ms, how long it took until then
proxy() {
  port=$((20000 + RANDOM % 10000))
  began=$(now)
  BRIDGE_MODEL_SERVICE_PORT=$port TMPDIR=$W/tmp "$1" model_proxy >"$W/out" 2>"$W/err" &
  pid=$!
  wait_for listens
  ms=$(($(now) - began))
}
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
trial() { timeout 600 python3 "$here/model_proxy.py" "$1" "$service" "$port" "${@:2}"; }

# measure NAME PROGRAM: what it says to all cases, and what it needs
measure() {
  proxy "$2"
  idle=$(rss "$pid")
  trial talk --same >"$W/said.$1"
  succeeded "$1: every case can be said" $?
  each=$(trial time 50)
  large=$(trial large 10 2>&1 >/dev/null)
  printf '# %-10s listens after %s ms; %s ms for a request; %s for the longest of 10 MB; memory %s kB idle, %s kB at most\n' \
    "$1" "$ms" "$each" "$large" "$idle" "$(peak "$pid")"
  kill "$pid"
  wait "$pid" 2>/dev/null
}
measure ours "$PROGRAM"
measure reference "$W/reference/inspect-sandbox-tools"
is 'both say the same' "$(diff -a "$W/said.reference" "$W/said.ours")" ''
done_testing
