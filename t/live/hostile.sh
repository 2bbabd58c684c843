# shellcheck shell=bash disable=SC2034,SC2154	# variables for the tests, and of lib.sh
# SPDX-License-Identifier: MIT
# hostile.sh: for tests with an adversary (t/adversary) inside the container: starting it, working
# on the container meanwhile, and judging what sbinject said by what the host sees for itself.
# ENGINE=docker28 ROUNDS=N bash t/live/240-…: how often each attack is met by the whole life of an
# injection, without the limit of time that run.sh sets. ATTACKS="A...": these
# only. VERBOSE=1: all that sbinject said.

adversary=$top/build/adversary
contract=/var/tmp/.da7be258e003d428/inspect-sandbox-tools
: "${ROUNDS:=1}"
allowed_s=12            # for sbinject itself
grace_s=40               # for undoing, on a machine that is busy: more is a hang
sentinel=$tmp/host
total_rounds=0 total_steps=0 total_true=0 total_forged=0

need_adversary() {
  [ -x "$adversary" ] || { fail "the adversary is built ('make adversary')" "$adversary"; done_testing; }
  digest=$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64").sha256')
  mkdir -p "$sentinel/dir/sub"
  echo precious >"$sentinel/file"
  echo precious >"$sentinel/dir/inspect-sandbox-tools"
  chmod -R 777 "$sentinel"
  chmod 755 "$tmp"
  host_before=$(host_state)
}

# host_state: everything of ours on the host that a way out of the container could reach.
host_state() {
  find "$sentinel" /.sbinject /var/tmp/.da7be258e003d428 /tmp/sandbox-tools /impostor-was-run-as-root \
    -printf '%p %y %m %U %s %T@ %C@ %l\n' 2>/dev/null | LC_ALL=C sort || :
  stat -c '%n %i %s %Z' /etc /etc/passwd /etc/group /etc/os-release /bin/sh
  find "$sentinel" -type f -exec sha256sum {} +
}

# arena KIND UID ATTACK [HOSTCONFIG]: a container with the adversary at work in it.
arena() {
  local kind=$1 uid=$2 attack=$3 exec
  attack_name=$attack attack_uid=$uid
  arenas=$((arenas + 1))
  name=$(unique "h$arenas")
  id=$(ctr_new "$ENGINE" "$kind" "$name" "${4:-}")
  mkdir -p "$tmp/put"
  cp "$adversary" "$tmp/put/adversary"
  printf '%s' "$digest" >"$tmp/put/adversary.digest"
  tar -b 1 -C "$tmp/put" --owner=0 --group=0 -cf "$tmp/put.tar" adversary adversary.digest
  if [[ ${4:-} == *ReadonlyRootfs* ]]; then
    api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/put.tar" >/dev/null
    ctr_start "$ENGINE" "$id"
  else
    ctr_start "$ENGINE" "$id"
    api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/put.tar" >/dev/null
  fi
  pid1=$(ctr_inspect "$ENGINE" "$id" | jq .State.Pid)
  inside=$(readlink "/proc/$pid1/ns/pid")
  root_uid=$(awk '$1 == "Uid:" { print $2 }' "/proc/$pid1/status")
  : >"$tmp/rounds"
  exec=$(post_json "$ENGINE" "/containers/$id/exec" "{\"AttachStdout\":true,\"AttachStderr\":true,
    \"User\":\"$uid:$uid\",\"Cmd\":[\"/adversary\",\"$attack\",\"$sentinel\"]}" | jq -r .Id)
  curl -sN --unix-socket "$(engine_socket "$ENGINE")" -H 'Content-Type: application/json' \
    -d '{"Detach":false,"Tty":false}' "http://d/exec/$exec/start" | exec_frames >"$tmp/rounds" 2>&1 &
  talk=$!
  for _ in $(seq 500); do [ ! -s "$tmp/rounds" ] || break; sleep 0.02; done
  bad='' steps=0 codes=()
  : >"$tmp/said"
}
arenas=0

