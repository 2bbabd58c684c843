#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: call and pipe speak with the service as documented.
# tier: check
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

name=$(unique p)
id=$(ctr_create "$ENGINE" busybox "$name")
run "$SBINJECT" call "$name" version
is 'call before injection: exit 7' "$rc" 7
like 'call before injection: says so' "$err" 'not injected'
run "$SBINJECT" pipe "$name" </dev/null
is 'pipe before injection: exit 7' "$rc" 7
ok 'inject' "$SBINJECT" "$name"

run "$SBINJECT" call "$name" no_such_method '{"a":1}'
is 'an error reply: exit 1' "$rc" 1
is 'an error reply is printed' "$(jq .error.code <<<"$out")" -32601
run "$SBINJECT" call "$name" version '[1]'
is 'PARAMS must be an object' "$rc" 2
printf '{"jsonrpc": "2.0",\n "method": "version",\r\n "id": 123456789012345678901234567890}' >"$tmp/request"
run bash -c '"$SBINJECT" call "$1" <"$2"' - "$name" "$tmp/request"
like 'a whole request on stdin, odd id' "$out" '"id": ?123456789012345678901234567890'
echo '{"jsonrpc":"2.0","method":"version"}' >"$tmp/request"
run bash -c '"$SBINJECT" call "$1" <"$2"' - "$name" "$tmp/request"
is 'a notification: exit 0' "$rc" 0
is 'a notification: no reply' "$out" ''
echo 'rubbish' >"$tmp/request"
run bash -c '"$SBINJECT" call "$1" <"$2"' - "$name" "$tmp/request"
is 'rubbish: exit 1' "$rc" 1

proxy_start 'stall:resp-body@POST /v1\.[0-9]+/exec/.*/start:0,30'
DOCKER_HOST=$proxy_host run "$SBINJECT" -t 2 call "$name" version
is 'no reply in time: exit 7' "$rc" 7
like 'no reply in time: says so' "$err" 'no reply within 2 s; --timeout allows more'
is 'no reply in time: one line' "$(wc -l <<<"$err")" 1
proxy_stop

for i in $(seq 1000); do printf '{"jsonrpc":"2.0","method":"remote_version","id":%d}\n' "$i"; done >"$tmp/many"
run bash -c '"$SBINJECT" pipe "$1" <"$2"' - "$name" "$tmp/many"
is 'pipe: exit 0 at the end of input' "$rc" 0
is 'pipe: a reply for each of 1000' "$(jq .id <<<"$out" | sort -n | uniq | wc -l)" 1000
run bash -c '"$SBINJECT" pipe "$1" </dev/null' - "$name"
is 'pipe: empty input' "$rc $out" '0 '
coproc CH { "$SBINJECT" pipe "$name"; }
pid=$CH_PID
for i in 1 2 3; do
  printf '{"jsonrpc":"2.0","method":"version","id":%d}\n' "$i" >&"${CH[1]}"
  IFS= read -r -t 10 line <&"${CH[0]}" || line=
  is "pipe: reply $i while it is open" "$(jq .id <<<"$line")" "$i"
done
eval "exec ${CH[1]}>&-"
wait "$pid" && code=0 || code=$?
is 'pipe: ends when its input ends' "$code" 0

coproc CH { "$SBINJECT" pipe "$name" 2>"$tmp/killed"; }
pid=$CH_PID
printf '{"jsonrpc":"2.0","method":"version","id":1}\n' >&"${CH[1]}"
IFS= read -r -t 10 line <&"${CH[0]}" || line=
is 'pipe: a reply before it is killed' "$(jq .id <<<"$line")" 1
ctr_exec "$ENGINE" "$id" sh -c 'for p in /proc/[0-9]*; do
  if tr "\0" " " <$p/cmdline | grep -q " pipe $"; then kill -9 ${p#/proc/}; fi; done' >/dev/null || :
wait "$pid" && code=0 || code=$?
is 'pipe: 7 where its program is killed' "$code" 7
like 'pipe: says that it was' "$(cat "$tmp/killed")" 'ended with status 137'
done_testing
