#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: every ordinary error has its documented exit code and one clear line, and changes nothing.
# tier: check
# first: docker20 podman43
# images: scratch busybox arm64
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

name=$(unique e)
id=$(ctr_create "$ENGINE" busybox "$name")
before=$(ctr_diff "$ENGINE" "$id")

fails 'unknown container' 4 "no container 'sbt-none'" "$SBINJECT" sbt-none
fails 'several, one unknown' 8 "no container 'sbt-none'" "$SBINJECT" "$name" sbt-none
fails 'a mistyped command injects nothing' 4 'if you meant a command' "$SBINJECT" rm "$name"
fails 'a mistyped command on its own' 4 "no container 'sbt-list'.*if you meant a command" \
  "$SBINJECT" sbt-list
run "$SBINJECT" -- sbt-list
is 'what cannot be a command is not taken for one' "$rc $(grep -c 'a command' <<<"$err")" '4 0'
"$SBINJECT" remove "$name" >/dev/null
fails 'a slash behind the name' 2 "'$name/' is not a valid container name" "$SBINJECT" "$name/"
run "$SBINJECT" status "/$name"
is 'a slash before the name: as none' "$rc $err" "7 sbinject: /$name: not injected; run 'sbinject inject' first"
run "$SBINJECT" --json sbt-none
is 'json: failure is one object' "$(jq -c '[.container,.ok,.code,.exit]' <<<"$out")" '["sbt-none",false,"no-container",4]'

stopped=$(unique s)
stopped_id=$(ctr_create "$ENGINE" busybox "$stopped")
ctr_stop "$ENGINE" "$stopped_id"
fails 'stopped' 4 'is not running \(exited\); start it' "$SBINJECT" "$stopped"
created=$(unique c)
ctr_new "$ENGINE" busybox "$created" >/dev/null
fails 'created' 4 'is not running \(created\); start it' "$SBINJECT" "$created"

# An id prefix that two containers share: make some until two begin alike.
ids=() ambiguous=
for i in $(seq 40); do
  ids+=("$(ctr_new "$ENGINE" scratch "$(unique "a$i")")")
  ambiguous=$(printf '%s\n' "${ids[@]}" | cut -c1-1 | sort | uniq -d | head -n 1)
  [ -z "$ambiguous" ] || break
done
fails 'ambiguous id' 4 'ambiguous' "$SBINJECT" "$ambiguous"

cat >"$tmp/no.yaml" <<'Y'
version: 1
payloads:
  tools-amd64: {source: embedded}
rules:
  - when: {os: windows}
    use: tools-amd64
Y
fails 'no rule' 5 'no rule in .*os=linux' "$SBINJECT" -c "$tmp/no.yaml" "$name"

sed 's/windows/linux/; s/tools-amd64/tools-pdp11/' "$tmp/no.yaml" >"$tmp/none.yaml"
fails 'not built in' 5 "payload 'tools-pdp11' is not built into this sbinject" \
  "$SBINJECT" -c "$tmp/none.yaml" "$name"

cat >"$tmp/tie.yaml" <<'Y'
version: 1
payloads:
  tools-amd64: {source: embedded}
rules:
  - when: {os: linux, engine: [docker, podman]}
    use: tools-amd64
  - when: {os: linux, arch: amd64}
    use: tools-amd64
Y
fails 'tie' 5 'tie.yaml:5.*tie.yaml:7|tie.yaml:.*:?7' "$SBINJECT" -c "$tmp/tie.yaml" "$name"

sed 's/when: {os: windows}/wen: {}/' "$tmp/no.yaml" >"$tmp/bad.yaml"
fails 'broken rules' 2 'bad.yaml:5:5: ' "$SBINJECT" -c "$tmp/bad.yaml" "$name"

"$SBINJECT" payloads --extract tools-amd64 -o "$tmp/tools"
cat >"$tmp/pin.yaml" <<Y
version: 1
payloads:
  mine: {source: file, path: tools, sha256: $(printf '%064d' 0)}
