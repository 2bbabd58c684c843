#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the fault proxy relays everything unharmed, and does each kind of harm.
# tier: check
# engines: docker20
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"

head -c 300000 /dev/zero >"$tmp/file"
tar -C "$tmp" -cf "$tmp/file.tar" file

# via METHOD PATH [CURL-ARGUMENT...]: through the proxy; "CURL-STATUS HTTP-STATUS
# BYTES BODY", the body cut after 60 characters.
via() {
  local code rc=0
  code=$(curl -s -m "${limit:-20}" --unix-socket "$proxy_socket" -o "$tmp/body" \
    -w '%{http_code} %{size_download}' -X "$1" "${@:3}" "http://d$2") || rc=$?
  printf '%s %s %s' "$rc" "$code" "$(head -c 60 "$tmp/body" 2>/dev/null | tr -d '\0')"
  rm -f "$tmp/body"
}

put() { via PUT "/containers/$id/archive?path=/tmp" -T "$tmp/file.tar" "$@"; }

# upgrade COMMAND: run it by a hijacked exec through the proxy, feed it "hello",
# half-close, print what came back, "repr" style.
upgrade() {
  local exec
  exec=$(post_json "$ENGINE" "/containers/$id/exec" "$(jq -n -c --arg c "$1" \
    '{AttachStdin: true, AttachStdout: true, AttachStderr: true, Cmd: ["sh", "-c", $c]}')" |
    jq -r .Id)
  python3 - "$proxy_socket" "$exec" <<-'END'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(10)
	s.connect(sys.argv[1])
	body = b'{"Detach":false,"Tty":false}'
	s.sendall(b"POST /exec/%s/start HTTP/1.1\r\nHost: d\r\nUpgrade: tcp\r\n"
	          b"Connection: Upgrade\r\nContent-Type: application/json\r\n"
	          b"Content-Length: %d\r\n\r\n" % (sys.argv[2].encode(), len(body)) + body)
	data = b""
	while b"\r\n\r\n" not in data:
	    data += s.recv(1)
	s.sendall(b"hello")
	s.shutdown(socket.SHUT_WR)
	rest = b""
	while got := s.recv(65536):
	    rest += got
	print(data.split(b"\r\n")[0].decode(), rest)
	END
}

test_relay() {
  proxy_start
  like "relays a request" "$(via GET /_ping)" '^0 200 2 OK'
  like "relays an upload" "$(put)" '^0 200 '
  like "relays a chunked upload" "$(put -H 'Transfer-Encoding: chunked')" '^0 200 '
  via GET "/containers/$id/archive?path=/tmp/file" >"$tmp/answer"
  like "relays a download" "$(tr -d '\0' <"$tmp/answer")" '^0 200 30[0-9]{4} file'
  like "relays HEAD" "$(via HEAD "/containers/$id/archive?path=/tmp" -I)" '^0 200 '
  like "relays 404" "$(via GET /containers/nosuch/json)" '^0 404 .*No such container'
  like "keeps connections" "$(curl -s --unix-socket "$proxy_socket" \
    http://d/_ping http://d/_ping -w '[%{num_connects}]')" 'OK\[1\]OK\[0\]'
  is "relays an upgraded stream, both ways, with half-close" "$(upgrade cat)" \
    "HTTP/1.1 101 UPGRADED b'\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x05hello'"
  is "counts requests" "$(proxy_requests '^PUT /containers')" 2
  is "no fault was applied" "$(proxy_faults)" 0
}

# fault SPEC NAME REGEX COMMAND...
fault() {
  proxy_start "$1"
  like "$1: $2" "$("${@:4}")" "$3"
  is "$1: was applied" "$(proxy_faults)" 1
}

