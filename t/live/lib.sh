# shellcheck shell=bash disable=SC2034	# variables for the tests
# SPDX-License-Identifier: MIT
# lib.sh: what every live test (t/live/NNN-*.sh) sources: t/tap.sh, and containers made
# over the engine's REST API by curl, so that nothing depends on the program under
# test.  A test says in its head when it runs (t/tiers.sh), and may say "# engines: NAME...",
# "# also: NAME..." (besides those that run every test), "# images: NAME..." and
# "# timeout: SECONDS".
#
# Given by run.sh: ENGINE.  Given here: DOCKER_HOST, SBINJECT, tmp (a directory
# removed at the end), top (the repository).
set -eu -o pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=t/engines/paths.sh
. "$top/t/engines/paths.sh"

: "${ENGINE:=docker20}" "${SBINJECT:=$top/build/sbinject}"
DOCKER_HOST=unix://$(engine_socket "$ENGINE")
export ENGINE DOCKER_HOST SBINJECT
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbt-XXXXXX")
# What a busy machine may add to a promised limit; a second allowance for undoing would be 20 s.
slack_s=15
# The key that lets sbinject reuse what it has placed; not the user's own.
export XDG_STATE_HOME=$tmp/state
# shellcheck source=t/tap.sh
. "$top/t/tap.sh"

# need_sbinject: for every test of the program itself.
need_sbinject() {
  [ -x "$SBINJECT" ] || { fail "the program is built" "$SBINJECT"; done_testing; }
}

# --- engine and containers --------------------------------------------------

# api ENGINE METHOD PATH [CURL-ARGUMENT...]: body on stdout; a status of 400 or
# more fails and says what the engine answered.
api() {
  local code body
  body=$tmp/api.$BASHPID
  code=$(curl -sS -m "${api_timeout:-60}" --unix-socket "$(engine_socket "$1")" \
    -o "$body" -w '%{http_code}' -X "$2" "${@:4}" "http://d$3") || return 1
  if [ "$code" -ge 400 ]; then
    printf '%s %s: %s %s\n' "$2" "$3" "$code" "$(cat "$body")" >&2
    rm -f "$body"
    return 1
  fi
  [ ! -f "$body" ] || cat "$body"
  rm -f "$body"
}

post_json() {	# post_json ENGINE PATH JSON
  api "$1" POST "$2" -H 'Content-Type: application/json' -d "$3"
}

# unique NAME: a container name no other run uses.
unique() { printf 'sbt-%s-%s\n' "$$" "$1"; }

# ctr_new ENGINE IMAGE NAME [HOSTCONFIG-JSON] [CONFIG-JSON]: create only.
ctr_new() {
  local json id
  json=$(jq -n -c --arg image "sbinject-test/$2:1" --argjson host "${4:-{\}}" \
    --argjson config "${5:-{\}}" \
    '{Image: $image, HostConfig: ({NetworkMode: "none"} * $host)} * $config')
  id=$(post_json "$1" "/containers/create?name=$3" "$json" | jq -r .Id)
  printf '%s %s\n' "$1" "$id" >>"$tmp/containers"
  printf '%s\n' "$id"
}

# ctr_create: the same, and start it; prints the id.  Removed when the test ends.
ctr_create() {
  local id
  id=$(ctr_new "$@")
  ctr_start "$1" "$id"
  printf '%s\n' "$id"
}

ctr_start() { api "$1" POST "/containers/$2/start" >/dev/null; }
ctr_stop() { api "$1" POST "/containers/$2/stop?t=5" >/dev/null; }
ctr_restart() { api "$1" POST "/containers/$2/restart?t=5" >/dev/null; }
ctr_pause() { api "$1" POST "/containers/$2/pause" >/dev/null; }
ctr_unpause() { api "$1" POST "/containers/$2/unpause" >/dev/null; }
ctr_delete() { api "$1" DELETE "/containers/$2?force=1&v=1" >/dev/null; }
# ctr_rm: the same, where how it ends is no matter: Podman 5 gives every program ten seconds to end.
ctr_rm() {
  [[ $1 != podman* ]] || api "$1" POST "/containers/$2/stop?t=0" >/dev/null 2>&1 || :
  ctr_delete "$1" "$2"
}
ctr_inspect() { api "$1" GET "/containers/$2/json"; }

