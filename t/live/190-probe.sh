#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: probe tells the truth about every kind of container, running or not, and changes nothing.
# tier: check
# images: scratch busybox musl bookworm distroless arm64
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

# facts IMAGE: the facts as "key=value" words.
facts() { "$SBINJECT" probe --json "$1" | jq -r '.facts | del(.image, .labels) | to_entries | map("\(.key)=\(.value)") | join(" ")'; }

declare -A expected=(
  [scratch]='os=linux arch=amd64 libc=none'
  [busybox]='os=linux arch=amd64 libc=none'
  [musl]='os=linux arch=amd64 libc=musl'
  [bookworm]='os=linux arch=amd64 libc=glibc libc_version=2.36 distro=debian version=12'
  [distroless]='os=linux arch=amd64 libc=glibc libc_version=2.36'
  [arm64]='os=linux arch=arm64 variant=v8'
)
binfmt_need on
for kind in "${!expected[@]}"; do
  name=$(unique "$kind")
  id=$(ctr_create "$ENGINE" "$kind" "$name")
  before=$(ctr_diff "$ENGINE" "$id")
  got=$(facts "$name")
  missing=
  for word in ${expected[$kind]}; do [[ " $got " == *" $word "* ]] || missing+=" $word"; done
  is "$kind: facts" "$missing" ''
  [ -z "$missing" ] || diag "got: $got"
  shells=$("$SBINJECT" probe --json "$name" | jq -c .shells)
  case $kind in
    scratch | distroless) is "$kind: no shell" "$shells" '[]' ;;
    *) like "$kind: a shell" "$shells" '/bin/sh' ;;
  esac
  ctr_stop "$ENGINE" "$id"
  is "$kind: the same when it is stopped" "$(facts "$name")" "$got"
  run "$SBINJECT" probe "$name"
  like "$kind: the table tells the state" "$out" 'state +exited'
  is "$kind: nothing is changed" "$(ctr_diff "$ENGINE" "$id")" "$before"
done

# Hostile texts do not reach the terminal.
name=$(unique h)
id=$(ctr_create "$ENGINE" busybox "$name")
printf 'ID=evil\nPRETTY_NAME="\033]0;owned\007\033[2J"\n' >"$tmp/os-release"
tar -b 1 -C "$tmp" --transform 's,^,etc/,' --owner=0 --group=0 -cf "$tmp/etc.tar" os-release
api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/etc.tar" >/dev/null
run "$SBINJECT" probe "$name"
unlike 'escape sequences are not passed on' "$out" $'\033'
run "$SBINJECT" probe --json "$name"
unlike 'nor in JSON' "$out" $'\033'
done_testing
