# shellcheck shell=bash disable=SC2034,SC2154	# variables for the tests, and of lib.sh
# SPDX-License-Identifier: MIT
# hostile.sh: for tests with an adversary (t/adversary) inside the container: starting it, working
# on the container meanwhile, and judging what sbinject said by what the host sees for itself.
# ENGINE=docker28 ROUNDS=N bash t/live/240-…: how often each attack is met by the whole life of an
# injection, without the limit of time that run.sh sets. ATTACKS="A...": these
# only. VERBOSE=1: all that sbinject said.

adversary=$top/build/adversary
contract=/var/tmp/.da7be258e003d428/inspect-sandbox-tools
grafted=/dev/.sbinject/current
: "${ROUNDS:=1}"
allowed_s=12  # for sbinject itself
undoing_s=20  # and for undoing, as sbinject(1) promises
service=root  # whose it is: root, user, or graft for root's in a container that is read-only
flags=()      # for all commands but probe
sentinel=$tmp/host
arenas=0
# Of the whole test: what there was, and what must not be. A "forged" success is one that root inside
# has made up, which he cannot be kept from.
declare -A total=([rounds]=0 [commands]=0 [ms]=0 [true]=0 [forged]=0 [success]=0 [hang]=0 [escape]=0 [answer]=0)

need_adversary() {
  [ -x "$adversary" ] || { fail "the adversary is built ('make adversary')" "$adversary"; done_testing; }
  digest=$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64").sha256')
  mkdir -p "$sentinel/dir/sub"
  echo precious >"$sentinel/file"
  echo precious >"$sentinel/dir/inspect-sandbox-tools"
  chmod -R 777 "$sentinel"
  chmod 755 "$tmp"
  # a directory that the engine sees, too
  put=$(mktemp -d "$SBINJECT_ENGINES/hostile-XXXXXX")
  chmod 755 "$put"
  host_before=$(host_state)
}

at_exit() { rm -rf "${put:-}"; }

# host_state: everything of ours on the host that a way out of the container could reach.
host_state() {
  find "$sentinel" /.sbinject /var/tmp/.da7be258e003d428 /impostor-was-run-as-root \
    -printf '%p %y %m %U %s %T@ %C@ %l\n' 2>/dev/null | LC_ALL=C sort || :
  stat -c '%n %i %s %Z' /etc /etc/passwd /etc/group /etc/os-release /bin/sh
  find "$sentinel" -type f -exec sha256sum {} +
}

# populate KIND ANSWER [HOSTCONFIG] [CONFIG]: starts the container, with the adversary's files in it;
# they are mounted where nothing can be uploaded.
populate() {
  local host=${3:-} files=(adversary adversary.digest adversary.answer)
  cp "$adversary" "$put/adversary"
  printf '%s' "$digest" >"$put/adversary.digest"
  printf '%s' "$2" >"$put/adversary.answer"
  if [[ $host == *ReadonlyRootfs* ]]; then
    host=$(jq -c --arg put "$put" '. * {Binds: [$ARGS.positional[] | "\($put)/\(.):/\(.):ro"]}' <<<"$host" --args "${files[@]}")
    id=$(ctr_create "$ENGINE" "$1" "$name" "$host" "${4:-}")
  else
    id=$(ctr_create "$ENGINE" "$1" "$name" "$host" "${4:-}")
    tar -b 1 -C "$put" --owner=0 --group=0 -cf "$tmp/put.tar" "${files[@]}"
    api "$ENGINE" PUT "/containers/$id/archive?path=/" -T "$tmp/put.tar" >/dev/null
  fi
}

# strike UID ATTACK: the adversary goes to work in that container; what it says is in $tmp/rounds.
strike() {
  local exec
  : >"$tmp/rounds"
  exec=$(post_json "$ENGINE" "/containers/$id/exec" "{\"AttachStdout\":true,\"AttachStderr\":true,
    \"User\":\"$1:$1\",\"Cmd\":[\"/adversary\",\"$2\",\"$sentinel\"]}" | jq -r .Id)
  curl -sN --unix-socket "$(engine_socket "$ENGINE")" -H 'Content-Type: application/json' \
    -d '{"Detach":false,"Tty":false}' "http://d/exec/$exec/start" | exec_frames >"$tmp/rounds" 2>&1 &
  talk=$!
  for _ in $(seq 500); do [ ! -s "$tmp/rounds" ] || break; sleep 0.02; done
}

