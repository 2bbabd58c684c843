#!/bin/bash
# SPDX-License-Identifier: MIT
# validate.sh: does sbinject serve these images? For each, a container is made from it on the engine
# that the docker or podman command reaches, sbinject injects, every tool makes a call, and the
# container is removed. Unlike the tests this uses the engine of whoever runs it, and pulls images.
set -u -o pipefail
top=$(cd "$(dirname "$0")/.." && pwd)

usage() {
  cat <<-END
	usage: validate.sh [-s SBINJECT] [-c COMMAND] IMAGE...
	  -s   the program, default build/sbinject
	  -c   docker or podman, default the first of them that is found; docker heeds DOCKER_HOST
	       and contexts, podman CONTAINER_HOST, and sbinject speaks to the same engine
	For example:
	  t/validate.sh ubuntu:16.04 ubuntu:24.04 debian:11 kalilinux/kali-rolling alpine \\
	    fedora rockylinux:9 gcr.io/distroless/static cgr.dev/chainguard/wolfi-base nixos/nix
	END
}

SBINJECT=${SBINJECT:-$top/build/sbinject} cli='' bad=0
while getopts s:c:h option; do
  case $option in
    s) SBINJECT=$OPTARG ;;
    c) cli=$OPTARG ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2; exit 2; }
[ -n "$cli" ] || cli=$(command -v docker || command -v podman) ||
  { echo 'validate: neither docker nor podman is here' >&2; exit 2; }
[ -x "$SBINJECT" ] || { echo "validate: no program '$SBINJECT'; run make" >&2; exit 2; }

# sbinject is to speak to the same engine. Podman does not heed DOCKER_HOST; docker not CONTAINER_HOST.
case ${cli##*/} in
  podman*) DOCKER_HOST=${CONTAINER_HOST:-$("$cli" info --format '{{.Host.RemoteSocket.Path}}')} || exit 2 ;;
  *) unset CONTAINER_HOST ;;
esac
[ -z "${DOCKER_HOST:-}" ] || export DOCKER_HOST

tmp=$(mktemp -d)
name=sbinject-validate-$$
finish() {
  "$cli" rm -fv "$name" >/dev/null 2>&1
  rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# call METHOD PARAMS FILTER: what a filter of jq gets out of the reply.
call() { "$SBINJECT" call "$name" "$1" "$2" 2>&1 | jq -r "$3" 2>&1; }

# The payload itself keeps the container alive: it waits for a line that never comes. So nothing is
# asked of the image, not even a shell.
make() {
  local arch
  "$cli" image inspect "$1" >/dev/null 2>&1 || "$cli" pull -q "$1" >/dev/null || return
  arch=$("$cli" image inspect --format '{{.Architecture}}' "$1") || return
  "$SBINJECT" payloads --extract "tools-$arch" -o "$tmp/wait" || return
  "$cli" create -i --name "$name" --network none --entrypoint /sbinject-validate "$1" pipe >/dev/null &&
    "$cli" cp "$tmp/wait" "$name:/sbinject-validate" >/dev/null &&
    "$cli" start "$name" >/dev/null
}

job() { # job COMMAND: what it prints
  local pid reply ack=0 state=running text=''
  pid=$(call exec_remote_start "$(jq -n -c --arg c "$1" '{command: $c}')" '.result.pid // .error.message')
  [[ $pid =~ ^[0-9]+$ ]] || { echo "$pid"; return; }
  while [ "$state" = running ]; do
    reply=$(call exec_remote_poll "{\"pid\":$pid,\"ack_seq\":$ack}" '.result | tojson')
    text+=$(jq -r '.stdout // ""' <<<"$reply") state=$(jq -r '.state // ""' <<<"$reply") ack=$(jq -r '.seq // 0' <<<"$reply")
  done
  echo "$text"
}

shell() { # a session, and what it makes of a sum
  local session
  session=$(call bash_session_new_session '{}' '.result.session_name // .error.message')
  [[ $session == BashSession* ]] || { echo "$session"; return; }
  call bash_session "$(jq -n -c --arg s "$session" '{session_name: $s, wait_for_output: 20,
    idle_timeout: 0.5, input: "echo $((6*7))-$((7*8))\n"}')" '.result // .error.message'
}

mcp() { # a server of one line of shell, asked once
  local session
  session=$(call mcp_launch_server '{"server_params":{"command":"/bin/sh","args":["-c",
    "read request; echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":{\\\"sum\\\":$((6*7))}}\"; read end"]}}' \
    'if has("result") then .result else .error.message end')
  [[ $session =~ ^[0-9]+$ ]] || { echo "$session"; return; }
  call mcp_send_request "{\"session_id\":$session,\"request\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}" \
    '.result.result.sum // .error.message'
  call mcp_kill_server "{\"session_id\":$session}" empty
}

# tool NAME REGEX TEXT: one word of the report. Without a shell in the image the tools that are
# about running things say so; that is right.
tool() {
  if [[ $3 =~ $2 ]]; then
    words+=" $1"
  elif [ -z "$has_shell" ] && [[ $3 == *'No such file'* ]]; then
    words+=" ($1: no shell)"
  else
    words+=" $1:FAILED" bad=1
    printf '  %s: %s\n' "$1" "$3" | cat -v | head -n 5 >>"$tmp/why"
  fi
}

check() {
  local line words='' has_shell=''
  : >"$tmp/why"
  if ! make "$1" 2>"$tmp/why"; then
    printf '%-36s no container: %s\n' "$1" "$(tail -n 1 "$tmp/why")"
    bad=1
    return
  fi
  line=$("$SBINJECT" "$name" 2>&1) || { printf '%-36s FAILED %s\n' "$1" "$line"; bad=1; return; }
  ! "$cli" cp "$name:/bin/sh" - >/dev/null 2>&1 || has_shell=1
  tool status healthy "$("$SBINJECT" status "$name" 2>&1)"
  tool version '^[0-9]+\.[0-9]+\.[0-9]+$' "$(call version '{}' .result)"
  tool remote_version '^Server: ' "$(call remote_version '{}' .result)"
  tool text_editor 'created successfully' "$(call text_editor \
    '{"command":"create","path":"/sbinject-validate.txt","file_text":"x\n"}' '.result // .error.message')"
  tool exec_remote '^42$' "$(job 'echo $((6*7))')"
  tool bash_session '42-56' "$(shell)"
  tool mcp '^42$' "$(mcp)"
  tool remove 'deleted its files' "$("$SBINJECT" remove "$name" 2>&1)"
  printf '%-36s%s\n' "$1" "$words"
  cat "$tmp/why"
}

for image; do
  check "$image"
  "$cli" rm -fv "$name" >/dev/null 2>&1
done
exit "$bad"
