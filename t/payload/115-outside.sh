#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what inspect_ai's own tests ask of its program from outside: privacy, the ends of samples, bounded output.
# also unprivileged: a container's user has such servers, too.
# tier: check
# shellcheck disable=SC2154	# state and code are set by follow
. "$(dirname "$(realpath "$0")")/lib.sh"

tool() { "$TOOL" "$@"; }
sample() { # sample NAME: a directory, which the calls are made in, and in which the server has its own
  S=$W/$1 D=$W/$1/sandbox-tools
  mkdir "$S"
  is_root || chown "$TEST_UID" "$S"
  cd "$S" || exit 1
  export INSPECT_SANDBOX_TOOLS_DIR="$D"
}
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
connect='socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, sockaddr_un($ARGV[0])) ? "yes" : $! + 0'
connects() { as "$1" perl -MSocket -e "$connect" "$D/sandbox-tools.sock"; }
open_to_others() { find "$D" -perm /077 -printf '%f '; }

# ---- privacy ----
sample private
fits 'an_answer_of_the_program_alone_starts_no_server' "$(rpc version)$(ls -A)" '*"result": "*", "id": 1}'
fits 'the_first_call_of_the_server_starts_it' "$(rpc remote_version)" '*"result": "Server: *'
is 'its_state_is_private_to_its_user' "$(stat -c '%a %u' "$D"):$(open_to_others)" "700 ${TEST_UID:-0}:"
is '… who connects' "$(connects "${TEST_UID:-0}")" yes
is '… and nobody else: permission denied' "$(connects 4242)" 13
fits '… nor looks into it' "$(as 4242 ls "$D" 2>&1)" '*Permission denied'
tool stop-server; tool stop-server; is 'stopping_without_a_server_is_no_error' "$?:$(ls -A "$D" | grep -c sock)" 0:0
(umask 0777; tool start-server >/dev/null); is 'an_inherited_umask_does_not_matter' "$?:$(stat -c %a "$D" "$D/server.pid" | tr '\n' ' ')" '0:700 600 '
is '… the server works' "$(rpc version | jq -r .id)" 1
tool stop-server

sample planted
mkdir "$S/target"
for plant in 'ln -s target' 'ln -s nowhere' 'touch'; do
  $plant "$D"; before=$(ls -l "$S" "$S/target")
  out=$(tool start-server 2>&1)
  fits "what_is_planted_at_its_directory_is_refused: $plant" "$?:$out" "1:error: Sandbox-tools server directory $D cannot be trusted: it is *"
  is '… and left as it was' "$(ls -l "$S" "$S/target")" "$before"
  rm "$D"
done

# ---- the end of a sample ----
sample one
J=$(start "sleep 300 & echo \$! >$S/job.pid")
wait_for test -s "$S/job.pid"
follow "$J"; is 'a job that ended and left a child' "$state:$code" completed:0
shell=$(rpc bash_session_new_session | jq -r .result.session_name)
params() { jq -nc --arg s "$shell" --arg i "${1:-}" '{session_name:$s,wait_for_output:5,idle_timeout:0.2} + (if $i == "" then {} else {input:($i + "\n")} end)'"${2:-}"; }
rpc bash_session "$(params "sleep 301 & echo \$\$ \$! >$S/shell.new; mv $S/shell.new $S/shell.pid")" >/dev/null
wait_for test -s "$S/shell.pid"
rpc bash_session "$(jq -nc --arg s "$shell" '{session_name:$s,restart:true}')" >/dev/null
rpc mcp_launch_server "$(jq -nc --arg c "sleep 302 & echo \$\$ \$! >$S/mcp.new; mv $S/mcp.new $S/mcp.pid; sleep 303" '{server_params:{command:"sh",args:["-c",$c]}}')" >/dev/null
wait_for test -s "$S/mcp.pid"
read -r leader child <"$S/mcp.pid"
is 'a child of an MCP server is of its group' "$(cut -d' ' -f5 "/proc/$child/stat")" "$leader"
# shellcheck disable=SC2046	# numbers
set -- $(cat "$S/job.pid" "$S/shell.pid" "$S/mcp.pid") "$(server)"
is '… six processes' $# 6
tool stop-server
wait_for dead "$@"; succeeded 'the_end_of_a_server_is_that_of_all_it_started' $?
is '… and a clean one' "$(ls "$D" | grep -c sock):$(jq -c . "$D/shutdown-status.json")" '0:{"errors":[]}'
rm -rf "$S"
sample two
follow "$(start "echo \"\$PWD \${INSPECT_SANDBOX_TOOLS_DIR-unset}\"")"
is 'the_next_sample_has_its_own_directory_and_no_word_of_ours' "$(cat "$W/out" "$W/err")" "$S unset"