test_http_faults() {
  fault 'refuse' 'no answer' '^(7|52|56) 000' via GET /_ping
  fault 'drop@/_ping' 'no answer' '^(52|56) 000' via GET /_ping
  fault 'empty@PUT /archive' 'no answer' '^(52|56) 000' put
  fault 'cut:req-body@/archive:5000' 'connection ends' '^(52|55|56) ' put
  fault 'cut:resp@/version:12' 'no whole head' '^[0-9]+ [0-9]+ 0 ' via GET /version
  fault 'cut:resp-body@/version:10' 'short body' '^18 200 10 ' via GET /version
  fault 'cut:after@/version' 'whole, then the end' '^0 200 [1-9]' via GET /version
  limit=2 fault 'stall:resp@/_ping:20,30' 'no answer in time' '^28 ' via GET /_ping
  limit=2 fault 'stall:req-body@/archive:4096,30' 'no answer in time' '^28 ' put
  fault 'delay@/_ping:0.2' 'late but right' '^0 200 2 OK' via GET /_ping
  fault 'reply@PUT /archive:404' 'answer during the upload' '^(0|55) 404 .*injected' put
  fault 'reply:late@PUT /archive:500,html' 'HTML answer' '^0 500 .*<html>' put
  fault 'garbage@/_ping' 'no HTTP' '^(1|8|56) ' via GET /_ping
  fault 'length@/_ping:+7' 'promises too much' '^18 200 2 ' via GET /_ping
  fault 'length@/_ping:-1' 'promises too little' '^0 200 1 O' via GET /_ping
  fault 'header@/version:Content-Type=x/y' 'the same body' '^0 200 [1-9]' via GET /version
  like "header: says something else" "$(curl -si --unix-socket "$proxy_socket" http://d/version)" \
    $'\nContent-Type: x/y\r\n'
  fault 'chunked:short@/version' 'short chunk' '^(18|56) 200 ' via GET /version
  fault 'chunked:bad@/version' 'malformed chunk' '^56 200 ' via GET /version
  fault 'bighead@/version:200000' 'oversized header' '^(56|27|23|100|0) ' via GET /version
}

test_frames() {
  fault 'frame:oversize@/exec/.*/start' 'length of 4 GiB' \
    'xff.xff.xff.xffhello' upgrade cat
  fault 'frame:stream@/exec/' 'stream 9' "b'.t.x00" upgrade cat
  fault 'frame:stderr@/exec/' 'stream 2' "b'.x02.*x05hello" upgrade cat
  fault 'frame:swap@/exec/' 'the second part first' 'x03llo.x01.*x02he' upgrade cat
  fault 'frame:empty@/exec/' 'empty frames' 'x00.x02(.x00){7}.x01.*x05hello' upgrade cat
  fault 'frame:split@/exec/' 'same bytes' 'x05hello' upgrade cat
  fault 'cut:resp-body@/exec/:10' 'stream cut in a frame' "x05he'" upgrade cat
}

test_selection() {
  proxy_start 'reply@GET /_ping#2:503'
  like "#2: first passes" "$(via GET /_ping)" '^0 200'
  like "#2: second does not" "$(via GET /_ping)" '^0 503'
  like "#2: third passes" "$(via GET /_ping)" '^0 200'
  proxy_start 'reply@GET /_ping#2+:503' 'reply@/version:404'
  like "#2+: first passes" "$(via GET /_ping)" '^0 200'
  like "#2+: third does not" "$(via GET /_ping; via GET /_ping)" '^0 503.*0 503'
  like "two faults" "$(via GET /version)" '^0 404'
  proxy_start "run@GET /_ping:touch $tmp/ran"
  like "run: relays" "$(via GET /_ping)" '^0 200'
  ok "run: the command ran" test -e "$tmp/ran"
  proxy_start "raw@GET /_ping:$tmp/raw"
  printf 'HTTP/1.1 299 X\r\nContent-Length: 1\r\n\r\nz' >"$tmp/raw"
  like "raw: sends the file" "$(via GET /_ping)" '^0 299 1 z'
}

test_parent() {
  # shellcheck disable=SC2016 # for the shell
  bash -c 'python3 "$1" --listen "$2" --to /nonexistent &
    for _ in $(seq 600); do # until it listens
      curl -s -m 1 --unix-socket "$2" http://d/ || [ $? -ne 7 ] || { sleep 0.05; continue; }
      break
    done' _ "$top/t/live/proxy.py" "$tmp/orphan.sock"
  for _ in $(seq 600); do
    curl -s -m 1 --unix-socket "$tmp/orphan.sock" http://d/ || [ $? -ne 7 ] || break
    sleep 0.05
  done
  run curl -s -m 1 --unix-socket "$tmp/orphan.sock" http://d/
  is "ends with its parent" "$rc" 7
}

id=$(ctr_create "$ENGINE" busybox "$(unique proxy)")
test_relay
test_http_faults
test_frames
test_selection
test_parent
done_testing
