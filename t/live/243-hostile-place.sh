#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: whoever can write above a directory for temporary files, or was there first after a restart,
# cannot make the service run a command for them; what root inside removes of the service is
# restored, with its jobs and shells.
# tier: check
# soak: ROUNDS=20 CLEANED=100
# engines: docker28 podman43
# images: busybox
# programs: adversary
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/hostile.sh
. "$(dirname "$0")/hostile.sh"
need_sbinject
need_adversary
: "${CLEANED:=1}"

# Where /tmp is open to all, or TMPDIR below somebody's directory.
open='{"Tmpfs":{"/tmp":"rw,exec,mode=0777"}}'
users='{"Tmpfs":{"/home":"rw,exec,mode=0777"}}'
env='{"Env":["TMPDIR=/home/tmp","TEMP=/home/tmp","TMP=/home/tmp"]}'
users_lives '/tmp is open to all' busybox exchange "$open"
users_lives 'TMPDIR below a user'"'"'s directory' busybox exchange "$users" "$env"

# Root inside cleans up, as an agent does.
dir=/var/tmp/.da7be258e003d428
cleanings=('rm -rf /tmp/* /var/tmp/*' "rm -rf $dir/.server" "find $dir/.server -mindepth 1 -delete" "rm -f $dir/.server/server.lock")
survives_cleaning() {
  local id pid job what
  name=$(unique cleaning)
  id=$(ctr_create "$ENGINE" busybox "$name")
  ok 'inject' "$SBINJECT" "$name"
  pid=$("$SBINJECT" --json status "$name" | jq .pid)
  ok 'a shell' "$SBINJECT" call "$name" bash_session_new_session
  job=$("$SBINJECT" call "$name" exec_remote_start '{"command":"sleep 1000"}' | jq .result.pid)
  for what in "${cleanings[@]}"; do
    ctr_exec "$ENGINE" "$id" /bin/sh -c "$what" >/dev/null 2>&1 || :
    run "$SBINJECT" call "$name" bash_session '{"session_name":"BashSession","input":"echo a\"2\"z\n","wait_for_output":30,"idle_timeout":1}'
    like "after '$what': the shell is there" "$(jq -r .result <<<"$out")" 'a2z'
    is "after '$what': the job runs" "$("$SBINJECT" call "$name" exec_remote_poll "{\"pid\":$job,\"ack_seq\":0}" | jq -r .result.state)" running
    is "after '$what': it is the same service" "$("$SBINJECT" --json status "$name" | jq .pid)" "$pid"
  done
  ok 'remove' "$SBINJECT" remove "$name"
}
for ((i = 0; i < CLEANED; i++)); do survives_cleaning; done

# A service of the container's own user, whose /tmp is new after each start: who is there first?
cat >"$tmp/user.yaml" <<END
version: 1
payloads: {tools-amd64: {source: embedded}}
rules: [{when: {os: linux, arch: amd64}, use: tools-amd64, service: user}]
END
export SBINJECT_CONFIG=$tmp/user.yaml
some_rounds() { # two more lines of his
  local lines
  lines=$(wc -l <"$tmp/rounds")
  for _ in $(seq 1500); do [ "$(wc -l <"$tmp/rounds")" -lt $((lines + 2)) ] || break; sleep 0.02; done
}
name=$(unique restarted)
populate busybox '' '{"Tmpfs":{"/tmp":"rw,exec,mode=1777"}}' '{"User":"1000:1000"}'
ok 'service: user: inject' "$SBINJECT" "$name"
for ((i = 0; i < 3 * ROUNDS; i++)); do
  api "$ENGINE" POST "/containers/$id/restart?t=0" >/dev/null
  strike 1001 host-them
  like 'after a restart: he is at work' "$(cat "$tmp/rounds")" '^rounds '
  ok 'after a restart: a call' "$SBINJECT" call "$name" remote_version
  some_rounds
  is 'after a restart: nobody else is served' "$(grep reached "$tmp/rounds" || :)" ''
  ok 'after a restart: inject' "$SBINJECT" "$name"
done
account place
done_testing