# arena KIND UID ATTACK[=ANSWER] [HOSTCONFIG] [CONFIG]: a container with the adversary at work in it.
arena() {
  local answer=
  [[ $3 != *=* ]] || answer=${3#*=}
  attack_name=${3%%=*}
  arenas=$((arenas + 1))
  began=$(date +%s%3N)
  name=$(unique "h$arenas")
  populate "$1" "$answer" "${@:4}"
  pid1=$(ctr_inspect "$ENGINE" "$id" | jq .State.Pid)
  root=/proc/$pid1/root
  inside=$(readlink "/proc/$pid1/ns/pid")
  root_uid=$(awk '$1 == 0 { print $2 }' "/proc/$pid1/uid_map")
  owner=$root_uid
  [ "$service" != user ] || owner=$(awk '$1 == "Uid:" { print $2 }' "/proc/$pid1/status")
  ours >"$tmp/before"
  strike "$2" "$attack_name"
  bad='' steps=0 codes=()
  : >"$tmp/said"
}
# ours: what root, or the service's user, has where sbinject places something.
ours() {
  find "$root"/{.sbinject,dev,run,tmp,var/tmp} \( -uid "$root_uid" -o -uid "$owner" \) -printf '%p %y %m %U\n' 2>/dev/null |
    LC_ALL=C sort || :
}

# inside_pids: of every process of the container but its first, as the host numbers them.
inside_pids() {
  find /proc/[0-9]*/ns/pid -maxdepth 0 -lname "${inside//[\[\]]/?}" 2>/dev/null | cut -d/ -f3 | grep -vx "$pid1" || :
}

# end_all: an engine waits for an exec that somebody inside has stopped, and cannot remove the
# container meanwhile. Who is forking is not ended at once.
end_all() {
  local pids
  for _ in 1 2 3 4 5; do
    pids=$(inside_pids)
    [ -n "$pids" ] || break
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null || :
  done
}

# settle LABEL: he has been ended, and what he kept others from is free again: the next run
# succeeds, and nothing is left.
settle() {
  local command
  end_all
  rm -f "$root"/{tmp,var/tmp,run}/.full
  # what another user planted at the names of 'service: user' is never touched
  [ "$service" != user ] || find "$root"/{tmp,var/tmp} -mindepth 1 ! -uid "$root_uid" ! -uid "$owner" -delete
  for command in inject status remove; do step 0 "$command" "${flags[@]}" -t "$allowed_s" "$name"; done
  is "$1: nothing is left" "$(ours | diff "$tmp/before" -)" ''
}

# helpers: the helper containers of this one that there still are, when they had the time to end.
helpers() {
  local list="/containers/json?all=1&filters=%7B%22label%22%3A%5B%22sbinject.graft%3D$id%22%5D%7D" left
  for _ in $(seq 100); do
    left=$(api "$ENGINE" GET "$list" | jq -r '.[].Names[0]')
    [ -n "$left" ] || return 0
    sleep 0.2
  done
  echo "$left"
}

# arena_end LABEL: the verdict.
arena_end() {
  local rounds i tally=''
  end_all
  [ "$service" != graft ] || is "$1: no helper container is left" "$(helpers)" ''
  api_timeout=20 ctr_rm "$ENGINE" "$id" || fail "$1: the engine still removes the container"
  kill "$talk" 2>/dev/null || :
  wait || :
  rounds=$(sed -n 's/^rounds //p' "$tmp/rounds" | tail -n 1)
  for i in "${!codes[@]}"; do tally+=" $i:${codes[$i]}"; done
  ! grep '^reached ' "$tmp/rounds" || wrong escape "$(grep '^reached ' "$tmp/rounds")"
  host_state >"$tmp/after"
  diff <(echo "$host_before") "$tmp/after" >"$tmp/changed" || wrong escape "the host has changed: $(cat "$tmp/changed")"
  is "$1: every answer was right, and nothing happened to the host" "$bad" ''
  [ "${rounds:-0}" -gt 0 ] || fail "$1: the adversary was at work" "$(cat "$tmp/rounds")"
  diag "$1: ${rounds:-0} rounds of the adversary, $steps commands, exit codes$tally"
  [ -z "${VERBOSE:-}" ] || diag "$(sed -E "s/$name/NAME/g; s/[0-9a-f]{32,}/HEX/g" "$tmp/said" | sort | uniq -c | sort -rn)"
  total[rounds]=$((total[rounds] + ${rounds:-0})) total[commands]=$((total[commands] + steps))
  total[ms]=$((total[ms] + $(date +%s%3N) - began))
}

# account WHO: the line that run.sh carries to the end of all.
account() {
  printf '# hostile: %s\t%s' "$ENGINE" "$1"
  for of in rounds commands ms true forged success hang escape answer; do printf '\t%s' "${total[$of]}"; done
  printf '\n'
}

# wrong KIND WORDS...: one of "success", "hang", "escape", and "answer" for the others.
wrong() {
  total[$1]=$((total[$1] + 1))
  bad+="$attack_name: $* (exit $rc; $(head -c 300 "$tmp/run.out" | tr '\n' '|'); $(head -c 300 "$tmp/run.err" | tr '\n' '|'))"$'\n'
}

# What no terminal should be given: controls, also of C1, text turned round, and no UTF-8.
is_clean() {
  ! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]' "$@" &&
    iconv -f utf-8 -t utf-8 "$@" >/dev/null 2>&1
}

