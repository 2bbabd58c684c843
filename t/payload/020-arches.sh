#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the program does its work on every architecture that was built: files, jobs, shells, MCP,
# pieces, a pipe. Foreign ones run in an emulator, which cannot start them again by itself: so the
# server is started here, and what belongs to installing is left to the native program.
# tier: check
# shipped only: a sanitized one is built for this machine alone
# shellcheck disable=SC2154	# state, code and polls are set by follow
. "$(dirname "$(realpath "$0")")/lib.sh"
top=$(dirname "$(realpath "$0")")/../..

# shellcheck disable=SC2086	# nothing, for the native one
tool() { $emulator "$program" "$@"; }
result() { rpc "$@" | jq -r '.result // .error'; }
edit() { rpc text_editor "$(printf '{"command":"%s","path":"%s",%s}' "$1" "$W/$a/file" "$2")" | jq -r '.result // .error' >"$W/said"; }

# finish PID: polls until the job's end; state, exit code, all it said and its checksum
finish() {
  follow "$1"
  echo "$state $code $(cat "$W/out" "$W/err" | cksum)"
}

say() { # say TEXT: to the shell; what it answers
  result bash_session "$(jq -nc --arg t "$1" '{session_name:"BashSession",wait_for_output:20,idle_timeout:0.5,input:$t}')"
}

# The first piece tells the handle and the size of all.
pieces() {
  export INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=4096
  k=__inspect_json_rpc_response_chunk__
  rpc text_editor "{\"command\":\"view\",\"path\":\"$W/$a/long\"}" >"$W/piece"
  handle=$(jq -r ".$k.handle" "$W/piece")
  while :; do
    jq -r ".$k.chunk" "$W/piece" | base64 -d
    [ "$(jq ".$k.done" "$W/piece")" = false ] || break
    rpc $k "{\"handle\":\"$handle\",\"offset\":$(jq ".$k.next_offset" "$W/piece")}" >"$W/piece"
  done
  unset INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES
}

try_files() {
  edit create '"file_text":"one\ntwo é😀\nthree\n"'
  edit str_replace '"old_str":"two é😀","new_str":"zwei ü"'
  edit insert '"insert_line":3,"new_str":"vier"'
  is "$a: files are edited" "$(cat "$W/$a/file")" "$(printf 'one\nzwei ü\nthree\nvier')"
  edit undo_edit '"x":1'; edit undo_edit '"x":1'
  is "$a: edits are undone" "$(cat "$W/$a/file")" "$(printf 'one\ntwo é😀\nthree')"
  seq 1 2000 | sed 's/$/ é😀 text/' >"$W/$a/long"
  whole=$(rpc text_editor "{\"command\":\"view\",\"path\":\"$W/$a/long\"}")
  is "$a: a long reply comes in pieces" "$(pieces | cksum)" "$(printf '%s' "$whole" | cksum)"
}

try_jobs() {
  pid=$(result exec_remote_start '{"command":"cat; echo oops >&2; exit 42","input":"ünïcode\n","env":{"A":"b"},"cwd":"/"}')
  is "$a: a job with input" "$(finish "$(printf '%s' "$pid" | jq .pid)")" "completed 42 $(printf 'ünïcode\noops\n' | cksum)"
  pid=$(result exec_remote_start '{"command":"seq 1 200000"}' | jq .pid)
  is "$a: a job with much output" "$(finish "$pid")" "completed 0 $(seq 1 200000 | cksum)"
  pid=$(result exec_remote_start '{"command":"sleep 1000 & sleep 1000"}' | jq .pid)
  rpc exec_remote_kill "{\"pid\":$pid,\"ack_seq\":0}" >"$W/reply"
  is "$a: a job is killed" "$(jq .error "$W/reply")" null
}

try_sessions() {
  is "$a: a shell" "$(result bash_session_new_session | jq -r .session_name)" BashSession
  say 'PS1=; cd /
' >"$W/said"
  say 'echo $((6 * 7)) é; [ -t 0 ] && pwd
' >"$W/said"
  is "$a: … on a terminal, that answers" "$(tr -d '\r' <"$W/said" | grep -x -e '42 é' -e /)" "$(printf '42 é\n/')"
  session=$(result mcp_launch_server "{\"server_params\":{\"command\":\"python3\",\"args\":[\"$top/t/payload/fake_mcp.py\"]}}")
  is "$a: an MCP server answers" \
    "$(result mcp_send_request "{\"session_id\":$session,\"request\":{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"raw\",\"params\":{\"lines\":[\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":7,\\\"result\\\":{\\\"n\\\":12345678901234567890.5}}\"]}}}" | jq -c .)" "$(jq -nc '{jsonrpc:"2.0",id:7,result:{n:12345678901234567890.5}}')"
}

try_pipe() {
  # shellcheck disable=SC2086
  seq 1 500 | sed 's/.*/{"jsonrpc":"2.0","method":"remote_version","id":&}/' | $emulator "$program" pipe >"$W/out"
  is "$a: 500 requests through a pipe" "$?:$(jq .id "$W/out" | sort -n | uniq | wc -l)" 0:500
}

for a in ${ARCHES:-amd64 arm64}; do
  emulator=$("$top/payloads/toolchain.sh" --emulator "$a") program=$B/payloads/$a/inspect-sandbox-tools
  fits "$a: runs" "$(result version)" '[0-9]*.[0-9]*.[0-9]*'
  mkdir -p "$W/$a/service"
  export INSPECT_SANDBOX_TOOLS_DIR="$W/$a/service" TMPDIR="$W/$a"
  # shellcheck disable=SC2086
  $emulator "$program" server >"$W/$a/log" 2>&1 &
  server=$!
  wait_for [ -S "$W/$a/service/sandbox-tools.sock" ]; succeeded "$a: serves" $?
  is "$a: tells its own digest" "$(result sandbox_tools_describe | jq -r .sha256)" "$(sha256sum <"$program" | cut -d' ' -f1)"
  try_files
  try_jobs
  try_sessions
  try_pipe
  # shellcheck disable=SC2086
  $emulator "$program" stop-server; succeeded "$a: stops" $?
  wait $server; succeeded "$a: … in order" $?
  is "$a: without a complaint" "$(grep -vc ' listening on ' "$W/$a/log")" 0
done
done_testing
