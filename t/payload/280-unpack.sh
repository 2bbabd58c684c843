#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: unpack puts a tree of files in its place whole and verified, or leaves nothing; an earlier one
# is exchanged; uninstall removes it; nothing that the stream says leads out of the tree.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc var/tmp opt etc
before=$(listing)
# shellcheck disable=SC2154 # lib.sh sets here
tree=$here/tree.py

# a tree: a program that runs here, data, an empty directory, links
T=$W/tree
mkdir -p "$T/bin" "$T/lib/deep/er" "$T/empty"
cp "$PROGRAM" "$T/bin/run"; chmod 755 "$T/bin/run"
head -c 3000000 /dev/urandom >"$T/lib/data"; touch "$T/lib/deep/er/nothing" "$T/lib/ä ö"
chmod 644 "$T/lib/data" "$T/lib/ä ö" "$T/lib/deep/er/nothing"
ln -s ../lib/data "$T/bin/data"; ln -s deep "$T/lib/shallow"; ln -s . "$T/lib/here"; ln -s ./deep "$T/lib/dotted"; ln -s deep/ "$T/lib/slashed"
cp -a "$T" "$W/tree2"; echo more >"$W/tree2/lib/more"; chmod 644 "$W/tree2/lib/more"; rm "$W/tree2/bin/data"
D=$(python3 "$tree" digest "$T") D2=$(python3 "$tree" digest "$W/tree2")

question() { # question [JQ-FILTER]
  jq -nc --arg n "$NONCE" --arg h "$HEX" --arg s "$STAGED" --arg t "$D" \
    '{nonce:$n,sha256:$h,home:"/.sbinject",staged:$s,path:"/opt/tree",name:"tree",tree:$t,
    launcher:"bin/run"}'"${1:+|$1}"
}
sent() { # sent [JQ-FILTER] [DIR]: what unpack answers
  put
  question "${1:-}" | python3 "$tree" send "${2:-$T}" /usr/sbin/chroot "$R" "/.sbinject/$STAGED" unpack
}
state() { printf '{"nonce":"%s","home":"/.sbinject"}\n' "$(nonce)" | env -i /usr/sbin/chroot "$R" "/.sbinject/$HEX" status; }
gone() { printf '{"nonce":"%s","home":"/.sbinject"%s}\n' "$(nonce)" "${1:-}" | env -i /usr/sbin/chroot "$R" "/.sbinject/$HEX" uninstall; }
clean() { is "$1: as before" "$(listing)" "$before"; }

out=$(sent)
is 'a tree' "$(jq -c '[.ok,.was,.tree,.files,.bytes]' <<<"$out")" "[true,\"absent\",\"$D\",$(find "$T" ! -type d | wc -l),$(find "$T" -type f -printf '%s\n' | awk '{ s += $1 } END { print s }')]"
is '… is there as it was sent' "$(python3 "$tree" digest "$R/opt/tree")" "$D"
is '… its directory for everybody' "$(stat -c '%u %a' "$R/opt/tree")" '0 755'
is '… files for everybody to read or run' "$(find "$R/opt/tree" ! -type l -printf '%u %m\n' | sort -u | tr '\n' ' ')" 'root 644 root 755 '
is '… and runs' "$(env -i /usr/sbin/chroot "$R" /opt/tree/bin/run version)" "$(in_world version)"
is '… nothing else' "$(ls -A "$R/opt"):$(ls "$R/.sbinject" | sed "s/^$HEX\$/0/" | LC_ALL=C sort | tr '\n' ' ')" 'tree:0 current lock trees.json '
is 'status' "$(state | jq -c .trees)" "[{\"path\":\"/opt/tree\",\"name\":\"tree\",\"service\":false,\"tree\":\"$D\"}]"
inode=$(stat -c %i "$R/opt/tree")
is 'again: the same, nothing is sent' "$(sent | jq -c '[.ok,.was]'):$(stat -c %i "$R/opt/tree")" "[true,\"same\"]:$inode"
echo x >>"$R/opt/tree/lib/data"
is 'changed inside: status' "$(state | jq -c '.trees[0].tree')" null
is '… sent anew' "$(sent | jq -c '[.ok,.was]'):$(python3 "$tree" digest "$R/opt/tree")" "[true,\"other\"]:$D"
touch "$R/opt/tree/lib/extra"; chmod 644 "$R/opt/tree/lib/extra"
is 'something else in it: status' "$(state | jq -c '.trees[0].tree')" null
is 'something else in it: sent anew' "$(sent | jq -c '[.ok,.was]'):$(python3 "$tree" digest "$R/opt/tree")" "[true,\"other\"]:$D"
chmod 4755 "$R/opt/tree/bin/run"
is 'a mode that is not its own: status' "$(state | jq -c '.trees[0].tree')" null
is '… sent anew' "$(sent | jq -c '[.ok,.was]'):$(stat -c %a "$R/opt/tree/bin/run")" '[true,"other"]:755'

