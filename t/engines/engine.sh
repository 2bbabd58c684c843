#!/bin/bash
# SPDX-License-Identifier: MIT
# engine.sh: private container engines for the live tests.  Each has its own
# state directory, socket and processes under $SBINJECT_ENGINES; an engine the
# user runs is never touched.  usage() lists the commands and the names.
# shellcheck disable=SC2046,SC2086	# lists of process ids are split on purpose
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=t/engines/paths.sh
. "$here/paths.sh"

names="docker20 docker20-tls docker20-rootless docker20-userns docker20-small podman43 podman43-rootless \
docker26 podman54 docker28 podman58"
user=sbinject-test
mark=SBINJECT_TEST_ENGINE	# in the environment of every process started here
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

say() { printf 'engine: %s\n' "$*"; }
die() { printf 'engine: %s\n' "$*" >&2; exit 1; }

usage() {
  cat <<-END
	usage: engine.sh start|stop|kill NAME    kill: SIGKILL of the daemon alone
	       engine.sh sock NAME               print the engine's host URL
	       engine.sh tls-dir|tls-host NAME   client certificates; tcp URL
	       engine.sh status NAME             true when it runs
	       engine.sh list|stop-all
	       engine.sh rootfs trixie|forky     root file system of newer engines
	names: $names
	END
}

# --- names ------------------------------------------------------------------

# use NAME: check it and set the globals every other function works on.
use() {
  case " $names " in
  *" ${1:-} "*) ;;
  *) die "unknown engine '${1:-}'; known: $names" ;;
  esac
  name=$1
  dir=$SBINJECT_ENGINES/$name
  sock=$(engine_socket "$name")
  suite=
  case $name in
  docker26 | podman54) suite=trixie ;;
  docker28 | podman58) suite=forky ;;
  esac
  root=$SBINJECT_CACHE/roots/$suite
  [ ${#sock} -lt 100 ] || die "socket path too long: '$sock'"
}

is_rootless() { [[ $name == *-rootless ]]; }
is_docker() { [[ $name == docker* ]]; }

# --- locks ------------------------------------------------------------------

# lock_engine: one start, stop or kill per engine at a time; none while a test
# run of somebody else (t/live/run.sh) owns the state directory.
lock_engine() {
  [ "$(id -u)" -eq 0 ] || die "needs root to run private engines"
  mkdir -p "$SBINJECT_ENGINES/.lock"
  if [ -z "${SBINJECT_RUN_LOCKED:-}" ]; then
    exec 8>"$SBINJECT_ENGINES/.lock/run"
    flock -sn 8 || die "another test run is using '$SBINJECT_ENGINES'"
  fi
  exec 9>"$SBINJECT_ENGINES/.lock/$name"
  flock -w 180 9 || die "$name: another start or stop does not end"
}

# --- processes --------------------------------------------------------------

# alive PID: exists and is no zombie (not every PID 1 reaps orphans).
alive() {
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  stat=${stat##*) }
  [[ $stat != [ZX]* ]]
}

# engine_pids: every living process of the engine: those carrying the mark, the
# monitors whose arguments name its directory, and what runs in containers
# rooted in its storage.
engine_pids() {
  local f p
  {
    grep -lszxF "$mark=$dir" /proc/[0-9]*/environ || :
    grep -lsE "^[0-9]+ [0-9]+ [0-9:]+ / / .*upperdir=$dir/" \
      /proc/[0-9]*/mountinfo || :
    grep -lsaF "$dir/" /proc/[0-9]*/cmdline | while read -r f; do
      case $(cat "${f%cmdline}comm" 2>/dev/null) in
      dockerd | podman | conmon | containerd* | rootlesskit) echo "$f" ;;
      esac
    done
  } 2>/dev/null | while IFS=/ read -r _ _ p _; do
    [ "$p" = self ] || ! alive "$p" || echo "$p"
  done | sort -un || :
}

# daemon_pids: the service itself (two processes for rootless podman).
daemon_pids() {
  local p
  for p in $(engine_pids); do
    case $(cat "/proc/$p/comm" 2>/dev/null) in
    dockerd) echo "$p" ;;
    podman) ! tr '\0' ' ' <"/proc/$p/cmdline" | grep -q 'system service' ||
      echo "$p" ;;
    esac
  done 2>/dev/null
}

