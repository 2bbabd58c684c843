#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: if the container lets nothing run that was uploaded (a limit on processes, a pause, a mount
# over the home), the exit code is the documented one, the line names the cause, and nothing is left
# that it does not tell of. Once programs run again, remove deletes it, and the next run succeeds.
# tier: check
# engines: docker20 docker28 podman43 podman58
# images: busybox
# timeout: 1200
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/faults.sh
. "$top/t/live/faults.sh"
need_sbinject

# ---- a limit on processes ----

# unlimit: by the container's control group, as not every engine can.
unlimit() {
  local group
  group=$(sed -nE 's/^[0-9]+:(.*,)?pids(,.*)?:/\/pids/p; s/^0::/\//p' "/proc/$(ctr_inspect "$ENGINE" "$id" | jq .State.Pid)/cgroup" | head -n 1)
  echo max >"/sys/fs/cgroup$group/pids.max"
}

# limited NAME LIMIT: sets id to one that runs; to start it can take the runtime more than once, too.
limited() {
  local i
  id=$(ctr_new "$ENGINE" busybox "$1" "{\"PidsLimit\":$2}")
  for i in $(seq 50); do
    ctr_start "$ENGINE" "$id" 2>/dev/null || :
    [ "$(ctr_inspect "$ENGINE" "$id" | jq .State.Running)" != true ] || break
    sleep 0.1
  done
}

# Whether the runtime's own process meets the limit, or ours, or the service, is a matter of chance.
for limit in 1 2 3 4; do
  for try in 1 2 3; do
    name=$(unique "limit$limit-$try")
    limited "$name" "$limit"
    before=$(ctr_diff "$ENGINE" "$id")
    what="$limit processes, try $try"
    run "$SBINJECT" -t 20 "$name"
    exits 5
    like "$what: the limit is named" "$err" 'limit|Resource temporarily unavailable'
    truthful
    unlimit
    ok "$what: remove, without the limit" "$SBINJECT" remove "$name"
    nothing_left
    ctr_rm "$ENGINE" "$id"
  done
done

# ---- a pause ----

faults_container
what='paused before anything is run'
proxy_start "run@${selector[exec]}#1:curl -s -X POST --unix-socket $(engine_socket "$ENGINE") 'http://d/containers/$id/pause'"
DOCKER_HOST=$proxy_host run "$SBINJECT" -t 20 "$name"
proxy_stop
exits 4
like "$what: said" "$err" 'paused'
like "$what: says what is left" "$err" "'/\.sbinject' may be left inside \('sbinject remove' deletes it\)"
ctr_unpause "$ENGINE" "$id"
ok "$what: remove" "$SBINJECT" remove "$name"
nothing_left
repaired

# ---- a mount over the home ----

# over_home WORD...: in the container's own mounts, where the engine does not see it
over_home() { nsenter -t "$(ctr_inspect "$ENGINE" "$id" | jq .State.Pid)" -m /bin/busybox "$@" /.sbinject; }

with_service
over_home mount -t tmpfs none
for command in status inject "call $name version" remove; do
  what="a mount over the home, ${command%% *}"
  [[ $command == call* ]] || command+=" $name"
  # shellcheck disable=SC2086
  run timeout -k 5 120 "$SBINJECT" $command
  # Podman puts the program where the container sees it
  case $ENGINE,$command in
    podman*,status*) exits 7 ;;
    podman*) exits 0 ;;
    *)
      exits 5
      like "$what: said" "$err" 'a mount hides it'
      like "$what: says what is left" "$err" "'/\.sbinject' may be left inside"
      ;;
  esac
done
over_home umount
what='a mount over the home that is gone again'
ok "$what: remove" "$SBINJECT" remove "$name"
nothing_left
repaired
done_testing