# never missing, never half
(while [ ! -e "$W/stop" ]; do env -i /usr/sbin/chroot "$R" /opt/tree/bin/run version >/dev/null 2>&1 || echo x; done) >"$W/missed" &
for i in 1 2 3 4 5; do
  sent ".tree = \"$D2\"" "$W/tree2" >/dev/null; sent >/dev/null
done
touch "$W/stop"; wait
is 'exchanged ten times: it was there at any time' "$(wc -l <"$W/missed")" 0
is '… one is left' "$(ls -A "$R/opt")" tree

# beside another one, and a service
is 'a second one' "$(sent '.path="/srv/a/b" | .tree = "'"$D2"'" | .name="two"' "$W/tree2" | jq -c '[.ok,.was]')" '[true,"absent"]'
put; is 'and the service' "$(run_staged | jq -c '[.ok,.was,.started]')" '[true,"absent",true]'
is 'all are there' "$(state | jq -c '[.server.running,(.trees|map([.name,.tree]))]')" "[true,[[\"tree\",\"$D\"],[\"two\",\"$D2\"]]]"
put; is 'another installation of the service leaves them' "$(run_staged | jq -c '[.ok,.was]'):$(state | jq '.trees|length')" '[true,"same"]:2'
is 'remove the service only' "$(gone ',"service_only":true' | jq -c .ok):$(servers):$(state | jq -c '[.server.running,(.trees|length)]')" 'true:0:[false,2]'
env -i /usr/sbin/chroot "$R" /opt/tree/bin/run exec </dev/null >/dev/null 2>&1
(exec env -i /usr/sbin/chroot "$R" /opt/tree/bin/run model_proxy >/dev/null 2>&1 </dev/null) & sleep 0.3
is 'remove all' "$(gone | jq -c .ok)" true
wait
is '… and what ran from it has ended' "$(pgrep -cf /opt/tree/bin/run)" 0
clean 'removed'

