# SPDX-License-Identifier: MIT
# Shared by the black-box tests of the in-container program: t/tap.sh, and a private world.
# A test sources this first; it is then run again inside new mount and PID namespaces, in which
# $W is an empty tmpfs. Everything the test starts dies with the namespace.
# Tests are bash; what runs inside of worlds, as in containers, is sh.
# PROGRAM is what is tested: the static one, or one under sanitizers, whose reports fail the test.
# TEST_UID: the user that it is tested as, by tests that say "# also unprivileged:"; by default root.
# shellcheck shell=bash disable=SC2034	# variables for the tests

arch=${TEST_ARCH:-$(dpkg --print-architecture)}
case ${B:-build} in /*) ;; *) B=$(pwd)/${B:-build} ;; esac
PROGRAM=${PROGRAM:-$B/payloads/$arch/inspect-sandbox-tools}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
tmp=${W:-}
# shellcheck source=t/tap.sh
. "$here/../tap.sh"

[ -x "$PROGRAM" ] || { echo "Bail out! no $PROGRAM"; exit 1; }
if [ -z "${IN_PRIVATE_WORLD:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "1..0 # skip needs root"; exit 77; }
  W=$(mktemp -d) || exit 1
  export IN_PRIVATE_WORLD=1 W B PROGRAM HOME="$W"
  unset INSPECT_SANDBOX_TOOLS_DIR TMPDIR TEMP TMP
  grep -aqF /mnt/ld.so "$PROGRAM" && export SANITIZED=1
  unshare -m -p -f --kill-child --propagation private sh -c '
    mount -t tmpfs -o mode=755 none "$W" && mount -t proc none /proc && cd "$W" &&
    bash "$1"; exit $?' sh "$(realpath "$0")"
  r=$?
  rmdir "$W"
  exit $r
fi

# The program under sanitizers is linked to find in /mnt what it needs of the system, and leaves its
# reports there; in every world /mnt is the same directory.
mnt() {
  mkdir -p "$1"
  mount --bind "$W/.mnt" "$1"
}
if [ -n "${SANITIZED:-}" ] && [ ! -d "$W/.mnt" ]; then
  mkdir "$W/.mnt"
  chmod 1777 "$W/.mnt"
  ldd "$PROGRAM" | sed -n 's|.*=> \(/[^ ]*\).*|\1|p' | while read -r file; do
    case $file in *ld-linux*) cp "$file" "$W/.mnt/ld.so" ;; *) cp "$file" "$W/.mnt/" ;; esac
  done
  mnt /mnt
fi

# The program as the user that the test is about, outside of worlds.
is_root() { [ -z "${TEST_UID:-}" ]; }
TOOL=$PROGRAM
if ! is_root && [ ! -e "$W/.as" ]; then
  chown "$TEST_UID" "$W"
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin # where others may look, too
  TOOL=$W/.as
  cp "$PROGRAM" "$W/.program"
  chmod 755 "$W/.program"
  cat >"$TOOL" <<-END
	#!/bin/sh
	exec setpriv --reuid=$TEST_UID --regid=$TEST_UID --clear-groups "$W/.program" "\$@"
	END
  chmod 755 "$TOOL"
fi

# Is it the program as it is shipped?
shipped() { [ -z "${SANITIZED:-}" ]; }

# within TIME LIMIT: of the same unit. It tells what hangs from what is done, on a busy machine too;
# how long things take is for t/bench.
within() { [ "$1" -lt $(($2 * 20)) ]; }

# costs NAME STATUS: a point about what the program needs; under sanitizers it would say nothing
costs() { ! shipped || succeeded "$@"; }

# below NAME KB: the same of the server's memory
below() {
  local now
  now=$(rss)
  [ "$now" -lt "$2" ]
  costs "$1 ($now kB)" $?
}

# A report of a sanitizer is a failure, also one of a server that nobody waited for.
check_reports() {
  for p in /proc/[0-9]*; do
    case $({ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null) in
    *' server ') kill -TERM "${p#/proc/}" && timeout 10 tail -f /dev/null --pid="${p#/proc/}" ;;
    esac
  done
  # without /proc it warns of what it cannot do
  grep -lE 'ERROR: |runtime error: ' "$W"/.mnt/report.* 2>/dev/null | xargs -r head -n 100 | sed 's/^/# /' >"$W/.reports"
  [ ! -s "$W/.reports" ]
  succeeded 'no report of a sanitizer' $?
  cat "$W/.reports"
}

last_points() { shipped || check_reports; }

# a root file system of the given directories; proc is mounted when asked for
world() { # world NAME DIR…
  R=$W/$1
  mkdir -p "$R"
  shift
  for d; do
    mkdir -p "$R/$d"
    case $d in
    proc) mount -t proc none "$R/proc" ;;
    tmp | var/tmp) chmod 1777 "$R/$d" ;;
    esac
  done
  shipped || mnt "$R/mnt"
  cp "$PROGRAM" "$R/t"
  chmod 755 "$R/t"
  is_root || chown "$TEST_UID" "$R" # for its server directory
}

# the program inside the world, as the user that the test is about; TOOL_ENV holds its whole environment
in_world() {
  if is_root; then
    # shellcheck disable=SC2086
    env -i ${TOOL_ENV:-} /usr/sbin/chroot "$R" "${TOOL_AT:-/t}" "$@"
  else
    as_user "$TEST_UID" "$@"
  fi
}

as_user() { # as_user UID ARGS…
  uid=$1
  shift
  # shellcheck disable=SC2086
  env -i ${TOOL_ENV:-} /usr/sbin/chroot --userspec="$uid:$uid" --groups= "$R" "${TOOL_AT:-/t}" "$@"
}

request() { # request METHOD ID
  printf '{"jsonrpc":"2.0","method":"%s","id":%s}' "$1" "$2"
}

call() { # call METHOD: the reply of exec, by what is installed if there is something
  request "$1" 1 | if [ -x "$R$CONTRACT" ]; then TOOL_AT=$CONTRACT in_world exec; else in_world exec; fi
}

# ---- replies ----

# tool ARGS…: the program as the test calls it. A test may define it anew.
tool() { in_world "$@"; }

rpc() { # rpc METHOD [PARAMS]: the reply
  printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}' "$1" "${2:-"{}"}" | tool exec
}

# Of a reply: code and message of its error; and its result, if it has one, instead.
message() { jq -r '"\(.error.code) \(.error.message)"'; }
show() { jq -r 'if .error then "\(.error.code) \(.error.message)" else .result end'; }

# start COMMAND [JQ]: the pid of a new job, which may have more members
start() { rpc exec_remote_start "$(jq -nc --arg c "$1" '{command:$c}'"${2:+ + $2}")" | jq .result.pid; }

server_pid() { call remote_version | sed 's/.*(\([0-9]*\)).*/\1/'; }

