#!/bin/bash
# Goal: on a terminal, the passing line of progress never runs into another line or into the prompt.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

echo '[]' >"$tmp/list.json"
"$top/t/cli/engine.py" "$tmp/engine.sock" "$tmp/list.json" 2>/dev/null &
engine_pid=$!
trap 'kill $engine_pid; rm -rf "$tmp"' EXIT
until [ -S "$tmp/engine.sock" ]; do sleep 0.05; done
export DOCKER_HOST=unix://$tmp/engine.sock SBINJECT_TRACE=http

# shown COMMAND: what it leaves on a terminal: a line is what stands behind its last wiping.
raw() { { script -qec "$1" /dev/null </dev/null || true; } | tr -d '\r' | sed 's/\x1b\[K/\r/g'; }
shown() { raw "$1" | sed 's/.*\r//'; }

# The engine does not answer for containers that begin with 3.
out=$(raw "'$SBINJECT' inject -t 1 3a 3b 0c")
like "there is progress" "$out" "injecting into 3 containers: 1 done"
out=$(shown "'$SBINJECT' inject -t 1 3a 3b 0c; printf '%s\n' prompt")
is "lines begin with our name, and the prompt is alone" \
  "$(grep -vcE '^sbinject: (http|3a|3b|0c): ' <<<"$out") $(tail -n 1 <<<"$out")" "1 prompt"
like "trace lines come while progress is shown" "$out" "http: GET /v1.45/containers/3a/json -> 0"
out=$(shown "'$SBINJECT' inject -q -t 1 3a")
is "--quiet shows none" "$(grep -c injecting <<<"$out")" 0

done_testing
