#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: 'service: auto' knows by the engine's records alone whether root in a container can switch users: it
# decides as a look at root's capabilities inside does, for each user, set of capabilities and engine.
# tier: sample
# engines: docker20 docker28 podman43 podman43-rootless podman58
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

dir=/var/tmp/.da7be258e003d428
users=(nobody '' root:1000)
[ "${TIER:-}" != check ] || users=(nobody)
hosts=('{}' '{"CapDrop":["ALL"]}' '{"CapDrop":["SETUID"]}' '{"CapDrop":["CAP_SETGID"]}' '{"CapDrop":["NET_RAW"]}'
  '{"CapDrop":["ALL"],"CapAdd":["SETUID","SETGID"]}' '{"CapDrop":["ALL"],"CapAdd":["SETUID"]}'
  '{"CapDrop":["ALL"],"SecurityOpt":["no-new-privileges"]}' '{"SecurityOpt":["no-new-privileges"]}'
  '{"CapAdd":["ALL"]}' '{"Privileged":true}')
# Podman gives what a machine like this one does not have itself, and then cannot start it.
[[ $ENGINE == podman* ]] || hosts+=('{"CapAdd":["ALL"],"CapDrop":["SETGID"]}')

# What root has inside, as a number; the words of the fact, as one.
effective() { exec_opts='{"User":"root"}' ctr_exec "$ENGINE" "$id" grep ^CapEff: /proc/self/status | tr -dc 0-9a-f; }
has() { echo $((0x$1 >> $2 & 1)); }
names=(chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service
  net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin
  sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease audit_write audit_control setfcap mac_override
  mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore)
words() { # words CAPEFF
  local i said=
  for i in "${!names[@]}"; do [ "$(has "$1" "$i")" = 0 ] || said+=" ${names[i]}"; done
  echo "${said:- none}"
}
# An engine gives no more than this machine has, which is in no record.
own=$(awk '/^CapBnd:/ {print $2}' /proc/self/status)
of_here() { # of_here WORDS: without those
  local i said=" $1 "
  for i in "${!names[@]}"; do [ "$(has "$own" "$i")" = 1 ] || said=${said/ ${names[i]} / }; done
  said=${said% }
  echo "$said"
}

wrong=
for host in "${hosts[@]}"; do
  for user in "${users[@]}"; do
    name=$(unique "a$RANDOM")
    id=$(ctr_new "$ENGINE" busybox "$name" "$host" "{\"User\":\"$user\"}")
    if ! ctr_start "$ENGINE" "$id" 2>"$tmp/start" && grep -q 'unable to apply caps' "$tmp/start"; then
      skip "user '$user', $host" 'the engine gives what this machine does not have, and cannot start it'
      continue
    fi
    caps=f$(effective)
    caps=${caps#f}
    case $user in
      '' | 0 | root*) owner=root ;;
      *) if [ "$(has "$caps" 6)$(has "$caps" 7)" = 11 ]; then owner=root; else owner=user; fi ;;
    esac
    run "$SBINJECT" --dry-run --json "$name"
    got=$(jq -r .service <<<"$out")
    [ "$got" = "$owner" ] || wrong+="$user $host: $got, but root has $caps; "
    said=$(of_here "$("$SBINJECT" probe --json "$name" | jq -r .facts.caps)")
    [[ $ENGINE == podman* ]] || [ "$said" = "$(words "$caps")" ] || wrong+="$user $host: caps are$said, not$(words "$caps"); "
    ctr_rm "$ENGINE" "$id"
  done
done
is 'the owner is who a look inside would choose' "$wrong" ''

# As inspect_ai 0.3.275 and later want to find it.
for row in '1000:1000 {"CapDrop":["ALL"]} user 1000 false' '1000:1000 {} root 0 true' ' {"CapDrop":["ALL"]} root 0 false'; do
  IFS=' ' read -r user host owner uid switch <<<"${row/# /- }"
  [ "$user" != - ] || user=
  name=$(unique "b$RANDOM")
  id=$(ctr_create "$ENGINE" busybox "$name" "$host" "{\"User\":\"$user\"}")
  what="user '$user', $host"
  ok "$what: inject" "$SBINJECT" --json "$name"
  is "$what: whose" "$(jq -c '[.service, .uid]' <<<"$out")" "[\"$owner\",$uid]"
  is "$what: the directory, too" "$(exec_opts="{\"User\":\"${user:-0}\"}" ctr_exec "$ENGINE" "$id" stat -c %u:%a $dir)" "$uid:700"
  ok "$what: status" "$SBINJECT" --json status "$name"
  is "$what: users can be switched" "$(jq .can_switch_user <<<"$out")" "$switch"
  ok "$what: remove" "$SBINJECT" remove "$name"
  ctr_rm "$ENGINE" "$id"
done
done_testing