servers() { # how many processes of ours are servers
  n=0
  for p in /proc/[0-9]*; do
    { tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null | grep -q ' server $' && n=$((n + 1))
  done
  echo $n
}

# follow PID: polls until the job has ended or is lost; sets state, code and polls; what it said is
# in $W/out and $W/err
follow() {
  ack=0 polls=0 state=running code=
  : >"$W/replies"
  while [ "$state" = running ]; do
    rpc exec_remote_poll "{\"pid\":$1,\"ack_seq\":$ack}" >"$W/reply"
    polls=$((polls + 1)) state=lost
    cat "$W/reply" >>"$W/replies"
    eval "$(jq -r '.result | values | "state=\(.state) code=\(.exit_code) ack=\(.seq)"' "$W/reply")"
  done
  jq -j '.result.stdout // empty' "$W/replies" >"$W/out"
  jq -j '.result.stderr // empty' "$W/replies" >"$W/err"
}

wait_for() { # wait_for COMMAND…: half a minute, because what comes late on a busy machine is no failure
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ $tries -lt 1500 ] || return 1
    sleep 0.02
  done
}

# hear SESSION INPUT PATTERN: what the shell says to that, by the test's own "say SESSION INPUT [WAIT]",
# and later, until it fits: a shell that begins is slow
hear() {
  heard=$(say "$1" "$2") tries=0
  # shellcheck disable=SC2053	# a pattern
  until [[ $heard == $3 ]] || [ $tries -ge 60 ]; do
    tries=$((tries + 1)) heard=$heard$(say "$1" '' 1)
  done
  printf '%s\n' "$heard"
}

# ---- processes ----

now() { date +%s%3N; } # in milliseconds

alive() { # alive PID…: all of them; a zombie is not
  for p; do
    case $(cut -d' ' -f3 "/proc/$p/stat" 2>/dev/null) in '' | Z) return 1 ;; esac
  done
}
dead() { for p; do ! alive "$p" || return 1; done; }                # dead PID…: all of them
gone() { for p; do ! kill -0 "$p" 2>/dev/null || return 1; done; } # gone PID…: not even zombies are left

