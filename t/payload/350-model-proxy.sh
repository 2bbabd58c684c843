#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: model_proxy speaks to clients as three providers would, passes all on to the host, and nothing that either side does breaks more than itself.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
here=$(dirname "$(realpath "$0")")
[ -x /usr/bin/python3 ] || { echo "1..0 # skip needs /usr/bin/python3"; exit 0; }

world w proc var/tmp
services=$R/var/tmp/sandbox-services/bridge_model_service
service=$services/proxy_1
mkdir -p "$service/requests" "$service/responses"

# proxy [VARIABLE=VALUE…]: starts one that is asked; sets pid and port
proxy() {
  rm -f "$W/out"
  (exec env -i BRIDGE_MODEL_SERVICE_PORT=0 BRIDGE_MODEL_SERVICE_INSTANCE=proxy_1 "$@" \
    /usr/sbin/chroot "$R" /t model_proxy) >"$W/out" 2>"$W/err" &
  pid=$!
  wait_for grep -qs running "$W/out"
  port=$(sed -n 's/.*127\.0\.0\.1://p' "$W/out")
}
trial() { timeout 300 python3 "$here/model_proxy.py" "$1" "$service" "$port" "${@:2}" 2>"$W/trial.err"; }
# ended: sets said to its exit status, and what it said; not for $(), which has no children to wait for
ended() {
  timeout 60 tail -f /dev/null --pid="$pid" || kill "$pid"
  wait "$pid"
  said=$?:$(cat "$W/err")
}
stop() {
  kill "$pid"
  wait "$pid" 2>/dev/null
}

# ---- starting ----
proxy
like 'says where it listens' "$(cat "$W/out")" '^Server running on http://127\.0\.0\.1:[0-9]+$'
is 'listens on the loopback interface only' \
  "$(awk -v port="$(printf %04X "$port")" '$4 == "0A" && $2 ~ ":" port "$" { print $2 }' /proc/net/tcp /proc/net/tcp6)" \
  "0100007F:$(printf %04X "$port")"
like 'a port that is taken' "$(TOOL_ENV="BRIDGE_MODEL_SERVICE_PORT=$port" in_world model_proxy 2>&1; echo $?)" \
  "^error: cannot listen on 127\.0\.0\.1:$port: Address .*in use.1\$"
for p in x -1 65536 '1 2'; do
  is "no port: '$p'" "$(env -i BRIDGE_MODEL_SERVICE_PORT="$p" "$PROGRAM" model_proxy 2>&1; echo $?)" \
    "error: BRIDGE_MODEL_SERVICE_PORT is not a port: '$p'
1"
done

# ---- the whole conversation ----
trial talk >"$W/said"
succeeded 'every case can be said' $?
grep -a '^=== ' "$here/model_proxy.expected" >"$W/names"
while IFS= read -r name; do
  part() { awk -v name="$name" '/^=== / { on = $0 == name } on' "$1"; }
  is "${name#=== }" "$(part "$W/said")" "$(part "$here/model_proxy.expected")"
done <"$W/names"
is 'there are no others' "$(grep -a '^=== ' "$W/said")" "$(cat "$W/names")"
is 'no file is left' "$(ls -A "$service"/*)" "$(printf '%s\n' "$service/requests:" '' "$service/responses:")"

# ---- hosts ----
is 'a response that comes in pieces' "$(trial slow_host)" 'True late 0'
is 'pings' "$(trial pings)" 'message_start ping message_delta message_stop'
is 'what is no file of its own is no response' "$(trial planted)" own
is 'a response that is too long' "$(trial huge)" \
  '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "The response has more than 150 MiB"}}'
is 'directories that are made anew' "$(trial fresh)" 'True 0o644 x'

