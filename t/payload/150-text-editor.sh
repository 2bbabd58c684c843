#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the text editor of the real program: its words, its errors, and no damage beside the edit.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc docs dev
mknod "$R/dev/null" c 1 3; mknod "$R/dev/zero" c 1 5; chmod 666 "$R/dev/null" "$R/dev/zero"
chmod 777 "$R/docs"
F=/docs/f
# ed COMMAND JSON-MEMBERS [UID]: result, or code and message of the error
params() { printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"%s"%s},"id":1}' "$1" "${2:+,$2}"; }
ed() { params "$1" "$2" | timeout 120 env -i /usr/sbin/chroot --userspec="${3:-0}:${3:-0}" --groups= "$R" /t exec 2>"$W/err" | show; }
at() { ed "$1" "\"path\":\"$2\"${3:+,$3}" "${4:-}"; }
H="Here's the result of running \`cat -n\` on"
T=$(printf '\t')
advice='Review the changes and make sure they are as expected. Edit the file again if necessary.'

# ---- parameters ----
is 'view without a path' "$(ed view '')" "-32602 Invalid parameters: 'view.path' Field required"
is 'insert with two mistakes' "$(ed insert '"path":"/x","insert_line":"1"')" "-32602 Invalid parameters: 'insert.insert_line' Input should be a valid integer
'insert.new_str' Field required"
is 'a range of other things' "$(ed view '"path":"/x","view_range":[1,"2"]')" "-32602 Invalid parameters: 'view.view_range.1' Input should be a valid integer"
is 'an unknown command' "$(ed rm '"path":"/"')" "-32602 Invalid parameters: Input tag 'rm' found using 'command' does not match any of the expected tags: 'view', 'create', 'str_replace', 'insert', 'undo_edit'"
is 'no command' "$(printf '{"jsonrpc":"2.0","method":"text_editor","params":{},"id":1}' | in_world exec | show)" "-32602 Invalid parameters: Unable to extract tag using discriminator 'command'"
is 'unknown members are ignored' "$(at create $F '"file_text":"a\tb\r\n","insert_text":"x","nonsense":1')" "File created successfully at: $F"
is 'a file is created as it was given' "$(od -An -c "$R$F" | tr -s ' ')" ' a \t b \r \n'
is '… with the usual mode' "$(stat -c %a "$R$F")" 644
is 'the request may be an argument' "$(in_world exec "$(params view '"path":"/docs/f"')" | wc -l)" 1

# ---- paths ----
is 'a file that is not there' "$(at view /docs/none)" '-32099 The path /docs/none does not exist. Please provide a valid path.'
is 'create where something is' "$(at create $F '"file_text":""')" "-32099 File already exists at: $F. Cannot overwrite files using command \`create\`."
is '… a directory' "$(at create /docs '"file_text":""')" "-32099 File already exists at: /docs. Cannot overwrite files using command \`create\`."
for c in '"old_str":"a"' '"insert_line":0,"new_str":"x"' ''; do
  case $c in *old*) n=str_replace ;; *insert*) n=insert ;; *) n=undo_edit ;; esac
  is "$n on a directory" "$(at $n /docs "$c")" '-32099 The path /docs is a directory and only the `view` command can be used on directories'
done
is 'an empty old_str is told before the path' "$(at str_replace /docs/none '"old_str":""')" '-32099 str_replace: The `old_str` parameter cannot be empty. Consider using the `insert` command instead.'
is 'a NUL in a path' "$(at view 'a\u0000b')" "-32099 Invalid path 'a\\x00b': embedded null byte"
long=$(head -c 5000 /dev/zero | tr '\0' x)
is 'a name of 5000 characters' "$(at view "$long")" "-32099 Invalid path '$long': [Errno 36] File name too long: '/$long'"
mkdir "$R/root"; chmod 700 "$R/root"; touch "$R/root/x"
is 'a directory that may not be entered' "$(at view /root/x '' 1000)" "-32099 Invalid path '/root/x': [Errno 13] Permission denied: '/root/x'"
ln -s loop "$R/docs/loop"
fits 'a link to itself' "$(at view /docs/loop)" "-32099 Invalid path '/docs/loop': Symlink loop from '/docs/loop'"
is 'the empty path is the working directory' "$(at view '' | head -n1)" 'Here are the files and directories up to 2 levels deep in /, excluding hidden items:'
is 'a relative path' "$(at view docs/../docs/./f)" "$H $F:
     1${T}a       b
     2$T"
