#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh SBINJECT: what sbinject does, shown on a real container. Uses the engine that the user
# has; where none answers, installs and starts a private one, and stops it at the end.
set -eu -o pipefail
sbinject=$1
here=$(cd "$(dirname "$0")" && pwd)
private=
bold='' plain=''
[ ! -t 1 ] || [ -n "${NO_COLOR:-}" ] || bold=$'\033[1m' plain=$'\033[0m'

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# show WORD...: a command as it can be pasted, and what it does.
show() {
  local word line='$'
  for word in "$@"; do
    [[ $word =~ ^[a-zA-Z0-9_./:=-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
    line+=" $word"
  done
  printf '%s\n' "$line"
  "$@"
}

api() { curl -sSf -o /dev/null --unix-socket "$socket" "$@"; }

finish() {
  status=$?
  set +e
  if [ -n "${name:-}" ]; then
    api -X DELETE "http://d/containers/$name?force=1" 2>/dev/null
    api -X DELETE "http://d/images/$image" 2>/dev/null
  fi
  [ -z "$private" ] || "$here/engines/engine.sh" stop docker20 >/dev/null
  [ "$status" -eq 0 ] || echo "demo: failed" >&2
}
trap finish EXIT

# find_engine: the first socket of a running engine, or a private one.
find_engine() {
  local host=${DOCKER_HOST:-}
  for socket in "${host#unix://}" /var/run/docker.sock /run/podman/podman.sock; do
    [ -S "$socket" ] && api -m 3 http://d/_ping 2>/dev/null && return
  done
  if [ "$(id -u)" -ne 0 ]; then
    trap - EXIT
    say "No engine can be reached as this user: going on with sudo"
    exec sudo -E "$0" "$sbinject"
  fi
  say "No engine is running: starting a private one (it is stopped at the end)"
  "$here/setup.sh" engine
  private=1
  "$here/engines/engine.sh" start docker20
  socket=$("$here/engines/engine.sh" sock docker20)
  socket=${socket#unix://}
}

# make_container: from an image with one static program in it and nothing else.
make_container() {
  local root
  name=sbinject-demo-$$ image=sbinject-demo-$$:latest # Podman heeds no other tag
  root=$(mktemp -d)
  printf 'int pause(void); int main(void) { for (;;) pause(); }' |
    gcc -x c -Os -static -s -o "$root/pause" -
  tar -C "$root" -c . | api -T - -H 'Content-Type: application/x-tar' -X POST \
    "http://d/images/create?fromSrc=-&repo=sbinject-demo-$$&tag=latest"
  rm -rf "$root"
  api -H 'Content-Type: application/json' \
    -d '{"Image":"'"$image"'","Cmd":["/pause"],"HostConfig":{"NetworkMode":"none"}}' \
    "http://d/containers/create?name=$name"
  api -X POST "http://d/containers/$name/start"
}

find_engine
say "A container made from scratch: one program, no shell, no libc, no tar"
make_container
show export "DOCKER_HOST=unix://$socket"
show "$sbinject" probe "$name"
say "Put the tool service into it"
show "$sbinject" "$name"
say "Is it there, and does it answer?"
show "$sbinject" status "$name"
say "A tool call: the text editor, in a container that has nothing"
show "$sbinject" call "$name" text_editor '{"command": "create", "path": "/hello.txt", "file_text": "hello\n"}'
show "$sbinject" call "$name" text_editor '{"command": "view", "path": "/hello.txt"}'
say "Leave the container as it was"
show "$sbinject" remove "$name"
say "That was the demo. 'sbinject --help' explains the rest; 'make install' installs it."
