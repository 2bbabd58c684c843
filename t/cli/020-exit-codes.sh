#!/bin/bash
# Goal: what can fail without an engine ends with its documented code and one line that helps.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# json NAME CODE-WORD EXIT: stdout of the last run is one object per line, the last a failure.
json() {
  local got
  got=$(jq -r '[.ok, .code, .exit, (.error | type)] | map(tostring) | join(" ")' \
    "$tmp/run.out" 2>&1) || true
  is "$1: one object on stdout" "$got" "false $2 $3 string"
}

# fails NAME CODE WORD REGEX ARGUMENT...: exit code, one line, the same with --json. It has to come
# before "--" among the arguments.
fails() {
  local name=$1 code=$2 word=$3 regex=$4
  shift 4
  sb "$@"
  exits "$name: exit $code" "$code"
  one_line "$name: one line" "$regex"
  is "$name: nothing on stdout" "$out" ""
  sb --json "$@"
  exits "$name, --json: exit $code" "$code"
  one_line "$name, --json: the same line" "$regex"
  json "$name, --json" "$word" "$code"
  message=$(jq -r .error "$tmp/run.out" 2>/dev/null) || message=
  is "$name, --json: the message is that of the line" "${message:-none}" \
    "${err#"${err%"$message"}"}"
}

# ---- 2: usage and configuration ----

fails "an unknown option" 2 usage "unknown option '--nope'" web --nope
fails "an unknown option first" 2 usage "unknown option '--nope'" --nope web
fails "a value that is none" 2 usage "--jobs: 'x'" --jobs x web
fails "an option of another command" 2 usage "'inject' does not accept --all" --all web
fails "no container" 2 usage "usage: sbinject inject" inject
fails "no container and no command" 2 usage "no container given; see 'sbinject --help'" --quiet
fails "no container after --" 2 usage "no container given" -q --
for blank in '' ' ' $'\n\r\n\t'; do
  sb call web <<<"$blank"
  exits "a request that is blank: exit 2" 2
  one_line "a request that is blank: what to give" "no request: give METHOD"
done
sb call web m '{"a": 123456789012345678901}'
exits "a number beyond what JSON libraries take: exit 2" 2
one_line "a number beyond what JSON libraries take: said so" "PARAMS is not valid JSON.*too big"
fails "a digest that is cut" 2 usage "sha256= must be all 64 digits" --require sha256=94c86acb7029 web
fails "a digest of others than digits" 2 usage "sha256= must be all 64 digits" \
  --require "sha256=$(printf 'X%.0s' {1..64})" web
fails "a wire version that is no number" 2 usage "wire= must be a number" --require wire=1.0 web

rules=$tmp/rules.yaml
cat >"$rules" <<'END'
version: 1
payloads:
  tools-amd64: {source: embedded}
rules:
  - when: {os: linux, distribution: debian}
    use: tools-amd64
END
fails "a broken rules file" 2 usage "$rules:5:23: .*'distribution'" --config "$rules" web
SBINJECT_CONFIG=$rules fails "the same by SBINJECT_CONFIG" 2 usage "$rules:5:23: " web
printf 'version: 1\n\tx' >"$rules"
fails "a file that is no YAML" 2 usage "$rules:2:1: " --config "$rules" web
: >"$rules"
fails "an empty rules file" 2 usage "$rules:" --config "$rules" web
fails "a missing rules file" 2 usage "'$tmp/none.yaml' does not exist \(from --config\)" --config "$tmp/none.yaml" web
SBINJECT_CONFIG=$tmp/none.yaml \
  fails "a missing rules file by SBINJECT_CONFIG" 2 usage "'$tmp/none.yaml' does not exist \(from SBINJECT_CONFIG\)" web
fails "a directory as rules file" 2 usage "'$tmp'" --config "$tmp" web

sb inject --json -H "$tmp/none.sock" $'a\xffb' $'c\xc3\xa9'
is "names are told as given, and escaped where no JSON can hold them" \
  "$(jq -r .container "$tmp/run.out" | sort | xargs -d '\n')" 'a\xffb cé'

# ---- 2: settings of the engine that mean nothing to us ----

DOCKER_HOST=ssh://me@far fails "DOCKER_HOST=ssh://" 2 usage \
  "DOCKER_HOST: 'ssh://me@far': ssh:// is not supported; forward the socket" web
CONTAINER_HOST=ssh://me@far/run/podman/podman.sock fails "CONTAINER_HOST=ssh://" 2 usage \
  "CONTAINER_HOST: 'ssh://me@far/run/podman/podman.sock': ssh:// is not supported" web
DOCKER_HOST=npipe:////./pipe/docker_engine fails "DOCKER_HOST=npipe://" 2 usage \
  "DOCKER_HOST: 'npipe:////./pipe/docker_engine' is not supported" web
