#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: trees of files come whole into containers of every kind, run there, are replaced without ever
# being missing, and go without a trace; where one cannot stand, the run fails and leaves nothing;
# what is done to them meanwhile, from inside or to the engine, never ends in a wrong tree that is
# reported right.
# tier: sample
# first: docker20 podman58
# engines: docker20 docker28 podman43 podman43-rootless podman58
# images: scratch busybox musl bookworm
# timeout: 1800
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

ROUNDS=${ROUNDS:-8} # with each adversary
[ "${TIER:-}" != check ] || ROUNDS=2
digest=$top/t/payload/tree.py

# ---- trees ----

mkdir -p "$tmp/one/bin" "$tmp/one/lib/deep" "$tmp/one/empty" "$tmp/many"
cp /bin/busybox "$tmp/one/bin/busybox"
for i in $(seq 400); do head -c 20000 /dev/urandom >"$tmp/many/$i"; done
head -c 3000000 /dev/urandom >"$tmp/one/lib/data"
echo text >"$tmp/one/lib/deep/ä ö"
ln -s ../lib/data "$tmp/one/bin/data"
chmod -R u=rwX,go=rX "$tmp/one" "$tmp/many"
cp -a "$tmp/one" "$tmp/two"
echo more >"$tmp/two/lib/more"
rm "$tmp/two/bin/data"
for tree in one two many; do tar --sort=name -C "$tmp/$tree" -cf "$tmp/$tree.tar" .; done
gzip -k "$tmp/one.tar"
xz -0 -k "$tmp/two.tar"
declare -A D
for tree in one two many; do D[$tree]=$(python3 "$digest" digest "$tmp/$tree"); done

# ---- containers ----

# make IMAGE [HOSTCONFIG] [CONFIG]: sets $name, $id and $before, all of its files
make() {
  name=$(unique "t$RANDOM")
  id=$(ctr_create "$ENGINE" "$1" "$name" "${2:-}" "${3:-}")
  before=$(files)
}

# files: what the container's file system has; mounts are not part of it
files() {
  api "$ENGINE" GET "/containers/$id/export" |
    tar -tv | sed -E 's/ [0-9-]+ [0-9:]+ / /' | LC_ALL=C sort
}

