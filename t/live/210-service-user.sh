#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: with 'service: user', the program and its service belong to the container's own user, and
# hosts find them; in every kind of container, and without a trace in the end.
# tier: check
# engines: docker20 podman43-rootless podman58
# images: scratch busybox distroless
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

dir=/var/tmp/.da7be258e003d428
path=$dir/inspect-sandbox-tools
drop='{"CapDrop":["ALL"]}'
cat >"$tmp/user.yaml" <<END
version: 1
payloads: {tools-amd64: {source: embedded}}
rules: [{when: {os: linux, arch: amd64}, use: tools-amd64, service: user}]
END
sed 's/service: user/service: root/' "$tmp/user.yaml" >"$tmp/root.yaml"
as_root() { SBINJECT_CONFIG=$tmp/root.yaml "$SBINJECT" "$@"; }
as_user() { SBINJECT_CONFIG=$tmp/user.yaml "$SBINJECT" "$@"; }

# inside [USER]: a shell in the container, by the engine, as its own user or another
inside() { exec_opts=${2:+"{\"User\":\"$2\"}"} ctr_exec "$ENGINE" "$id" /bin/sh -c "$1"; }
servers() { inside "ps | grep -c '[i]nspect-sandbox-tools server'" || :; }
# what differs from the image, but for the times of directories that the user cannot put back
changes() { ctr_diff "$ENGINE" "$id" | grep -vxE 'C /(var/)?tmp|C /var' || :; }
begin() { # begin IMAGE USER [HOSTCONFIG]
  name=$(unique "$1-$RANDOM")
  id=$(ctr_create "$ENGINE" "$1" "$name" "${3:-{\}}" "{\"User\":\"$2\"}")
  before=$(changes)
}
gone() { # gone WHAT: nothing of it is left
  is "$1: nothing is left" "$(changes)" "$before"
  is "$1: nothing runs" "$(inside "ls -A /tmp /var/tmp | grep -v :" || :)$(servers)" 0
}

# cycle KIND USER IDS [HOSTCONFIG]: the whole life, in a container of that user.
cycle() {
  local kind=$1 ids=$3 pid
  begin busybox "$2" "${4:-}"
  run as_user status "$name"
  is "$kind: status before is 7" "$rc" 7
  ok "$kind: inject" as_user --json "$name"
  is "$kind: result, service, uid" "$(jq -c '[.result, .service, .uid]' <<<"$out")" "[\"injected\",\"user\",${ids%:*}]"
  pid=$(jq .pid <<<"$out")
  is "$kind: the directory is as hosts want it" "$(inside "stat -c %u:%g:%a:%F $dir")" "$ids:700:directory"
  is "$kind: so is the program" "$(inside "stat -c %u:%g:%F $path")" "$ids:regular file"
  is "$kind: so is what is above" "$(inside 'stat -c %u:%a /var/tmp')" 0:1777
  is "$kind: the server's directory is private" "$(inside "stat -c %u:%a $dir/.server")" "${ids%:*}:700"
  is "$kind: rootless_server_state_is_private_to_the_tools_user" \
    "$(inside "ls $dir/.server && echo LISTED; rm -rf $dir && echo REMOVED; stat -c %u:%a $dir" 4242:4242 2>/dev/null)" "${ids%:*}:700"
  is "$kind: the user's own calls find that service" "$(inside "$path exec '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"remote_version\"}'" | jq -r .result)" "Server: $path ($pid)"
  is "$kind: one server" "$(servers)" 1
  ok "$kind: status" as_user --json status "$name"
  is "$kind: status tells whose it is" "$(jq -c '[.healthy, .service, .uid, .can_switch_user, .pid]' <<<"$out")" "[true,\"user\",${ids%:*},false,$pid]"
  ok "$kind: call" as_user call "$name" exec_remote_start '{"command": "id; echo $HOME; umask"}'
  like "$kind: what it runs is as by exec" "$(remote_output "$(jq .result.pid <<<"$out")")" "^$(inside 'id; echo $HOME; umask' | tr '()' '..')$"
  run bash -c 'SBINJECT_CONFIG=$1 "$SBINJECT" pipe "$2" <<<"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"remote_version\"}"' - "$tmp/user.yaml" "$name"
  is "$kind: pipe" "$(jq -r .result <<<"$out")" "Server: $path ($pid)"
  SBINJECT_TRACE=http run as_user --json "$name"
  is "$kind: again" "$(jq -c '[.result, .pid]' <<<"$out") $(grep -c '^sbinject: http:' <<<"$err")" "[\"already\",$pid] 6"
  ok "$kind: dry run" as_user --dry-run "$name"
  like "$kind: … says as whom" "$out" "would check .* as the container's user"
  is "$kind: ls" "$("$SBINJECT" ls --look --json | jq -r "select(.id == \"$id\").sha256")" "$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64").sha256')"
  XDG_STATE_HOME=/proc/none ok "$kind: status without a key" as_user status "$name"
  XDG_STATE_HOME=/proc/none ok "$kind: inject without a key" as_user "$name"
  XDG_STATE_HOME=/proc/none ok "$kind: call without a key" as_user call "$name" version
  is "$kind: … leaves one program" "$(inside 'find /.sbinject -type f | grep -c program' 0:0)" 1
  ok "$kind: remove" as_user remove "$name"
  gone "$kind: remove"
}