is 'create makes no directories' "$(at create /none/f '"file_text":""')" "-32099 Ran into [Errno 2] No such file or directory: '/none/f' while trying to write to /none/f"
printf 'secret' >"$R/docs/secret"; chmod 600 "$R/docs/secret"
is 'a file that may not be read' "$(at view /docs/secret '' 1000)" "-32099 Ran into [Errno 13] Permission denied: '/docs/secret' while trying to read /docs/secret"
printf 'fixed' >"$R/docs/fixed"; chmod 444 "$R/docs/fixed"
is 'a file that may not be written, in a directory that may' "$(at str_replace /docs/fixed '"old_str":"x","new_str":"y"' 1000)" "-32099 Ran into [Errno 13] Permission denied: '/docs/fixed' while trying to write to /docs/fixed"
is '… is as it was' "$(cat "$R/docs/fixed")" fixed
printf '\377' >"$R/docs/bin"
is 'a file that is no text' "$(at view /docs/bin)" "-32099 Ran into 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte while trying to read /docs/bin"
is 'the_null_device_is_an_empty_file' "$(at view /dev/null)" "$(printf "Here's the result of running \`cat -n\` on /dev/null:\n     1\t")"
fits '… that takes what is written to it' "$(at insert /dev/null '"insert_line":0,"new_str":"x"')" 'The file /dev/null has been edited.*'
is '… and stays what it is' "$(stat -c '%F %t %T' "$R/dev/null")" 'character special file 1 3'
mkfifo "$R/docs/fifo"; chmod 666 "$R/docs/fifo"
for p in /docs/fifo /dev/zero; do
  for c in view 'str_replace' insert; do
    fits "$c of $p is refused at once" "$(at $c $p '"old_str":"a","insert_line":0,"new_str":"x"')" '-32099 Ran into *'
  done
done

# ---- editing ----
printf 'one\n\ttab\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n' >"$R$F"
is 'view of two lines' "$(at view $F '"view_range":[2,3]')" "$H $F:
     2$T        tab
     3${T}three"
is 'an empty range is none' "$(at view $F '"view_range":[]' | tail -n2)" "    11$T"
is 'a range outside' "$(at view $F '"view_range":[12,13]')" '-32099 Invalid `view_range`: [12, 13]. Its first element `12` should be within the range of lines of the file: [1, 11]'
is 'str_replace and its snippet' "$(at str_replace $F '"old_str":"seven","new_str":"SEVEN\nnew"')" "The file $F has been edited. $H a snippet of $F:
     3${T}three
     4${T}four
     5${T}five
     6${T}six
     7${T}SEVEN
     8${T}new
     9${T}eight
    10${T}nine
    11${T}ten
    12$T
$advice"
is 'nothing to replace' "$(at str_replace $F '"old_str":"none"')" "-32099 No replacement was performed, old_str \`none\` did not appear verbatim in $F."
is 'too much to replace' "$(at str_replace $F '"old_str":"ne"')" "-32099 No replacement was performed. Multiple occurrences of old_str \`ne\` in lines [1, 8, 10]. Please ensure it is unique"
is 'insert outside' "$(at insert $F '"insert_line":13,"new_str":"x"')" '-32099 Invalid `insert_line` parameter: 13. It should be within the range of lines of the file: [0, 12]'
fits 'insert at the end' "$(at insert $F '"insert_line":12,"new_str":"end"')" '*
    13'"$T"'end
Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary.'
fits 'undo' "$(at undo_edit $F)" "Last edit to $F undone successfully. $H $F:
     1${T}one*"
at undo_edit $F >/dev/null
is '… gives back every byte' "$(md5sum <"$R$F")" "$(printf 'one\n\ttab\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n' | md5sum)"