clean() { is "$1: nothing is left" "$(diff <(printf '%s\n' "$before") <(files) || :)" ''; }
as_root() { exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" "$@"; }

# found DIR: the digest of the tree there, by the busybox of this or another tree
found() {
  rm -rf "$tmp/found"
  mkdir "$tmp/found"
  as_root "${busybox:-$1/bin/busybox}" tar -C "$1" -cf - . | tar -C "$tmp/found" -xf - || :
  python3 "$digest" digest "$tmp/found"
}

results() { jq -c '[.trees[] | .result]' <<<"$out"; }

# life NAME DIR [OPTION...]: a tree's whole life there
life() {
  local what=$1 dir=$2 inode
  shift 2
  run "$SBINJECT" --json --tree "$dir=$tmp/one.tar.gz" "$@" "$name"
  [ "$rc" -eq 0 ] || diag "$err"
  is "$what: inject" "$(jq -c '[.ok,.trees[0].result,.trees[0].tree]' <<<"$out")" "[true,\"unpacked\",\"${D[one]}\"]"
  is "$what: it is there" "$(found "$dir")" "${D[one]}"
  is "$what: it runs" "$(ctr_exec "$ENGINE" "$id" "$dir/bin/busybox" echo hi 2>&1)" hi
  inode=$(as_root "$dir/bin/busybox" stat -c %i "$dir")
  run "$SBINJECT" -v --json --tree "$dir=$tmp/one.tar" "$@" "$name"
  is "$what: again" "$(results):$(grep -c sending "$tmp/run.err" || :)" '["already"]:0'
  is "$what: … the same" "$(as_root "$dir/bin/busybox" stat -c %i "$dir")" "$inode"
  run "$SBINJECT" --json status "$@" "$name"
  is "$what: status" "$(jq -c '[.healthy,(.trees | map([.path,.tree]))]' <<<"$out")" "[true,[[\"$dir\",\"${D[one]}\"]]]"
  exec_opts="{\"User\":\"${owner:-0}\"}" ctr_exec "$ENGINE" "$id" "$dir/bin/busybox" sh -c "echo x >>$dir/lib/data"
  fails "$what: changed, status" 6 "$dir' has changed" "$SBINJECT" status "$@" "$name"
  run "$SBINJECT" --json --tree "$dir=$tmp/two.tar.xz" "$@" "$name"
  is "$what: another" "$(results):$(found "$dir")" "[\"replaced\"]:${D[two]}"
  run "$SBINJECT" ls --look
  like "$what: ls" "$out" "$name .*(yes|healthy|running|inject)"
  ok "$what: remove" "$SBINJECT" remove "$@" "$name"
  clean "$what"
}

for image in scratch busybox musl bookworm; do
  make "$image"
  life "$image" /opt/tools
done
make scratch
life 'several levels' /srv/a/b/tools
run "$SBINJECT" --json --tree "/opt/a=$tmp/one.tar" --tree "/opt/b=$tmp/two.tar" --tree "/srv/many=$tmp/many.tar" "$name"
is 'several' "$(results)" '["unpacked","unpacked","unpacked"]'
is '… are there' "$(found /opt/a) $(found /opt/b) $(busybox=/opt/a/bin/busybox found /srv/many)" "${D[one]} ${D[two]} ${D[many]}"
ok '… remove' "$SBINJECT" remove "$name"
clean 'several'

# ---- never missing ----

make busybox
ok 'exchanged: inject' "$SBINJECT" --tree "/opt/tools=$tmp/one.tar" "$name"
# shellcheck disable=SC2016
as_root sh -c 'n=0; while [ ! -e /stop ]; do /opt/tools/bin/busybox true && n=$((n + 1)) || echo missed; done; echo $n' >"$tmp/loop" 2>&1 &
loop=$!
for tree in two one two one two one; do
  "$SBINJECT" -q --tree "/opt/tools=$tmp/$tree.tar" "$name" || echo failed >>"$tmp/loop"
done
as_root touch /stop
wait "$loop"
unlike 'exchanged while it is used: it was always there' "$(cat "$tmp/loop")" 'missed|failed'
as_root rm /stop
ok 'exchanged: remove' "$SBINJECT" remove "$name"
clean 'exchanged'

# ---- where the engine does not upload to ----

make busybox '{"Tmpfs":{"/srv/fast":"exec"}}'
life 'tmpfs' /srv/fast/tools
if [[ $ENGINE = docker* ]]; then graft=(--graft); else graft=(); fi
run "$SBINJECT" --json --tree "/dev/shm/tools=$tmp/one.tar" "$name"
is '/dev/shm' "$(results):$(busybox=busybox found /dev/shm/tools)" "[\"unpacked\"]:${D[one]}"
ok '/dev/shm: remove' "$SBINJECT" remove "$name"
is '/dev/shm: nothing is left' "$(as_root ls -A /dev/shm /srv/fast)" $'/dev/shm:\n\n/srv/fast:'
clean '/dev/shm'
make busybox '{"ReadonlyRootfs":true,"Tmpfs":{"/opt":"exec"}}'
life 'read-only' /opt/tools "${graft[@]}"
is 'read-only: nothing is left in the mount' "$(as_root ls -A /opt)" ''
fails 'read-only, in no mount' 5 'ead-only' "$SBINJECT" "${graft[@]}" --tree "/srv/tools=$tmp/one.tar" "$name"
clean 'read-only'

# ---- the container's own user ----

cat >"$tmp/rules.yaml" <<END
version: 1
payloads:
  tools-amd64: {source: embedded}
  one:
    {source: file, path: one.tar, format: tar, sha256: $(sha256sum <"$tmp/one.tar" | cut -c -64),
     tree: ${D[one]}, install: /srv/place/one, launcher: bin/busybox}
rules: [{when: {os: linux, arch: amd64}, use: tools-amd64, service: user}]
END
make busybox '{"CapDrop":["ALL"],"SecurityOpt":["no-new-privileges"]}' '{"User":"1000:1000"}'
export SBINJECT_CONFIG=$tmp/rules.yaml
owner=1000:1000 life 'a user without privileges' /var/tmp/tools
ok 'a user: inject' "$SBINJECT" --tree "/var/tmp/tools=$tmp/one.tar" "$name"
is 'a user: whose it is' "$(ctr_exec "$ENGINE" "$id" stat -c %u /var/tmp/tools /var/tmp/tools/bin/busybox | uniq)" 1000
fails 'a user: where only root can' 5 "(denied|cannot)" "$SBINJECT" --tree "/usr/share/tools=$tmp/one.tar" "$name"
ok 'a user: the other one stays' "$SBINJECT" status "$name"
ok 'a user: remove' "$SBINJECT" remove "$name"
clean 'a user'
unset SBINJECT_CONFIG

# ---- where it cannot stand ----

sed -i 's/, service: user//' "$tmp/rules.yaml"
make busybox '{"Tmpfs":{"/srv/place":"noexec","/srv/small":"exec,size=1m"}}'
fails 'noexec, with a launcher' 5 'noexec' "$SBINJECT" -c "$tmp/rules.yaml" --with one "$name"
fails 'full' 5 'No space left' "$SBINJECT" --tree "/srv/small/tools=$tmp/one.tar" "$name"
as_root mkdir -p /srv/theirs
as_root sh -c 'echo precious >/srv/theirs/file'
before=$(files)
fails 'occupied' 5 "'/srv/theirs' is there already" "$SBINJECT" --tree "/srv/theirs=$tmp/one.tar" "$name"
is 'occupied: untouched' "$(as_root cat /srv/theirs/file)" precious
fails 'in a file' 5 'Not a directory|in the way' "$SBINJECT" --tree "/srv/theirs/file/tools=$tmp/one.tar" "$name"
fails 'one of two' 5 "'/srv/theirs' is there already" "$SBINJECT" --tree "/srv/a=$tmp/one.tar" --tree "/srv/theirs=$tmp/one.tar" "$name"
sed 's/sha256: [0-9a-f]*/sha256: '"${D[one]}/" "$tmp/rules.yaml" >"$tmp/wrong.yaml"
fails 'another archive than the pinned' 6 'not the pinned one' "$SBINJECT" -c "$tmp/wrong.yaml" --with one "$name"
sed "s/tree: [0-9a-f]*/tree: ${D[two]}/" "$tmp/rules.yaml" >"$tmp/wrong.yaml"
sed -i 's,/srv/place/,/srv/,' "$tmp/wrong.yaml"
fails 'another tree than the pinned' 6 "${D[one]}" "$SBINJECT" -c "$tmp/wrong.yaml" --with one "$name"
fails 'no archive' 2 'not a tar archive|no such file' "$SBINJECT" --tree "/srv/a=/bin/busybox" "$name"
is 'nothing is left in the mounts' "$(as_root ls -A /srv/place /srv/small)" $'/srv/place:\n\n/srv/small:'
clean 'where it cannot stand'

# ---- adversaries ----

# hostile NAME UID DIR SCRIPT: SCRIPT goes on, as UID, while a tree comes again and again to DIR
hostile() {
  local what=$1 uid=$2 dir=$3 script=$4 round wrong='' codes='' talk
  exec_opts="{\"User\":\"$uid:$uid\"}" ctr_exec "$ENGINE" "$id" sh -c "
    while [ ! -e /stop ]; do $script; done" >/dev/null 2>&1 &
  talk=$!
  for ((round = 0; round < ROUNDS; round++)); do
    run "$SBINJECT" -t 30 --json --tree "$dir=$tmp/many.tar" "$name"
    codes+=$rc
    if [ "$rc" -eq 0 ]; then
      [ "$(busybox=busybox found "$dir")" = "${D[many]}" ] || wrong+=" $round: another tree is there;"
      run "$SBINJECT" --json status "$name"
    fi
    "$SBINJECT" -q remove "$name" || wrong+=" $round: remove failed;"
  done
  as_root touch /stop
  wait "$talk" || :
  as_root rm /stop
  is "$what: a success is true" "$wrong" ''
  fits "$what: exit codes ($codes)" "${codes//[0156]/}" ''
  ok "$what: afterwards" "$SBINJECT" --tree "$dir.new=$tmp/many.tar" "$name"
  ok "$what: afterwards, remove" "$SBINJECT" remove "$name"
}

make busybox
before=$(files)
# shellcheck disable=SC2016
hostile 'root appends to the files' 0 /srv/tools 'for f in /srv/.sbinject-tree-*/1*; do [ -e "$f" ] && echo x >>"$f"; done'
# by its name there; what he has open, or works in, he can change at any time afterwards
# shellcheck disable=SC2016
hostile 'root changes one when the last has come' 0 /srv/tools \
  'for f in /srv/.sbinject-tree-*/99; do [ -e "$f" ] && usleep $((RANDOM % 60000)) && echo x >>"${f%99}1" && sleep 0.2; done'
hostile 'root adds what does not belong there' 0 /srv/tools \
  'if cd /srv/.sbinject-tree-* 2>/dev/null; then ln -s /etc/passwd x; mkfifo y; mkdir -p z/z; cd /; fi'
as_root sh -c 'rm -rf /srv/.sbinject-* /srv/tools'
clean 'root'
# what others can rename is refused; in a sticky directory they cannot
# shellcheck disable=SC2016
exchange='cd /srv/open; for f in .sbinject-tree-*; do [ -e "$f" ] && mkdir -p "$f.own" && mv "$f" x && mv "$f.own" "$f"; done; mkdir tools && mv tools y; rm -rf y .sbinject-tree-*.own'
as_root mkdir -p -m 777 /srv/open
fails 'open to others' 5 'open to others and not sticky' "$SBINJECT" --tree "/srv/open/tools=$tmp/one.tar" "$name"
as_root chmod 1777 /srv/open
before=$(files)
hostile 'a user exchanges the names' 1000 /srv/open/tools "$exchange"
as_root sh -c 'rm -rf /srv/open/* /srv/open/.s*'
clean 'a user'
as_root rmdir /srv/open

# ---- interrupted, and an engine that dies ----

mkdir "$tmp/large"
head -c 285000000 /dev/zero >"$tmp/large/zero"
tar -C "$tmp/large" -cf "$tmp/large.tar" .
rm -r "$tmp/large"
before=$(files)

# sending: starts it in the background, and halts it at the beginning of the sending; let it go on
# by SIGCONT, once what is to happen to it or the engine has happened
sending() {
  env --default-signal=INT "$SBINJECT" -v --tree "/srv/large=$tmp/large.tar" "$name" >"$tmp/out" 2>"$tmp/err" &
  pid=$!
  for _ in $(seq 600); do
    ! grep -q sending "$tmp/err" || break
    sleep 0.01
  done
  kill -STOP "$pid"
}
# ended: sets rc and $err
ended() {
  rc=0
  kill -CONT "$pid" 2>/dev/null
  wait "$pid" || rc=$?
  err=$(grep -v 'note:' "$tmp/err" || :)
}

sending
kill -INT "$pid"
ended
is 'interrupted: exit code' "$rc" 130
is 'interrupted: one line' "$(grep -c . <<<"$err")" 1
clean 'interrupted'
sending
kill -KILL "$pid"
ended
for _ in $(seq 50); do
  [ -n "$(as_root ls -A /srv)" ] || break
  sleep 0.1
done
is 'sbinject is killed: half a tree is not left' "$(as_root ls -A /srv)" ''
ok 'sbinject is killed: remove' "$SBINJECT" remove "$name"
clean 'sbinject is killed'
sending
"$top/t/engines/engine.sh" kill "$ENGINE" >/dev/null
ended
is 'the engine is killed: exit code' "$rc" 3
is 'the engine is killed: one line' "$(grep -c . <<<"$err")" 1
"$top/t/engines/engine.sh" start "$ENGINE" >/dev/null
[ "$(ctr_inspect "$ENGINE" "$id" | jq .State.Running)" = true ] || ctr_start "$ENGINE" "$id"
run "$SBINJECT" --json --tree "/srv/large=$tmp/large.tar" "$name"
is 'the engine is killed: the next run' "$(results)" '["unpacked"]'
is 'the engine is killed: nothing else is there' "$(as_root ls -A /srv)" large
ok 'the engine is killed: remove' "$SBINJECT" remove "$name"
clean 'the engine is killed'
done_testing
