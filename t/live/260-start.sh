#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: --start brings the payload into a container that is not running, starts it, and has the
# service there; a container that cannot be started is exit code 4, and what is left behind is
# reported.
# tier: check
# images: busybox scratch
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

state() { ctr_inspect "$ENGINE" "$1" | jq -r .State.Status; }
result() { jq -r "$1" <<<"$out"; }

for kind in scratch busybox; do
  name=$(unique "$kind")
  id=$(ctr_new "$ENGINE" "$kind" "$name")
  run "$SBINJECT" --json "$name"
  is "$kind, created: refused without --start" "$rc $(result .code)" '4 no-container'
  run "$SBINJECT" -n --start "$name"
  like "$kind, created: dry run" "$out" "would start the container and inject"
  like "$kind, created: a dry run starts nothing" "$(state "$id")" '^(created|configured)$'
  SBINJECT_TRACE=http run "$SBINJECT" --json --start "$name"
  is "$kind, created: injected" "$rc $(result .result)" '0 injected'
  is "$kind, created: placed first, then started, then run" \
    "$(grep -oE '(PUT|POST) .*/(archive|start|exec)\b' <<<"$err" | sed 's|.*/||' | tr '\n' ' ')" 'archive start exec start '
  ok "$kind, created: healthy" "$SBINJECT" status "$name"
  ctr_stop "$ENGINE" "$id"
  SBINJECT_TRACE=http run "$SBINJECT" --json --start "$name"
  is "$kind, ended: the service is started again" "$rc $(result .result)" '0 restarted'
  unlike "$kind, ended: nothing is uploaded for that" "$err" 'PUT '
  run "$SBINJECT" --json --start "$name"
  is "$kind, running: nothing to do" "$rc $(result .result)" '0 already'
  ok "$kind: remove" "$SBINJECT" remove "$name"
done

# One that ends at once, and one that cannot be started.
ends=$(unique ends)
ends_id=$(ctr_new "$ENGINE" busybox "$ends" '' '{"Cmd":["/bin/true"],"Entrypoint":[]}')
run "$SBINJECT" --start "$ends"
is 'ends at once: exit code' "$rc" 4
is 'ends at once: one line' "$(wc -l <<<"$err")" 1
like 'ends at once: what is left is told' "$err" "'/.sbinject' is left in it"
never=$(unique never)
ctr_new "$ENGINE" busybox "$never" '' '{"Cmd":["/no/such/program"],"Entrypoint":[]}' >/dev/null
run "$SBINJECT" --start "$never"
is 'cannot be started: exit code' "$rc" 4
like 'cannot be started: said' "$err" 'refuses to start the container'

paused=$(unique paused)
paused_id=$(ctr_create "$ENGINE" busybox "$paused")
if ctr_pause "$ENGINE" "$paused_id" 2>/dev/null; then
  run "$SBINJECT" --start "$paused"
  is 'paused: exit code' "$rc" 4
  ctr_unpause "$ENGINE" "$paused_id"
else
  skip 'paused: exit code' 'this engine cannot pause containers (rootless on cgroup v1)'
fi
done_testing