# an edit used to expand every tab, turn CRLF to LF, and not be atomic
printf 'all:\r\n\tcc\ta.c\r\n\tld\r\n' >"$R$F"
chmod 4751 "$R$F"; chown 1000:1001 "$R$F"; chmod 4751 "$R$F"
at str_replace $F '"old_str":"        cc      a.c\n","new_str":"        cc      b.c\n\tcp\n"' >/dev/null
is 'edits_keep_tabs_and_line_ends: where nothing was edited' "$(od -An -c "$R$F" | tr -d ' \n')" 'all:\r\n\tcc\tb.c\r\n\tcp\r\n\tld\r\n'
is '… as do mode and owner' "$(stat -c '%a %u %g' "$R$F")" '4751 1000 1001'
ln -s f "$R/docs/link"
at insert /docs/link '"insert_line":0,"new_str":"x"' >/dev/null
is '… a link stays a link' "$(readlink "$R/docs/link"):$(head -c 3 "$R$F" | od -An -c | tr -d ' ')" 'f:x\r\n'
printf 'a' >"$R$F"; ln "$R$F" "$R/docs/hard"
at str_replace $F '"old_str":"a","new_str":"bb"' >/dev/null
is '… a second hard link still names the file' "$(cat "$R/docs/hard")" bb
rm "$R/docs/hard"
printf 'old' >"$R/docs/host"; mount --bind "$R/docs/host" "$R$F"
at str_replace $F '"old_str":"old","new_str":"new"' >/dev/null
is 'a mounted file is written in place' "$(cat "$R/docs/host")" new
umount "$R$F"
mkdir "$R/docs/shut"; printf 'old one' >"$R/docs/shut/f"; chown 1000 "$R/docs/shut/f"; chmod 755 "$R/docs/shut"
at str_replace /docs/shut/f '"old_str":"old","new_str":"older"' 1000 >/dev/null
is 'so is one in a directory that may not be written' "$(cat "$R/docs/shut/f"):$(ls -A "$R/docs/shut")" 'older one:f'
printf 'x%.0s' $(seq 20000) >"$R$F"
(while :; do s=$(stat -c %s "$R$F" 2>/dev/null); [ "${s:-0}" -ge 20000 ] || echo bad; done >"$W/sizes") & watch=$!
for i in 1 2 3 4 5 6 7 8 9 10; do at insert $F '"insert_line":0,"new_str":"y"' >/dev/null; done
kill $watch
is 'edits_are_atomic: nobody sees a file half written' "$(cat "$W/sizes")" ''
is 'no temporary file is left' "$(find "$R/docs" -name '.sbinject*')" ''

# ---- directories ----
D='/docs/a b;touch pwned;'
mkdir -p "$R$D/sub/deep" "$R$D/.hid/x"; touch "$R$D/sub/f" "$R$D/sub/.h" "$R$D/it's" "$R$D/sub/deep/no"
ln -s sub "$R$D/zlink"
is 'names_are_never_run: a directory with blanks and shell characters in its name' "$(at view "$D/")" "Here are the files and directories up to 2 levels deep in $D, excluding hidden items:
$D
$D/it's
$D/sub
$D/sub/deep
$D/sub/f
$D/zlink"
[ ! -e "$R/pwned" ] && [ ! -e "$R/docs/pwned" ]; succeeded '… and nothing is run' $?
is 'below a hidden directory all is hidden' "$(at view "$D/.hid")" "Here are the files and directories up to 2 levels deep in $D/.hid, excluding hidden items:
."
fits 'a directory that may not be read' "$(at view /root '' 1000)" "-32099 Encountered error attempting to view /root: 'find: '/root/': Permission denied
'"
fits '… does not hide the others' "$(at view / '' 1000)" '*
/root
/t*'
mkdir "$R/docs/many"; (cd "$R/docs/many" && seq -f 'name%05g' 30000 | xargs touch)
fits 'a directory of 30000 files is clipped' "$(at view /docs/many)" '*
/docs/many/name00001
*<response clipped><NOTE>*</NOTE>'

