#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: odd settings of a container either work or are refused with the cause and exit 5.
# images: scratch busybox bookworm distroless
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

# works NAME IMAGE HOSTCONFIG CONFIG
works() {
  local name id before
  name=$(unique "${1// /-}")
  id=$(ctr_create "$ENGINE" "$2" "$name" "${3:-{\}}" "${4:-{\}}") || { fail "$1: container starts"; return; }
  before=$(ctr_diff "$ENGINE" "$id")
  ok "$1: inject" "$SBINJECT" "$name"
  ok "$1: status" "$SBINJECT" status "$name"
  ok "$1: call" "$SBINJECT" call "$name" remote_version
  ok "$1: remove" "$SBINJECT" remove "$name"
  is "$1: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
  ctr_rm "$ENGINE" "$id"
}

# refused NAME IMAGE HOSTCONFIG CONFIG CODE REGEX
refused() {
  local name id before
  name=$(unique "${1// /-}")
  id=$(ctr_create "$ENGINE" "$2" "$name" "${3:-{\}}" "${4:-{\}}") || { fail "$1: container starts"; return; }
  before=$(ctr_diff "$ENGINE" "$id")
  run "$SBINJECT" "$name"
  is "$1: exit code" "$rc" "$5"
  like "$1: the cause is named" "$err" "$6"
  is "$1: one line" "$(wc -l <<<"$err")" 1
  is "$1: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
  ctr_rm "$ENGINE" "$id"
}

works 'user 65532' distroless
works 'user 1000' busybox '{}' '{"User":"1000:1000"}'
works 'all capabilities dropped' busybox '{"CapDrop":["ALL"]}'
works 'all dropped and user 1000' bookworm '{"CapDrop":["ALL"]}' '{"User":"1000"}'
works 'no new privileges' scratch '{"SecurityOpt":["no-new-privileges"]}'
works 'tmpfs on tmp' busybox '{"Tmpfs":{"/tmp":"rw"}}'
works 'executable tmpfs on var tmp' busybox '{"Tmpfs":{"/var/tmp":"rw,exec"}}'
works 'odd working directory' busybox '{}' '{"WorkingDir":"/tmp"}'
refused 'noexec tmpfs on var tmp' busybox '{"Tmpfs":{"/var/tmp":"rw,noexec"}}' '{}' 5 noexec
case $ENGINE in
  docker*) refused 'read-only root' busybox '{"ReadonlyRootfs":true}' '{}' 5 'read-only' ;;
  *)
    works 'read-only root' busybox '{"ReadonlyRootfs":true}'
    refused 'read-only root with noexec tmpfs' busybox \
      '{"ReadonlyRootfs":true,"Tmpfs":{"/run":"noexec","/tmp":"noexec","/var/tmp":"noexec"}}' '{}' 5 noexec
    ;;
esac
done_testing
