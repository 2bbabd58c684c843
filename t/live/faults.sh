# shellcheck shell=bash disable=SC2034,SC2154	# variables of lib.sh, and for the tests
# SPDX-License-Identifier: MIT
# faults.sh: what the tests of engines that fail share, after lib.sh: the requests of a run,
# tables of what goes wrong with each, and what has to be true after it.

# What a request is told by.
declare -A selector=(
  [ping]='GET /_ping'
  [list]='GET /v[^/]*/containers/json'
  [inspect]='GET /v[^/]*/containers/[^/]+/json'
  [image]='GET /v[^/]*/images/'
  [look]='HEAD /v[^/]*/containers/[^/]+/archive'
  [put]='PUT /v[^/]*/containers/[^/]+/archive'
  [exec]='POST /v[^/]*/containers/[^/]+/exec$'
  [start]='POST /v[^/]*/exec/[^/]+/start$'
  [ended]='GET /v[^/]*/exec/[^/]+/json'
)
input=$tmp/input # of every run; two of the sub-commands read it
printf '%s\n' '{"jsonrpc": "2.0", "method": "version", "id": 1}' >"$input"

# faults_container: the container of these tests: $name, $id, and $before, its file system.
faults_container() {
  name=$(unique x)
  id=$(ctr_create "$ENGINE" busybox "$name")
  before=$(ctr_diff "$ENGINE" "$id")
}

# --- requests ---------------------------------------------------------------

request_kind() {	# request_kind "METHOD TARGET"
  local kind
  for kind in "${!selector[@]}"; do
    [[ ! ${1%%\?*} =~ ^${selector[$kind]} ]] || { printf '%s\n' "$kind"; return; }
  done
  printf 'unknown\n'
}

# learn COMMAND...: the requests of a run, in order, into $requests: their kinds, from the second
# of a kind on with its number; and half the sizes of their bodies into $half_in and $half_out.
declare -A half_in half_out
learn() {
  local method target sent received kind
  local -A seen=()
  requests=()
  while read -r method target sent received; do
    kind=$(request_kind "$method $target")
    seen[$kind]=$((${seen[$kind]:-0} + 1))
    [ "${seen[$kind]}" = 1 ] || kind+=${seen[$kind]}
    requests+=("$kind")
    half_in[$kind]=$((received / 2)) half_out[$kind]=$((sent / 2))
  done < <(SBINJECT_TRACE=http "$SBINJECT" "$@" 2>&1 >/dev/null <"$input" | sed -nE \
    's/^sbinject: http: ([A-Z]+ [^ ]+) -> [0-9]+, ([0-9]+) bytes out, ([0-9]+) in.*/\1 \2 \3/p')
}

# at FAULT REQUEST: the proxy's SPEC of FAULT, whose "@" stands for the request.  What only asks is
# broken for good, else it would be asked again; what changes something, once, so that it can be undone.
at() {
  local fault=$1 kind=${2%%[0-9]} nth=${2##*[a-z]}
  fault=${fault/out\/2/${half_out[$2]}}
  fault=${fault/in\/2/${half_in[$2]}}
  [[ $kind = put || $kind = exec || $kind = start ]] || nth=${nth:-1}+
  printf '%s\n' "${fault/@/@${selector[$kind]}#${nth:-1}}"
}

# --- one run ----------------------------------------------------------------

# exits CODES: the last run ended with one of these exit codes (a digit each), and one line if that is a
# failure.
exits() {
  [[ ${#rc} = 1 && $1 == *"$rc"* ]] && pass "$what: exit code" || fail "$what: exit code" "$rc, not $1: $err"
  is "$what: one line" "$(grep -c . <<<"$err")" "$((rc != 0))"
}

# faulty SPEC CODES SECONDS COMMAND...: with this fault it ends as it should, and in time. $awaited, if
# set, is a file that the fault makes, perhaps after that: the proxy has to live for so long.
faulty() {
  local spec=$1 codes=$2 seconds=$3 began took
  shift 3
  what="$1, $spec"
  proxy_start "$spec"
  began=${EPOCHREALTIME/[.,]/}
  DOCKER_HOST=$proxy_host run timeout -k 5 120 "$SBINJECT" "$1" -t "$seconds" "${@:2}" <"$input"
  took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
  exits "$codes"
  [ "$took" -le "$(((seconds + 20 + slack_s) * 1000))" ] && pass "$what: in time" ||
    fail "$what: in time" "$took ms: $err"
  [ "$(proxy_faults)" -gt 0 ] && pass "$what: was applied" ||
    fail "$what: was applied" "$(cat "$proxy_log")"
  [ -z "${awaited:-}" ] || timeout 120 sh -c 'until [ -e "$1" ]; do sleep 0.05; done' sh "$awaited" ||
    fail "$what: has come to its end" "no '$awaited'"
  proxy_stop
}

nothing_left() {
  local now
  now=$(ctr_diff "$ENGINE" "$id")
  is "$what: nothing is left" "$now" "$before"
  [ "$now" = "$before" ] || diag "said: $err"
}

runs() { [ "$(ctr_inspect "$ENGINE" "$id" | jq .State.Running)" = true ]; }

# truthful: success only where the service is there, and nothing left that a failure's line does not tell of.
truthful() {
  if [ "$rc" != 0 ]; then
    [[ $err == *"'/.sbinject' "*" left in"* ]] || nothing_left
  elif runs; then
    ok "$what: the service is there" "$SBINJECT" status "$name"
  fi
}

# repaired: the engine is well; so is the container after a second run, and as before after a removal.
repaired() {
  ok "$what: a second run succeeds" "$SBINJECT" "$name"
  ok "$what: healthy then" "$SBINJECT" status "$name"
  ok "$what: remove" "$SBINJECT" remove "$name"
  nothing_left
}

# What to do before a run that is to find the service, or none.
with_service() { "$SBINJECT" -q "$name"; }
without_service() { "$SBINJECT" -q remove "$name"; }

# --- tables -----------------------------------------------------------------

# thorough: whether all is tried here: on one Docker and one Podman, not in "make check".
thorough() { [[ ${TIER:-} != check && ($ENGINE = docker20 || $ENGINE = podman43) ]]; }

# chosen: whether this cell of a table is tried here: else every fifth is; in "make check" every tenth,
# Podman's other ones than Docker's.
cells=0
chosen() {
  cells=$((cells + 1))
  case ${TIER:-}:$ENGINE in
    check:docker*) ((cells % 10 == 0)) ;;
    check:*) ((cells % 10 == 5)) ;;
    *) thorough || ((cells % 5 == 0)) ;;
  esac
}

# faults_table BEFORE AFTER COMMAND...: the first line of stdin names the requests of the command; each
# other is a fault and, for each request, the exit codes that it may lead to, or "-" where there is no
# such fault.  BEFORE and AFTER are what to do around each run.
faults_table() {
  local prepare=$1 check=$2 rows row codes fault seconds i
  shift 2
  mapfile -t rows
  "$prepare"
  learn "$@"
  is "$1: its requests" "${requests[*]}" "$(xargs <<<"${rows[0]}")"
  for row in "${rows[@]:1}"; do
    read -r fault row <<<"$row"
    read -ra codes <<<"$row"
    seconds=8
    [[ $fault != stall* ]] || seconds=2
    for i in "${!requests[@]}"; do
      [ "${codes[i]}" != - ] && chosen || continue
      "$prepare"
      faulty "$(at "$fault" "${requests[i]}")" "${codes[i]}" "$seconds" "$@"
      "$check"
    done
  done
}
