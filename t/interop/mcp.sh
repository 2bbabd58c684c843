#!/bin/sh
# SPDX-License-Identifier: MIT
# mcp.sh: an MCP server of three tools, for containers that have a shell and nothing else. A
# message is one line; of it only the id, the method and the arguments of add are looked at.

reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { reply "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}],\"isError\":${2:-false}}"; }
error() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"%s"}}\n' "$id" "$1"; }

# member NAME: the scalar after "NAME" in the line.
member() {
  value=${line##*\""$1"\":}
  value=${value# }
  value=${value%%[,\}]*}
}

tool() { printf '{"name":"%s","description":"%s","inputSchema":{"type":"object","properties":{%s}}}' "$@"; }

tools() {
  tool add 'Adds two numbers.' '"a":{"type":"integer","description":"a"},"b":{"type":"integer","description":"b"}'
  printf ,
  tool whoami 'Tells who runs the server.' ''
  printf ,
  tool fail 'Fails.' ''
}

call() {
  case $line in
  *'"add"'*)
    member a
    a=$value
    member b
    text "$((a + value))"
    ;;
  *'"whoami"'*) text "$(id -u):$(id -g):$HOME" ;;
  *) text 'it failed' true ;;
  esac
}

echo "serving MCP" >&2
while IFS= read -r line; do
  member id
  id=$value
  case $line in
  *'"method":"initialize"'* | *'"method": "initialize"'*)
    reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}'
    ;;
  *'"tools/list"'*) reply "{\"tools\":[$(tools)]}" ;;
  *'"tools/call"'*) call ;;
  *'"notifications/'*) ;;
  *) error 'no such method' ;;
  esac
done