for url in foo:99999 foo:0 foo:bar foo: 'tcp://a b' 'tcp://[::1' 'tcp://[]:1' unix:/run/x.sock http:/x \
  'tcp://a?b' 'tcp://a:1/b#c' 'tcp://:1' $'tcp://a\tb'; do
  fails "--host '$url'" 2 usage "--host: '.*' is not supported; use unix:///PATH or tcp://HOST:PORT" \
    --host "$url" web
done
DOCKER_HOST=unix://some/where fails "a relative socket" 2 usage "DOCKER_HOST: .*absolute path" web
long=/$(printf '%0120d' 0)
fails "a socket path that is too long" 2 usage "--host: .*too long for a socket" --host "unix://$long" web
DOCKER_HOST=tcp://127.0.0.1:1 DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$tmp/nocerts \
  fails "no certificates" 2 usage "DOCKER_TLS_VERIFY .*'$tmp/nocerts/ca.pem'" web
DOCKER_HOST=tcp://127.0.0.1:1 DOCKER_TLS_VERIFY=0 DOCKER_CERT_PATH=$tmp/nocerts \
  fails "DOCKER_TLS_VERIFY=0 counts as set" 2 usage "DOCKER_TLS_VERIFY" web
DOCKER_CONTEXT=far fails "a context that does not exist" 2 usage \
  "DOCKER_CONTEXT names the docker context 'far'" web
mkdir -p "$tmp/docker"
echo '{"currentContext": "near"}' >"$tmp/docker/config.json"
DOCKER_CONFIG=$tmp/docker fails "a current context that does not exist" 2 usage \
  "current context of '$tmp/docker/config.json' names the docker context 'near'" web
echo '{' >"$tmp/docker/config.json"
DOCKER_CONFIG=$tmp/docker fails "a broken docker configuration" 2 usage \
  "$tmp/docker/config.json" web

# ---- 3: no engine ----

none=$tmp/none.sock
DOCKER_HOST=unix://$none fails "no socket" 3 no-engine \
  "web: cannot reach the engine at 'unix://$none' \(from DOCKER_HOST\): no such socket" web
fails "no socket, --host" 3 no-engine "'unix://$none' \(from --host\)" --host "unix://$none" web
fails "no socket, a bare path" 3 no-engine "'unix://$none' \(from --host\)" --host "$none" web
CONTAINER_HOST=unix://$none fails "no socket, CONTAINER_HOST" 3 no-engine \
  "'unix://$none' \(from CONTAINER_HOST\)" web
DOCKER_HOST=unix://$none fails "--host comes first" 3 no-engine "\(from --host\)" -H "$none" web
DOCKER_HOST=unix://$none CONTAINER_HOST=unix:///x \
  fails "DOCKER_HOST comes before CONTAINER_HOST" 3 no-engine "\(from DOCKER_HOST\)" web
mkdir -p "$tmp/docker/contexts/meta/abc"
echo '{"currentContext": "near"}' >"$tmp/docker/config.json"
printf '{"Name": "near", "Endpoints": {"docker": {"Host": "unix://%s"}}}' "$none" \
  >"$tmp/docker/contexts/meta/abc/meta.json"
DOCKER_CONFIG=$tmp/docker CONTAINER_HOST=unix:///x fails "the current context" 3 no-engine \
  "'unix://$none' \(from the current context of '$tmp/docker/config.json'\)" web
DOCKER_CONFIG=$tmp/docker DOCKER_CONTEXT=default CONTAINER_HOST=unix://$none \
  fails "the context 'default' looks on" 3 no-engine "\(from CONTAINER_HOST\)" web

python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$tmp/dead.sock"
fails "a dead socket" 3 no-engine "'unix://$tmp/dead.sock' .*nothing is listening there" \
  --host "$tmp/dead.sock" web
: >"$tmp/file"
fails "not a socket" 3 no-engine "'unix://$tmp/file' \(from --host\): " --host "$tmp/file" web
fails "a closed port" 3 no-engine "'tcp://127.0.0.1:1' \(from --host\): nothing is listening" \
  --host tcp://127.0.0.1:1 web
fails "ls" 3 no-engine "cannot reach the engine at 'unix://$none'" ls --host "$none"
fails "probe" 3 no-engine "web: cannot reach" probe --host "$none" web
fails "status" 3 no-engine "web: cannot reach" status --host "$none" web
fails "remove" 3 no-engine "web: cannot reach" remove --host "$none" web
for args in "call web version" "pipe web" "rules --explain web"; do
  # shellcheck disable=SC2086
  run "$SBINJECT" $args --host "$none" </dev/null
  exits "${args%% *}: exit 3" 3
  one_line "${args%% *}: one line" "cannot reach the engine at 'unix://$none' \(from --host\)"
done

# What answers, but is no engine: closes at once, or speaks something else.
cat >"$tmp/fake.py" <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
kept = []
while True:
    c, _ = s.accept()
    if sys.argv[2] == "hang":
        kept.append(c)
        continue
    if sys.argv[2]:
        c.recv(65536)
        c.sendall(sys.argv[2].encode().decode("unicode_escape").encode())
    c.close()
