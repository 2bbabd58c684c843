#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: whatever is mounted where hosts look for the program, the service is placed, found, used and
# removed; where no file can be, a link is, and where nothing can be, the output says so.
# tier: check
# engines: docker20 podman43-rootless
# images: scratch busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

path=/var/tmp/.da7be258e003d428/inspect-sandbox-tools
host_dir=$(mktemp -d "$SBINJECT_ENGINES/bind-XXXXXX")
volumes=()
chmod 1777 "$host_dir"
# root in the container has to be its owner
[[ $ENGINE != *-rootless ]] || chown sbinject-test "$host_dir"
at_exit() {
  local volume
  for volume in "${volumes[@]}"; do api "$ENGINE" DELETE "/volumes/$volume?force=1" >/dev/null; done
  rm -rf "$host_dir"
}

as_root() { exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" "$@"; }

# left DIR: what stands there. Only busybox can tell.
left() { [ "$image" != busybox ] || as_root find "$1" -mindepth 1; }

declare -A adopted_by=([file]=inspect_ai [link]='inspect_ai up to 0.3.262' [none]=none)
# mounted NAME DIR HOSTCONFIG PLACED [HOME] [IMAGE] [CONFIG]
mounted() {
  local name id before dir=$2 placed=$4 home=${5:-/.sbinject} image=${6:-busybox} json there in_mount
  name=$(unique "${1//[ ,]/-}")
  id=$(ctr_create "$ENGINE" "$image" "$name" "$3" "${7:-}") || { fail "$1: container starts"; return; }
  before=$(ctr_diff "$ENGINE" "$id")
  in_mount=$(left "$dir")
  run "$SBINJECT" --json "$name"
  json=$out
  is "$1: inject" "$(jq -c '[.ok,.result,.placed,.home]' <<<"$json")" "[true,\"injected\",\"$placed\",\"$home\"]"
  is "$1: who will use it" "$(jq -r .adopted_by <<<"$json")" "${adopted_by[$placed]}"
  [ "$rc" -eq 0 ] || diag "$err"
  case $placed in
    none)
      is "$1: no path is claimed" "$(jq -c .path <<<"$json")" null
      run "$SBINJECT" "$name"
      like "$1: the line says so" "$out" "not at '$path'"
      ;;
    *)
      is "$1: path" "$(jq -r .path <<<"$json")" "$path"
      there=$(as_root "$path" version) || :
      is "$1: hosts find the program" "$there" "$(jq -r .release <<<"$json")"
      ;;
  esac
  case $placed,$image in
    file,busybox) is "$1: a file in a closed directory" "$(as_root stat -c '%F %a %u' "$path" "${path%/*}")" $'regular file 755 0\ndirectory 700 0' ;;
    link,busybox) is "$1: a link in a closed directory" "$(as_root stat -c '%F %u' "$path" "${path%/*}"; as_root stat -c %a "${path%/*}")" $'symbolic link 0\ndirectory 0\n700' ;;
  esac
  run "$SBINJECT" --json status "$name"
  is "$1: status" "$(jq -c '[.healthy,.placed,.adopted_by,.path == null]' <<<"$out")" \
    "[true,\"$placed\",\"${adopted_by[$placed]}\",$([ "$placed" = none ] && echo true || echo false)]"
  run "$SBINJECT" call "$name" remote_version
  like "$1: call" "$out" '"result"'
  run "$SBINJECT" --json "$name"
  is "$1: inject again" "$(jq -c '[.result,.placed]' <<<"$out")" "[\"already\",\"$placed\"]"
  run "$SBINJECT" --client 'inspect_ai 0.3.285' "$name"
  is "$1: inspect_ai is warned of a link" "$(grep -c 'do not use a link' <<<"$err")" "$([ "$placed" = link ] && echo 1 || echo 0)"
  ok "$1: remove" "$SBINJECT" remove "$name"
  is "$1: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
  is "$1: nor in the mount" "$(left "$dir")" "$in_mount"
  ctr_rm "$ENGINE" "$id"
}

# refused NAME HOSTCONFIG REGEX [CONFIG] [COMMAND...]: after root in it has run the command
refused() {
  local name id before
  name=$(unique "${1//[ ,]/-}")
  id=$(ctr_create "$ENGINE" busybox "$name" "$2" "${4:-}") || { fail "$1: container starts"; return; }
  [ $# -le 4 ] || as_root "${@:5}"
  before=$(as_root find /run /tmp /var)
  run "$SBINJECT" "$name"
  is "$1: exit code" "$rc" 5
  like "$1: the cause is named" "$err" "$3"
  is "$1: one line" "$(wc -l <<<"$err")" 1
  is "$1: nothing is left" "$(as_root find /run /tmp /var)" "$before"
  ctr_rm "$ENGINE" "$id"
}

volume() { volumes+=("$(unique "$1")"); }

# Docker mounts a tmpfs noexec unless told otherwise, Podman does not.
case $ENGINE in docker*) plain='link' ;; *) plain='file' ;; esac

mounted 'tmpfs' /var/tmp '{"Tmpfs":{"/var/tmp":""}}' "$plain"
mounted 'tmpfs, exec' /var/tmp '{"Tmpfs":{"/var/tmp":"exec"}}' file
mounted 'tmpfs, noexec' /var/tmp '{"Tmpfs":{"/var/tmp":"noexec"}}' link
mounted 'tmpfs, noexec, in scratch' /var/tmp '{"Tmpfs":{"/var/tmp":"noexec"}}' link /.sbinject scratch
mounted 'tmpfs, too small' /var/tmp '{"Tmpfs":{"/var/tmp":"exec,size=64k"}}' link
mounted 'tmpfs, read-only' /var/tmp '{"Tmpfs":{"/var/tmp":"ro"}}' none
mounted 'tmpfs above' /var '{"Tmpfs":{"/var":"noexec"}}' link
mounted 'bind' /var/tmp "{\"Binds\":[\"$host_dir:/var/tmp\"]}" file
# where others could exchange the program, none is placed
refused 'directory open to all' '{}' "'/var/tmp' is open to others and not sticky" '{}' chmod 777 /var/tmp
refused 'directory of a user' '{}' "'/var/tmp' belongs to user 1000" '{}' chown 1000 /var/tmp
chmod 777 "$host_dir"
refused 'bind, open to all' "{\"Binds\":[\"$host_dir:/var/tmp\"]}" "'/var/tmp' is open to others and not sticky"
mounted 'bind, read-only' /var/tmp "{\"Binds\":[\"$host_dir:/var/tmp:ro\"]}" none
volume v
mounted 'volume' /var/tmp "{\"Binds\":[\"${volumes[-1]}:/var/tmp\"]}" file
mounted 'volume, read-only' /var/tmp "{\"Binds\":[\"${volumes[-1]}:/var/tmp:ro\"]}" none
mounted 'tmpfs on tmp and run' /tmp '{"Tmpfs":{"/tmp":"","/run":""}}' file
case $ENGINE in
  docker*)
    # what is uploaded there ends below the mount, where nobody sees it
    refused 'a tmpfs on the home' '{"Tmpfs":{"/.sbinject":""}}' "'/.sbinject' is"
    ;;
  podman*)
    mounted 'read-only root' /var/tmp '{"ReadonlyRootfs":true}' file /run/.sbinject
    mounted 'read-only root, noexec tmpfs' /var/tmp '{"ReadonlyRootfs":true,"Tmpfs":{"/var/tmp":"noexec"}}' link /run/.sbinject
    mounted 'read-only root, read-only tmpfs' /var/tmp '{"ReadonlyRootfs":true,"Tmpfs":{"/var/tmp":"ro"}}' none /run/.sbinject
    # U makes it the container's user's, who could exchange what is in it
    mounted 'read-only root, tmpfs of a user' /run '{"ReadonlyRootfs":true,"Tmpfs":{"/run":"U"}}' file /tmp/.sbinject busybox '{"User":"1000"}'
    refused 'read-only root, all tmpfs of a user' '{"ReadonlyRootfs":true,"Tmpfs":{"/run":"U","/tmp":"U","/var/tmp":"U"}}' \
      "'/run' is owned by a user who could replace the program" '{"User":"1000"}'
    refused 'read-only root, tmpfs given away later' '{"ReadonlyRootfs":true}' "'/run' belongs to user 1000" '{}' chown 1000 /run
    ;;
esac
done_testing
