#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the test engines and images are sound: a container of each image starts,
# has an untouched file system, runs a program, stops, and goes away.
# tier: check
# images: scratch busybox musl bookworm arm64 distroless
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"

check_image() {
  local image=$1 id before
  run ctr_create "$ENGINE" "$image" "$(unique "$image")"
  id=$out
  is "$image: container starts" "$rc" 0
  if [ "$rc" -ne 0 ]; then
    diag "$err"
    return 0
  fi
  before=$(ctr_diff "$ENGINE" "$id")
  unlike "$image: file system is as in the image" "$before" '/(pause|tmp|home|usr)'
  run ctr_exec "$ENGINE" "$id" /pause --version
  is "$image: a program runs inside" "$rc $out" "0 pause 1"
  is "$image: running it changed no file" "$(ctr_diff "$ENGINE" "$id")" "$before"
  check_shell "$image" "$id"
  ok "$image: stops on SIGTERM" ctr_stop "$ENGINE" "$id"
  is "$image: with exit status 0" \
    "$(ctr_inspect "$ENGINE" "$id" | jq -r .State.ExitCode)" 0
  ok "$image: is removed" ctr_rm "$ENGINE" "$id"
}

check_shell() {
  case $1 in
  scratch | distroless)
    run ctr_exec "$ENGINE" "$2" sh -c true
    like "$1: has no shell" "$rc $out$err" '^(126|127|1) '
    ;;
  *)
    # shellcheck disable=SC2016
    run ctr_exec "$ENGINE" "$2" sh -c 'echo "$(id -u) $(uname -m)"; echo E >&2; exit 3'
    is "$1: shell, both streams, exit status" "$rc $out $err" "3 0 $(machine "$1") E"
    ;;
  esac
}

machine() {
  case $1 in
  arm64) echo aarch64 ;;
  *) echo x86_64 ;;
  esac
}

binfmt_need on aarch64
for image in scratch busybox musl bookworm arm64 distroless; do
  check_image "$image"
done
like "distroless runs as 65532" "$(api "$ENGINE" GET /images/sbinject-test/distroless:1/json |
  jq -r .Config.User)" '^65532$'
is "arm64 is labelled so" "$(api "$ENGINE" GET /images/sbinject-test/arm64:1/json |
  jq -r .Architecture)" arm64
done_testing
