#!/bin/bash
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
intact() { is '… the old file is intact, and nothing lies beside it' "$(sha256sum <"$R/docs/f"):$(ls -A "$R/docs" | tr '\n' ' ')" "$was:f fill ${1:-}"; }
NOSPC='*No space left on device*'

# ---- the file's file system ----
seq 20000 | sed 's/^/line /' >"$R/docs/f"
was=$(sha256sum <"$R/docs/f")
fill docs
fits 'an edit where the disk is full' "$(replace /docs/f x)" "$NOSPC"
intact
fits 'an insert' "$(edit '{"command":"insert","path":"/docs/f","insert_line":3,"new_str":"x"}')" "$NOSPC"
intact
fits 'a new file' "$(edit '{"command":"create","path":"/docs/new","file_text":"xyz"}')" "$NOSPC"
intact
ln "$R/docs/f" "$R/docs/g"
big=$(head -c 5000 /dev/zero | tr '\0' x)
fits 'a file with two names, which is written in place' "$(replace /docs/f "$big")" "$NOSPC"
intact 'g '
rm "$R/docs/g"
fits 'nothing is there to undo' "$(edit '{"command":"undo_edit","path":"/docs/f"}')" '*No edit history*'
drain docs; head -c 100000 /dev/zero >"$R/docs/fill"
fits 'with room again it works' "$(replace /docs/f y)" '*has been edited*'
is '… as asked' "$(grep -c '^yline 8$' "$R/docs/f")" 1
fits '… and can be undone' "$(edit '{"command":"undo_edit","path":"/docs/f"}')" '*undone*'
is '… completely' "$(sha256sum <"$R/docs/f")" "$was"

# ---- the history's ----
fill tmp
fits 'an edit does not need room for its history' "$(replace /docs/f z)" '*has been edited*'
fits '… but says that there is none' "$(cat "$W/err")" 'Discarding text_editor history*No space*'
fits '… so that undo cannot take back the wrong one' "$(edit '{"command":"undo_edit","path":"/docs/f"}')" '*No edit history*'
is '… and does not' "$(grep -c '^zline 8$' "$R/docs/f")" 1

# ---- the server's ----
out=$(call remote_version 2>&1); is 'the server cannot start' "$?" 1
fits '… and says why' "$out" "error: *$NOSPC"
is '… nothing runs' "$(servers)" 0
fits 'what needs no server works' "$(call version)" '*"result"*'
drain tmp
fits 'with room again it starts' "$(call remote_version)" '*"result"*'
fill tmp
mount --bind /usr "$(mkdir -p "$R/usr" && echo "$R/usr")"
for d in bin lib lib64; do [ -L /$d ] && ln -s "usr/$d" "$R/$d"; done
follow "$(rpc exec_remote_start '{"command":"seq 300000; echo oops >&2; dd if=/dev/zero of=/tmp/out bs=4096; echo $?"}' | jq .result.pid)"
is 'output of a job needs no disk' "$(sha256sum <"$W/out")" "$({ seq 300000; echo 1; } | sha256sum)"
# a log line that cannot be written is lost, no more
rm -f "$R/tmp/d/sandbox-tools.sock"
wait_for test -S "$R/tmp/d/sandbox-tools.sock"; succeeded 'the server binds its socket again' $?
fits '… and answers' "$(call remote_version)" '*"result"*'
in_world stop-server; is 'it stops' "$?:$(servers)" 0:0
fits '(one more start)' "$(call remote_version 2>&1)" '*'
drain tmp
fits 'whatever that has left behind, it starts' "$(call remote_version)" '*"result"*'
in_world stop-server; is 'and stops' "$?:$(servers)" 0:0

# ---- no more files, although there is room ----
umount "$R/tmp"
mount -t tmpfs -o nr_inodes=4,mode=1777 none "$R/tmp"
out=$(call remote_version 2>&1); is 'no inodes: the server cannot start' "$?" 1
fits '… and says why' "$out" "error: *$NOSPC"
is '… nothing runs' "$(servers)" 0
umount "$R/tmp"

# ---- the place of long replies ----
mkdir -p "$R/srv"; mount -t tmpfs -o size=64k none "$R/srv"
long() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"view","path":"/docs/f"},"id":7}' | env -i INSPECT_SANDBOX_TOOLS_DIR=/srv/d INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES=10000 /usr/sbin/chroot "$R" /t exec 2>"$W/err"; }
seq 5000 >"$R/docs/f"
fits 'a long reply is stored' "$(long)" '*__inspect_json_rpc_response_chunk__*'
fill srv
out=$(long); is 'no room for it: exit 1, no half of a reply' "$?:$out" 1:
fits '… saying why' "$(cat "$W/err")" "error: *$NOSPC"
rm -rf "$R"/srv/fill "$R"/srv/d/chunks/*
dd if=/dev/zero of="$R/srv/fill" bs=4096 count=12 2>/dev/null
out=$(long); is 'room for half of it' "$?:$out" 1:
is '… which is not left behind' "$(ls "$R/srv/d/chunks" | wc -l)" 0
drain srv
fits 'with room again it works' "$(long)" '*__inspect_json_rpc_response_chunk__*'
done_testing
