#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: whatever the engine does wrong with any request of an injection, sbinject ends in time, with
# the right exit code and one line, and leaves nothing inside; once the engine is well again, a
# second run succeeds.
# tier: sample
# first: docker28 podman58
# images: busybox
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/faults.sh
. "$top/t/live/faults.sh"
need_sbinject
faults_container
version='/v1\.[0-9]+'

undone() {
  [ "$rc" = 0 ] || nothing_left
  repaired
}

# Nothing can be told of a connection that ends after an answer: the next request may have been sent.
faults_table without_service undone inject "$name" <<'END'
                        ping inspect image look put exec start
drop@                   3    3       3     3    3   3    3
empty@                  -    -       -     -    3   3    3
cut:req-body@:0         -    -       -     -    3   3    3
cut:req-body@:out/2     -    -       -     -    3   3    3
cut:resp@:0             3    3       3     3    3   3    3
cut:resp@:20            3    3       3     3    3   3    3
cut:resp-body@:0        3    3       3     -    -   3    3
cut:resp-body@:1        3    3       3     -    -   3    3
cut:resp-body@:in/2     3    3       3     -    -   3    -
cut:after@              0    0       0     03   03  0    0
stall:req-body@:out/2,3 -    -       -     -    3   3    3
stall:resp@:0,30        3    3       3     3    3   3    3
stall:resp-body@:1,30   3    3       3     -    -   3    37
length@:+10             3    3       3     -    3   3    -
length@:-2              0    1       1     -    -   1    -
chunked:short@          3    3       3     -    3   3    3
chunked:bad@            3    3       3     -    3   3    3
reply@:500,html         3    1       1     1    1   1    1
reply@:404              3    4       0     0    4   4    4
garbage@                3    3       3     3    3   3    3
END

# fault SPEC CODE [SECONDS]
fault() {
  without_service
  faulty "$1" "$2" "${3:-8}" inject "$name"
  undone
}

# lasting SPEC CODE [SECONDS]: the engine stays broken, so that nothing can be undone: the error says what
# may be left, and removing it works once the engine is well.
lasting() {
  faulty "$1" "$2" "${3:-5}" inject "$name"
  like "$what for good: says what may be left" "$err" "'/.sbinject' may be left inside"
  ok "$what for good: remove" "$SBINJECT" remove "$name"
  nothing_left
  repaired
}

# Who answers.
fault 'refuse' 3
fault 'bighead@GET /_ping:200000' 3
fault 'reply@GET /_ping:200,text/plain,OK' 3
fault 'header@GET /_ping:Api-Version=1.39' 3
fault 'header@GET /_ping:Api-Version=1.40' 0

# A kept connection that was lost is made anew.
fault "drop@GET $version/containers/.*/json#1" 0

# Before anything is placed.
fault "reply@GET $version/containers/.*/json:500,application/json,{\"message\":\"broken\"}" 1
fault "reply@GET $version/containers/.*/json:200,application/json,[]" 1
fault "reply@GET $version/images/.*/json:200,application/json,{}" 0
fault "reply@HEAD $version/containers/.*/archive:500,text/plain," 1

# While it is being placed.
fault "reply@PUT $version/containers/.*/archive#1:404,application/json,{\"message\":\"no such container\"}" 4
fault "reply:late@PUT $version/containers/.*/archive#1:404,application/json,{\"message\":\"no such container\"}" 4
fault "reply@PUT $version/containers/.*/archive#1:500,application/json,{\"message\":\"no space left on device\"}" 5

# When it is to be run.
fault "reply@POST $version/containers/.*/exec#1:409,application/json,{\"message\":\"is paused\"}" 4
fault "reply@POST $version/containers/.*/exec#1:201,application/json,{\"Id\":\"../../x\"}" 1
fault "bighead@POST $version/exec/.*/start#1:200000" 3
fault "cut:resp-body@POST $version/exec/.*/start#1:20" 3
fault "frame:oversize@POST $version/exec/.*/start#1" 0
fault "frame:stream@POST $version/exec/.*/start#1" 3
fault "frame:stderr@POST $version/exec/.*/start#1" 3
fault "frame:swap@POST $version/exec/.*/start#1" 3
fault "frame:digest@POST $version/exec/.*/start#1" 6

# spoken TEXT: as in the stream of an exec
spoken() {
  printf 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'
  printf '\x01\0\0\0\0\0\0%b' "\\x$(printf %02x ${#1})"
  printf '%s' "$1"
}
# Docker says on stdout why a program could not be started, in a line that ends like a receipt.
spoken $'OCI runtime exec failed: exec failed: unable to start container process: permission denied\r\n' >"$tmp/refusal"
fault "raw@POST $version/exec/.*/start#1:$tmp/refusal" 5
# Podman, at times, of what ended at once: another try does better.
spoken $'Error: read unixpacket @->/proc/self/fd/15/attach: read: connection reset by peer\r\n' >"$tmp/haste"
fault "raw@POST $version/exec/.*/start#1:$tmp/haste" 0

lasting "cut:req-body@PUT $version/containers/.*/archive:5000" 3
lasting "cut:resp@POST $version/exec/.*/start:0" 3
lasting "reply@POST $version/containers/.*/exec:500,application/json,{}" 1

# Another user has to upload even to call, and takes that back where nothing can be run.
ok 'a service for another user to call' "$SBINJECT" "$name"
there=$(ctr_diff "$ENGINE" "$id")
XDG_STATE_HOME=$tmp/other faulty "reply@POST $version/containers/.*/exec#1:500,application/json,{}" 1 8 \
  call "$name" version
is "$what, by another user: as it was" "$(ctr_diff "$ENGINE" "$id")" "$there"

# What is slow or oddly cut, but right.
fault "frame:empty@POST $version/exec/.*/start" 0
fault "frame:split@POST $version/exec/.*/start" 0
fault 'delay:0.2' 0

# What takes half a minute: no answers any more from the fourth request on, and some that come late.
if thorough; then
  lasting "stall:resp@$version/.*#4+:0,60" 3 2
  fault "stall:resp@PUT $version/containers/.*/archive#1:0,22" 0 60
  fault "stall:req-body@POST $version/exec/.*/start#1:0,22" 0 60
fi
# One that hangs up after every answer without having said so is no fault, but a proxy of its own kind.
without_service
proxy_start cut:after
for i in 1 2 3 4 5; do
  DOCKER_HOST=$proxy_host ok "hanging up after each answer, $i: inject" "$SBINJECT" "$name"
  DOCKER_HOST=$proxy_host ok "hanging up after each answer, $i: remove" "$SBINJECT" remove "$name"
done
proxy_stop
done_testing
