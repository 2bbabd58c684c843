#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: several sbinject at once, several containers in one call, another version in place.
# tier: check
# images: scratch busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

path=/var/tmp/.da7be258e003d428/inspect-sandbox-tools

one=$(unique one)
id=$(ctr_create "$ENGINE" busybox "$one")
before=$(ctr_diff "$ENGINE" "$id")
pids=()
for i in 1 2 3 4 5 6; do
  "$SBINJECT" "$one" >"$tmp/out.$i" 2>"$tmp/err.$i" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
is 'six at once: all succeed' "$failed" 0
[ "$failed" -eq 0 ] || diag "$(cat "$tmp"/err.*)"
is 'six at once: one service' "$(exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" ps -o args | grep -c "[i]nspect-sandbox-tools server")" 1
is 'six at once: one pid reported' "$(grep -ho 'pid [0-9]*' "$tmp"/out.* | sort -u | wc -l)" 1
ok 'six at once: healthy' "$SBINJECT" status "$one"
ok 'six at once: remove' "$SBINJECT" remove "$one"
is 'six at once: nothing is left' "$(ctr_diff "$ENGINE" "$id")" "$before"

names=()
for i in 1 2 3 4 5; do
  names+=("$(unique "m$i")")
  ctr_create "$ENGINE" scratch "${names[-1]}" >/dev/null
done
ok 'five containers in one call' "$SBINJECT" -j 3 "${names[@]}"
is 'five result lines' "$(wc -l <<<"$out")" 5
run "$SBINJECT" --json "${names[@]}" sbt-none
is 'one of six missing: exit 8' "$rc" 8
is 'one of six missing: six objects' "$(jq -c .ok <<<"$out" | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ' 1 false; 5 true;'
run "$SBINJECT" ls --look
for name in "${names[@]}"; do like "ls shows $name" "$out" "$name .*[0-9a-f]{12} \("; done
ok 'remove from all' "$SBINJECT" remove "${names[@]}"
# A thread's stack is what we ask for, not what the limit leaves. (Sanitizers need more of it.)
plain=$SBINJECT
! grep -q __asan_init "$plain" || plain=$top/build/sbinject
for command in inject status remove; do
  # shellcheck disable=SC2016
  ok "a stack of 64 kB: $command" bash -c 'ulimit -s 64; exec "$@"' bash "$plain" "$command" "${names[@]}"
done

# Another user has another key: what the first left ready is not believed, but the service serves both.
ok 'another user: inject' "$SBINJECT" "$one"
XDG_STATE_HOME=$tmp/someone run "$SBINJECT" status "$one"
is 'another user: status' "$rc" 0
XDG_STATE_HOME=$tmp/someone run "$SBINJECT" call "$one" remote_version
is 'another user: call' "$rc" 0
XDG_STATE_HOME=$tmp/someone SBINJECT_TRACE=http run "$SBINJECT" --json "$one"
is 'another user: the same service' "$(jq -r .result <<<"$out")" already
like 'another user: by an upload of its own' "$err" 'PUT '
XDG_STATE_HOME=/proc/none run "$SBINJECT" --json "$one"
is 'no place for a key: works' "$(jq -r .result <<<"$out")" already
# An image, or root inside, that puts a program where an older scheme would have looked for it.
sum=$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64").sha256')
mkdir -p "$tmp/fake/.sbinject"
printf '#!/bin/sh\ntouch /tmp/hijacked\n' >"$tmp/fake/.sbinject/$sum"
chmod 755 "$tmp/fake/.sbinject/$sum"
tar -b 1 -C "$tmp/fake" --owner=0 --group=0 -cf "$tmp/fake.tar" .sbinject
api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/fake.tar" >/dev/null
run "$SBINJECT" "$one"
run "$SBINJECT" call "$one" version
run ctr_exec "$ENGINE" "$id" ls /tmp/hijacked
is 'what others put there is never run' "$rc" 1
ok 'another user: remove' "$SBINJECT" remove "$one"
is 'another user: nothing is left' "$(ctr_diff "$ENGINE" "$id")" "$before"

# Another version: the same program with a byte behind its end has another digest.
"$SBINJECT" payloads --extract tools-amd64 -o "$tmp/other"
echo >>"$tmp/other"
cat >"$tmp/other.yaml" <<Y
version: 1
payloads:
  other: {source: file, path: other, sha256: $(sha256sum "$tmp/other" | cut -d' ' -f1)}
install:
  path: $path
rules:
  - when: {os: linux}
    use: other
Y
ok 'another version first' "$SBINJECT" -c "$tmp/other.yaml" "$one"
run "$SBINJECT" status "$one"
is 'status tells another version apart' "$rc" 6
run "$SBINJECT" call "$one" version
is 'call refuses another version' "$rc" 6
# A watcher inside: is the path ever missing or not executable?
ctr_exec "$ENGINE" "$id" sh -c "while [ ! -e /tmp/stop ]; do [ -x $path ] || echo missing; done" >"$tmp/watch" 2>&1 &
watcher=$!
sleep 0.5
for i in 1 2 3; do
  run "$SBINJECT" --json "$one"
  is "replace $i: result" "$(jq -r .result <<<"$out")" replaced
  run "$SBINJECT" --json -c "$tmp/other.yaml" "$one"
  is "replace $i back: result" "$(jq -r .result <<<"$out")" replaced
done
ctr_exec "$ENGINE" "$id" touch /tmp/stop
wait "$watcher" || :
is 'the path was never missing' "$(cat "$tmp/watch")" ''
ctr_exec "$ENGINE" "$id" rm /tmp/stop
ok 'remove what another version placed' "$SBINJECT" remove "$one"

# The container stops and starts again: files are there, the service is not.
ok 'inject before restart' "$SBINJECT" "$one"
ctr_restart "$ENGINE" "$id"
run "$SBINJECT" status "$one"
is 'after restart: status 7' "$rc" 7
run "$SBINJECT" --json "$one"
is 'after restart: started again' "$(jq -r .result <<<"$out")" restarted
done_testing