# remote_output PID: all that a remote command wrote
remote_output() {
  local reply
  while :; do
    reply=$(as_user call "$name" exec_remote_poll "{\"pid\": $1, \"ack_seq\": 0}" | jq .result)
    [ "$(jq -r .state <<<"$reply")" = running ] || break
    sleep 0.1
  done
  jq -r .stdout <<<"$reply"
}

cycle number 4321 4321:0
cycle 'name and group' user:nogroup 1000:65534
cycle 'no capabilities' 1234:5678 1234:5678 "$drop"

# The rule is changed.
for host in '{}' "$drop"; do
  begin busybox user "$host"
  ok "switch $host: as root" as_root "$name"
  run as_user status "$name"
  is "switch $host: status is 6" "$rc" 6
  like "switch $host: … and says why" "$err" "as root, but the rules ask for the container's own user"
  ok "switch $host: to the user" as_user "$name"
  is "switch $host: owner" "$(inside "stat -c %u:%a $dir" 0:0):$(servers)" 1000:700:1
  ok "switch $host: status" as_user status "$name"
  run as_root status "$name"
  is "switch $host: status is 6 again" "$rc" 6
  ok "switch $host: back to root" as_root --json "$name"
  is "switch $host: … is told" "$(jq -c '[.result, .service, .uid]' <<<"$out")" '["replaced","root",0]'
  is "switch $host: owner again" "$(inside "stat -c %u:%a $dir" 0:0):$(servers)" 0:700:1
  run inside "$path exec"
  like "switch $host: the user is kept out" "$rc" '^12[67]$'
  ok "switch $host: status as root" as_root status "$name"
  ok "switch $host: remove by the other rule" as_user remove "$name"
  gone "switch $host: remove"
done
ok 'switch: the user'"'"'s, removed by the other rule' as_user "$name"
ok 'switch: … remove' as_root remove "$name"
gone 'switch: … remove'

# Two at once, the first of all.
begin busybox user
as_user -q "$name" & first=$!
XDG_STATE_HOME=$tmp/other-state run as_user -q "$name"
wait "$first" && first=0 || first=$?
is 'two at once: both succeed, with one server' "$first $rc $(servers)" '0 0 1'
ok 'two at once: remove' as_user remove "$name"
gone 'two at once: remove'

# Another version, and one that does not start.
"$SBINJECT" payloads --extract tools-amd64 -o "$tmp/other"
printf x >>"$tmp/other"
cat >"$tmp/other.yaml" <<END
version: 1
payloads: {other: {source: file, path: other, sha256: $(sha256sum <"$tmp/other" | cut -d' ' -f1)}}
rules: [{when: {os: linux, arch: amd64}, use: other, service: user}]
END
sed '1a start: [no-such-command]' "$tmp/other.yaml" >"$tmp/broken.yaml"
begin busybox user
ok 'upgrade: inject' as_user "$name"
run "$SBINJECT" -c "$tmp/broken.yaml" "$name"
is 'upgrade that fails: exit code' "$rc" 7
ok 'upgrade that fails: the old one is healthy' as_user status "$name"
XDG_STATE_HOME=/proc/none ok 'upgrade that fails: … and known to be there' as_user status "$name"
run "$SBINJECT" -c "$tmp/other.yaml" status "$name"
is 'upgrade: another version: 6' "$rc" 6
ok 'upgrade: done' "$SBINJECT" -c "$tmp/other.yaml" --json "$name"
is 'upgrade: told' "$(jq -r .result <<<"$out"):$(servers)" replaced:1
ok 'upgrade: remove' "$SBINJECT" -c "$tmp/other.yaml" remove "$name"
gone 'upgrade: remove'

