#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: with leave to use a helper container, a read-only root on Docker is no obstacle; whatever
# goes wrong meanwhile, no helper container stays, and nothing inside.
# tier: sample
# engines: docker28
# images: scratch busybox
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

path=/var/tmp/.da7be258e003d428/inspect-sandbox-tools
version='/v1\.[0-9]+'
read_only='{"ReadonlyRootfs":true}'

at_exit() { api "$ENGINE" DELETE '/images/sbinject-test/volume:1?force=1' >/dev/null 2>&1; }

as_root() { exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" "$@"; }

# helpers [STATE]: the helper containers there are.
helpers() {
  api "$ENGINE" GET '/containers/json?all=1&filters=%7B%22label%22%3A%5B%22sbinject.graft%22%5D%7D' |
    jq -r --arg state "${1:-}" '.[] | select($state == "" or .State == $state) | .Names[0]'
}

# Of a helper that nobody ended, the engine learns a moment later.
no_helper() {
  local i
  for i in $(seq 200); do
    [ -n "$(helpers)" ] || break
    sleep 0.1
  done
  is "$1: no helper container is left" "$(helpers)" ''
}

# make NAME [HOSTCONFIG] [CONFIG] [IMAGE]: sets $name, $id and what is in /dev.
make() {
  name=$(unique "${1//[ ,\/]/-}")
  id=$(ctr_create "$ENGINE" "${4:-busybox}" "$name" "$(jq -c ". * $read_only" <<<"${2:-{\}}")" "${3:-{\}}")
  [ "${4:-busybox}" != busybox ] || dev=$(in_dev)
}

in_dev() { as_root find /dev | sort; }
clean() { is "$1: nothing is left inside" "$(in_dev)" "$dev"; }

# whole NAME PLACED: inject, use, remove
whole() {
  local placed=$2 expected_path=null
  [ "$placed" = none ] || expected_path="\"$path\""
  run "$SBINJECT" --graft --json "$name"
  is "$1: inject" "$(jq -c '[.ok,.result,.placed,.path,.home]' <<<"$out")" "[true,\"injected\",\"$placed\",$expected_path,\"/dev/.sbinject\"]"
  [ "$rc" -eq 0 ] || diag "$err"
  is "$1: the helper container is gone" "$(helpers)" ''
  # from now on, none is needed
  run "$SBINJECT" --json status "$name"
  is "$1: status" "$(jq -c '[.healthy,.placed,.path]' <<<"$out")" "[true,\"$placed\",$expected_path]"
  run "$SBINJECT" call "$name" remote_version
  like "$1: call" "$out" '"result"'
  run "$SBINJECT" pipe "$name" <<<'{"jsonrpc":"2.0","method":"remote_version","id":7}'
  like "$1: pipe" "$out" '"id": ?7'
  run "$SBINJECT" --json "$name"
  is "$1: inject again" "$(jq -c '[.result,.placed]' <<<"$out")" "[\"already\",\"$placed\"]"
  [ "$placed" = none ] || is "$1: hosts find the program" "$(as_root "$path" version || :)" "$(jq -r .release <<<"$out")"
  ok "$1: remove" "$SBINJECT" remove "$name"
  run "$SBINJECT" --graft --json remove "$name"
  is "$1: remove again" "$(jq -r .result <<<"$out")" absent
  is "$1: the helper container is gone again" "$(helpers)" ''
}

# ---- what containers can be like ----

make plain
fails 'not allowed' 5 '\-\-graft allows' "$SBINJECT" "$name"
fails 'not allowed, not there' 7 'inject --graft' "$SBINJECT" status "$name"
run "$SBINJECT" --graft -n "$name"
like 'dry run' "$out" "would inject"
is 'dry run: no helper container was made' "$(helpers)" ''
whole plain none
clean plain
fails 'call before inject' 7 'not injected' "$SBINJECT" --graft call "$name" remote_version
fails 'pipe before inject' 7 'not injected' "$SBINJECT" --graft pipe "$name"
run "$SBINJECT" --graft "$name"
like 'the line says that there is no name' "$out" "not at '$path'"
run "$SBINJECT" ls --look
like 'ls cannot tell' "$out" "$name .* \?"

# another user, who has another key: what the first left ready is not believed
export XDG_STATE_HOME=$tmp/another
fails 'another user: status' 7 'not injected by this release and user' "$SBINJECT" status "$name"
ok 'another user: status with leave' "$SBINJECT" --graft status "$name"
run "$SBINJECT" --graft call "$name" remote_version
like 'another user: call with leave' "$out" '"result"'
run "$SBINJECT" --graft --json "$name"
is 'another user: the same service' "$(jq -r .result <<<"$out")" already
ok 'another user: then without' "$SBINJECT" status "$name"
export XDG_STATE_HOME=/proc/none
for command in status 'call remote_version'; do
  # shellcheck disable=SC2086
  run "$SBINJECT" --graft ${command%% *} "$name" ${command#"${command%% *}"}
  is "no place for a key: $command" "$rc" 0
done
run "$SBINJECT" --graft pipe "$name" <<<'{"jsonrpc":"2.0","method":"remote_version","id":7}'
like 'no place for a key: pipe' "$out" '"id": ?7'
no_helper 'no place for a key'
ok 'no place for a key: remove' "$SBINJECT" --graft remove "$name"
clean 'several users'
export XDG_STATE_HOME=$tmp/state

# another version
"$SBINJECT" payloads --extract tools-amd64 -o "$tmp/other"
echo >>"$tmp/other"
cat >"$tmp/other.yaml" <<Y
version: 1
payloads:
  other: {source: file, path: other, sha256: $(sha256sum "$tmp/other" | cut -d' ' -f1)}
rules:
  - when: {os: linux}
    use: other
    graft: true
Y
ok 'another version, allowed by its rule' "$SBINJECT" -c "$tmp/other.yaml" "$name"
fails 'another version: status' 6 'another version is there' "$SBINJECT" --graft status "$name"
run "$SBINJECT" --graft --json "$name"
is 'another version: replaced' "$(jq -r .result <<<"$out")" replaced
pids=()
for i in 1 2 3; do
  XDG_STATE_HOME=$tmp/user$i "$SBINJECT" --graft "$name" >"$tmp/out.$i" 2>"$tmp/err.$i" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
is 'three at once: all succeed' "$failed" 0
[ "$failed" -eq 0 ] || diag "$(cat "$tmp"/err.*)"
no_helper 'three at once'
ok 'another version: remove' "$SBINJECT" remove "$name"
clean 'another version'

make 'tmpfs, exec' '{"Tmpfs":{"/var/tmp":"exec"}}'
whole 'tmpfs, exec' file
clean 'tmpfs, exec'
make 'tmpfs, noexec' '{"Tmpfs":{"/var/tmp":""}}'
whole 'tmpfs, noexec' link
clean 'tmpfs, noexec'
is 'tmpfs, noexec: nor in the mount' "$(as_root ls -A /var/tmp)" ''
make scratch '{}' '{}' scratch
whole scratch none
make 'unprivileged' '{"CapDrop":["ALL"],"SecurityOpt":["no-new-privileges"]}' '{"User":"1000:1000"}'
whole unprivileged none
clean unprivileged

# An image that declares volumes, of which the engine makes some for each container and copies into
# them what the image has there; and a check of health.
volumes_made() {
  api "$ENGINE" GET "/events?since=0&until=$(date +%s)&filters=%7B%22type%22%3A%5B%22volume%22%5D%2C%22event%22%3A%5B%22create%22%5D%7D" | grep -c .
}
make base
changes=$(jq -rn '"VOLUME [\"/bin\", \"/data/\", \"/.sbinject\", \"/a b/../c//d\", \"/c\"]\nHEALTHCHECK CMD /pause" | @uri')
api "$ENGINE" POST "/commit?container=$id&repo=sbinject-test/volume&tag=1&changes=$changes" -H 'Content-Type: application/json' -d '{}' >/dev/null
make 'volume' '{}' '{}' volume
sleep 1
volumes=$(api "$ENGINE" GET /volumes | jq -c '[.Volumes[]?.Name] | sort') made=$(volumes_made)
is 'image with volumes: the container has them' "$(ctr_inspect "$ENGINE" "$id" | jq '.Mounts | length')" 5
whole 'image with volumes' none
is 'image with volumes: no volume is left' "$(api "$ENGINE" GET /volumes | jq -c '[.Volumes[]?.Name] | sort')" "$volumes"
sleep 1
is 'image with volumes: none was made' "$(volumes_made)" "$made"

# ---- what the container may have prepared ----

make 'hostile'
as_root ln -s /dev/shm /dev/.sbinject
dev=$(in_dev)	# it is moved aside, and comes back
ok 'a link at the home: inject' "$SBINJECT" --graft "$name"
is 'a link at the home: replaced' "$(as_root stat -c '%F %a' /dev/.sbinject):$(as_root ls -A /dev/shm | grep -v sandbox-tools || :)" 'directory 700:'
ok 'a link at the home: remove' "$SBINJECT" remove "$name"
clean 'a link at the home'
as_root rm /dev/.sbinject
as_root sh -c 'mkdir -m 777 /dev/.sbinject; chown 1000 /dev/.sbinject; ln -s /etc/passwd /dev/.sbinject/lock'
dev=$(in_dev)
ok 'a home of somebody else: inject' "$SBINJECT" --graft "$name"
ok 'a home of somebody else: remove' "$SBINJECT" remove "$name"
clean 'a home of somebody else'
as_root rm -r /dev/.sbinject
dev=$(in_dev)
as_root sh -c 'dd if=/dev/zero of=/dev/fill bs=65536 2>/dev/null || :'
fails 'no space' 5 'No space left' "$SBINJECT" --graft "$name"
as_root rm /dev/fill
clean 'no space'
as_root chmod 777 /dev
fails 'open to others' 5 'open to others' "$SBINJECT" --graft "$name"
as_root chmod 755 /dev
clean 'open to others'
no_helper hostile

make admin '{"CapAdd":["SYS_ADMIN"]}'
if as_root mount -o remount,noexec /dev; then
  fails 'mounted noexec' 5 'noexec' "$SBINJECT" --graft "$name"
  as_root mount -o remount,exec /dev
  clean 'mounted noexec'
else
  skip 'mounted noexec' 'this engine lets no container remount'
fi
make 'own dev' '{"Tmpfs":{"/dev":"dev"}}'
fails 'a mount at /dev' 5 "'/dev' is a mount" "$SBINJECT" --graft "$name"
make first
first=$id
make second "{\"PidMode\":\"container:$first\"}"
fails 'processes shared with another' 5 'process namespace' "$SBINJECT" --graft "$name"
no_helper 'refused'

# ---- what may happen meanwhile ----

make faulty
create="POST $version/containers/create" put="PUT $version/containers/.*/archive#1" \
  attach="POST $version/containers/.*/attach" start="POST $version/containers/.*/start" \
  look="POST $version/exec/.*/start#1" exec="POST $version/exec/.*/start#2" delete="DELETE $version/containers/"

# undone NAME: of what has failed nothing is left, and a second run is not in its way
undone() {
  proxy_stop
  [ "${2:-}" = started ] || no_helper "$1"
  ok "$1: a second run succeeds" "$SBINJECT" --graft "$name"
  no_helper "$1, second run"
  ok "$1: remove" "$SBINJECT" --graft remove "$name"
  clean "$1"
}

# fault SPEC CODES [started [SECONDS]]
fault() {
  proxy_start "$1"
  DOCKER_HOST=$proxy_host run "$SBINJECT" -t "${4:-20}" --graft "$name"
  [[ " $2 " == *" $rc "* ]] && pass "$1: exit code" || fail "$1: exit code" "$rc, not $2: $err"
  [ "$(proxy_faults)" -gt 0 ] && pass "$1: was applied" || fail "$1: was applied" "$(cat "$proxy_log")"
  is "$1: one line" "$(grep -c . <<<"$err")" "$([ "$rc" = 0 ] && echo 0 || echo 1)"
  undone "$1" "${3:-}"
}

fault "cut:resp@$create#1:0" 3
fault "reply@$create:500,application/json,{\"message\":\"no\"}" 5
fault "reply@$create:201,application/json,{\"Id\":\"../x\"}" 1
fault "cut:req-body@$put:5000" 3
fault "reply@$put:500,application/json,{\"message\":\"no space left on device\"}" 5
fault "cut:resp@$attach:0" 3
fault "reply@$attach:404,application/json,{\"message\":\"gone\"}" 5
fault "cut:resp@$start:0" 3
fault "reply@$start:500,application/json,{\"message\":\"no\"}" 5
fault "cut:resp-body@$attach:10" 3
fault "garbage@$exec" 3
fault "cut:resp-body@$exec:20" 3
fault "cut:resp@$delete#1:0" 0

# An engine that takes its time to delete a container, and a program that says nothing.
slow_engine() {
  local began=$SECONDS took
  proxy_start "delay@$delete:14" "stall:resp-body@$exec+:0,60"
  DOCKER_HOST=$proxy_host run "$SBINJECT" -t 4 --graft "$name"
  took=$((SECONDS - began))
  is 'a slow engine: exit code' "$rc" 7
  [ "$took" -le $((4 + 20 + slack_s)) ] && pass 'a slow engine: ends in time' || fail 'a slow engine: ends in time' "$took s: $err"
  [ "$(proxy_requests "$delete")" -gt 0 ] && pass 'a slow engine: was asked to delete' || fail 'a slow engine: was asked to delete' "$(cat "$proxy_log")"
  undone 'a slow engine'
}
[ "${TIER:-}" = check ] || slow_engine

# It makes what it was asked for after we gave up.
fault "stall:req-body@$create#1:10,5" 3 '' 4

# struck SIGNAL SPEC: the signal comes while the proxy holds that request back; sets $code
struck() {
  local pid i
  code=0
  proxy_start "$2"
  DOCKER_HOST=$proxy_host env --default-signal=INT "$SBINJECT" --graft "$name" >"$tmp/out" 2>"$tmp/err" &
  pid=$!
  for i in $(seq 200); do
    [ "$(proxy_faults)" -eq 0 ] || break
    sleep 0.05
  done
  sleep 0.3
  kill "-$1" "$pid"
  wait "$pid" 2>/dev/null || code=$?
}

struck_at=("stall:resp@$start:0,5" "stall:resp-body@$exec:0,5")
[ "${TIER:-}" = check ] || struck_at+=("stall:resp@$create:0,5" "stall:resp@$put:0,5" "stall:resp@$attach:0,5")
for spec in "${struck_at[@]}"; do
  struck INT "$spec"
  is "interrupted at $spec: exit code" "$code" 130
  like "interrupted at $spec: said" "$(cat "$tmp/err")" 'interrupted'
  undone "interrupted at $spec"
  struck KILL "$spec"
  is "killed at $spec: exit code" "$code" 137
  undone "killed at $spec" started
done

# Root inside kills the helper as soon as it runs; in between, the engine has the time to delete it.
cat >"$tmp/killer" <<'S'
while :; do
  for p in /proc/[0-9]*; do
    case $(tr '\0' ' ' 2>/dev/null <$p/cmdline) in *' graft ') kill -9 ${p#/proc/} ;; esac
  done
done
S
killer=$(exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" sh -c "($(cat "$tmp/killer")) >/dev/null 2>&1 & echo \$!")
proxy_start "stall:resp@$start:0,2"
DOCKER_HOST=$proxy_host fails 'killed from inside' 7 'helper container.* was killed or deleted' "$SBINJECT" -t 20 --graft "$name"
as_root kill -9 "$killer"
undone 'killed from inside'

# Or stops it: it neither notes the end of what it was made for, nor that its time is over. The next
# run finds that by the engine's clock, which here goes faster.
sed 's/kill -9/kill -STOP/' "$tmp/killer" >"$tmp/stopper"
stopper=$(exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" sh -c "($(cat "$tmp/stopper")) >/dev/null 2>&1 & echo \$!")
proxy_start "stall:resp@$start:0,50" # or the helper may have ended before it is found
DOCKER_HOST=$proxy_host "$SBINJECT" --graft "$name" >/dev/null 2>&1 &
pid=$!
has_stopped() { as_root sh -c 'for p in /proc/[0-9]*; do case $(tr "\0" " " 2>/dev/null <$p/cmdline) in *" graft ") grep -q "^State:.T" $p/status && exit 0 ;; esac; done; exit 1'; }
for i in $(seq 300); do
  ! has_stopped || break
  sleep 0.1
done
ok 'stopped from inside: it is stopped' has_stopped
kill -9 "$pid"
wait "$pid" 2>/dev/null || :
proxy_stop
as_root kill -9 "$stopper"
fails 'stopped from inside: as long as it may be at work' 3 'out of time' "$SBINJECT" -t 8 --graft "$name"
is 'stopped from inside: it stays' "$(helpers running)" "/sbinject-graft-${id:0:12}"
proxy_start "header@GET $version/containers/sbinject-graft-.*/json:Date=$(LC_ALL=C date -u -d '10 minutes' '+%a, %d %b %Y %T GMT')"
DOCKER_HOST=$proxy_host run "$SBINJECT" --graft "$name"
is 'stopped from inside: it is deleted when its time is over' "$rc:$(helpers)" 0:
proxy_stop
ok 'stopped from inside: remove' "$SBINJECT" --graft remove "$name"
clean 'stopped from inside'

# The container ends, or is paused, between two steps.
now() { printf "curl -s -X POST --unix-socket %s 'http://d/containers/%s/%s'" "$(engine_socket "$ENGINE")" "$id" "$1"; }
for spec in "run@$create:$(now 'kill?signal=KILL')" "run@$start:$(now 'kill?signal=KILL')" \
  "run:after@$start:$(now 'kill?signal=KILL')" "run@$exec:$(now 'kill?signal=KILL')"; do
  what=${spec%%:curl*}
  proxy_start "$spec"
  DOCKER_HOST=$proxy_host fails "ended at $what" 4 '.' "$SBINJECT" -t 20 --graft "$name"
  proxy_stop
  no_helper "ended at $what"
  ctr_start "$ENGINE" "$id"
  clean "ended at $what"
done
if ctr_pause "$ENGINE" "$id" 2>/dev/null; then
  ctr_unpause "$ENGINE" "$id"
  for spec in "run@$create:$(now pause)" "run@$start:$(now pause)" "run@POST $version/containers/.*/exec#2:$(now pause)"; do
    what=${spec%%:curl*}
    proxy_start "$spec"
    DOCKER_HOST=$proxy_host fails "paused at $what" 4 'pause' "$SBINJECT" -t 20 --graft "$name"
    proxy_stop
    no_helper "paused at $what"
    ctr_unpause "$ENGINE" "$id"
    clean "paused at $what"
  done
else
  skip 'paused meanwhile' 'this engine cannot pause containers (rootless on cgroup v1)'
fi
is 'in the end there is no helper container' "$(helpers)" ''
done_testing