# step CODES COMMAND...: one run of sbinject; CODES are the exit codes it may have, "0 5 7".
step() {
  local expected=$1 lines
  shift
  run timeout -k 5 "$((allowed_s + undoing_s + slack_s))" "$SBINJECT" "$@"
  steps=$((steps + 1))
  codes[rc]=$((${codes[rc]:-0} + 1))
  if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
    wrong hang "$1"
  elif [[ " $expected " != *" $rc "* ]]; then
    wrong answer "$1: an exit code that it should not have"
  fi
  sed "s/^/$rc $1: /" "$tmp/run.err" >>"$tmp/said"
  # what was in the way is told by a success
  lines=$(grep -vc '^sbinject: note: ' "$tmp/run.err") || :
  # an error reply of the service is a reply: it is on stdout
  [ "$lines" -eq $((rc != 0)) ] || [ "$1 $rc $lines" = 'call 1 0' ] || wrong answer "$1: $lines lines on stderr"
  is_clean "$tmp/run.err" || wrong answer "$1: not printable"
  [ "$1" = call ] || is_clean "$tmp/run.out" || wrong answer "$1: stdout not printable"
}

# host_pid PID: that process of the container, as the host numbers it.
host_pid() {
  local status pid
  while read -r status; do
    pid=${status#/proc/}
    pid=${pid%%/*}
    # one that has ended stays until its parent has asked for it, which a busy machine delays
    ! grep -qs '^State:[[:space:]]*[ZX]' "$status" || continue
    [ "$(readlink "/proc/$pid/ns/pid")" != "$inside" ] || echo "$pid"
  done < <(grep -lsE "^NSpid:.*[[:space:]]$1\$" /proc/[0-9]*/status)
}

# is_true: of the answer in $out: the process is our program, run by the user whose it should be; and so
# is what stands where it was started from, by a link where the file has no room.
is_true() {
  local pid program=$contract file=$root$contract
  pid=$(host_pid "$(jq .pid <<<"$out")")
  [ "$(jq -r .placed <<<"$out")" != link ] || file=$root$(readlink "$file")
  [ "$service" != graft ] || { program=$grafted file=$root$(dirname "$grafted")/$digest; }
  [ -n "$pid" ] &&
    [ "$(sha256sum <"/proc/$pid/exe" | cut -d' ' -f1)" = "$digest" ] &&
    [ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = "$program server " ] &&
    [ "$(awk '$1 == "Uid:" { print $2 $3 $4 }' "/proc/$pid/status")" = "$owner$owner$owner" ] &&
    [ "$(stat -c '%F %u %a' "$(dirname "$file")")" = "directory $owner 700" ] &&
    [ "$(stat -c '%F %u %a' "$file")" = "regular file $owner 755" ] &&
    [ "$(sha256sum <"$file" | cut -d' ' -f1)" = "$digest" ] &&
    [ "$(stat -c '%F %u %a' "$root$(dirname "$program")/.server")" = "directory $owner 700" ]
}

# was_fooled: root has run what the adversary put there.
was_fooled() {
  local mark=impostor-was-run-as-root
  [ "$(stat -c %u "$root/$mark" "$root/run/$mark" 2>/dev/null | sort -u)" = "$root_uid" ] || return 1
  rm -f "$root/$mark" "$root/run/$mark" 2>/dev/null || :
}

# ---- the life of an injection, from its beginning to its end ----

# Success, or: the place is occupied, or cannot be had; the service did not come up. Never "done"
# without it, never an answer of somebody else's (6).
refusals='0 5 7'

# life_among_users: while somebody strikes who is not root: each answer is checked.
life_among_users() {
  local pid='' server=$contract
  [ "$service" != graft ] || server=$grafted
  step "$refusals" inject "${flags[@]}" --json -t "$allowed_s" "$name"
  if [ "$rc" -eq 0 ]; then
    pid=$(jq .pid <<<"$out")
    if is_true; then total[true]=$((total[true] + 1)); else wrong success 'inject: is not true'; fi
  fi
  step '0 7' status "${flags[@]}" --json -t "$allowed_s" "$name"
  [ -z "$pid" ] || [ "$rc $(jq -c '[.pid, .sha256]' <<<"$out")" = "0 [$pid,\"$digest\"]" ] || wrong success 'status: not what was injected'
  step '0 7' call "${flags[@]}" -t "$allowed_s" "$name" remote_version
  [ -z "$pid" ] || [ "$rc $(jq -r .result <<<"$out")" = "0 Server: $server ($pid)" ] || wrong success 'call: not answered by the service'
  step "$refusals" remove "${flags[@]}" -t "$allowed_s" "$name"
  [ -z "$pid" ] || [ -z "$(host_pid "$pid")" ] || wrong success "remove: the service lives on ($(cat "/proc/$(host_pid "$pid")/stat" 2>&1))"
  ! was_fooled || wrong escape 'root has run the program of the adversary'
}

# users_lives LABEL KIND ATTACK [HOSTCONFIG] [CONFIG]: … as often as asked for; ${uid:-1000} strikes.
users_lives() {
  local i
  arena "$2" "${uid:-1000}" "$3" "${@:4}"
  for ((i = 0; i < ROUNDS; i++)); do life_among_users; done
  settle "$1"
  arena_end "$1"
}

# Not 2, 8 or 130, which would blame the caller, and nothing that is not documented.
documented='0 1 3 4 5 6 7'

# life_under_root: while root strikes. To meet what lasts as long as it may, once is enough.
life_under_root() {
  step "$documented" inject "${flags[@]}" --json -t "$allowed_s" "$name"
  if [ "$rc" -eq 0 ]; then
    if is_true; then total[true]=$((total[true] + 1)); else total[forged]=$((total[forged] + 1)); fi
  fi
  [ "$ROUNDS" -gt 1 ] || [[ $attack_name != stop && $attack_name != replace ]] || return 0
  step "$documented" status "${flags[@]}" --json -t "$allowed_s" "$name"
  step "$documented" call "${flags[@]}" -t "$allowed_s" "$name" remote_version
  step "$documented" probe -t "$allowed_s" "$name"
  step "$documented" remove "${flags[@]}" -t "$allowed_s" "$name"
}

# roots_lives LABEL KIND ATTACK [HOSTCONFIG]
roots_lives() {
  local i
  arena "$2" 0 "$3" "${4:-}"
  for ((i = 0; i < ROUNDS; i++)); do life_under_root; done
  [ "$attack_name" != programs ] || ! was_fooled || wrong escape 'a program of the image was run'
  arena_end "$1"
}
