#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what the manual's table of containers says is so: each kind is served, or refused with the
# cause named and the exit code documented; and nothing is left behind in any case.
# images: scratch busybox musl bookworm bullseye trixie sid distroless arm64 mislabel
# also: docker20-rootless docker20-userns
# timeout: 600
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

case $ENGINE in
  docker*-rootless) column=1 ;;
  docker*) column=0 ;;
  podman*-rootless) column=3 ;;
  podman*) column=2 ;;
esac

outcome() { printf '# outcome: %s\t%s\t%s\n' "$ENGINE" "$kind" "$1"; }

# bring STATE ID: bring a container into a state.
bring() {
  case $1 in
    created) ;;
    running) ctr_start "$ENGINE" "$2" ;;
    paused) ctr_start "$ENGINE" "$2" && ctr_pause "$ENGINE" "$2" ;;
    stopped) ctr_start "$ENGINE" "$2" && ctr_stop "$ENGINE" "$2" ;;
  esac
}

served() {
  ok "$kind: inject" "$SBINJECT" "${flags[@]}" "$name"
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

# one KIND IMAGE HOW EXPECTED
one() {
  local kind=$1 image=$2 want=$4 name id before word host='{}' config='{}' state=running flags=() was=$failures
  for word in $3; do
    case $word in
      host=*) host=${word#*=} ;;
      config=*) config=${word#*=} ;;
      state=*) state=${word#*=} ;;
      flags=*) flags+=("${word#*=}") ;;
    esac
  done
  name=$(unique k$points)
  id=$(ctr_new "$ENGINE" "$image" "$name" "$host" "$config")
  if ! bring "$state" "$id" 2>"$tmp/bring"; then
    is "$kind: this engine makes such a container" "-" "$want"
    outcome -
  else
    before=$(ctr_diff "$ENGINE" "$id")
    case $want in
      served) served ;;
      exit\ *) refused "$(cut -d ' ' -f 2 <<<"${want%%:*}")" "${want#*: }" ;;
      *) fail "$kind: the table says what happens" "$want" ;;
    esac
    is "$kind: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
    [ "$failures" -eq "$was" ] && outcome "${want%%:*}" || outcome FAILED
  fi
  [ "$state" != paused ] || ctr_unpause "$ENGINE" "$id" 2>/dev/null || :
  ctr_rm "$ENGINE" "$id"
}

is 'the images of the table are declared' "$("$top/t/live/kinds.sh" images)" \
  "$(sed -n 's/^# images: //p' "$0" | xargs -n 1 | sort | xargs)"
binfmt_need on
while IFS=$'\t' read -r kind image how expected; do
  one "$kind" "$image" "$how" "$(cut -f $((column + 1)) <<<"$expected")"
done < <("$top/t/live/kinds.sh" list)
done_testing
