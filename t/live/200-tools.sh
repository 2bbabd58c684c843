#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: every tool works through sbinject on a real engine, whatever the image offers, and what the
# tools leave is removed with them.
# tier: check
# images: scratch busybox bookworm
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

# call METHOD PARAMS: the reply, in $out.
call() { run "$SBINJECT" call "$name" "$1" "$2"; }
result() { jq -r "${1:-.result}" <<<"$out"; }

# job COMMAND [USER]: run it to its end by exec_remote; sets $stdout and $code.
job() {
  local params pid state ack=0
  params=$(jq -n -c --arg c "$1" --arg u "${2:-}" '{command: $c} + (if $u == "" then {} else {user: $u} end)')
  call exec_remote_start "$params"
  pid=$(result .result.pid) stdout='' state=running
  while [ "$state" = running ]; do
    call exec_remote_poll "{\"pid\":$pid,\"ack_seq\":$ack}"
    state=$(result .result.state) ack=$(result .result.seq) code=$(result .result.exit_code)
    stdout+=$(result .result.stdout)
    [ "$state" != null ] || return 0
  done
}

edit() { # edit NAME: the text editor, which needs nothing of the image
  call text_editor '{"command":"create","path":"/note.txt","file_text":"one\ntwo\n"}'
  is "$1: create" "$(result)" 'File created successfully at: /note.txt'
  call text_editor '{"command":"str_replace","path":"/note.txt","old_str":"two","new_str":"2"}'
  like "$1: str_replace" "$(result)" 'has been edited'
  call text_editor '{"command":"view","path":"/note.txt"}'
  like "$1: view" "$(result)" $'     2\t2'
  call text_editor '{"command":"undo_edit","path":"/note.txt"}'
  like "$1: undo" "$(result)" 'undone successfully'
  call text_editor '{"command":"view","path":"/no/such"}'
  is "$1: a failure is for the model" "$(result .error.code)" -32099
}

for kind in scratch busybox bookworm; do
  name=$(unique "$kind")
  id=$(ctr_create "$ENGINE" "$kind" "$name")
  before=$(ctr_diff "$ENGINE" "$id")
  ok "$kind: inject" "$SBINJECT" "$name"
  edit "$kind"
  case $kind in
    scratch)
      call bash_session_new_session '{}'
      is 'scratch: no shell is told' "$(result .error.code)" -32098
      ;;
    *)
      job 'echo out; exit 3'
      is "$kind: exec_remote" "$stdout $code" 'out 3'
      job 'id -u' nobody
      like "$kind: exec_remote as another user" "$stdout" '^6553[0-9]$'
      call bash_session_new_session '{}'
      session=$(result .result.session_name)
      is "$kind: session" "$session" BashSession
      call bash_session "{\"session_name\":\"$session\",\"wait_for_output\":10,\"idle_timeout\":0.3,\"input\":\"echo a-\$((6*7))\\n\"}"
      like "$kind: shell" "$(result)" 'a-42'
      call bash_session "{\"session_name\":\"$session\",\"restart\":true}"
      is "$kind: restart" "$(result)" 'shell restarted successfully'
      ;;
  esac
  ok "$kind: remove" "$SBINJECT" remove "$name"
  left=$(ctr_diff "$ENGINE" "$id" | grep -vxF "$before" | grep -vxE 'A /note.txt|C /root|A /root/.bash_history' || :)
  is "$kind: nothing of the tools is left" "$left" ''
done
done_testing