# end_all: every process of the container but its first, from the host: an engine waits for an exec
# that somebody inside has stopped, and cannot remove the container meanwhile.
end_all() {
  local pid
  for pid in /proc/[0-9]*; do
    pid=${pid#/proc/}
    [ "$pid" = "$pid1" ] || [ "$(readlink "/proc/$pid/ns/pid")" != "$inside" ] || kill -KILL "$pid" 2>/dev/null || :
  done
}

# arena_end LABEL: the verdict.
arena_end() {
  local rounds i tally=''
  end_all
  api_timeout=20 ctr_rm "$ENGINE" "$id" || fail "$1: the engine still removes the container"
  kill "$talk" 2>/dev/null || :
  wait || :
  rounds=$(sed -n 's/^rounds //p' "$tmp/rounds" | tail -n 1)
  for i in "${!codes[@]}"; do tally+=" $i:${codes[$i]}"; done
  is "$1: every answer was right" "$bad" ''
  [ "${rounds:-0}" -gt 0 ] || fail "$1: the adversary was at work" "$(cat "$tmp/rounds")"
  host_state >"$tmp/after"
  is "$1: nothing happened to the host" "$(diff <(echo "$host_before") "$tmp/after")" ''
  diag "$1: ${rounds:-0} rounds of the adversary, $steps commands, exit codes$tally"
  [ -z "${VERBOSE:-}" ] || diag "$(sed -E "s/$name/NAME/g; s/[0-9a-f]{32,}/HEX/g" "$tmp/said" | sort | uniq -c | sort -rn)"
  total_rounds=$((total_rounds + ${rounds:-0})) total_steps=$((total_steps + steps))
}

wrong() { bad+="$attack_name: $* (exit $rc; $(head -c 300 "$tmp/run.out" | tr '\n' '|'); $(head -c 300 "$tmp/run.err" | tr '\n' '|'))"$'\n'; }

# What no terminal should be given: controls, also of C1, text turned round, and no UTF-8.
is_clean() {
  ! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]' "$@" &&
    iconv -f utf-8 -t utf-8 "$@" >/dev/null 2>&1
}

# step CODES COMMAND...: one run of sbinject; CODES are the exit codes it may have, "0 5 7".
step() {
  local expected=$1 lines
  shift
  run timeout -k 5 "$((allowed_s + grace_s))" "$SBINJECT" "$@"
  steps=$((steps + 1))
  codes[rc]=$((${codes[rc]:-0} + 1))
  [[ " $expected " == *" $rc "* ]] || wrong "$1: an exit code that it should not have"
  sed "s/^/$rc $1: /" "$tmp/run.err" >>"$tmp/said"
  lines=$(wc -l <"$tmp/run.err")
  # an error reply of the service is a reply: it is on stdout
  [ "$lines" -eq $((rc != 0)) ] || [ "$1 $rc $lines" = 'call 1 0' ] || wrong "$1: $lines lines on stderr"
  is_clean "$tmp/run.err" || wrong "$1: not printable"
  [ "$1" = call ] || is_clean "$tmp/run.out" || wrong "$1: stdout not printable"
}

# host_pid PID: that process of the container, as the host numbers it.
host_pid() {
  local status pid
  while read -r status; do
    pid=${status#/proc/}
    pid=${pid%%/*}
    [ "$(readlink "/proc/$pid/ns/pid")" != "$inside" ] || echo "$pid"
  done < <(grep -lsE "^NSpid:.*[[:space:]]$1\$" /proc/[0-9]*/status)
}

# is_true PID: the process is our program, run by root; and so is what stands at the agreed path.
is_true() {
  local pid root=/proc/$pid1/root dir
  pid=$(host_pid "$1")
  dir=$(dirname "$root$contract")
  [ -n "$pid" ] &&
    [ "$(sha256sum <"/proc/$pid/exe" | cut -d' ' -f1)" = "$digest" ] &&
    [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "$contract server " ] &&
    [ "$(awk '$1 == "Uid:" { print $2 $3 $4 }' "/proc/$pid/status")" = "$root_uid$root_uid$root_uid" ] &&
    [ "$(stat -c '%F %u %a' "$dir")" = "directory $root_uid 700" ] &&
    [ "$(stat -c '%F %u %a' "$root$contract")" = "regular file $root_uid 755" ] &&
    [ "$(sha256sum <"$root$contract" | cut -d' ' -f1)" = "$digest" ] &&
    [ "$(stat -c '%F %u %a' "$root/tmp/sandbox-tools")" = "directory $root_uid 700" ]
}

# was_fooled: root has run what the adversary put there.
was_fooled() {
  local mark=impostor-was-run-as-root root=/proc/$pid1/root
  [ "$(stat -c %u "$root/$mark" "$root/run/$mark" 2>/dev/null | sort -u)" = "$root_uid" ] || return 1
  rm -f "$root/$mark" "$root/run/$mark" 2>/dev/null || :
}