# wait_gone SECONDS PID...: true when all ended in time.
wait_gone() {
  local end=$((SECONDS + $1)) p
  shift
  for p in "$@"; do
    while alive "$p"; do
      [ $SECONDS -le "$end" ] || return 1
      sleep 0.05
    done
  done
}

# kill_all SIGNAL PID...
kill_all() {
  local sig=$1 p
  shift
  for p in "$@"; do
    kill "-$sig" "$p" 2>/dev/null || :
  done
}

# close_files: what stays running must not hold locks or pipes of a caller.
close_files() {
  local f
  for f in "/proc/$BASHPID/fd"/*; do
    f=${f##*/}
    [ "$f" -le 2 ] || eval "exec $f>&-"
  done
}

# --- talking to the engine --------------------------------------------------

api() { curl -sS -m "${timeout:-60}" --unix-socket "$sock" "$@"; }
ping() { timeout=5 api -f -o /dev/null http://d/_ping 2>/dev/null; }

wait_ready() {
  local end=$((SECONDS + 60))
  until [ -S "$sock" ] && ping; do
    alive "$1" || return 1
    [ $SECONDS -le "$end" ] || return 1
    sleep 0.02
  done
}

remove_containers() {
  local ids
  ids=$(timeout=10 api 'http://d/containers/json?all=1' 2>/dev/null |
    jq -r '.[].Id' 2>/dev/null) || return 0
  [ -n "$ids" ] || return 0
  xargs -P 4 -I '{}' curl -s -m 10 -o /dev/null --unix-socket "$sock" \
    -X POST 'http://d/containers/{}/stop?t=0' <<<"$ids" || :
  xargs -P 4 -I '{}' curl -s -m 30 -o /dev/null --unix-socket "$sock" \
    -X DELETE 'http://d/containers/{}?force=1&v=1' <<<"$ids" || :
}

# --- root file systems of newer suites --------------------------------------

rootfs() {
  local suite=$1 dest=$SBINJECT_CACHE/roots/$1 tmp
  [ ! -d "$dest" ] || return 0
  [ "$(id -u)" -eq 0 ] || die "needs root to build '$dest'"
  mkdir -p "$SBINJECT_CACHE/roots"
  exec 7>"$SBINJECT_CACHE/roots/.$suite.lock"
  flock 7
  if [ ! -d "$dest" ]; then
    say "building the $suite root file system (once, about a minute)"
    rm -rf "$SBINJECT_CACHE/roots/.new-$suite".*
    tmp=$SBINJECT_CACHE/roots/.new-$suite.$$
    mmdebstrap --variant=minbase --mode=root --format=directory \
      --aptopt='Acquire::Check-Valid-Until "false"' \
      --dpkgopt='path-exclude=/usr/share/man/*' \
      --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/locale/*' \
      --include=docker.io,podman,runc,iptables,nftables,ca-certificates \
      "$suite" "$tmp" "$(mirror)" >"$tmp.log" 2>&1 </dev/null || {
      tail -n 5 "$tmp.log" >&2
      die "cannot build the $suite root file system"
    }
    mv "$tmp" "$dest"
    rm -f "$tmp.log"
  fi
  exec 7>&-
}

# What the keeper of a suite's mount namespace runs.
# shellcheck disable=SC2016
enter='
  engines=$1 root=$2
  mount --bind "$root" "$root"
  mount --rbind /proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  mkdir -p "$root/$engines" "$root/.old"
  mount --rbind "$engines" "$root/$engines"
  cd "$root"
  pivot_root . .old
  cd /
  umount -l /.old
  mkdir -p /run/lock
  echo $$
  exec sleep infinity >/dev/null
'

# enter_suite: a private mount namespace whose root is the suite's file system,
# held open by a sleeping process so that a restarted daemon finds the mounts
# of its predecessor.  A mere chroot is not enough for dockerd.  Sets $keeper.
enter_suite() {
  local fd
  rootfs "$suite"
  keeper=$(cat "$dir/keeper" 2>/dev/null) || keeper=
  [ -z "$keeper" ] || ! grep -qszxF "$mark=$dir" "/proc/$keeper/environ" ||
    ! alive "$keeper" || return 0
  exec {fd}< <(close_files
    exec 2>>"$dir/log" </dev/null env -i "$mark=$dir" PATH=$path setsid \
    unshare -m --propagation private sh -euc "$enter" \
    sh "$SBINJECT_ENGINES" "$root")
  read -r -t 30 -u "$fd" keeper || {
    tail -n 3 "$dir/log" >&2
    die "$name: cannot enter the $suite root file system"
  }
  exec {fd}<&-
  echo "$keeper" >"$dir/keeper"
}

# --- configuration ----------------------------------------------------------

# Without CAP_SYS_RESOURCE the limits podman asks for by itself are refused.
podman_ulimits() {
  local bounding files procs
  bounding=$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)
  if is_rootless || (((16#$bounding >> 24) & 1)); then
    return 0
  fi
  files=$(ulimit -Hn)
  procs=$(cat /proc/sys/kernel/pid_max)
  [ "$procs" -le 32768 ] || procs=32768
  printf '[containers]\ndefault_ulimits = ["nofile=%s:%s", "nproc=%s:%s"]\n' \
    "$files" "$files" "$procs" "$procs"
}

podman_config() {
  podman_ulimits
  cat <<-END
	[engine]
	runtime = "runc"
	cgroup_manager = "cgroupfs"
	events_logger = "file"
	exit_command_delay = 30
	END
  is_rootless || echo 'lock_type = "file"'	# shm locks would be the user's
}

# tls_files: CA, server and client certificates, made once.
tls_files() {
  local n ext
  tls=$SBINJECT_ENGINES/tls
  [ ! -f "$tls/key.pem" ] || return 0
  rm -rf "$tls.new"
  mkdir -p "$tls.new"
  (
    cd "$tls.new"
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=test-ca \
      -keyout ca-key.pem -out ca.pem \
      -addext basicConstraints=critical,CA:TRUE \
      -addext keyUsage=critical,keyCertSign,cRLSign
    for n in server client; do
      ext='extendedKeyUsage=clientAuth'
      [ $n = client ] ||
        ext='subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth'
      openssl req -newkey rsa:2048 -nodes -subj "/CN=$n" \
        -keyout $n-key.pem -out $n.csr
      printf '%b\n' "$ext" >$n.ext
      openssl x509 -req -in $n.csr -CA ca.pem -CAkey ca-key.pem \
        -CAcreateserial -days 3650 -extfile $n.ext -out $n.pem
    done
    cp client.pem cert.pem
    cp client-key.pem key.pem
  ) >/dev/null 2>&1 || die "cannot make the TLS certificates"
  mv "$tls.new" "$tls"
}

# tls_port: a free port of 127.0.0.1, kept in the state directory.
tls_port() {
  local port=${SBINJECT_TLS_PORT:-23760}
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    port=$((port + 1))
  done
  echo "$port" >"$dir/tls-port"
}

# test_user: the user the rootless engines run as, whose subordinate ids another maps to.
test_user() {
  local first
  id "$user" >/dev/null 2>&1 ||
    useradd --system --no-create-home --home-dir /nonexistent \
      --user-group --shell /usr/sbin/nologin "$user"
  if ! grep -qs "^$user:" /etc/subuid || ! grep -qs "^$user:" /etc/subgid; then
    first=$(awk -F: 'BEGIN { m = 100000 } $2 + $3 > m { m = $2 + $3 }
      END { print m }' /etc/subuid /etc/subgid)
    usermod --add-subuids "$first-$((first + 65535))" \
      --add-subgids "$first-$((first + 65535))" "$user"
  fi
  mkdir -p "$dir/home" "$dir/run"
  chown "$user:" "$dir/home" "$dir/run"
  chmod 700 "$dir/run"
  setpriv --reuid "$user" --regid "$user" --init-groups test -x "$dir" ||
    die "$name: user '$user' cannot reach '$dir'; set SBINJECT_ENGINES"
}

# --- start ------------------------------------------------------------------

# small_data: its containers are on a disk that a test can fill.
small_data() {
  mkdir -p "$dir/data"
  mountpoint -q "$dir/data" || mount -t tmpfs -o size=48m,mode=711 tmpfs "$dir/data"
}

# docker_command: set $cmd.  A private daemon has no bridge and no firewall
# rules, and reads no configuration of the system.
docker_command() {
  echo '{}' >"$dir/daemon.json"
  cmd=(dockerd --config-file "$dir/daemon.json" -H "unix://$sock"
    --bridge=none --iptables=false --ip6tables=false --ip-forward=false
    --shutdown-timeout 3)
  if is_rootless; then
    cmd=(/usr/share/docker.io/contrib/dockerd-rootless.sh "${cmd[@]:1}"
      --data-root "$dir/home/docker")
    return
  fi
  cmd+=(--data-root "$dir/data" --exec-root "$dir/exec"
    --pidfile "$dir/dockerd.pid" --exec-opt native.cgroupdriver=cgroupfs)
  [[ $name != *-small ]] || small_data
  if [[ $name == *-userns ]]; then
    test_user
    cmd+=(--userns-remap "$user")
  fi
  if [[ $name == *-tls ]]; then
    tls_files
    tls_port
    cmd+=(-H "tcp://127.0.0.1:$(cat "$dir/tls-port")" --tlsverify
      --tlscacert "$tls/ca.pem" --tlscert "$tls/server.pem"
      --tlskey "$tls/server-key.pem")
  fi
}

podman_command() {
  podman_config >"$dir/containers.conf"
  printf '[storage]\ndriver = "overlay"\n' >"$dir/storage.conf"
  cmd=(podman)
  if ! is_rootless; then
    printf 'graphroot = "%s"\nrunroot = "%s"\n' "$dir/root" "$dir/run" \
      >>"$dir/storage.conf"
    cmd+=(--root "$dir/root" --runroot "$dir/run" --tmpdir "$dir/tmp"
      --network-config-dir "$dir/net")
    mkdir -p "$dir/net"
  fi
  cmd+=(system service --time=0 "unix://$sock")
}

# wrap_command: environment, user and root file system around $cmd.
# catatonit reaps the orphans of engines where PID 1 does not.
wrap_command() {
  local vars=("$mark=$dir" PATH="$path" HOME="$dir/home"
    CONTAINERS_CONF="$dir/containers.conf"
    CONTAINERS_STORAGE_CONF="$dir/storage.conf"
    PODMAN_IGNORE_CGROUPSV1_WARNING=1)
  if is_rootless; then
    vars+=(XDG_RUNTIME_DIR="$dir/run"
      DOCKERD_ROOTLESS_ROOTLESSKIT_NET=host
      DOCKERD_ROOTLESS_ROOTLESSKIT_PORT_DRIVER=none)
    cmd=(setpriv --reuid "$user" --regid "$user" --init-groups
      --inh-caps=-all "${cmd[@]}")
  fi
  if [ -n "$suite" ]; then
    enter_suite
    cmd=(nsenter -t "$keeper" -m -r -w "${cmd[@]}")
  fi
  cmd=(env -i "${vars[@]}" setsid catatonit -- "${cmd[@]}")
}

# sweep: remove what a dead daemon or an earlier boot left in the way.
sweep() {
  local boot
  boot=$(cat /proc/sys/kernel/random/boot_id)
  kill_all KILL $(daemon_pids)
  if [ "$(cat "$dir/boot" 2>/dev/null)" != "$boot" ]; then
    forget_runtime
  elif [ "$name" = docker20-rootless ]; then
    kill_all KILL $(engine_pids)	# its namespaces died with it
    forget_runtime
  fi
  echo "$boot" >"$dir/boot"
  rm -f "$sock" "$dir/dockerd.pid" "$dir/exec/containerd/containerd.pid"
}

# forget_runtime: unmount everything of the engine, drop its run-time state.
forget_runtime() {
  local m
  awk -v d="$dir/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo |
    sort -r | while read -r m; do umount -l "$m" || :; done
  rm -rf "$dir/exec" "$dir/run" "$dir/tmp" "$dir/keeper" "$sock" \
    "$dir/dockerd.pid"
}

start() {
  local fresh='' key=/etc/docker/key.json began
  lock_engine
  if ping; then
    say "$name already runs"
    return 0
  fi
  began=$(date +%s%3N)
  mkdir -p "$dir"
  chmod 755 "$SBINJECT_ENGINES" "$dir"
  [ -e "$dir/running" ] || fresh=1
  sweep
  mkdir -p "$dir/run" "$dir/tmp"
  : >"$dir/log"
  ! is_rootless || test_user
  if is_docker; then docker_command; else podman_command; fi
  ! is_rootless || chown "$user:" "$dir"
  [ "$name" != podman43-rootless ] ||
    install -d -o "$user" -g "$user" "$dir/run/podman"
  wrap_command
  touch "$dir/running"
  [ ! -e "$key" ] || key=
  (cd /; close_files; exec "${cmd[@]}" </dev/null >>"$dir/log" 2>&1) &
  wait_ready $! || {
    tail -n 5 "$dir/log" >&2
    stop_all_processes
    die "$name did not start (see $dir/log)"
  }
  [ -z "$key" ] || rm -f "$key"	# dockerd 20.10 writes it unasked
  [ -z "$fresh" ] || remove_containers
  say "$name ready in $(($(date +%s%3N) - began)) ms at unix://$sock"
}

# --- stop and kill ----------------------------------------------------------

stop_all_processes() {
  local pids
  pids=$(daemon_pids)
  kill_all TERM $pids
  wait_gone 10 $pids || kill_all KILL $pids
  for _ in 1 2 3; do
    pids=$(engine_pids)
    [ -n "$pids" ] || break
    kill_all KILL $pids
    wait_gone 5 $pids || :
  done
  [ -z "$(engine_pids)" ] || die "$name: processes will not end: $(engine_pids)"
  forget_runtime
  rm -f "$dir/running"
}

stop() {
  lock_engine
  [ -d "$dir" ] || return 0
  [ -e "$dir/running" ] || [ -n "$(engine_pids)" ] || return 0
  ! ping || remove_containers
  stop_all_processes
  say "$name stopped"
}

kill_daemon() {
  local pids
  lock_engine
  pids=$(daemon_pids)
  [ -n "$pids" ] || die "$name does not run"
  kill_all KILL $pids
  wait_gone 5 $pids || die "$name: the daemon survives SIGKILL"
  say "$name killed"
}

# --- commands ---------------------------------------------------------------

list() {
  local n state
  for n in $names; do
    use "$n"
    state=-
    [ ! -S "$sock" ] || ! ping || state=running
    printf '%-18s %-8s unix://%s\n' "$n" "$state" "$sock"
  done
}

stop_all() {
  local n
  for n in $names; do
    [ ! -d "$SBINJECT_ENGINES/$n" ] || "$0" stop "$n"
  done
}

main() {
  local command=${1:-}
  case $command in
  start | stop | kill)
    use "${2:-}"
    [ -x /usr/bin/catatonit ] || die "tools are missing; 't/setup.sh engine' installs what docker20 needs, 't/setup.sh test' the rest"
    case $command in kill) kill_daemon ;; *) "$command" ;; esac
    ;;
  status) use "${2:-}"; [ -S "$sock" ] && ping ;;
  sock) use "${2:-}"; echo "unix://$sock" ;;
  tls-dir) use "${2:-}"; echo "$SBINJECT_ENGINES/tls" ;;
  tls-host) use "${2:-}"; echo "tcp://127.0.0.1:$(cat "$dir/tls-port")" ;;
  list) list ;;
  stop-all) stop_all ;;
  rootfs) [ -n "${2:-}" ] || die "which suite?"; rootfs "$2" ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
  esac
}

main "$@"