# The server whose directory is in the environment: its pid; its memory in kB, now and at most, or
# that of another PID; and calls of client.py, which end after $CLIENT_LIMIT seconds.
server() { jq .pid "$INSPECT_SANDBOX_TOOLS_DIR/server.pid"; }
rss() { awk '/VmRSS/ {print $2}' "/proc/${1:-$(server)}/status"; }
peak() { awk '/VmHWM/ {print $2}' "/proc/${1:-$(server)}/status"; }
client() { timeout "${CLIENT_LIMIT:-300}" python3 "$here/client.py" "$INSPECT_SANDBOX_TOOLS_DIR/sandbox-tools.sock" "$@"; }

# fds PID: how many descriptors it holds, once it closes no more of them: the end of a call is not
# yet the end of its connection
fds() {
  n=-1 m=$(ls "/proc/$1/fd" | wc -l)
  until [ "$n" = "$m" ]; do
    sleep 0.1
    n=$m m=$(ls "/proc/$1/fd" | wc -l)
  done
  echo "$m"
}
has_fds() { [ "$(ls "/proc/$1/fd" | wc -l)" = "$2" ]; }
same_fds() { # same_fds NAME PID N: does it come back to that many?
  wait_for has_fds "$2" "$3"
  is "$1" "$(ls "/proc/$2/fd" | wc -l)" "$3"
}

# ---- installing, as sbinject does it ----

HEX=$(sha256sum "$PROGRAM" | cut -d' ' -f1)
CONTRACT=/var/tmp/.da7be258e003d428/inspect-sandbox-tools

nonce() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# put [FILE]: what the engine's archive API leaves behind; sets NONCE and STAGED
put() {
  NONCE=$(nonce)
  hex=$(sha256sum "${1:-$PROGRAM}" | cut -d' ' -f1)
  STAGED=$hex.$NONCE
  mkdir -p "$R/.sbinject"
  chmod 700 "$R/.sbinject"
  cp "${1:-$PROGRAM}" "$R/.sbinject/$STAGED"
  chmod 755 "$R/.sbinject/$STAGED"
}

spec() { # spec [JQ-FILTER]
  jq -nc --arg n "$NONCE" --arg h "${hex:-$HEX}" --arg s "$STAGED" --arg p "$CONTRACT" \
    '{nonce:$n,sha256:$h,home:"/.sbinject",staged:$s,path:$p,
    links:["/opt/inspect-sandbox-tools"],start:["start-server"],timeout_ms:120000}'"${1:+|$1}"
}

run_staged() { # run_staged [JQ-FILTER]: install from the delivered file
  # shellcheck disable=SC2086
  spec "${1:-}" | env -i ${TOOL_ENV:-} /usr/sbin/chroot "$R" "/.sbinject/$STAGED" install
}

install() { put && run_staged "${1:-}"; }

uninstall() {
  # shellcheck disable=SC2086
  printf '{"nonce":"%s","home":"/.sbinject","path":"%s","links":["/opt/inspect-sandbox-tools"]}\n' \
    "$(nonce)" "$CONTRACT" |
    env -i ${TOOL_ENV:-} /usr/sbin/chroot "$R" "${1:-$CONTRACT}" uninstall
}

# remove_among_callers JQ FILE COMMAND…: ten times an install with JQ, and an uninstall while three
# callers make one call after the other by COMMAND, as long as FILE is there. Sets bad to what was
# wrong: something runs afterwards, or is not as in $before.
# shellcheck disable=SC2154	# before is the test's
remove_among_callers() {
  filter=$1 file=$2 bad=
  shift 2
  for i in $(seq 10); do
    install "$filter" >/dev/null
    for n in 1 2 3; do
      (while [ -e "$file" ]; do request remote_version 1 | "$@"; done >/dev/null 2>&1; touch "$W/done.$n") &
    done
    sleep 0.05
    out=$(uninstall)
    wait_for test -e "$W/done.1" -a -e "$W/done.2" -a -e "$W/done.3"
    rm -f "$W"/done.*
    [ "$(echo "$out" | jq -c .ok):$(servers)" = true:0 ] && [ "$(plain)" = "$before" ] ||
      bad="$bad $i:$out:$(servers):$(plain | tail -n 3)"
  done
}

# kept_name WORD: a name under which a caller can have the program kept
kept_name() { printf %s "$1" | sha256sum | sed 's/ .*//;s/^/run-/'; }

# everything the engine's diff would compare; the root itself it does not
listing() { (cd "$R" && find . -mindepth 1 \( -path ./proc -o -path ./mnt \) -prune -o -printf '%p %y %m %U %s %T@ %l\n' | grep -v '^\. ' | sort); }
# the same without its times
plain() { listing | sed 's/ [0-9]*\.[0-9]* / /'; }
