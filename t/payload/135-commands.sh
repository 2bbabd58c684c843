#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: a pipe runs commands as it was started itself, as users of the container or not at all; it
# ends them with all they have started, and bounds what they use.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
[ -x /usr/bin/python3 ] || { echo "1..0 # skip needs /usr/bin/python3"; exit 77; }
mkdir -m 755 "$W/d" "$W/w"
chmod 777 "$W/w"
export INSPECT_SANDBOX_TOOLS_DIR="$W/d" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd "$W/w" || exit 1
# shellcheck disable=SC2154 # lib.sh sets here
c() { timeout 300 /usr/bin/python3 "$here/commands.py" "$PROGRAM" "$@" 2>&1; }

is 'without being told of a container, there is no such method' "$(c plain)" "(-32601, 'run') (-32601, 'run_kill')"
for text in '' x '[]' '{}' '{"cwd":1}' '{"cwd":"/","x":1}'; do
  out=$("$PROGRAM" pipe "$text" </dev/null 2>&1)
  fits "what it is told must be right: $text" "$?:$out" '1:error: what a pipe is to know of its container is not understood*'
done
is 'status and streams' "$(c results)" "(7, b'out\\n', b'err\\n')
(0, b'', b'') (137, b'', b'') (143, b'', b'')
(0, b'\\x00\\xff\\n', b'') (0, b'', b'') (0, b\"|a b|\\xc3\\xa9\\n'|\", b'')
(0, 0)"
is 'wrong parameters' "$(c parameters)" "$(printf -- '-32602 %.0s' {1..14})-32602 $(printf -- '-32602 %.0s' {1..4})False (0, 0)"
is 'what is not started' "$(c refused)" "$(printf -- '-32011 not started: ; %.0s' {1..21} | sed 's/: ;/: ;/g; s/started: ;/started: ;/g')(0, 0)
(-32011, 'not started: because') 0 (0, 0)"
is 'environment, directory and user' "$(c world)" "PATH=P B=3 A=2 C= HOME=/root 
/tmp
0027

b'/\\n' b'/x\\n' (0, 0)
(0, b'4321\\n55 77\\n4321\\nx\\n', b'')
b'0\\n0 77\\n' (0, 0)
-32011 (0, 0)"
is 'signals, limits, descriptors, session' "$(c process)" \
  "True [512, 2048] [b'99', b'1000'] [b'0', b'1', b'2', b'3'] b'1 1 0\\n' (0, 0)"
is 'the last bytes are kept, all are counted' "$(c kept)" "0 d41d8c 6888896; 1 68b329 6888896; 5 $(seq 1000000 | tail -c 5 | md5sum | cut -c1-6) 6888896; 6888896 $(seq 1000000 | md5sum | cut -c1-6) 6888896; 6888896 $(seq 1000000 | md5sum | cut -c1-6) 6888896; True $(seq 1000000 | md5sum | cut -c1-6) $(seq 1000000 | tail -c 5 | md5sum | cut -c1-6)
0 True True 0 b'xx' (0, 0)"
is 'ended with all it has started: by request, with the pipe, with its keeper' "$(c killed)" \
  "True 137 True True 0 (0, 1) True -9 True (-32000, 'the process that kept the command was killed') True True 0 (0, 0)"
touch go
is 'what is left behind goes on' "$(c left_behind)" "False True 0 True (0, 0) False
0 True True
(0, b'x\\nlate\\n', b'') (0, 0)"
is '256 at once, and one too many' "$(c many 256)" \
  "-32011 not started: 256 commands are under way, and 256 may be True {137} True {3} {3} {3} True True (0, 0)"
touch go
is '512 that leave something behind, and one too many' "$(c many_left 512)" \
  "{0} -32011 not started: what 512 commands have left behind has their outputs open, and no more may do so True 0 (0, 0)"
is 'floods' "$(c floods)" 'True {137} True {True} 0 0 (0, 0)'
is 'replies that nobody reads' "$(c unread)" 'True {3000000} (0, 0)'
is 'one does not wait for another' "$(c at_once)" "[b'0\\n', b'1\\n', b'2\\n'] 137 (0, 0)"
is 'nothing is left of them' "$(pgrep -cf "^$PROGRAM pipe")" 0
done_testing
