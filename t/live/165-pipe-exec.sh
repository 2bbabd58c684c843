#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what "pipe --exec" runs begins, sees and ends just as what the engine's own exec runs, in
# containers of many kinds; or it is refused.
# tier: check
# first: docker20 podman43
# also: docker20-userns
# images: bookworm busybox musl
# timeout: 1800
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

volume=$(unique etc)
at_exit() { api "$ENGINE" DELETE "/volumes/$volume?force=1" >/dev/null || :; }

# pipes IMAGE HOST CONFIG [CASE...]: what differs, and what is refused, in one line
pipes() {
  local name id
  name=$(unique "exec-$points")
  id=$(ctr_create "$ENGINE" "$1" "$name" "$2" "$3")
  [ -z "$prepare" ] || ctr_exec "$ENGINE" "$id" sh -c "$prepare" 2>&1
  "$SBINJECT" -q $graft "$name" 2>&1
  python3 "$top/t/live/exec.py" "$(engine_socket "$ENGINE")" "$id" "$SBINJECT" "${@:4}" 2>&1 | paste -sd, | sed 's/,/, /g'
  ctr_rm "$ENGINE" "$id"
}

# answered N: there are as many replies, or there is nobody to wait for
answered() {
  local i
  for i in {1..2400}; do
    [ "$(wc -l <"$tmp/changed")" -lt "$1" ] || return 0
    sleep 0.05
  done
  diag "no reply after $i looks" >&2
}

# changed HOST CONFIG COMMAND: statuses of what the default user runs, before and after that command of root's
changed() {
  local name id call='{"jsonrpc":"2.0","id":1,"method":"run","params":{"argv":["true"]}}'
  name=$(unique "exec-$points")
  id=$(ctr_create "$ENGINE" bookworm "$name" "$1" "$2")
  "$SBINJECT" -q "$name" 2>&1
  : >"$tmp/changed"
  {
    echo "$call"
    answered 1
    exec_opts='{"User":"0:0"}' ctr_exec "$ENGINE" "$id" sh -c "$3" >&2
    echo "$call"
    answered 2
  } | "$SBINJECT" pipe --exec "$name" >"$tmp/changed"
  jq -r '.result.status // .error.code' "$tmp/changed" | xargs
  rm "$tmp/changed"
  ctr_rm "$ENGINE" "$id"
}

# same NAME IMAGE HOST CONFIG REFUSED: of the probe as several users, those that are refused
same() { is "$1: as the engine does it, or refused" "$(pipes "$2" "$3" "$4" probe root 4321:55 games games:audio home)" "$(for c in $5; do printf '%s: refused, ' "$c"; done)end: 0"; }

graft='' prepare='' others='4321:55 games games:audio home' unstarted=
for c in 'no program' 'no path' directory 'no format' 'no cwd' 'relative cwd' 'no user' 'no group' 'no id' 'no name' 'no PATH' 'PATH from .'; do
  unstarted="$unstarted$c: engine, "
done
# Of Podman's default users only Podman knows what they have, and of HOME where it is from.
case $ENGINE in
podman*) elsewhere='4321:55 games games:audio' default=probe home='' ;;
*) elsewhere='' default='' home='"HOME=/tmp/h",' ;;
esac
# Newer ones also give other users more groups than is known here.
newer='' programs=''
[[ $ENGINE != podman5* ]] ||
  elsewhere='root 4321:55 games games:audio home' newer=root programs='root: refused, home: refused, '
unprivileged="$default $elsewhere"
# Docker 20.10 starts root's programs hidden where the container is another user's.
case $ENGINE in docker20*) roots=root unprivileged="root $others" ;; *) roots='' ;; esac

out=$(pipes bookworm '{}' '{}')
case $ENGINE in
podman*)
  # its environment is in no order, and it complains of input that is left
  out=$(sed 's/env: order, //; s/left input: [^,]*, //' <<<"$out")
  refused='4321: refused, 4321:55: refused, games: refused, games:audio: refused, 5: refused, stdout again: refused, own in PATH: refused, closed cwd: refused, '
  [[ $ENGINE != podman5* ]] || refused="root: refused, ${refused/stdout/home: refused, stdout}"
  ;;
*) refused= ;;
esac
is 'all that can be asked' "$out" "$refused${unstarted}end: 0"