rules:
  - when: {os: linux}
    use: mine
Y
fails 'digest of a file' 6 'not the pinned one' "$SBINJECT" -c "$tmp/pin.yaml" "$name"
mkfifo "$tmp/fifo"
sed "s/path: tools/path: fifo/" "$tmp/pin.yaml" >"$tmp/fifo.yaml"
fails 'a FIFO as payload' 2 "'$tmp/fifo' is not a regular file" \
  timeout -k 5 120 "$SBINJECT" -c "$tmp/fifo.yaml" "$name"
fails 'required release' 6 'require release=0.0.1' "$SBINJECT" --require release=0.0.1 "$name"
fails 'required digest' 6 'require sha256=' "$SBINJECT" --require "sha256=$(printf '%064d' 0)" "$name"

# A planted file of the right name and size, as only root inside could leave it: the program checks
# itself, and the answer is compared.
ok 'inject before planting' "$SBINJECT" "$name"
kept=$(exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" sh -c 'cd /.sbinject && ls -d run-*')
cp "$tmp/tools" "$tmp/planted"
printf 'X' | dd of="$tmp/planted" bs=1 seek=$(($(stat -c %s "$tmp/tools") - 1)) conv=notrunc 2>/dev/null
mkdir -p "$tmp/root/.sbinject"
cp "$tmp/planted" "$tmp/root/.sbinject/$kept"
tar -b 1 -C "$tmp/root" --owner=0 --group=0 -cf "$tmp/planted.tar" .sbinject
api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/planted.tar" >/dev/null
fails 'planted payload' 6 '' "$SBINJECT" "$name"
"$SBINJECT" remove "$name" >/dev/null 2>&1 || :
ctr_rm "$ENGINE" "$id"

# A payload that cannot be executed: the emulation that ran the container is gone.
foreign=$(unique f)
binfmt_need on
foreign_id=$(ctr_create "$ENGINE" arm64 "$foreign")
before=$(ctr_diff "$ENGINE" "$foreign_id")
exec 6>&-
binfmt_need off
fails 'wrong architecture' 5 'architecture' "$SBINJECT" "$foreign"
is 'wrong architecture: nothing is left' "$(ctr_diff "$ENGINE" "$foreign_id")" "$before"
"$top/t/engines/binfmt.sh" on aarch64

# The service that is started never answers.
silent=$(unique v)
silent_id=$(ctr_create "$ENGINE" scratch "$silent")
before=$(ctr_diff "$ENGINE" "$silent_id")
{ "$SBINJECT" rules | sed 's/^start:.*/start: [version]/'; } >"$tmp/silent.yaml"
grep -q '^start: \[version\]' "$tmp/silent.yaml" || fail 'the built-in rules have a start line'
fails 'service never answers' 7 '' "$SBINJECT" -c "$tmp/silent.yaml" -t 10 "$silent"
is 'service never answers: nothing is left' "$(ctr_diff "$ENGINE" "$silent_id")" "$before"
# The home's name is taken by what is no directory.
for what in file FIFO; do
  name=$(unique "home$what")
  id=$(ctr_new "$ENGINE" busybox "$name")
  mkdir -p "$tmp/$what"
  if [ "$what" = FIFO ]; then mkfifo "$tmp/$what/.sbinject"; else : >"$tmp/$what/.sbinject"; fi
  tar -b 1 -C "$tmp/$what" --owner=0 --group=0 -cf "$tmp/$what.tar" .sbinject
  api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/$what.tar" >/dev/null
  ctr_start "$ENGINE" "$id"
  run "$SBINJECT" "$name"
  # Podman puts the directory in its place
  [[ $ENGINE == podman* && $rc -eq 0 ]] || is "the home is a $what: exit code" "$rc" 5
  [[ $ENGINE == podman* && $rc -eq 0 ]] || like "the home is a $what: said" "$err" "'/\.sbinject' .*is no directory"
done
done_testing
