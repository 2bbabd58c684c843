#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: whatever the engine does wrong ends in the right exit code and one line, and leaves nothing
# inside; once the engine is well again, a second run succeeds.
# images: busybox
# timeout: 600
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

name=$(unique x)
id=$(ctr_create "$ENGINE" busybox "$name")
before=$(ctr_diff "$ENGINE" "$id")
version='/v1\.[0-9]+'

# fault SPEC CODE [SECONDS]: inject through a proxy with this fault.
fault() {
  local spec=$1
  proxy_start "$spec"
  DOCKER_HOST=$proxy_host run "$SBINJECT" -t "${3:-8}" "$name"
  [ "$rc" = "$2" ] && pass "$spec: exit code" || fail "$spec: exit code" "$rc, not $2: $err"
  is "$spec: one line" "$(grep -c . <<<"$err")" "$([ "$rc" = 0 ] && echo 0 || echo 1)"
  [ "$(proxy_faults)" -gt 0 ] && pass "$spec: was applied" || fail "$spec: was applied" "$(cat "$proxy_log")"
  proxy_stop
  [ "$rc" != 0 ] || "$SBINJECT" -q remove "$name" || :
  is "$spec: nothing is left" "$(ctr_diff "$ENGINE" "$id")" "$before"
  "$SBINJECT" -q remove "$name" || :
}

# lasting SPEC [CODE]: the engine stays broken, so that nothing can be undone: the error says what may be
# left, and removing it works once the engine is well.
lasting() {
  local spec=$1
  proxy_start "$spec"
  DOCKER_HOST=$proxy_host run "$SBINJECT" -t 5 "$name"
  is "$spec for good: exit code" "$rc" "${2:-3}"
  like "$spec for good: says what may be left" "$err" "'/.sbinject' may be left inside"
  is "$spec for good: one line" "$(grep -c . <<<"$err")" 1
  proxy_stop
  ok "$spec for good: remove" "$SBINJECT" remove "$name"
  is "$spec for good: nothing is left then" "$(ctr_diff "$ENGINE" "$id")" "$before"
}

# Before anything is placed.
fault 'refuse' 3
fault 'drop@GET /_ping' 3
fault 'empty@GET /_ping' 3
fault 'garbage@GET /_ping' 3
fault 'bighead@GET /_ping:200000' 3
fault 'reply@GET /_ping:500,text/html,<h1>no</h1>' 3
fault 'reply@GET /_ping:200,text/plain,OK' 3
fault "cut:resp@GET $version/containers/.*/json:20" 3
fault "cut:resp-body@GET $version/containers/.*/json:100" 3
fault "length@GET $version/containers/.*/json:-10" 1
fault "length@GET $version/containers/.*/json:+10" 3 3
fault "stall:resp@GET $version/containers/.*/json:0,30" 3 3
fault "reply@GET $version/containers/.*/json:500,application/json,{\"message\":\"broken\"}" 1
fault "reply@GET $version/containers/.*/json:200,application/json,[]" 1
fault "reply@GET $version/images/.*/json:200,application/json,{}" 0
fault "reply@GET $version/images/.*/json:404,application/json,{}" 0
fault "chunked:short@GET $version/images/.*/json" 3
fault "chunked:bad@GET $version/images/.*/json" 3
fault "reply@HEAD $version/containers/.*/archive:500,text/plain," 1

# While it is being placed.
fault "cut:req-body@PUT $version/containers/.*/archive#1:0" 3
fault "cut:req-body@PUT $version/containers/.*/archive#1:5000" 3
fault "cut:req-body@PUT $version/containers/.*/archive#1:100000" 3
fault "cut:resp@PUT $version/containers/.*/archive#1:0" 3
fault "stall:req-body@PUT $version/containers/.*/archive#1:60000,6" 3 3
fault "reply@PUT $version/containers/.*/archive#1:404,application/json,{\"message\":\"no such container\"}" 4
fault "reply:late@PUT $version/containers/.*/archive#1:404,application/json,{\"message\":\"no such container\"}" 4
fault "reply@PUT $version/containers/.*/archive#1:500,text/html,<html>oops</html>" 1
fault "reply@PUT $version/containers/.*/archive#1:500,application/json,{\"message\":\"no space left on device\"}" 5

# When it is to be run.
fault "reply@POST $version/containers/.*/exec#1:500,application/json,{\"message\":\"no\"}" 1
fault "reply@POST $version/containers/.*/exec#1:409,application/json,{\"message\":\"is paused\"}" 4
fault "reply@POST $version/containers/.*/exec#1:201,application/json,{\"Id\":\"../../x\"}" 1
fault "cut:resp@POST $version/containers/.*/exec#1:0" 3
fault "reply@POST $version/exec/.*/start#1:404,application/json,{\"message\":\"gone\"}" 4
fault "garbage@POST $version/exec/.*/start#1" 3
fault "bighead@POST $version/exec/.*/start#1:200000" 3
fault "cut:resp@POST $version/exec/.*/start#1:10" 3
fault "cut:resp-body@POST $version/exec/.*/start#1:0" 3
fault "cut:resp-body@POST $version/exec/.*/start#1:20" 3
fault "stall:resp-body@POST $version/exec/.*/start#1:0,30" 7 3
fault "frame:oversize@POST $version/exec/.*/start#1" 0
fault "frame:stream@POST $version/exec/.*/start#1" 3


# Docker says on stdout why a program could not be started, in a line that ends like a receipt.
text=$'OCI runtime exec failed: exec failed: unable to start container process: permission denied\r\n'
{
  printf 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n'
  printf '\x01\0\0\0\0\0\0%b' "\\x$(printf %02x ${#text})"
  printf '%s' "$text"
} >"$tmp/refusal"
fault "raw@POST $version/exec/.*/start#1:$tmp/refusal" 5

lasting "cut:req-body@PUT $version/containers/.*/archive:5000"
lasting "cut:resp@POST $version/exec/.*/start:0"
lasting "reply@POST $version/containers/.*/exec:500,application/json,{}" 1

# What is slow or oddly cut, but right.
fault "frame:split@POST $version/exec/.*/start" 0
fault 'delay:0.2' 0
fault "stall:resp@PUT $version/containers/.*/archive#1:0,22" 0 60
fault "stall:req-body@POST $version/exec/.*/start#1:0,22" 0 60

ok 'after all of it: inject' "$SBINJECT" "$name"
ok 'after all of it: healthy' "$SBINJECT" status "$name"
ok 'after all of it: remove' "$SBINJECT" remove "$name"
is 'after all of it: nothing is left' "$(ctr_diff "$ENGINE" "$id")" "$before"
done_testing
