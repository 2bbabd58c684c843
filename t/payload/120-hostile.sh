#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what other users leave at the server's paths is never used by root; without root it works too.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp etc proc srv home
D=$R/tmp/d
echo precious >"$R/etc/shadow"
TOOL_ENV=INSPECT_SANDBOX_TOOLS_DIR=/tmp/d # a name that others can take
serves() { # serves NAME: root gets a server of its own
  fits "$1: root gets its server" "$(call remote_version 2>&1)" '*"result": "Server: /t*'
  is '… in a directory of its own' "$(stat -c '%u %a %F' "$D")" '0 700 directory'
  is '… and nothing else was touched' "$(find "$D" ! -uid 0 | wc -l):$(cat "$R/etc/shadow"):$(ls "$R/etc" | wc -l)" '0:precious:1'
  in_world stop-server; rm -rf "$R"/tmp/* "$R"/tmp/.[!.]*
}
refuses() { # refuses NAME WORDS: root uses nothing of it and changes nothing
  pre=$(listing)
  out=$(call remote_version 2>&1); fits "$1: refused, and why" "$?:$out" "1:error: Sandbox-tools server directory /tmp/d cannot be trusted: $2.*"
  is '… and nothing was touched' "$(servers):$(listing)" "0:$pre"
  out=$(in_world stop-server 2>&1); fits '… nor stopped, and why' "$?:$out" "1:error: Sandbox-tools server directory /tmp/d cannot be trusted: $2.*"
  is '… and again nothing was touched' "$(listing)" "$pre"
  rm -rf "$R"/tmp/* "$R"/tmp/.[!.]*
}

mkdir "$D"
touch "$D/x" "$D/server-stderr.log"
mkdir "$D/sub"
ln -s /etc "$D/sub/l"
chown -R 65534 "$D"
refuses 'a foreign directory' 'it is owned by uid 65534, not uid 0'
ln -s /etc "$D"; chown -h 65534 "$D"; refuses 'a foreign link' 'it is a symbolic link'
mkdir "$R/tmp/e"; ln -s e "$D"; refuses 'a link of root' 'it is a symbolic link'
ln -s /nowhere "$D"; refuses 'a dangling link' 'it is a symbolic link'
mkfifo "$D"; refuses 'a FIFO' 'it is not a directory'
echo x >"$D"; refuses 'a file' 'it is not a directory'
mkdir -m 500 "$D"; serves 'a directory that its owner may not write to'
mkdir "$D"
ln -s /etc/shadow "$D/server-stderr.log"
ln -s /etc/new "$D/server-stdout.log"
ln -s /etc/pid "$D/server.pid"
ln -s /etc/sock "$D/sandbox-tools.sock"
chmod 777 "$D"
serves 'planted links for the files'
mkdir "$D"; ln "$R/etc/shadow" "$D/server-stderr.log"; serves 'a planted hard link'
mkdir "$D"; for f in server.lock server-start.lock server-stderr.log server-stdout.log server.pid; do mkfifo "$D/$f"; done; serves 'planted FIFOs'
mkdir "$D"; for f in server.lock server-start.lock server-stderr.log server.pid sandbox-tools.sock shutdown-status.json; do mkdir -p "$D/$f/x"; done
fits 'planted directories: an answer, or a clear failure' "$(call remote_version 2>&1)" '*'
rm -rf "$D"
mkdir -m 755 "$D"; serves 'a directory that others can look into'

# who could exchange the directory
for how in 'chmod 777 "$R/tmp"' 'chown 1000 "$R/tmp"'; do
  eval "$how"; out=$(call remote_version 2>&1); fits "not after: $how" "$?:$out" "1:error: '/tmp' *, *could replace '/tmp/d'*"
  is '… and nothing is made' "$(servers):$(ls -A "$R/tmp")" '0:'
  chown 0 "$R/tmp"; chmod 1777 "$R/tmp"
done
TOOL_ENV='TMPDIR=/srv TMP=/srv TEMP=/srv'; chmod 777 "$R/srv"; in_world start-server >/dev/null
is 'no directory for temporary files is looked at' "$(ls -A "$R/srv"):$(stat -c %F "$R/.server/sandbox-tools.sock")" ':socket'; in_world stop-server

# a server that others exchanged: whoever gets to the socket is asked who it is. It would close both
# again at once, so it sleeps until somebody has got there.
TOOL_ENV=; in_world start-server >/dev/null; pid=$(server_pid); kill -STOP "$pid"; chmod 755 "$R/.server"; chmod 666 "$R/.server/sandbox-tools.sock"
perl -MSocket -e 'open(M, ">", $ARGV[2]); $) = $( = $ARGV[0]; $> = $< = $ARGV[0]; socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ARGV[1])) or die "$!\n"; syswrite(M, "x");
  $n = read(S, $b, 16); print unpack("x12 N", $b); print " closed" if !read(S, $b, 1)' 1000 "$R/.server/sandbox-tools.sock" "$W/met" >"$W/said" 2>&1 & j=$!
wait_for test -s "$W/met"; kill -CONT "$pid"; wait $j
is 'another user who gets there is refused' "$(cat "$W/said")" '0 closed'
perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($ARGV[0])); read(S, $b, 16); exit !unpack("x12 N", $b)' "$R/.server/sandbox-tools.sock"
succeeded '… root is not' $?
fits '… and it goes on' "$(request remote_version 1 | in_world exec)" '*"result"*'
out=$(request remote_version 1 | as_user 1000 exec 2>&1)
fits 'root'"'"'s server is not for others, told clearly' "$?:$out" '1:error: Sandbox-tools server directory /.server cannot be trusted: it is owned by uid 0, not uid 1000.*'
in_world stop-server; rm -rf "$R/.server"

# without root: a program of one's own is for who can enter its directory
own() { # own MODE: /home/p, of user 1000
  rm -rf "$R/home/p"; mkdir -m "$1" "$R/home/p"; cp "$R/t" "$R/home/p/t"; chown -R 1000:1000 "$R/home/p"
}
as() { uid=$1; shift; env -i /usr/sbin/chroot --userspec="$uid:$uid" --groups= "$R" /home/p/t "$@"; }
state() { stat -c '%u %a' "$R/home/p/.server" "$R/home/p/.server/sandbox-tools.sock" | tr '\n' ' '; }
own 700; as 1000 start-server >/dev/null; is 'an unprivileged server in a closed directory: private' "$?:$(state)" '0:1000 700 1000 600 '
as 1000 stop-server; own 755; as 1000 start-server >/dev/null; is '… in one that others can enter: for them, too' "$?:$(state)" '0:1000 755 1000 666 '
is '… but for its files' "$(find "$R/home/p/.server" -type f ! -perm 600)" ''
fits '… it serves another user' "$(request remote_version 1 | as 1001 exec)" '*"result"*'
is '… with one process' "$(servers)" 1
out=$(as 1001 stop-server 2>&1); is '… who does not stop it' "$?:$(servers)" 1:1
rm -rf "$R/home/p/.server"; here() { [ -S "$R/home/p/.server/sandbox-tools.sock" ]; }
wait_for here; is '… when removed it comes back the same' "$(state)" '1000 755 1000 666 '
as 1000 stop-server
out=$(request remote_version 1 | as 1001 exec 2>&1)
fits '… nobody else starts one there' "$?:$out" "1:error: '/home/p' belongs to user 1000, *"
chmod 700 "$R/home/p/.server"; as 1000 start-server >/dev/null; is '… one that was closed stays closed' "$(state)" '1000 700 1000 600 '
as 1000 stop-server; chmod 777 "$R/home/p/.server"; touch "$R/home/p/.server/server.lock" "$R/home/p/.server/theirs"; chown 1001 "$R"/home/p/.server/*
as 1000 start-server >/dev/null
is '… one that was open is closed, and rid of what others left under our names' "$(state):$(find "$R/home/p/.server" -uid 1001 -printf %f)" '1000 700 1000 600 :theirs'
as 1000 stop-server; own 777; out=$(as 1000 start-server 2>&1); fits 'not where others could exchange it' "$?:$out" "1:error: '/home/p' is open to others *"
rm -rf "$R/home/p"
TOOL_ENV=INSPECT_SANDBOX_TOOLS_DIR=/tmp/d
as_user 1000 start-server >/dev/null
is 'one that a variable names is private' "$?:$(stat -c '%u %a' "$D")" '0:1000 700'
out=$(request remote_version 1 | as_user 1001 exec 2>&1); fits '… to its user' "$?:$out" '1:error: *owned by uid 1000, not uid 1001*'
in_world stop-server; out=$(call remote_version 2>&1); fits '… root does not touch it' "$?:$out:$(servers)" '1:error: *owned by uid 1000, not uid 0*:1'
as_user 1000 stop-server; rm -rf "$D"

# as an unprivileged user all by itself
for i in $(seq 8); do (as_user 1000 start-server >"$W/u.$i") & done
wait_for eval '[ "$(cat "$W"/u.* | wc -l)" = 16 ]'; succeeded '8 unprivileged starts at once' $?
is '… one server' "$(servers)" 1
request sandbox_tools_describe 1 | as_user 1000 exec | jq -c '[.result.uid,.result.can_switch_user,.result.sha256]' >"$W/d"
is '… knows its digest although it cannot be inspected' "$(cat "$W/d")" "[1000,false,\"$HEX\"]"
pid=$(jq .pid "$D/server.pid"); kill -9 "$pid"
fits '… is replaced when killed' "$(request remote_version 1 | as_user 1000 exec)" '*"result"*'
as_user 1000 stop-server; is '… and stopped' "$?:$(servers)" '0:0'
TOOL_ENV=
out=$(as_user 1000 start-server 2>&1)
fits 'where it may not write, it says what can be done' "$?:$out" '1:error: *INSPECT_SANDBOX_TOOLS_DIR can name another): Permission denied'

# nothing but the binary: no /tmp, /proc, /dev, /etc, with and without standard descriptors
world bare
fits 'works in a world that holds nothing else' "$(call remote_version)" '*"result": "Server: /t*'
is '… with its directory in /' "$(ls -A -I mnt "$R" | tr '\n' ' ')" '.server t '
is '… and knows its digest' "$(request sandbox_tools_describe 1 | in_world exec | jq -r .result.sha256)" "$HEX"
kill -9 "$(jq .pid "$R/.server/server.pid")"
fits '… repairs itself' "$(call remote_version)" '*"result"*'
in_world start-server <&- >/dev/null 2>&-; succeeded '… starts without stdin and stderr' $?
in_world stop-server; is '… stops' "$?:$(servers)" '0:0'
is 'a closed stdout is an error, not a crash' "$(in_world start-server >&- 2>/dev/null; echo $?)" 1
in_world stop-server
done_testing
