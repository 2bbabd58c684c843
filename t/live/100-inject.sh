#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: inject, status, call and remove work on every kind of container, and leave no trace.
# tier: check
# also: docker20-userns
# images: scratch busybox musl bookworm distroless arm64
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

path=/var/tmp/.da7be258e003d428/inspect-sandbox-tools

# cycle KIND: the whole life of an injection.
cycle() {
  local kind=$1 name before
  name=$(unique "$kind")
  id=$(ctr_create "$ENGINE" "$kind" "$name")
  before=$(ctr_diff "$ENGINE" "$id")

  run "$SBINJECT" status "$name"
  is "$kind: status before is 7" "$rc" 7
  like "$kind: status before says why" "$err" 'not injected'

  ok "$kind: inject by name" "$SBINJECT" "$name"
  like "$kind: says what it did" "$out" "^$name: injected inspect-sandbox-tools .* at $path, pid [0-9]+"

  ok "$kind: status is healthy" "$SBINJECT" status "$name"
  like "$kind: status names the path" "$out" "healthy: .*$path"

  ok "$kind: call version" "$SBINJECT" call "$name" version
  like "$kind: version has three parts" "$(jq -r .result <<<"$out")" '^[0-9]+\.[0-9]+\.[0-9]+$'
  ok "$kind: call reaches the server" "$SBINJECT" call "$name" remote_version
  like "$kind: the server is at the path where hosts look" "$(jq -r .result <<<"$out")" "^Server: $path \("

  ok "$kind: inject again by id prefix" "$SBINJECT" --json "${id:0:20}"
  is "$kind: recognised" "$(jq -r .result <<<"$out")" already

  ok "$kind: what hosts run answers too" host_call "$kind"

  ok "$kind: remove" "$SBINJECT" remove "$name"
  is "$kind: the file system is as before" "$(ctr_diff "$ENGINE" "$id")" "$before"
  run "$SBINJECT" status "$name"
  is "$kind: status after is 7" "$rc" 7
  ok "$kind: remove is idempotent" "$SBINJECT" remove "$name"
  like "$kind: and says so" "$out" 'nothing to remove'
  ok "$kind: inject after remove" "$SBINJECT" "$name"
  ctr_rm "$ENGINE" "$id"
}

# host_call: as inspect_ai calls it, by the engine's exec of the agreed path.
host_call() {
  exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" "$path" exec \
    '{"jsonrpc":"2.0","method":"version","id":666}' | grep -q '"id": *666'
}

# would COMMAND WORD: what a dry run of it foretells.
would() {
  is "a dry run of $1 foretells '$2'" \
    "$("$SBINJECT" "$1" --dry-run --json "$name" | jq -r '.result + " " + .would')" "dry-run $2"
}

dry_runs() {
  name=$(unique dry)
  id=$(ctr_create "$ENGINE" scratch "$name")
  would inject inject
  would remove nothing
  ok 'inject' "$SBINJECT" "$name"
  would inject check
  would remove remove
  ctr_rm "$ENGINE" "$id"
}

# A payload from a file has the release that it says it has.
from_file() {
  local rules=$tmp/file.yaml file=$tmp/payload arch sha256
  name=$(unique file)
  id=$(ctr_create "$ENGINE" scratch "$name")
  arch=$("$SBINJECT" probe --json "$name" | jq -r .facts.arch)
  "$SBINJECT" payloads --extract "tools-$arch" --output "$file"
  sha256=$(sha256sum <"$file" | cut -c-64)
  printf 'version: 1\npayloads: {mine: {source: file, path: %s, sha256: %s}}\n' "$file" "$sha256" >"$rules"
  printf 'rules: [{when: {os: linux}, use: mine}]\n' >>"$rules"
  run "$SBINJECT" -c "$rules" --dry-run --json "$name"
  is 'a file: a dry run does not know its release' "$(jq -c '[.payload, .release]' <<<"$out")" '["mine",null]'
  run "$SBINJECT" -c "$rules" --require release="$(release)" "$name"
  is 'a file: a release cannot be insisted on' "$rc" 6
  like 'a file: a digest can' "$err" 'is a file, whose release is not known .* use --require sha256='
  ok 'a file: inject' "$SBINJECT" -c "$rules" --json --require sha256="$sha256" "$name"
  is 'a file: its release is what it says' "$(jq -r .release <<<"$out")" "$(release)"
  ctr_rm "$ENGINE" "$id"
}
release() { "$SBINJECT" payloads --json | jq -rs '.[0].release'; }

dry_runs
from_file
binfmt_need on
for kind in scratch busybox musl bookworm distroless arm64; do cycle "$kind"; done
done_testing
