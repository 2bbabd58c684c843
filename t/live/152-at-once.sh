#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: two commands for one container at once, one of them remove: each ends as if the other had
# come before or after it; and what one of them finds replaced or gone inside is brought anew.
# ROUNDS=N: how often each pair.
# tier: sample
# first: docker20 podman58
# soak: ROUNDS=200
# images: busybox
# timeout: 1200
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
[ "${TIER:-}" != check ] || : "${ROUNDS:=3}"
: "${ROUNDS:=6}"

name=$(unique pair)
id=$(ctr_create "$ENGINE" busybox "$name")
before=$(ctr_diff "$ENGINE" "$id")

# at_once CODES COMMAND...: remove beside it; what one of the two ended with that it must not is
# added to $odd.
at_once() {
  local codes=$1 pids=() other=0 removed=0
  shift
  "$SBINJECT" remove -t 60 "$name" >"$tmp/remove.out" 2>"$tmp/remove.err" &
  pids+=($!)
  "$SBINJECT" "$@" >"$tmp/other.out" 2>"$tmp/other.err" &
  pids+=($!)
  wait "${pids[0]}" || removed=$?
  wait "${pids[1]}" || other=$?
  [ "$removed" -eq 0 ] || odd+="remove $removed: $(cat "$tmp/remove.err")"$'\n'
  [[ " $codes " == *" $other "* ]] || odd+="$1 $other: $(cat "$tmp/other.err")"$'\n'
}

# pair CODES COMMAND...
pair() {
  local i
  odd=''
  for ((i = 0; i < ROUNDS; i++)); do
    run "$SBINJECT" inject -t 60 "$name"
    [ "$rc" -eq 0 ] || odd+="inject before: $err"$'\n'
    at_once "$@"
  done
  is "remove beside $2: both end as they may" "$odd" ''
  ok "remove after remove beside $2" "$SBINJECT" remove "$name"
  is "remove beside $2: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
}

pair 0 remove -t 60 "$name"
pair 0 inject -t 60 "$name"
pair '0 7' status -t 60 "$name"
# the service can end amid a call, which is an error reply
pair '0 1 7' call -t 60 "$name" remote_version

# ---- one container under two names ----

run "$SBINJECT" -j 4 --json inject "$name" "$id" "${id:0:20}" "$name"
is 'one container, four names: exit code' "$rc" 0
is 'one container, four names: one injection' "$(jq -r .result <<<"$out" | sort | xargs)" \
  'already already already injected'
run "$SBINJECT" -j 4 --json remove "$name" "$id" "${id:0:20}" "$name"
is 'one container, four names: one removal' "$rc $(jq -r .result <<<"$out" | sort | xargs)" \
  '0 absent absent absent removed'

# ---- what stands ready was replaced ----

as_root() { exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" "$@"; }
# The programs have the right size, so that only running them tells.
size=$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64").size')
replace() {
  # shellcheck disable=SC2016
  as_root sh -c 'cd /.sbinject && for f in run-*; do
    rm "$f" && printf "#!/bin/sh\n%s\nexit\n" "$1" >"$f" && truncate -s "$2" "$f" && chmod 755 "$f"; done' sh "$1" "$size"
}
fakes=(true 'exit 9' 'echo rubbish' 'echo "{\"sbinject\":35,\"ok\":true}"' 'rm "$0"' 'chmod 0 "$0"')
odd=''
for fake in "${fakes[@]}"; do
  for command in inject status "call $name version" remove; do
    run "$SBINJECT" inject "$name"
    replace "$fake"
    # shellcheck disable=SC2086
    if [[ $command == call* ]]; then run "$SBINJECT" $command; else run "$SBINJECT" "$command" "$name"; fi
    [ "$rc" -eq 0 ] || odd+="$command after '$fake': $rc $err"$'\n'
  done
done
is 'a replaced program is brought anew' "$odd" ''
ok 'a replaced program: remove' "$SBINJECT" remove "$name"
is 'a replaced program: nothing is left' "$(ctr_diff "$ENGINE" "$id")" "$before"
done_testing