# a service that is a tree
service='.service=true | .path="'"$(dirname "$CONTRACT")"'" | .launcher="bin/run" | .start=["version"]'
mkdir -p "$R$(dirname "$CONTRACT")"; echo theirs >"$R$(dirname "$CONTRACT")/file"; chown 1000 "$R$(dirname "$CONTRACT")"
with=$(listing)
out=$(sent "$service")
is 'as the service' "$(jq -c '[.ok,.was,(.aside|length)]' <<<"$out"):$(stat -c '%u %a' "$R$(dirname "$CONTRACT")")" '[true,"absent",1]:0 700'
is '… what was in the way is kept' "$(cat "$R$(jq -r '.aside[0]' <<<"$out")/file")" theirs
put; is '… a program as the service: it has to go first' "$(run_staged | jq -c '[.ok,.was]')" '[true,"kind"]'
is '… another tree as the service: so, too' "$(sent "$service | .path=\"/opt/other\"" | jq -c '[.ok,.was]')" '[true,"kind"]'
is '… does not start: what was there is back' "$(sent "$service | .tree=\"$D2\" | .start=[\"none\"]" "$W/tree2" | jq -c '[.ok,.code]'):$(python3 "$tree" digest "$R$(dirname "$CONTRACT")")" "[false,\"start\"]:$D"
is '… remove' "$(gone | jq -c .ok):$(listing | md5sum)" "true:$(md5sum <<<"$with")"
rm -r "${R:?}$(dirname "$CONTRACT")"; before=$(listing)
put; run_staged >/dev/null
is 'a tree as the service where a program is it: that has to go first' "$(sent "$service" | jq -c '[.ok,.was]')" '[true,"kind"]'
gone >/dev/null; clean 'removed'

# what goes wrong leaves nothing
# fails NAME CODE WHAT COMMAND…
fails() {
  local name=$1 code=$2 what=$3
  shift 3
  out=$("$@")
  is "$name" "$(jq -c '[.ok,.code]' <<<"$out")" "[false,\"$code\"]"
  like "$name: why" "$(jq -r .what <<<"$out")" "$what"
  clean "$name"
}
fails 'another digest' digest "has the digest $D, not" sent '.tree = "'"$D2"'"'
CUT=100000 fails 'a stream that ends in a file' internal 'ended before' sent
CUT=20 fails 'a stream that ends in a line' internal 'ended before' sent
fails 'no launcher' internal 'cannot execute' sent '.launcher = "bin/none"'
fails 'a launcher in a file' occupied 'cannot execute' sent '.launcher = "lib/data/x"'
# a request that is malformed does nothing at all
for member in '.path = "/opt/../x"' '.launcher = "../x"' '.tree = "0"' 'del(.tree)' 'del(.path)'; do
  is "malformed: $member" "$(sent "$member" | jq -c '[.ok,.code]')" '[false,"internal"]'
  rm -r "$R/.sbinject"; clean "malformed: $member"
done
while IFS= read -r extra; do
  EXTRA=$extra fails "in the stream: ${extra:0:60}" internal "tree's stream" sent
done <<'LINES'
{"file":"../x","size":0}
{"file":"/tmp/x","size":0}
{"file":"a/../../x","size":0}
{"file":"","size":0}
{"file":"a//b","size":0}
{"file":"x","size":-1}
{"file":"a\u0001b","size":0}
{"dir":"./x"}
{"link":"x","to":"/etc"}
{"link":"x","to":"../etc"}
{"link":"lib/x","to":"../../etc"}
{"link":"x","to":"lib/here/../.."}
{"link":"x"}
{"again":"x","of":"../x"}
{"what":"x"}
[]
garbage
LINES
EXTRA='{"file":"lib/here/x","size":0}' fails 'through a link of its own' occupied 'cannot unpack' sent
EXTRA='{"file":"lib/data","size":0}' fails 'a name twice' occupied 'cannot unpack' sent
EXTRA='{"file":"none/x","size":0}' fails 'in no directory' internal 'cannot unpack' sent
# once all has arrived, and before it is examined
all="until cd $R/opt/.sbinject-tree-*/lib/deep/er && [ -e nothing ]; do sleep 0.05; done 2>/dev/null; cd ../.."
WAIT="$all; echo x >>data" fails 'a file is changed meanwhile' digest 'has the digest' sent
WAIT="$all; touch x" fails 'a file is added meanwhile' digest 'has the digest' sent
WAIT="$all; mkfifo x" fails 'a FIFO is added meanwhile' digest 'special file|another owner' sent
WAIT="$all; chown 1000 data" fails 'a file gets another owner meanwhile' digest 'another owner' sent
mkdir "$R/opt/tree"; before=$(listing)
fails 'what is there is not ours' occupied 'is there already' sent
rmdir "$R/opt/tree"; before=$(listing)

# killed at any time: the next run is right, and a remove leaves nothing
# the program alone: who sends the tree has its path, too, and would be gone before pkill is
wait="pkill -KILL -f '^/[.]sbinject/'"
WAIT=$wait sent >/dev/null 2>&1
is 'killed: the next run is right' "$(sent | jq -c '[.ok,.was]'):$(ls -A "$R/opt")" '[true,"absent"]:tree'
WAIT=$wait sent ".tree = \"$D2\"" "$W/tree2" >/dev/null 2>&1
is 'killed in an exchange: what was there still is' "$(python3 "$tree" digest "$R/opt/tree")" "$D"
gone >/dev/null; clean 'killed, removed'
mount -t tmpfs -o size=2m,mode=755 none "$R/opt"; before=$(listing)
fails 'no room' nospace 'cannot unpack' sent
umount "$R/opt"
last_points
done_testing