# ---- clients ----
is '50 requests at once' "$(trial many 50)" '50 right, 0 files left'
is '300 requests at once' "$(trial many 300)" '300 right, 0 files left'
is 'a request that comes byte by byte' "$(trial bytes)" x
is 'long numbers' "$(trial number)" True
is 'deep nesting' "$(trial deep)" True
is 'clients that go away' "$(trial gone)" '0 True'
is 'connections that were closed take no room' "$(trial closed 1100)" '404 0'
is 'who does not go on asking makes room, too' "$(trial silent 1100)" '404 1100'
! shipped || # thousands of files are made and read: a minute under sanitizers
  is 'no more requests than 4096 wait for the host' "$(trial lost 4096)" \
    '503 {"error": {"message": "Too many requests wait for the host", "type": "overloaded_error", "code": 503}} 0 True'
is 'what is no request' "$(trial garbage 300)" True
open=$(fds "$pid")
is 'again' "$(trial garbage 50)" True
same_fds 'no descriptor is lost' "$pid" "$open"
is 'prompts and replies of 10 MB' "$(trial large 10)" 'all right'
mkfifo "$W/go"
trial deaf 20 <"$W/go" >"$W/deaf" &
deaf=$!
exec 5>"$W/go"
wait_for grep -qs . "$W/deaf"
is 'others are served while 20 clients do not read' "$(cat "$W/deaf")" fine
now=$(rss "$pid")
[ "$now" -lt 180000 ]
costs "… 100 MB of results take little more than that ($now kB)" $?
exec 5>&-
wait "$deaf"
is '… which get everything when they do' "$(tail -n 1 "$W/deaf")" '20 right'
is 'large requests that never end are limited' "$(trial half 8)" 'open open open open open open 503 503 True'
stop
[ "$(peak "$pid" 2>/dev/null || echo 0)" -lt 1 ]
succeeded 'SIGTERM ends it' $?

# ---- what ends it ----
fatal() { # fatal NAME PATH plain|stream RESPONSE ERROR
  proxy
  is "$1: nobody gets another byte" "$(trial fail "$2" "$3" "$4")" '0 0'
  ended
  is '… and it ends, saying why' "$said" "1:Unexpected error during model proxy call: $5"
  rm -f "$service"/*/*
}
fatal 'an error' /v1/chat/completions plain '{"error": "Limit exceeded é"}' 'Limit exceeded é'
fatal 'an error instead of a stream' /v1/responses stream '{"error": "x", "result": 1}' x
fatal 'an error that is no text' /v1/messages plain '{"error": {"a": 1}}' '{"a": 1}'
fatal 'neither error nor result' /v1/chat/completions plain '{"error": null}' \
  'No error or result field in response for method generate_completions'
fatal 'a result of google that is no JSON' /v1beta/models/gem:generateContent plain '{"result": "x"}' \
  'Failed to parse response: it is not a JSON object'
rm -r "$services/proxy_1"
proxy
trial fail /v1/chat/completions plain '{}' >"$W/trial.out"
ended
is 'no directories' "$said" \
  "1:Unexpected error during model proxy call: cannot write a request to '/var/tmp/sandbox-services/bridge_model_service/proxy_1/requests': No such file or directory"

# ---- other places ----
service=$services
mkdir "$service/requests" "$service/responses"
proxy BRIDGE_MODEL_SERVICE_INSTANCE=
is 'without an instance' "$(trial bytes)" x
stop
service=$services/p
mkdir -p "$service/responses" "$W/else"
ln -s /else "$service/requests"
proxy BRIDGE_MODEL_SERVICE_INSTANCE=p
trial fail /v1/chat/completions plain '{}' >"$W/trial.out"
ended
like 'a link is not followed' "$said" '^1:.*cannot write a request to .*: Not a directory$'
proxy BRIDGE_MODEL_SERVICE_INSTANCE=../p
trial fail /v1/chat/completions plain '{}' >"$W/trial.out"
ended
like 'nor does a name lead elsewhere' "$said" '^1:.*cannot write a request to .*: Invalid argument$'
done_testing
