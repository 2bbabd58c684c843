#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the programs that releases of inspect_ai bring for their containers come, as trees, into one
# that inspect_ai itself cannot bring them to, without a shell and tar; they answer there, are proved,
# and go again with all that they run.
# tier: sample
# engines: docker28 podman43
# images: distroless
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

kept=$SBINJECT_CACHE/reference
program=/var/tmp/.da7be258e003d428/inspect-sandbox-tools
# What the older ones make elsewhere, and leave there when they end.
theirs='> .* tmp/sandbox-tools/.*'
# The archives, by their numbers; "make check" takes the last one.
numbers=$(awk -F '\t' '$3 == "amd64" && $4 == "glibc" && $6 == "tar.gz" { print $2 }' "$top/payloads/upstream.tsv")
[ "${TIER:-}" != check ] || numbers=$(tail -n 1 <<<"$numbers")

# pinned NUMBER FIELD: what payloads/upstream.tsv says of it
pinned() { awk -F '\t' -v n="upstream-v$1-amd64" -v f="$2" '$1 == n { print $f }' "$top/payloads/upstream.tsv"; }

# from_wheel RELEASE MEMBER: on stdout; the wheel comes from the Python index, unless it is there
from_wheel() {
  local wheel
  wheel=$kept/inspect_ai-$1-py3-none-any.whl
  if [ ! -f "$wheel" ]; then
    python3 -m pip -q --disable-pip-version-check --retries 1 download --no-deps -d "$tmp/wheel" \
      "inspect_ai==$1" >/dev/null 2>"$tmp/pip" || return 1
    wheel=$(echo "$tmp"/wheel/*.whl)
  fi
  python3 -c 'import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$wheel" "inspect_ai/binaries/$2"
  rm -rf "$tmp/wheel"
}

# archive NUMBER: sets $file and $digest; fails with the reason in $tmp/pip
archive() {
  local name
  name=$(pinned "$1" 5)
  digest=$(pinned "$1" 8)
  file=$kept/$name
  ! sha256sum --status -c <<<"$digest  $file" 2>/dev/null || return 0
  mkdir -p "$kept"
  from_wheel "$(pinned "$1" 10)" "$name" >"$tmp/new" || return 1
  mv "$tmp/new" "$file"
  is "v$1: the archive is the pinned one" "$(sha256sum <"$file")" "$digest  -"
}

files() { api "$ENGINE" GET "/containers/$id/export" | tar -tv | sed -E 's/ [0-9-]+ [0-9:]+ / /' | LC_ALL=C sort; }
# processes: how many are in the container's namespace
processes() {
  local space
  space=$(readlink "/proc/$(ctr_inspect "$ENGINE" "$id" | jq .State.Pid)/ns/pid")
  readlink /proc/[0-9]*/ns/pid | grep -cxF "$space" || :
}

# life NUMBER
life() {
  cat >"$tmp/rules.yaml" <<-END
	version: 1
	payloads:
	  upstream:
	    {source: file, path: $file, format: tar, sha256: $digest, launcher: inspect-sandbox-tools,
	     tree: $("$SBINJECT" payloads --json --describe "$file" | jq -r .tree)}
	rules: [{when: {os: linux, arch: amd64}, use: upstream, service: root}]
	END
  export SBINJECT_CONFIG=$tmp/rules.yaml
  name=$(unique "up$1")
  id=$(ctr_create "$ENGINE" distroless "$name")
  # the one library, besides glibc, that their launcher needs
  tar -b 1 -ch --transform "s,.*/,usr/lib/$(uname -m)-linux-gnu/," "/lib/$(uname -m)-linux-gnu/libz.so.1" -P >"$tmp/libz.tar"
  api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/libz.tar" >/dev/null
  before=$(files) processes=$(processes)
  ok "v$1: inject" "$SBINJECT" -t 120 --json "$name"
  is "v$1: … by its files" "$(jq -c '[.result,.proof]' <<<"$out")" '["injected","tree"]'
  exec_opts='{"User":"0:0"}' run ctr_exec "$ENGINE" "$id" "$program" exec '{"jsonrpc":"2.0","method":"version","id":1}'
  like "v$1: it answers" "$out" '"result"'
  ok "v$1: status" "$SBINJECT" status "$name"
  like "v$1: … whole" "$out" 'whole'
  ok "v$1: again" "$SBINJECT" -t 120 --json "$name"
  is "v$1: … is there already" "$(jq -r .trees[0].result <<<"$out")" already
  ok "v$1: remove" "$SBINJECT" remove "$name"
  is "v$1: nothing is left running" "$(processes)" "$processes"
  is "v$1: no file is left" "$(diff <(printf '%s\n' "$before") <(files) | grep '^[<>]' | grep -vx "$theirs" || :)" ''
  ctr_rm "$ENGINE" "$id"
}

for number in $numbers; do
  if archive "$number"; then
    life "$number"
  elif [ -n "${CI:-}" ]; then
    fail "v$number can be fetched" "$(tail -n 1 "$tmp/pip")"
  else
    skip "v$number" "cannot be fetched: $(tail -n 1 "$tmp/pip")"
  fi
done
done_testing
