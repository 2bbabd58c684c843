#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an identity (uid, gid, groups, home) is exactly who every tool runs as, and what is none runs nothing.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"

printf 'root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\nnobody:x:65534:65534::/nowhere:/bin/sh\n' >"$W/passwd"
printf 'root:x:0:\nagent:x:1000:\nteam:x:2000:agent\n' >"$W/group"
mount --bind "$W/passwd" /etc/passwd
mount --bind "$W/group" /etc/group
mkdir -m 1777 "$W/docs" "$W/tmp"
T=$PROGRAM AS='' HOME=/root TMPDIR=$W/tmp
export HOME TMPDIR
# serve UID: with a directory of its own
serve() {
  mkdir -m 700 "$W/d$1"
  chown "$1" "$W/d$1"
  export INSPECT_SANDBOX_TOOLS_DIR="$W/d$1"
}
tool() { $AS "$T" "$@"; }
WHO='echo $(id -u):$(id -g):$(id -G):$HOME'

# Each prints what $WHO does as that user, or the error: TOOL_as USER [ENV]
exec_as() {
  rpc exec_remote_start "$(jq -nc --arg c "$WHO" --argjson u "$1" --argjson e "${2:-null}" '{command:$c,user:$u,env:$e}')" >"$W/reply"
  pid=$(jq '.result.pid // empty' "$W/reply")
  [ -n "$pid" ] || { message <"$W/reply"; return; }
  follow "$pid"
  cat "$W/out" "$W/err"
}
say() { rpc bash_session "$(jq -nc --arg s "$1" --arg i "$2" --argjson w "${3:-10}" '{session_name:$s,wait_for_output:$w,idle_timeout:1,input:$i}')" | jq -r '.result // .error'; }
bash_as() {
  rpc bash_session_new_session "{\"user\":$1}" >"$W/reply"
  session=$(jq -r '.result.session_name // empty' "$W/reply")
  [ -n "$session" ] || { message <"$W/reply"; return; }
  say "$session" 'PS1=; PS2=
' >/dev/null
  hear "$session" "$WHO
" '?*'
}
mcp_as() {
  rm -f "$W/docs/mcp" "$W/docs/mcp."
  rpc mcp_launch_server "$(jq -nc --arg c "$WHO >$W/docs/mcp.; cat /proc/self/oom_score_adj >>$W/docs/mcp.; env >>$W/docs/mcp.; mv $W/docs/mcp. $W/docs/mcp" --argjson u "$1" --argjson e "${2:-null}" \
    '{server_params:{command:"/bin/sh",args:["-c",$c],env:$e},user:$u}')" >"$W/reply"
  jq -e 'has("result")' "$W/reply" >/dev/null || { message <"$W/reply"; return; }
  wait_for test -f "$W/docs/mcp" && sed -n 1p "$W/docs/mcp"
}
edit() { # edit MEMBERS: a new file is made with them
  rm -f "$W/docs/e"
  rpc text_editor "{\"command\":\"create\",\"path\":\"$W/docs/e\",\"file_text\":\"x\",$1}" 2>"$W/err" >"$W/reply" || { cat "$W/err"; return; }
  jq -r '.error.message // empty' "$W/reply"
  stat -c %u:%g "$W/docs/e"
}
edit_as() { edit "\"_run_as\":$1"; }
id() { printf '{"uid":%s,"gid":%s,"groups":[%s]%s}' "$1" "$2" "$3" "${4:+,\"home\":$4}"; }
alike() { # alike NAME USER EXPECTED
  is "exec_remote: $1" "$(exec_as "$2")" "$3"
  is "bash_session: $1" "$(bash_as "$2")" "$3"
  is "mcp: $1" "$(mcp_as "$2")" "$3"
}

