#!/bin/sh
# SPDX-License-Identifier: MIT
# Goal: a full disk, wherever it is, is an error that says so; nothing that was there is harmed, and
# what has room goes on working.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc docs opt
TOOL_ENV=INSPECT_SANDBOX_TOOLS_DIR=/tmp/d
mount -t tmpfs -o size=1m,mode=1777 none "$R/docs"
mount -t tmpfs -o size=256k,mode=1777 none "$R/tmp"
fill() { dd if=/dev/zero of="$R/$1/fill" bs=4096 2>/dev/null || :; }
drain() { rm -f "$R/$1/fill"; }
edit() { # edit JSON: the reply's result, or error
	printf '{"jsonrpc":"2.0","method":"text_editor","id":1,"params":%s}' "$1" | in_world exec 2>"$W/err" | jq -c '.result // .error'
}
replace() { edit '{"command":"str_replace","path":"'"$1"'","old_str":"line 7\n","new_str":"'"$2"'"}'; }
intact() { is "$(sha256sum <"$R/docs/f"):$(ls -A "$R/docs" | tr '\n' ' ')" "$was:f fill ${1:-}" '… the old file is intact, and nothing lies beside it'; }
NOSPC='*No space left on device*'

# ---- the file's file system ----
seq 20000 | sed 's/^/line /' >"$R/docs/f"
was=$(sha256sum <"$R/docs/f")
fill docs
like "$(replace /docs/f x)" "$NOSPC" 'an edit where the disk is full'
intact
like "$(edit '{"command":"insert","path":"/docs/f","insert_line":3,"new_str":"x"}')" "$NOSPC" 'an insert'
intact
like "$(edit '{"command":"create","path":"/docs/new","file_text":"xyz"}')" "$NOSPC" 'a new file'
intact
ln "$R/docs/f" "$R/docs/g"
big=$(head -c 5000 /dev/zero | tr '\0' x)
like "$(replace /docs/f "$big")" "$NOSPC" 'a file with two names, which is written in place'
intact 'g '
rm "$R/docs/g"
like "$(edit '{"command":"undo_edit","path":"/docs/f"}')" '*No edit history*' 'nothing is there to undo'
drain docs; head -c 100000 /dev/zero >"$R/docs/fill"
like "$(replace /docs/f y)" '*has been edited*' 'with room again it works'
is "$(grep -c '^yline 8$' "$R/docs/f")" 1 '… as asked'
like "$(edit '{"command":"undo_edit","path":"/docs/f"}')" '*undone*' '… and can be undone'
is "$(sha256sum <"$R/docs/f")" "$was" '… completely'

# ---- the history's ----
fill tmp
like "$(replace /docs/f z)" '*has been edited*' 'an edit does not need room for its history'
like "$(cat "$W/err")" 'Discarding text_editor history*No space*' '… but says that there is none'
like "$(edit '{"command":"undo_edit","path":"/docs/f"}')" '*No edit history*' '… so that undo cannot take back the wrong one'
is "$(grep -c '^zline 8$' "$R/docs/f")" 1 '… and does not'

# ---- the server's ----
out=$(call remote_version 2>&1); is "$?" 1 'the server cannot start'
like "$out" "error: *$NOSPC" '… and says why'
is "$(servers)" 0 '… nothing runs'
like "$(call version)" '*"result"*' 'what needs no server works'
drain tmp
like "$(call remote_version)" '*"result"*' 'with room again it starts'
fill tmp
mount --bind /usr "$(mkdir -p "$R/usr" && echo "$R/usr")"
for d in bin lib lib64; do [ -L /$d ] && ln -s "usr/$d" "$R/$d"; done
follow "$(rpc exec_remote_start '{"command":"seq 300000; echo oops >&2; dd if=/dev/zero of=/tmp/out bs=4096; echo $?"}' | jq .result.pid)"
is "$(sha256sum <"$W/out")" "$({ seq 300000; echo 1; } | sha256sum)" 'output of a job needs no disk'
# a log line that cannot be written is lost, no more
rm -f "$R/tmp/d/sandbox-tools.sock"
wait_for test -S "$R/tmp/d/sandbox-tools.sock"; ok $? 'the server binds its socket again'
like "$(call remote_version)" '*"result"*' '… and answers'
in_world stop-server; is "$?:$(servers)" 0:0 'it stops'
like "$(call remote_version 2>&1)" '*' '(one more start)'
drain tmp
like "$(call remote_version)" '*"result"*' 'whatever that has left behind, it starts'
in_world stop-server; is "$?:$(servers)" 0:0 'and stops'

# ---- no more files, although there is room ----
umount "$R/tmp"
mount -t tmpfs -o nr_inodes=4,mode=1777 none "$R/tmp"
out=$(call remote_version 2>&1); is "$?" 1 'no inodes: the server cannot start'
like "$out" "error: *$NOSPC" '… and says why'
is "$(servers)" 0 '… nothing runs'
umount "$R/tmp"

# ---- the place of long replies ----
mkdir -p "$R/srv"; mount -t tmpfs -o size=64k none "$R/srv"
long() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/f"},"id":7}' | env -i INSPECT_SANDBOX_TOOLS_DIR=/srv/d INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=10000 /usr/sbin/chroot "$R" /t exec 2>"$W/err"; }
seq 5000 >"$R/docs/f"
like "$(long)" '*__inspect_json_rpc_response_chunk__*' 'a long reply is stored'
fill srv
out=$(long); is "$?:$out" 1: 'no room for it: exit 1, no half of a reply'
like "$(cat "$W/err")" "error: *$NOSPC" '… saying why'
rm -rf "$R"/srv/fill "$R"/srv/d/chunks/*
dd if=/dev/zero of="$R/srv/fill" bs=4096 count=12 2>/dev/null
out=$(long); is "$?:$out" 1: 'room for half of it'
is "$(ls "$R/srv/d/chunks" | wc -l)" 0 '… which is not left behind'
drain srv
like "$(long)" '*__inspect_json_rpc_response_chunk__*' 'with room again it works'
done_testing
