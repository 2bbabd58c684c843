#!/bin/bash
# Goal: ls lists every container, whatever one of them does to the engine, and whatever its name is;
# it looks into one only when asked to, and never where that is unsafe.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# engine [HOW NAME]...: start one with these containers; HOW as in engine.py.
engine() {
  local separator='' id
  stop_engine
  {
    printf '['
    while [ $# -gt 0 ]; do
      id=$1$(printf '%063d' $#)
      printf '%s{"Id": "%s", "Names": ["/%s"], "Image": "%s", "State": "running"}' \
        "$separator" "$id" "$2" "${image:-nginx}"
      separator=,
      shift 2
    done
    printf ']'
  } >"$tmp/list.json"
  "$top/t/cli/engine.py" "$tmp/engine.sock" "$tmp/list.json" 2>"$tmp/requests" &
  engine_pid=$!
  until [ -S "$tmp/engine.sock" ]; do sleep 0.05; done
}
engine_pid=
stop_engine() {
  [ -z "$engine_pid" ] || kill "$engine_pid" 2>/dev/null || true
  [ -z "$engine_pid" ] || wait "$engine_pid" 2>/dev/null || true
  rm -f "$tmp/engine.sock"
}
trap 'stop_engine; rm -rf "$tmp"' EXIT
export DOCKER_HOST=unix://$tmp/engine.sock

services() { awk 'NR > 1 { print $2 ":" $5 }' "$tmp/run.out" | xargs; }

engine 0 none 1 other 2 loop 4 hangup 1 last
sb ls
is "without --look there is no SERVICE" "$rc $(awk '{ print NF }' "$tmp/run.out" | sort -u | xargs)" "0 4"
sb ls --json
is "without --look --json tells neither" "$(jq -c '[.name, .unknown, .sha256]' "$tmp/run.out" | xargs)" \
  "[none,null,null] [other,null,null] [loop,null,null] [hangup,null,null] [last,null,null]"
is "without --look none is looked into" "$(grep -c archive "$tmp/requests")" 0
sb ls --look
is "containers that cannot be looked into do not hide the others" "$rc $err$(services)" \
  "0 none:- other:abababababab loop:? hangup:? last:abababababab"
sb ls --look --json
is "--json says unknown of those" "$rc $(jq -c '[.name, .unknown, (.sha256 | type)]' "$tmp/run.out" |
  xargs)" "0 [none,null,null] [other,null,string] [loop,true,null] [hangup,true,null] [last,null,string]"
is "--json has no null" "$(grep -c null "$tmp/run.out")" 0
sb -v ls --look
like "-v says why" "$err" "note: loop: docker refuses to examine a file"

engine 3 stuck 1 other 3 stuck2 0 last
since=$SECONDS
sb -t 1 ls --look
is "one that never answers costs its own time only" "$rc $(services)" \
  "0 stuck:? other:abababababab stuck2:? last:-"
[ $((SECONDS - since)) -le 4 ] && quick=yes || quick="no: $((SECONDS - since)) s"
is "--timeout is that time" "$quick" yes
engine 3 stuck 0 last
since=$SECONDS
sb ls --look
is "without --timeout, too" "$rc $(services)" "0 stuck:? last:-"
[ $((SECONDS - since)) -le 9 ] && quick=yes || quick="no: $((SECONDS - since)) s"
is "without --timeout it is short" "$quick" yes

engine 0 first 5 killer 0 last
sb ls --look
exits "an engine that dies ends the list: exit 3" 3
one_line "an engine that dies is named" "cannot reach the engine at"

engine 2 web 3 db
sb ls --look --quiet
is "--quiet prints the names" "$rc $out" $'0 web\ndb'
is "--quiet looks into none" "$(grep -c archive "$tmp/requests")" 0
sb ls -q --json
is "--quiet --json prints objects" "$(jq -c '[.name, .unknown]' "$tmp/run.out" | xargs)" \
  "[web,null] [db,null]"
engine
sb ls -q
is "--quiet of no container" "$rc $out$err" "0 "
sb ls
is "no container: the header" "$rc $out" "0 ID  NAME  IMAGE  STATE"
sb ls --look
is "no container: the header with --look" "$rc $out" "0 ID  NAME  IMAGE  STATE  SERVICE"

# Docker before 29.5.1, and a container that runs and has mounts.
SERVER='Docker/20.10.24 (linux)' engine 1 plain 6 mounts 1 last
sb -v ls --look
is "one that the engine cannot look into safely has a ?" "$rc $(services)" \
  "0 plain:abababababab mounts:? last:abababababab"
like "-v says why that is unsafe" "$err" "note: mounts: docker 20.10.24 cannot safely look into .*CVE-2026-42306"
is "it is neither looked into nor paused" "$(grep -cE '/6[0-9]*/(archive|pause)' "$tmp/requests")" 0

# A label of 17 MiB, as an image may bring along.
engine 0 first 0 big 0 last
python3 - "$tmp/list.json" <<'END'
import json, sys
rows = json.load(open(sys.argv[1]))
rows[1]["Labels"] = {"x": "y" * (17 << 20)}
json.dump(rows, open(sys.argv[1], "w"))
END
sb ls -q
is "labels of any size hide nobody" "$rc $out" $'0 first\nbig\nlast'

long=$(printf '%0200d' 1)
image=registry.example/$long@sha256:$(printf '%064d' 2) engine 0 "$long"
sb ls
is "long names and images are whole" "$(awk 'NR > 1 { print $2, $3 }' "$tmp/run.out")" \
  "$long registry.example/$long@sha256:$(printf '%064d' 2)"
sb ls --json
is "long names are whole with --json" "$(jq -r .name "$tmp/run.out")" "$long"
engine 0 'other/alias", "/web", "/third/alias'
sb ls -q
is "of several names, its own" "$out" web
engine 0 'a\u001b[2Jb'
sb ls -q
is "names are escaped" "$out" 'a\x1b[2Jb'

done_testing
