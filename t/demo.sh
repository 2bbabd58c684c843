#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh SBINJECT: what sbinject does, shown on a real container. Uses the engine that the user
# has; where none answers, starts a private one and stops it at the end.
set -eu -o pipefail
sbinject=$1
here=$(cd "$(dirname "$0")" && pwd)
private=

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() {
  printf '$ sbinject %s\n' "$*"
  "$sbinject" "$@"
}

finish() {
  status=$?
  set +e
  if [ -n "${name:-}" ]; then
    curl -s -o /dev/null --unix-socket "$socket" -X DELETE "http://d/containers/$name?force=1"
    [ -z "${image:-}" ] || curl -s -o /dev/null --unix-socket "$socket" -X DELETE "http://d/images/$image"
  fi
  [ -z "$private" ] || "$here/engines/engine.sh" stop docker20 >/dev/null
  [ "$status" -eq 0 ] || echo "demo: failed" >&2
}
trap finish EXIT

# find_engine: the first socket of a running engine, or a private one.
find_engine() {
  local host=${DOCKER_HOST:-}
  for socket in "${host#unix://}" /var/run/docker.sock /run/podman/podman.sock; do
    [ -S "$socket" ] && curl -s -m 3 --unix-socket "$socket" http://d/_ping >/dev/null && return
  done
  if [ "$(id -u)" -ne 0 ]; then
    trap - EXIT
    say "No engine can be reached as this user: going on with sudo"
    exec sudo -E "$0" "$sbinject"
  fi
  say "No engine is running: starting a private one (it is stopped at the end)"
  "$here/engines/engine.sh" start docker20
  private=1
  socket=$("$here/engines/engine.sh" sock docker20)
  socket=${socket#unix://}
}

# make_container: from an image with one static program in it and nothing else.
make_container() {
  local root
  name=sbinject-demo-$$ image=sbinject-demo:$$
  root=$(mktemp -d)
  printf 'int pause(void); int main(void) { for (;;) pause(); }' |
    gcc -x c -Os -static -s -o "$root/pause" -
  tar -C "$root" -c . | curl -sf -o /dev/null --unix-socket "$socket" -T - \
    -H 'Content-Type: application/x-tar' -X POST \
    "http://d/images/create?fromSrc=-&repo=sbinject-demo&tag=$$"
  rm -rf "$root"
  curl -sf -o /dev/null --unix-socket "$socket" -H 'Content-Type: application/json' \
    -d '{"Image":"'"$image"'","Cmd":["/pause"],"HostConfig":{"NetworkMode":"none"}}' \
    "http://d/containers/create?name=$name"
  curl -sf -o /dev/null --unix-socket "$socket" -X POST "http://d/containers/$name/start"
}

find_engine
export DOCKER_HOST=unix://$socket
say "A container made from scratch: one program, no shell, no libc, no tar"
make_container
show probe "$name"
say "Put the tool service into it"
show "$name"
say "Is it there, and does it answer?"
show status "$name"
say "A tool call: the text editor, in a container that has nothing"
show call "$name" text_editor '{"command": "create", "path": "/hello.txt", "file_text": "hello\n"}'
show call "$name" text_editor '{"command": "view", "path": "/hello.txt"}'
say "Leave the container as it was"
show remove "$name"
say "That was the demo. 'sbinject --help' tells the rest; 'make install' installs it."
