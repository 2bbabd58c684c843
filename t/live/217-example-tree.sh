#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the example of a tree does what it says: Python of Debian's packages runs in containers that have
# another libc or none, no shell and no network; it leaves its tree as it was, and goes with it.
# tier: check
# engines: docker20 docker28 podman43 podman43-rootless podman58
# images: busybox musl scratch
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

script=$top/conf/examples/python3-tree.sh
cache=$SBINJECT_CACHE/examples
archive=$cache/python3-$(sha256sum <"$script" | cut -c-12).tar.gz
python=/opt/python3/bin/python3

# Once a week, by whichever engine's test comes first.
make_archive() {
  mkdir -p "$cache"
  exec 7>"$cache/.lock"
  flock 7
  [ -z "$(find "$archive" -mtime -7 2>/dev/null)" ] || return 0
  run "$script" "$tmp/python3.tar.gz"
  if [ "$rc" -eq 0 ]; then
    rm -f "$cache"/python3-*.tar.gz
    mv "$tmp/python3.tar.gz" "$archive"
  fi
  exec 7>&-
}
make_archive
if [ ! -f "$archive" ]; then
  [[ ! $err =~ cannot\ download|apt\ knows\ no ]] || skip_all "no Debian archive: ${err##*$'\n'}"
  fail 'the archive is made' "$err"
  done_testing
fi

# left: what a removal left; Podman itself makes files in /etc.
left() { ctr_diff "$ENGINE" "$id" | grep -vE '^[AC] /etc(/|$)' || :; }
inside() { run ctr_exec "$ENGINE" "$id" "$@"; }

for image in busybox musl scratch; do
  name=$(unique "p$image")
  id=$(ctr_create "$ENGINE" "$image" "$name")
  ok "$image: inject" "$SBINJECT" --json --tree "/opt/python3=$archive" "$name"
  tree=$(jq -r '.trees[0].tree' <<<"$out")
  inside "$python" -c 'print(sum(range(10)))'
  is "$image: it runs" "$rc $out" '0 45'
  inside "$python" -c 'import ctypes, json, sqlite3, ssl, sys
print(ssl.OPENSSL_VERSION.split()[0], sqlite3.connect(":memory:").execute("select 6*7").fetchone()[0], sys.executable)'
  is "$image: its libraries, too" "$rc $out" "0 OpenSSL 42 $python"
  exec_opts='{"User":"1000:1000"}' inside "$python" -c 'import os, subprocess, sys
print(os.getuid(), subprocess.check_output([sys.executable, "-c", "print(1)"], text=True), end="")'
  is "$image: for another user, and from itself" "$rc $out" '0 1000 1'
  ok "$image: status" "$SBINJECT" status --json "$name"
  is "$image: Python has written nothing into its tree" "$(jq -r '.trees[0].tree' <<<"$out")" "$tree"
  ok "$image: remove" "$SBINJECT" remove "$name"
  is "$image: nothing is left" "$(left)" ''
  ctr_rm "$ENGINE" "$id"
done

# the rules of the example, with the digests of this archive
"$SBINJECT" payloads --describe "$archive" >"$tmp/described"
sed -E "s|^( +path:).*|\1 $archive|; $(sed -n 's/^\(sha256\|tree\): \(.*\)/s!^( +\1:).*!\\1 \2!/p' "$tmp/described" | paste -sd';')" \
  "$top/conf/examples/python3.yaml" >"$tmp/python3.yaml"
ok 'the rules of the example' "$SBINJECT" rules --check "$tmp/python3.yaml"
is '… are right' "$out" "$tmp/python3.yaml: 2 rules, no errors"
cp "$archive" "$tmp/python3.tar.gz"
sed -i "s|$archive|python3.tar.gz|" "$tmp/python3.yaml"
for label in 3 none; do
  name=$(unique "l$label")
  id=$(ctr_create "$ENGINE" scratch "$name" '{}' "{\"Labels\":{\"org.example.python\":\"$label\"}}")
  ok "label $label: dry run" "$SBINJECT" --json -n -c "$tmp/python3.yaml" "$name"
  is "label $label: … of the same" "$(jq -c '[.trees[]?.path]' <<<"$out")" \
    "$([ "$label" = 3 ] && echo '["/opt/python3"]' || echo '[]')"
  ok "label $label: inject" "$SBINJECT" --json -c "$tmp/python3.yaml" "$name"
  is "label $label: with Python, or not" "$(jq -c '[.trees[]?.name]' <<<"$out")" \
    "$([ "$label" = 3 ] && echo '["python3"]' || echo '[]')"
  mv "$tmp/python3.tar.gz" "$tmp/away"
  ok "label $label: status without the archive" "$SBINJECT" status -c "$tmp/python3.yaml" "$name"
  ok "label $label: call" "$SBINJECT" call -c "$tmp/python3.yaml" "$name" version
  ok "label $label: remove" "$SBINJECT" remove -c "$tmp/python3.yaml" "$name"
  mv "$tmp/away" "$tmp/python3.tar.gz"
  ctr_rm "$ENGINE" "$id"
done
done_testing
