#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: root uses only its own server, in its own container, and a server watches only its own
# files.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
D=$R/.server
describe() { request sandbox_tools_describe 1 | in_world exec; }

# a directory of root's that an image left open to everybody
mkdir -m 777 "$D"; chmod 777 "$D"
perl -MSocket -e '$) = $( = 1000; $> = $< = 1000; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($ARGV[0])) && listen(S, 9) or die $!; chmod 0777, $ARGV[0];
  open F, ">", $ARGV[1] or die $!; chmod 0666, $ARGV[1]; flock F, 2; sleep 300' "$D/sandbox-tools.sock" "$D/server.lock" & liar=$!
wait_for test -e "$D/server.lock"
is 'where another user serves, root gets a server of its own' "$(describe | jq -r .result.uid)" 0
is '… in a directory closed to others' "$(stat -c '%u %a' "$D"):$(find "$D" ! -uid 0 | wc -l)" '0 700:0'
kill $liar; wait $liar 2>/dev/null
touch "$R/tmp/theirs"; chown 1000 "$R/tmp/theirs"
TOOL_ENV=INSPECT_SANDBOX_TOOLS_DIR=/tmp; out=$(describe 2>&1); TOOL_ENV=
fits 'a directory that everybody shares is not made private' "$?:$out:$(stat -c %a "$R/tmp"):$(ls "$R/tmp" | tr '\n' ' ')" '*error:*:1777:theirs '
in_world stop-server; rm -rf "$D"
mkdir -m 777 "$D"; chmod 777 "$D"; in_world server >/dev/null 2>&1 & wait_for test -S "$D/sandbox-tools.sock"
is_closed() { [ "$(stat -c %a "$D")" = 700 ]; }
pid=$(describe | jq -r .result.pid); chmod 777 "$D"
is 'a server of root that is there stays' "$(describe | jq -r .result.pid)" "$pid"
wait_for is_closed; succeeded '… and closes its directory again' $?
in_world stop-server; is '… it can be stopped' "$?:$(servers)" '0:0'
rm -rf "$D"

# the same directory in two containers
in_world start-server >/dev/null; pid=$(server_pid)
other() { # other ARGS…: in another PID namespace, over the same files
  # shellcheck disable=SC2086
  unshare -p -f --kill-child env -i ${TOOL_ENV:-} /usr/sbin/chroot "$R" "${PROGRAM_IN:-/t}" "$@"
}
out=$(request remote_version 1 | other exec 2>&1)
is 'a server of another PID namespace is not used' "$?:$out" "1:error: a server of another container, or of the host, uses '/.server'"
out=$(other stop-server 2>&1); fits '… not stopped' "$?:$out" '1:error: a server of another container*'
put
ln -s /.server "$R/.sbinject/.server"
out=$(spec | TOOL_ENV=INSPECT_SANDBOX_TOOLS_DIR=/.server PROGRAM_IN=/.sbinject/$STAGED other install)
is '… not replaced' "$(echo "$out" | jq -c '[.ok,.code]')" '[false,"occupied"]'
is '… a failed install leaves nothing' "$(find "$R/var/tmp" "$R/opt" "$R/.sbinject" -mindepth 1 2>/dev/null)" ''
out=$(printf '{"nonce":"%s","home":"/.sbinject"}\n' "$(nonce)" | other uninstall); is '… an uninstall does not mind it' "$(echo "$out" | jq -c .ok)" true
is 'it still serves its own' "$(server_pid):$(ls "$D" | grep -c sock)" "$pid:1"
in_world stop-server; rm -rf "$D"

# output of a server in the foreground
head -c 2000000 /dev/zero >"$W/log"; in_world server >>"$W/log" 2>&1 & wait_for test -S "$D/sandbox-tools.sock"; sleep 0.1
[ "$(stat -c %s "$W/log")" -gt 2000000 ]; succeeded 'a server in the foreground does not empty the file its caller chose' $?
in_world stop-server

# a reader that is a socket
mkfifo "$W/in"; (exec 9>"$W/in"; request version 1 >&9; echo >&9; sleep 8) &
perl -e 'use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0); $p = fork; if (!$p) { close A; open STDIN, "<", shift; open STDOUT, ">&B"; close B; exec @ARGV; }
  close B; <A>; close A; $SIG{ALRM} = sub { kill 9, $p; exit 9 }; alarm 5; waitpid $p, 0; exit $? >> 8' \
  "$W/in" /usr/sbin/chroot "$R" /t pipe; is 'pipe ends when the peer of its socket has gone' $? 1
done_testing