# ---- history ----
rm -rf "$R/tmp/.inspect"*; printf 0 >"$R$F"; chmod 666 "$R$F"; chown 0 "$R$F"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do at str_replace $F "\"old_str\":\"$((i - 1))\",\"new_str\":\"$i\"" >/dev/null; done
for i in 1 2 3 4 5 6 7 8 9 10; do at undo_edit $F >/dev/null; done
is 'ten edits can be undone' "$(cat "$R$F"):$(at undo_edit $F)" "2:-32099 No edit history found for $F. The text editor only retains the last 10 edits per file."
at create /docs/new '"file_text":"x"' >/dev/null
is 'undoing a create deletes' "$(at undo_edit /docs/new):$(ls "$R/docs/new" 2>&1 | grep -c 'No such')" 'File deleted at: /docs/new:1'
# one user's history used to be in another's way
at str_replace $F '"old_str":"2","new_str":"root"' >/dev/null
fits 'every_user_has_a_history: a second one edits the same file' "$(at str_replace $F '"old_str":"root","new_str":"agent"' 1000)" "The file $F has been edited.*"
is '… with a history of its own' "$(cat "$W/err")" ''
at undo_edit $F '' 1000 >/dev/null; is '… and can undo' "$(cat "$R$F")" root
at undo_edit $F >/dev/null; is '… as the first one still can' "$(cat "$R$F")" 2
is '… each in a directory nobody else can enter' "$(stat -c '%a %u' "$R/tmp/.inspect-sandbox-editor-0" "$R/tmp/.inspect-sandbox-editor-1000" | tr '\n' ,)" '700 0,700 1000,'
# whoever came first used to choose what root would run
rm -rf "$R/tmp/.inspect"*
printf 'cos\nsystem\n(S"touch /docs/pwned"\ntR.' >"$R/tmp/inspect_editor_history.pkl"
mkdir "$R/tmp/.inspect-sandbox-editor-0"; chmod 777 "$R/tmp/.inspect-sandbox-editor-0"; chown -R 1000 "$R/tmp/.inspect-sandbox-editor-0"
at str_replace $F '"old_str":"2","new_str":"3"' >/dev/null
is 'planted_history_is_not_used: a directory' "$(stat -c '%a %u' "$R/tmp/.inspect-sandbox-editor-0"):$(at undo_edit $F >/dev/null; cat "$R$F")" '700 0:2'
[ ! -e "$R/docs/pwned" ]; succeeded '… and the old history is never read' $?
rm -rf "$R/tmp/.inspect"*; mkdir "$R/docs/trap"; ln -s /docs/trap "$R/tmp/.inspect-sandbox-editor-0"; chown -h 1000 "$R/tmp/.inspect-sandbox-editor-0"
at str_replace $F '"old_str":"2","new_str":"3"' >/dev/null
is '… nor a link' "$(ls -A "$R/docs/trap"):$(at undo_edit $F >/dev/null; cat "$R$F")" ':2'
rm -rf "$R/tmp/.inspect"*; mkdir "$R/tmp/.inspect-sandbox-editor-1000"
fits 'a history that cannot be used stops no edit' "$(at str_replace $F '"old_str":"2","new_str":"3"' 1000)" "The file $F has been edited.*"
fits '… but is told' "$(cat "$W/err")" 'Discarding text_editor history at /tmp/.inspect-sandbox-editor-1000 due to: *'
rm -rf "$R/tmp/.inspect"*; at str_replace $F '"old_str":"3","new_str":"4"' >/dev/null
for f in "$R"/tmp/.inspect-sandbox-editor-0/*; do echo garbage >"$f"; done
fits 'a corrupt history is none' "$(at undo_edit $F)" '-32099 No edit history found*'
fits '… and told' "$(cat "$W/err")" 'Discarding text_editor history at *'

# ---- the layers of an image ----
# overlayfs numbers a file anew that has another link, when it is first written to
mkdir "$R/layers"; mount -t tmpfs none "$R/layers"; (cd "$R/layers" && mkdir low up all && echo a >low/f && ln low/f low/g)
mount -t tmpfs none "$R/layers/up"; mkdir "$R/layers/up/u" "$R/layers/up/w"
mount -t overlay none -o "lowerdir=$R/layers/low,upperdir=$R/layers/up/u,workdir=$R/layers/up/w" "$R/layers/all"
fits 'a file of a lower layer, with another link' "$(at str_replace /layers/all/f '"old_str":"a","new_str":"b"')" 'The file /layers/all/f has been edited.*'
is '… is edited in the upper one' "$(cat "$R/layers/all/f" "$R/layers/low/f" | tr '\n' ' ')" 'b a '
umount "$R/layers/all" "$R/layers/up" "$R/layers"

# ---- size ----
# shellcheck disable=SC3045 # every sh here has it
limit() { ! shipped || ulimit -v "$1"; }
head -c 150000000 /dev/zero | tr '\0' x | fold -w 100 >"$R/docs/large"; printf 'needle\n' >>"$R/docs/large"
(limit 60000; at view /docs/large '"view_range":[2,3]' | sed '/^$/d' | wc -c) >"$W/n"
is 'a large file is viewed in little memory' "$(cat "$W/n")" "$(printf '%s\n' "$H /docs/large:" "     2$T$(head -n1 "$R/docs/large")" "     3$T$(head -n1 "$R/docs/large")" | wc -c)"
fits '… and edited with one copy of it' "$(limit 300000; at str_replace /docs/large '"old_str":"needle","new_str":"pin"')" 'The file /docs/large has been edited.*'
is '… rightly' "$(tail -c 5 "$R/docs/large")" xpin
echo short >"$R/docs/short"
(printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"str_replace","path":"/docs/short","old_str":"'; head -c 20000000 /dev/zero | tr '\0' y; printf '"},"id":1}') >"$W/in"
fits 'text that is longer than the file is looked for in no memory' "$(limit 200000; in_world exec <"$W/in" | cut -c1-120)" '*No replacement was performed*'
(printf '{"jsonrpc":"2.0","method":"text_editor","params":{"command":"create","path":"/docs/huge","file_text":"'; head -c 30000000 /dev/zero | tr '\0' y; printf '"},"id":1}') | in_world exec | show >"$W/out"
is 'a request of 30 MB' "$(cat "$W/out"):$(stat -c %s "$R/docs/huge")" 'File created successfully at: /docs/huge:30000000'
[ ! -e "$R/.server" ]; succeeded 'all of this without a server' $?
done_testing
