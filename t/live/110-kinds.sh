#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what the manual's table of containers says is so: each kind is served, or refused with the
# cause named and the exit code documented; and nothing is left behind in any case.
# KINDS=PATTERN: these kinds only.
# tier: sample
# first: docker20
# images: scratch busybox musl bookworm bullseye trixie forky sid distroless arm64 mislabel planted
# also: docker20-rootless docker20-userns
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

case $ENGINE in
  docker*-userns) column=1 ;;
  docker*-rootless) column=2 ;;
  docker*) column=0 ;;
  podman*-rootless) column=4 ;;
  podman*) column=3 ;;
esac

host_dir=$(mktemp -d "$SBINJECT_ENGINES/kinds-XXXXXX")
bind=$host_dir/bind open=$host_dir/open volume=$(unique volume) engine_host=$DOCKER_HOST
chmod 755 "$host_dir"
# Both belong to whoever is root in the engine's containers.
case $ENGINE in
  *-rootless) owner=$(id -u sbinject-test) ;;
  *-userns) owner=$(sed -n 's/^sbinject-test:\([0-9]*\):.*/\1/p' /etc/subuid) ;;
  *) owner=0 ;;
esac
install -d -o "$owner" -m 1777 "$bind"
install -d -o "$owner" -m 777 "$open"
at_exit() {
  api "$ENGINE" DELETE "/volumes/$volume?force=1" >/dev/null
  rm -rf "$host_dir"
}

outcome() { printf '# outcome: %s\t%s\t%s\n' "$ENGINE" "$kind" "$1"; }

# ---- making them ----

# seccomp allow|deny ARGUMENT: a profile, as HostConfig. Docker takes its text, Podman its name.
seccomp() {
  local profile=$host_dir/seccomp.json
  case $1 in
    allow) jq -R -s -c '{defaultAction: "SCMP_ACT_ERRNO",
      syscalls: [{action: "SCMP_ACT_ALLOW", names: [scan("(?m)^[a-z0-9_]+")]}]}' "$top/t/live/$2" ;;
    deny) jq -n -c --arg calls "$2" '{defaultAction: "SCMP_ACT_ALLOW",
      syscalls: [{action: "SCMP_ACT_ERRNO", errnoRet: 13, names: ($calls / ",")}]}' ;;
  esac >"$profile"
  [[ $ENGINE != docker* ]] || profile=$(<"$profile")
  jq -n -c --arg profile "$profile" '{SecurityOpt: ["seccomp=" + $profile]}'
}

# ends_at REQUEST ID: from now on sbinject's requests go through a proxy; before that one is relayed
# the container ends.
ends_at() {
  proxy_start "run@$1:curl -s -X POST --unix-socket $(engine_socket "$ENGINE") 'http://d/containers/$2/stop?t=0'"
  DOCKER_HOST=$proxy_host
}

# between_restarts ID: the longer a policy has been restarting a container, the longer the engine waits.
between_restarts() {
  local state
  for _ in $(seq 100); do
    state=$(ctr_inspect "$ENGINE" "$1" | jq -r '"\(.State.Status) \(.RestartCount)"')
    case $state in
      restarting\ [6-9]) return 0 ;;
      *\ ?[0-9]*) break ;;
    esac
    sleep 0.2
  done
  echo "is not between restarts: $state"
  return 1
}

# bring STATE ID: bring a container into a state; $before is what it was like before sbinject knew it.
bring() {
  before=$(left "$2")
  [ "$1" != created ] || return 0
  ctr_start "$ENGINE" "$2" || return
  before=$(left "$2")
  case $1 in
    paused) ctr_pause "$ENGINE" "$2" ;;
    stopped) ctr_stop "$ENGINE" "$2" ;;
    restarting) between_restarts "$2" >&2 ;;
    restarted) "$SBINJECT" -q "$2" && ctr_restart "$ENGINE" "$2" ;;
    killed) "$SBINJECT" -q "$2" && api "$ENGINE" POST "/containers/$2/kill" >/dev/null ;;
    dying) ends_at 'POST .*/exec/.*/start' "$2" ;;
  esac
}

# mend STATE ID: the engine can remove it, and sbinject what could not be removed in that state.
mend() {
  proxy_stop
  DOCKER_HOST=$engine_host
  case $1 in
    paused) ctr_unpause "$ENGINE" "$2" ;;
    killed | dying) ctr_start "$ENGINE" "$2" && "$SBINJECT" -q remove "$2" ;;
  esac
}