same 'user by name' bookworm '{}' '{"User":"daemon"}' "$default $roots $elsewhere"
same 'user without an entry' bookworm '{}' '{"User":"1234"}' "$default $roots $elsewhere"
same 'user and group, HOME, directory' bookworm '{}' '{"User":"1234:1235","WorkingDir":"/usr/lib","Env":['"$home"'"A=b"]}' "$default $roots $elsewhere"
same 'user and group by name' bookworm '{}' '{"User":"games:audio"}' "$default $roots $elsewhere"
case $ENGINE in
podman*) same 'more groups' bookworm '{"GroupAdd":["2000","audio"]}' '{}' "$elsewhere" ;;
*) same 'more groups' bookworm '{"GroupAdd":["2000","audio"]}' '{}' 'games:audio' ;;
esac
same 'more groups of a user' bookworm '{"GroupAdd":["2000"]}' '{"User":"games"}' "$default $roots $elsewhere"
same 'no capabilities' bookworm '{"CapDrop":["ALL"]}' '{}' "$newer $others"
same 'no capabilities, user' bookworm '{"CapDrop":["ALL"]}' '{"User":"1000"}' "root $others"
same 'more capabilities, user' bookworm '{"CapAdd":["NET_ADMIN"]}' '{"User":"1234"}' "$default $roots $elsewhere"
same 'no new privileges' bookworm '{"SecurityOpt":["no-new-privileges"]}' '{}' "$elsewhere"
same 'no new privileges, user' bookworm '{"SecurityOpt":["no-new-privileges"]}' '{"User":"1234"}' "$unprivileged"
is 'other programs' "$(pipes musl '{}' '{}' probe root home env output input | sed 's/env: order, //')" "${programs}end: 0"
# Docker 20.10 asks for capabilities that a container of this machine need not have.
[[ $ENGINE = docker20* ]] || same 'privileged' bookworm '{"Privileged":true}' '{}' "$elsewhere"
same 'limits' bookworm '{"Ulimits":[{"Name":"nofile","Soft":200,"Hard":200},{"Name":"nproc","Soft":2000,"Hard":3000}],"OomScoreAdj":300,"PidsLimit":100,"Memory":268435456}' '{}' "$elsewhere"
# a newer Podman wants a program for it that these engines do not have
[[ $ENGINE = podman5* ]] || same 'init' bookworm '{"Init":true}' '{"User":"root"}' "$elsewhere"
# not together with users of its own
[[ $ENGINE = *-userns ]] || same "the host's processes" bookworm '{"PidMode":"host"}' '{}' "$elsewhere"
same 'no seccomp' bookworm '{"SecurityOpt":["seccomp=unconfined"]}' '{}' "$elsewhere"
same "root's group" bookworm '{}' '{"User":"0:5"}' "$default $elsewhere"
case $ENGINE in
docker*)
  # what root cannot see the user may run
  is 'root without rights over files' "$(pipes bookworm '{"CapDrop":["DAC_OVERRIDE","DAC_READ_SEARCH"]}' '{}' 'own in PATH' 'first in PATH')" \
    'own in PATH: refused, end: 0'
  # files of users that Docker and others read differently, and those that Docker does not read
  prepare='printf "more:x:77:games\r\n" >>/etc/group'
  same 'group with a CR' bookworm '{}' '{}' 'root 4321:55 games'
  prepare='printf "more:x:77:%070000d,games\n" 0 >>/etc/group'
  same 'long group' bookworm '{}' '{}' 'root 4321:55 games'
  prepare='sed -i "/^games:/d" /etc/passwd; printf "games:x:5:60:\0:/usr/games:x\ngames:x:0:0::/:x\n" >>/etc/passwd'
  same 'NUL in passwd' bookworm '{}' '{}' "$others"
  prepare='sed -i "/^games:/d" /etc/passwd; echo games:x:77:78::/:x >>/etc/passwd'
  same 'users from a volume' bookworm "{\"Binds\":[\"$volume:/etc\"]}" '{}' "root $others"
  prepare=''
  ;;
esac
# a pipe is the user that it was made
is 'users that are added' "$(changed '{"CapDrop":["ALL"]}' '{"User":"games"}' 'echo x:x:77:x >>/etc/group; echo x:x:77:77::/:x >>/etc/passwd')" '0 0'
is 'a group that is added' "$(changed '{"CapDrop":["ALL"]}' '{"User":"games"}' 'echo x:x:77:games >>/etc/group')" '0 -32011'
is 'a group that is changed' "$(changed '{"CapDrop":["ALL"]}' '{"User":"games"}' 'sed -i "s/^\(games:.*:5\):60:/\1:61:/" /etc/passwd')" '0 -32011'
graft=--graft
same 'read-only' bookworm '{"ReadonlyRootfs":true,"Tmpfs":{"/tmp":""}}' '{"WorkingDir":"/tmp"}' "$elsewhere"
done_testing