# ---- root switches ----
serve 0
alike 'uid, gid, groups and home, none of them in passwd' "$(id 1234 1235 1235,5 '"/h"')" '1234:1235:1235 5:/h'
is 'text_editor: the file is that user'"'"'s' "$(edit_as "$(id 1234 1235 1235,5 '"/h"')")" 1234:1235
is 'an MCP server is among the first that the OOM killer takes' "$(sed -n 2p "$W/docs/mcp")" 1000
alike 'no groups, no home' "$(id 1234 1235 '')" '1234:1235:1235:/'
is '… really none' "$(WHO='sed -n s/^Groups:.//p /proc/self/status'; exec_as "$(id 1234 1235 '')" | tr -d ' ')" ''
is '… nor any of passwd and group' "$(WHO='sed -n s/^Groups:.//p /proc/self/status'; exec_as "$(id 1000 1000 7)" | tr -d ' ')" 7
alike 'home null: that of passwd' "$(id 1000 1000 1000 null)" '1000:1000:1000:/home/agent'
alike 'an empty home is empty' "$(id 1000 1000 1000 '""')" '1000:1000:1000:'
alike 'root with other groups is somebody else' "$(id 0 5 0 '"/h"')" '0:5:5 0:/h'
is 'many groups' "$(WHO='id -G | wc -w'; exec_as "$(id 1 1 "$(seq -s, 1 1024)")")" 1024
alike 'a name' '"agent"' '1000:1000:1000 2000:/home/agent'
is 'a name nobody has' \
  "$(exec_as '"nosuch"') $(bash_as '"nosuch"') $(edit_as '"nosuch"')" "sandbox-tools: user 'nosuch' not found in /etc/passwd -32098 RuntimeError(\"User 'nosuch' not found in /etc/passwd\") error: User 'nosuch' not found in /etc/passwd"
is '… is the end of an MCP server, not of its launch' "$(rpc mcp_launch_server '{"server_params":{"command":"/bin/true"},"user":"nosuch"}' | jq '.result|type')" '"number"'
is 'a HOME that is given is kept' "$(exec_as "$(id 1000 1000 1000)" '{"HOME":"/mine"}') $(mcp_as "$(id 1000 1000 1000)" '{"HOME":"/mine"}')" '1000:1000:1000:/mine 1000:1000:1000:/mine'
is 'an environment that is given gets HOME and no more' "$(mcp_as "$(id 1000 1000 1000)" '{"PATH":"/usr/bin:/bin","A":"b"}'; sed -n '3,$p' "$W/docs/mcp" | grep -v '^\(PWD\|_\|SHLVL\)=' | sort)" '1000:1000:1000:/home/agent
A=b
HOME=/home/agent
PATH=/usr/bin:/bin'

# a shell of somebody without a name
bash_as "$(id 1234 1235 1235 '"/h"')" >/dev/null
is 'the terminal is that user'"'"'s' "$(say "$session" 'stat -c %u $(tty)
')" 1234
say "$session" 'sleep 1000
' 0 >/dev/null
sleep 0.5
rpc bash_session "{\"session_name\":\"$session\",\"wait_for_output\":10,\"idle_timeout\":0.3,\"input\":\"\\u0003\"}" >/dev/null
fits '… and obeys ctrl-C' "$(say "$session" 'echo free
')" '*free'
rpc bash_session "{\"session_name\":\"$session\",\"restart\":true}" >/dev/null
fits '… who is the same after a restart' "$(hear "$session" "PS1=; $WHO
" '*1234:1235:1235:/h*')" '*1234:1235:1235:/h'

# ---- no switch ----
own=$(command id -G | tr ' ' ,)
HOME=/root is 'who the server is already: HOME stays' "$(exec_as "$(id 0 0 "$own" '"/h"')") $(mcp_as "$(id 0 0 "$own" '"/h"')")" "0:0:$(command id -G):/root 0:0:$(command id -G):/root"
is 'so it does for its name and for nobody' "$(exec_as '"root"') $(exec_as null)" "0:0:$(command id -G):/root 0:0:$(command id -G):/root"
is '… in the editor, too' "$(edit_as null) $(edit_as "$(id 0 0 "$own")") $(edit_as '"root"')" '0:0 0:0 0:0'

# ---- old and new member of the editor ----
is '_run_as comes before _run_as_user' "$(edit '"_run_as_user":"agent"') $(edit '"_run_as_user":"agent","_run_as":null') $(edit "\"_run_as_user\":\"agent\",\"_run_as\":$(id 7 8 '')")" '1000:1000 1000:1000 7:8'
is 'which is a name' "$(edit "\"_run_as_user\":$(id 7 8 '')" | sed 's/^error: //')" '_run_as_user must be a string, got dict'
touch "$W/docs/team"; chgrp 5 "$W/docs/team"; chmod 040 "$W/docs/team"
view() { rpc text_editor "{\"command\":\"view\",\"path\":\"$W/docs/team\",\"_run_as\":$1}" | jq -r '.result // .error.code' | head -c 6; }
is 'groups count in the editor' "$(view "$(id 7 8 5)") $(view "$(id 7 8 6)")" "Here's -32099"
{
  for u in "$(id 7 8 '')" '{"uid":7}' '"agent"'; do
    printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"create","path":"%s/docs/p%s","file_text":"x","_run_as":%s},"id":1}\n' "$W" "$(echo "$u" | tr -dc a-z0-9)" "$u"
  done
} | "$T" pipe | jq -r '.error.code // "ok"' | sort | tr '\n' ' ' >"$W/out"
is 'pipe knows them' "$(cat "$W/out"):$(stat -c %u:%g "$W"/docs/p* | tr '\n' ' ')" '-32602 ok ok :1000:1000 7:8 '