# fails NAME CODE REGEX COMMAND...: three points: it ends with CODE and one line, which fits REGEX.
fails() {
  local what=$1 code=$2 regex=$3
  shift 3
  run "$@"
  is "$what: exit code" "$rc" "$code"
  like "$what: message" "$err" "$regex"
  is "$what: one line" "$(grep -c . <<<"$err")" 1
}

# ctr_diff ENGINE ID: what changed in its file system, sorted "KIND PATH" lines
# (kinds C, A, D).
ctr_diff() {
  api "$1" GET "/containers/$2/changes" |
    jq -r '(. // [])[] | "\(["C", "A", "D"][.Kind]) \(.Path)"' | LC_ALL=C sort
}

# ctr_exec ENGINE ID COMMAND...: run it inside with the engine's own exec;
# stdout, stderr and exit status are the command's.  $exec_opts (JSON) is merged
# into the request.
ctr_exec() {
  local engine=$1 id=$2 exec
  shift 2
  exec=$(post_json "$engine" "/containers/$id/exec" \
    "$(jq -n -c --argjson opts "${exec_opts:-{\}}" \
      '{AttachStdout: true, AttachStderr: true, Cmd: $ARGS.positional} * $opts' \
      --args -- "$@")" | jq -r .Id)
  post_json "$engine" "/exec/$exec/start" '{"Detach":false,"Tty":false}' |
    exec_frames
  return "$(api "$engine" GET "/exec/$exec/json" | jq -r .ExitCode)"
}

# exec_frames: split the engine's multiplexed stream into stdout and stderr.
exec_frames() {
  python3 -c '
import struct, sys
read = sys.stdin.buffer.read
while len(head := read(8)) == 8:
    kind, size = struct.unpack(">BxxxI", head)
    to = sys.stderr if kind == 2 else sys.stdout
    to.buffer.write(read(size))
    to.buffer.flush()
'
}

# --- binfmt -----------------------------------------------------------------

# binfmt_need on|off [ARCH]: hold the handler of a foreign architecture in that
# state until the test ends; tests of other engines wait rather than clash.
binfmt_need() {
  local mode=-s
  [ "$1" = on ] || mode=-x
  mkdir -p "$SBINJECT_ENGINES/.lock"
  exec 6>"$SBINJECT_ENGINES/.lock/binfmt"
  flock $mode 6
  [ "$1" = on ] || binfmt_restore=${2:-aarch64}
  "$top/t/engines/binfmt.sh" "$1" "${2:-aarch64}"
}

# --- fault proxy ------------------------------------------------------------

# proxy_start [SPEC...]: a proxy.py before $ENGINE with these faults, replacing
# the one before.  Sets $proxy_host (for DOCKER_HOST), $proxy_socket, $proxy_log.
proxy_start() {
  local args=() spec
  proxy_stop
  proxy_socket=$tmp/proxy.sock
  proxy_host=unix://$proxy_socket
  proxy_log=$tmp/proxy.log
  rm -f "$proxy_socket"
  : >"$proxy_log"
  for spec in "$@"; do args+=(--fault "$spec"); done
  python3 "$top/t/live/proxy.py" --listen "$proxy_socket" --log "$proxy_log" \
    --to "$(engine_socket "$ENGINE")" "${args[@]}" 6>&- </dev/null &
  proxy_pid=$!
  until [ -S "$proxy_socket" ]; do
    kill -0 "$proxy_pid" 2>/dev/null || return 1
    sleep 0.02
  done
}

proxy_stop() {
  [ -n "${proxy_pid:-}" ] || return 0
  kill "$proxy_pid" 2>/dev/null || :
  wait "$proxy_pid" 2>/dev/null || :
  proxy_pid=
}

# proxy_requests [REGEX]: how many requests ("METHOD TARGET") fitted.
proxy_requests() {
  sed -n 's/^c[0-9]* //p' "$proxy_log" | grep -cE "${1:-}" || :
}

# proxy_faults: how many faults were applied.
proxy_faults() { grep -c '^! ' "$proxy_log" || :; }

# --- cleaning up ------------------------------------------------------------

cleanup() {
  local status=$? engine id
  trap '' INT TERM HUP
  set +e
  [ -z "${binfmt_restore:-}" ] || "$top/t/engines/binfmt.sh" on "$binfmt_restore"
  if [ -f "$tmp/containers" ]; then
    while read -r engine id; do
      ctr_rm "$engine" "$id" 2>/dev/null
    done <"$tmp/containers"
  fi
  proxy_stop
  ! declare -F at_exit >/dev/null || at_exit
  rm -rf "$tmp"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 129' INT TERM HUP