# left ID: all that differs from the image. Podman changes /etc when it starts a container; and the link
# that the image had at the home's name is gone, which is nothing left.
left() {
  local but='^C /etc$'
  # a service that is the user's cannot put back the time of a directory that is root's
  [[ $host$config != *CapDrop*User* ]] || but="$but|^C /var(/tmp)?\$"
  ctr_diff "$ENGINE" "$1" | { grep -vE "$but" || :; } | if [ "$image" = planted ]; then sed '/^A/!d'; else cat; fi
  find "$bind" "$open" -mindepth 1
}

# ---- what becomes of them ----

served() { # served PLACED
  local result=injected
  [ "$state" != restarted ] || result=restarted
  run "$SBINJECT" --json "${flags[@]}" "$name"
  [ "$image" != planted ] || err=$(sed '/^sbinject: note: .* was in the way/d' <<<"$err")
  is "$kind: inject" "$(jq -r '"\(.result) \(.placed)"' <<<"$out") $err" "$result $1 "
  ok "$kind: status" "$SBINJECT" status "$name"
  ok "$kind: call reaches the service" "$SBINJECT" call "$name" remote_version
  ok "$kind: call edits a file" "$SBINJECT" call "$name" text_editor '{"command":"view","path":"/"}'
  ok "$kind: remove" "$SBINJECT" remove "$name"
}

refused() { # refused CODE TEXT
  run "$SBINJECT" "${flags[@]}" "$name"
  is "$kind: exit code" "$rc" "$1"
  [[ $err == *"$2"* ]] && pass "$kind: the cause is named" || fail "$kind: the cause is named" "$err"
  is "$kind: one line" "$(wc -l <<<"$err")" 1
}

# impossible WANTED: the engine cannot make it. Is that known, of the engine or of some machines?
impossible() {
  if [[ ${1%%:*} == *\* ]]; then
    skip "$kind: what becomes of it" 'the engine cannot make such a container on this machine'
    diag "$(<"$tmp/bring")"
  else
    is "$kind: this engine makes such a container" "-$([ "$1" = - ] || cat "$tmp/bring")" "$1"
  fi
}

# one KIND IMAGE HOW EXPECTED
one() {
  local kind=$1 image=$2 want=$4 name id before word host='{}' config='{}' state=running flags=() was=$failures
  for word in $3; do
    case $word in
      host=*) host=${word#*=} host=${host//@bind@/$bind} host=${host//@open@/$open} host=${host//@volume@/$volume} ;;
      config=*) config=${word#*=} ;;
      allow=* | deny=*) host=$(seccomp "${word%%=*}" "${word#*=}") ;;
      state=*) state=${word#*=} ;;
      flags=*) flags+=("${word#*=}") ;;
    esac
  done
  # rootless Docker on cgroup v1 cannot pause (244-hostile-mounts.sh)
  [[ $ENGINE != docker*-rootless ]] || flags+=(--no-pause)
  name=$(unique k$points)
  if ! {
    id=$(ctr_new "$ENGINE" "$image" "$name" "$host" "$config")
    [ -n "$id" ] && bring "$state" "$id"
  } 2>"$tmp/bring"; then
    impossible "$want"
    outcome -
  else
    case $want in
      served*) served "${want#*: }" ;;
      exit\ *) refused "$(tr -dc 0-9 <<<"${want%%:*}")" "${want#*: }" ;;
      *) fail "$kind: the table says what happens" "$want" ;;
    esac
    mend "$state" "$id"
    is "$kind: nothing is left" "$(left "$id")" "$before"
    [ "$failures" -eq "$was" ] && outcome "${want%%[:*]*}" || outcome FAILED
  fi
  [ -z "$id" ] || ctr_rm "$ENGINE" "$id"
}

# mine: whether the next kind is tried here; in "make check" Docker and Podman take turns.
kinds=0
mine() {
  kinds=$((kinds + 1))
  case ${TIER:-}:$ENGINE in
    check:docker*) ((kinds % 2)) ;;
    check:*) ((kinds % 2 == 0)) ;;
  esac
}

is 'the images of the table are declared' "$("$top/t/live/kinds.sh" images)" \
  "$(sed -n 's/^# images: //p' "$0" | xargs -n 1 | sort | xargs)"
binfmt_need on
while IFS=$'\t' read -r kind image how expected; do
  # shellcheck disable=SC2053
  mine && [[ $kind == ${KINDS:-*} ]] || continue
  one "$kind" "$image" "$how" "$(cut -f $((column + 1)) <<<"$expected")"
done < <("$top/t/live/kinds.sh" list)
done_testing