# ---- what is no identity ----
refused() { # refused USER: by all, before anything runs
  rm -f "$W/docs/e"
  is "refused: $(echo "$1" | head -c 70)" "$(exec_as "$1" | head -c 27)|$(bash_as "$1" | head -c 27)|$(mcp_as "$1" | head -c 27)" '-32602 Invalid parameters: |-32602 Invalid parameters: |-32602 Invalid parameters: '
  rpc text_editor "{\"command\":\"create\",\"path\":\"$W/docs/e\",\"file_text\":\"x\",\"_run_as\":$1}" >"$W/out" 2>"$W/err"
  fits '… by the editor' "$?:$(cat "$W/out" "$W/err"):$(ls "$W/docs/e" 2>/dev/null)" '1:error: *:'
}
for u in '{}' '{"uid":1,"gid":1}' '{"uid":1,"groups":[]}' '{"gid":1,"groups":[]}' '{"uid":"1","gid":1,"groups":[]}' '{"uid":true,"gid":1,"groups":[]}' \
  '{"uid":1.5,"gid":1,"groups":[]}' '{"uid":null,"gid":1,"groups":[]}' '{"uid":1,"gid":1,"groups":null}' '{"uid":1,"gid":1,"groups":"1"}' '{"uid":1,"gid":1,"groups":["1"]}' \
  '{"uid":1,"gid":1,"groups":[],"home":5}' '{"uid":1,"gid":1,"groups":[],"name":"x"}' '{"uid":-1,"gid":1,"groups":[]}' '{"uid":4294967295,"gid":1,"groups":[]}' '{"uid":4294967296,"gid":1,"groups":[]}' \
  '{"uid":1,"gid":-1,"groups":[]}' '{"uid":1,"gid":4294967296,"groups":[]}' '{"uid":1,"gid":1,"groups":[4294967295]}' "$(id 1 1 "$(seq -s, 1 1025)")" '[1]' 5 true; do
  refused "$u"
done
is 'everything that is wrong is told' "$(exec_as '{"uid":"1","gid":1,"x":2}')" "-32602 Invalid parameters: 'user.str' Input should be a valid string
'user.RunAs.uid' Input should be a valid integer
'user.RunAs.groups' Field required
'user.RunAs.x' Extra inputs are not permitted"
is 'by the editor in its words' "$(edit_as 5; edit_as '[]')" 'error: _run_as must be a username or an identity object, got int
error: _run_as must be a username or an identity object, got list'
for u in "$(id 1 1 '' '"/a\u0000b"')" '"agent\u0000"'; do
  is "no way for $u" "$(exec_as "$u"; bash_as "$u"; mcp_as "$u"; edit_as "$u")" "-32098 ValueError('embedded null byte')
-32098 ValueError('embedded null byte')
-32098 ValueError('embedded null byte')
error: ValueError('embedded null byte')"
done
is 'nobody is root for a slip of the pen' "$(rpc mcp_launch_server '{"server_params":{"command":"/bin/true"},"usr":"agent"}' | message)" "-32602 Invalid parameters: 'usr' Extra inputs are not permitted"
"$T" stop-server; is 'stop' $? 0

# ---- without root ----
AS='setpriv --reuid 65534 --regid 65534 --groups 65534,9'
serve 65534
chmod 755 "$W"
for u in "$(id 1000 1000 1000)" '"agent"' '"nosuch"' "$(id 65534 65534 '65534')" "$(id 65534 9 '65534,9')"; do
  want="-32099 Cannot switch to user $(echo "$u" | jq -r 'if type=="string" then "'"'\(.)'"'" else "\(.uid):\(.gid)" end'): server is not running as root"
  is "refused: $u" "$(exec_as "$u"; bash_as "$u"; mcp_as "$u"; edit_as "$u")" "$want
$want
$want
error: ${want#* }"
done
for g in 9 65534,9 9,9,65534; do
  alike "groups $g: its own" "$(id 65534 65534 "$g" '"/h"')" '65534:65534:65534 9:/root'
done
is 'text_editor: its own' "$(edit_as "$(id 65534 65534 9)")" 65534:65534
is 'a launch that is refused uses up an id' "$(rpc mcp_launch_server '{"server_params":{"command":"/bin/true"}}' | jq .result)" 8
$AS "$T" stop-server
done_testing