mcp=$(rpc mcp_launch_server "$(jq -nc --arg c "read x; : >$S/asked; sleep 304" '{server_params:{command:"sh",args:["-c",$c]}}')" | jq .result)
rpc mcp_send_request "$(jq -nc --argjson s "$mcp" '{session_id:$s,request:{jsonrpc:"2.0",id:99,method:"tools/list",params:{}}}')" >"$W/reply" & asker=$!
wait_for test -e "$S/asked"
t=$(now); tool stop-server; is 'a_server_with_a_request_under_way_stops' $? 0
within $(($(now) - t)) 12000; succeeded '… in bounded time' $?
wait "$asker"; fits '… and the request has an answer' "$?:$(cat "$W/reply")" '0:*"error"*'
is '… and nothing is left' "$(pgrep -xc 'sleep 304')" 0

# ---- bounded output ----
sample shells
shell=$(rpc bash_session_new_session | jq -r .result.session_name)
# told LIMIT COMMAND END: what a shell says while nobody listens, and then until END, to files $W/said.N
told() {
  rm -f "$S/go" "$S/told" "$W"/said.*
  n=0
  rpc bash_session "$(params "until [ -e $S/go ]; do sleep 0.05; done; $2; : >$S/told" " + {max_output_bytes:$1,wait_for_output:0,idle_timeout:0}")" >/dev/null
  touch "$S/go"
  chmod 666 "$S/go"
  until cat "$W"/said.* 2>/dev/null | grep -qe "$3" || [ $n -ge 60 ]; do
    n=$((n + 1))
    rpc bash_session "$(params '' " + {max_output_bytes:$1}")" | jq -j .result >"$W/said.$n"
  done
  cat "$W"/said.* >"$W/all"
}
longest() { wc -c "$W"/said.* | awk '$2 != "total" && $1 > most { most = $1 } END { print most }'; }
notice='bash_session output exceeded .* bytes omitted'
rpc bash_session "$(params 'PS1=; echo ready')" >/dev/null
told 100000 'echo really' really
told 8000 "printf 'head-%03000d-tail\\n' 0" '-tail'
grep -q "head-0*-tail" "$W/all"; is 'output_below_the_limit_is_complete' "$?:$(grep -c "$notice" "$W/all")" 0:0
told 2048 "{ printf 'head-%0100000d' 0; printf x 1>&2; printf '%0100000d-tail\\n' 0; }" '-tail'
most=$(longest); [ "$most" -le 2048 ]; succeeded "large_output_is_cut_before_the_reply ($most bytes)" $?
fits '… its end is there, and what says so' "$(grep -c "$notice" "$W/all"):$(grep -c -e '-tail' "$W/all")" '[1-9]*:1'
told 4096 "{ printf '🙂%.0s' {1..20000}; printf '界%.0s' {1..20000} >&2; echo -final >&2; }" '-final'
most=$(longest); [ "$most" -le 4096 ]; succeeded "so_is_what_both_streams_say_in_wide_characters ($most bytes)" $?
is '… which stay whole' "$(grep -c '�' "$W/all")" 0
told 32 "{ printf '🙂%.0s' {1..2000}; echo -final; }" . # there is room for nothing else
[ "$(longest)" -le 32 ]; is 'a_tiny_limit_holds_for_the_notice_too' "$?:$(grep -c '�' "$W/all")" 0:0
done_testing
