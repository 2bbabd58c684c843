#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: in a container whose user is not root, root's service runs every tool as exactly that user
# when a host asks for it by the numbers it has found.
# tier: check
# also: docker20-userns
# images: busybox bookworm
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

tree=/var/tmp/.da7be258e003d428
call() { run "$SBINJECT" call "$name" "$1" "$2"; }
result() { jq -r "${1:-.result}" <<<"$out"; }

# identity: what a host finds out about the default user, by an exec as that user
identity() {
  # shellcheck disable=SC2016
  ctr_exec "$ENGINE" "$id" sh -c 'while read k v; do case "$k" in Uid:|Gid:|Groups:) echo "$k $v";; esac; done </proc/self/status
    echo "HOME: $HOME"' |
    jq -Rnc '[inputs | capture("^(?<key>[A-Za-z]+): *(?<value>.*)")] | from_entries |
      {uid: (.Uid | split("[\t ]+"; "")[0] | tonumber), gid: (.Gid | split("[\t ]+"; "")[0] | tonumber),
       groups: [.Groups | splits("[\t ]+") | select(. != "") | tonumber], home: .HOME}'
}

# shellcheck disable=SC2016
who='echo "$(id -u):$(id -g):$(id -G):$HOME:$PWD"'

for kind in busybox bookworm; do
  name=$(unique "run-as-$kind")
  id=$(ctr_create "$ENGINE" "$kind" "$name" '{"GroupAdd":["2000"]}' \
    '{"User":"1234:1235","WorkingDir":"/tmp","Env":["HOME=/tmp/home"]}')
  user=$(identity)
  is "$kind: the default user" "$(jq -c '[.uid, .gid, (.groups - [.gid]), .home]' <<<"$user")" '[1234,1235,[2000],"/tmp/home"]'
  # what an exec of the engine itself says is what the tools are to say
  want=$(ctr_exec "$ENGINE" "$id" sh -c "$who")
  ok "$kind: inject" "$SBINJECT" "$name"

  call exec_remote_start "$(jq -nc --arg c "$who; echo x >/tmp/job" --argjson u "$user" '{command: $c, cwd: "/tmp", user: $u}')"
  call exec_remote_poll "{\"pid\":$(result .result.pid),\"ack_seq\":0}"
  is "$kind: exec_remote" "$(result .result.stdout)" "$want"

  call bash_session_new_session "{\"user\":$user}"
  session=$(result .result.session_name)
  call bash_session "$(jq -nc --arg s "$session" --arg i "cd /tmp; echo x >shell; $who
" '{session_name: $s, wait_for_output: 10, idle_timeout: 0.5, input: $i}')"
  like "$kind: bash_session" "$(result)" "$want"

  call mcp_launch_server "$(jq -nc --arg c "$who >/tmp/mcp.new; mv /tmp/mcp.new /tmp/mcp" --argjson u "$user" \
    '{server_params: {command: "sh", args: ["-c", $c], cwd: "/tmp"}, user: $u}')"
  is "$kind: mcp is launched" "$(result)" 0
  # shellcheck disable=SC2016
  is "$kind: mcp" "$(ctr_exec "$ENGINE" "$id" sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do [ -f mcp ] && break; sleep 1; done; cat mcp')" "$want"

  call text_editor "{\"command\":\"create\",\"path\":\"/tmp/note\",\"file_text\":\"x\",\"_run_as\":$user}"
  is "$kind: text_editor" "$(result)" 'File created successfully at: /tmp/note'
  call text_editor "{\"command\":\"view\",\"path\":\"/root/x\",\"_run_as\":$user}"
  is "$kind: … is not root" "$(result .error.code)" -32099
  is "$kind: everything belongs to the user" \
    "$(ctr_exec "$ENGINE" "$id" stat -c '%n %u %g' job shell mcp note)" $'job 1234 1235\nshell 1234 1235\nmcp 1234 1235\nnote 1234 1235'

  # what inspect_ai's tests of its own injection ask for
  is "$kind: root_server_state_is_private_to_root" \
    "$(exec_opts='{"User":"0"}' ctr_exec "$ENGINE" "$id" stat -c '%u %a' $tree $tree/.server $tree/.server/sandbox-tools.sock)" $'0 700\n0 700\n0 600'
  is "$kind: tools_tree_is_inaccessible_to_default_user" "$(ctr_exec "$ENGINE" "$id" sh -c "
    ls $tree && echo LISTED; ls $tree/.server && echo LISTED; touch $tree/planted && echo CREATED
    mv $tree $tree.moved && echo MOVED; rm -rf $tree && echo REMOVED; stat -c %u:%a $tree" 2>/dev/null)" 0:700
  # shellcheck disable=SC2016
  [ "$kind" = busybox ] ||
    is "$kind: … who cannot connect: permission denied" "$(ctr_exec "$ENGINE" "$id" perl -MSocket -e \
      'socket(S, AF_UNIX, SOCK_STREAM, 0); print connect(S, sockaddr_un($ARGV[0])) ? "yes" : $! + 0' $tree/.server/sandbox-tools.sock)" 13
  ok "$kind: remove" "$SBINJECT" remove "$name"
done
done_testing