END
fake() { # fake NAME ANSWER: listens until the test ends
  python3 "$tmp/fake.py" "$tmp/$1.sock" "$2" &
  fakes+=("$!")
  until [ -S "$tmp/$1.sock" ]; do sleep 0.02; done
}
fakes=()
trap 'kill "${fakes[@]}" 2>/dev/null || true; rm -rf "$tmp"' EXIT
fake mute ''
fails "an engine that hangs up" 3 no-engine "'unix://$tmp/mute.sock'" -H "$tmp/mute.sock" web
fake chat 'Hello\n'
fails "not HTTP" 3 no-engine "'unix://$tmp/chat.sock'" -H "$tmp/chat.sock" web
fake www 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi'
fails "a web server" 3 no-engine "'unix://$tmp/www.sock' .*neither Docker nor Podman" \
  -H "$tmp/www.sock" web
fake old 'HTTP/1.1 200 OK\r\nApi-Version: 1.24\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK'
fails "an engine that is too old" 3 no-engine "'unix://$tmp/old.sock' speaks API 1.24" \
  -H "$tmp/old.sock" web

fake hang hang
fails "an engine that does not answer" 3 no-engine "'unix://$tmp/hang.sock' did not answer .*--timeout" \
  -H "$tmp/hang.sock" --timeout 1 web

# Permission, as somebody who is not root.
nobody=()
if [ "$(id -u)" -ne 0 ]; then
  nobody=("$SBINJECT")
elif command -v setpriv >/dev/null; then
  cp "$SBINJECT" "$tmp/sbinject"
  nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/sbinject")
fi
fake shut ''
chmod 755 "$tmp"
chmod 000 "$tmp/shut.sock"
if [ "${#nobody[@]}" -gt 0 ]; then
  run "${nobody[@]}" --json --host "$tmp/shut.sock" web
  exits "no permission: exit 3" 3
  one_line "no permission: one line" \
    "'unix://$tmp/shut.sock' \(from --host\): permission denied; use sudo"
  json "no permission" no-engine 3
else
  skip "no permission" "no setpriv"
fi

# ---- 130: a signal ----

for signal in INT TERM HUP; do
  run timeout --foreground -k 9 --preserve-status -s "$signal" 0.5 "$SBINJECT" --json -H "$tmp/hang.sock" web
  exits "SIG$signal: exit 130" 130
  one_line "SIG$signal: one line" "web: interrupted"
  json "SIG$signal" interrupted 130
done

# ---- 8: several ----

sb inject --host "$none" web db cache
exits "several containers, one cause: exit 3" 3
is "several containers: a line for each" "$(cut -d: -f2 <<<"$err" | sort | xargs)" "cache db web"
sb inject --json --host "$none" web db cache
is "several containers: an object for each" \
  "$(jq -r '[.container, .exit] | join(" ")' "$tmp/run.out" | sort | xargs)" "cache 3 db 3 web 3"
sb --json --config "$tmp/none.yaml" web db
exits "several containers, broken configuration: exit 2" 2
json "several containers, broken configuration" usage 2
echo '[]' >"$tmp/list.json"
"$top/t/cli/engine.py" "$tmp/engine.sock" "$tmp/list.json" 2>/dev/null &
fakes+=($!)
until [ -S "$tmp/engine.sock" ]; do sleep 0.05; done
sb inject --host "$tmp/engine.sock" 0a 0b
exits "several containers, none there: exit 4" 4
sb inject --host "$tmp/engine.sock" 0a 2b
exits "several containers, several causes: exit 8" 8
sb --host "$tmp/engine.sock" 2b 0a
exits "a first one that there is stands for itself: exit 8" 8
is "a first one that there is does not hold up the next" "$(wc -l <"$tmp/run.err")" 2
sb --host "$tmp/engine.sock" 0a 2b
exits "a first one that there is not: exit 4" 4
is "a first one that there is not holds up the next" "$(wc -l <"$tmp/run.err")" 1

# ---- 130: a signal while nobody reads what is written, more than a pipe holds ----

for i in $(seq 2000); do
  printf '{"Id": "%064d", "Names": ["/%050d"], "Image": "x", "State": "running"}\n' "$i" "$i"
done | jq -s . >"$tmp/list.json"
mkfifo "$tmp/unread"
exec 8<>"$tmp/unread"
for command in ls 'ls --json' 'payloads --extract tools-amd64'; do
  code=0
  # shellcheck disable=SC2086
  DOCKER_HOST=unix://$tmp/engine.sock timeout --foreground -k 9 --preserve-status -s INT 2 \
    "$SBINJECT" $command >"$tmp/unread" 2>"$tmp/run.err" || code=$?
  is "SIGINT, '$command' to a reader that waits: exit 130" "$code $(cat "$tmp/run.err")" \
    '130 sbinject: interrupted'
done
exec 8>&-

# ---- what is foreign is escaped ----

sb --json --host "$none" $'a"\n\033\377'
json "a name of odd bytes" no-engine 3
one_line "a name of odd bytes" ""

done_testing