# Where the container's user is root, there is nothing to choose.
for user in '' root 0:0; do
  begin busybox "$user"
  ok "user '$user': inject" as_user --json "$name"
  is "user '$user': as root" "$(jq -c '[.service, .uid]' <<<"$out"):$(inside "stat -c %u:%a $dir")" '["root",0]:0:700'
  ok "user '$user': remove" as_user remove "$name"
done

# No shell, and a user by number.
begin distroless 65532
ok 'distroless: inject' as_user --json "$name"
is 'distroless: uid' "$(jq .uid <<<"$out")" 65532
ok 'distroless: status' as_user status "$name"
ok 'distroless: remove' as_user remove "$name"
is 'distroless: nothing is left' "$(changes)" "$before"

# What another user planted is not used, and what cannot be served is left as it was.
plant() { # plant WHAT COMMAND
  begin busybox user
  inside "$2" 1234:1234
  before=$(changes)
  run as_user "$name"
  is "$1: exit code" "$rc" 5
  like "$1: one line says it" "$(wc -l <<<"$err") $err" "^1 .*'$3'"
  is "$1: nothing is left" "$(changes)" "$before"
  is "$1: nothing runs" "$(servers)" 0
}
plant 'a planted directory' "mkdir -m 755 $dir; cp /bin/busybox $path" $dir
plant 'a planted directory that is open' "mkdir $dir; chmod 777 $dir" $dir
plant 'a planted link' "ln -s /tmp $dir" $dir
plant 'a planted home' 'mkdir /var/tmp/.sbinject-user' /var/tmp/.sbinject-user
begin busybox user '{"Tmpfs":{"/var/tmp":"noexec,mode=1777"}}'
run as_user "$name"
is 'noexec: exit code' "$rc" 5
like 'noexec: says so' "$err" "'/var/tmp/.sbinject-user' .* noexec"
gone 'noexec'
begin scratch 1000
run as_user "$name"
is 'no /var/tmp: exit code' "$rc" 5
like 'no /var/tmp: says so' "$err" "'/var/tmp/.sbinject-user'"
is 'no /var/tmp: nothing is left' "$(changes)" "$before"

# An image's own file is never run in place of ours, nor is its directory an obstacle.
begin busybox user
inside "mkdir -p /.sbinject/user/$("$SBINJECT" payloads --json | jq -r 'select(.arch == "amd64").sha256'); ln -s user/x /.sbinject/current" 0:0
before=
ok 'a home that was there: inject as root' "$SBINJECT" "$name"
ok 'a home that was there: status' "$SBINJECT" status "$name"
ok 'a home that was there: as the user' as_user "$name"
ok 'a home that was there: remove' as_user remove "$name"
is 'a home that was there: nothing is left' "$(changes | grep sbinject || :)" ''

# The engine fails in the middle.
begin busybox user
for spec in 'drop@POST .*/exec/.*/start#1' 'cut:resp-body@POST .*/exec/.*/start#1:10' 'cut:req-body@PUT .*/archive#1:100000'; do
  proxy_start "$spec"
  DOCKER_HOST=$proxy_host run as_user "$name"
  proxy_stop
  like "$spec: exit code" "$rc" '^[03]$'
  [ "$rc" != 0 ] || as_user -q remove "$name" || :
  gone "$spec"
done
# There the program would have to lie where other users could exchange it before it is run.
begin busybox user '{"ReadonlyRootfs":true}'
run as_user "$name"
is 'read-only root: exit code' "$rc" 5
like 'read-only root: said' "$err" "wants 'service: user', which is not possible .*read-only"
done_testing
