#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the engine is found as the settings say, over TLS, too, and -v says which setting chose it.
# tier: check
# engines: docker20-tls
# images: scratch mislabel arm64
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

name=$(unique t)
id=$(ctr_create "$ENGINE" scratch "$name")
before=$(ctr_diff "$ENGINE" "$id")
certs=$("$top/t/engines/engine.sh" tls-dir "$ENGINE")
tcp=$("$top/t/engines/engine.sh" tls-host "$ENGINE")
socket=$DOCKER_HOST
unset DOCKER_HOST

DOCKER_HOST=$socket run "$SBINJECT" -v probe "$name"
like '-v names endpoint and setting' "$err" "at $socket \(from DOCKER_HOST\)"
DOCKER_HOST=unix:///nowhere run "$SBINJECT" -v -H "$socket" probe "$name"
like '--host wins' "$err" "\(from --host\)"

export DOCKER_HOST=$tcp DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$certs
ok 'TLS: inject' "$SBINJECT" "$name"
ok 'TLS: status' "$SBINJECT" status "$name"
ok 'TLS: call' "$SBINJECT" call "$name" remote_version
# More than all buffers hold, and replies that nobody reads at first.
for i in $(seq 3000); do
  printf '{"jsonrpc":"2.0","method":"remote_version","params":{},"id":"%d-%0999d"}\n' "$i" 0
done >"$tmp/many"
run bash -c '"$SBINJECT" pipe "$1" <"$2" | { sleep 2; wc -l; }' - "$name" "$tmp/many"
is 'TLS: pipe loses nothing' "$rc $out" '0 3000'
ok 'TLS: remove' "$SBINJECT" remove "$name"
is 'TLS: nothing is left' "$(ctr_diff "$ENGINE" "$id")" "$before"

# What the engine's machine is, only the engine knows: of a wrong image the label is noticed, and what
# cannot run in an emulated container is deleted by what can.
wrong=$(unique m)
wrong_id=$(ctr_create "$ENGINE" mislabel "$wrong")
before_wrong=$(ctr_diff "$ENGINE" "$wrong_id")
run "$SBINJECT" "$wrong"
is 'TLS, amd64 programs in an image labelled arm64: exit code' "$rc" 5
like 'TLS, amd64 programs in an image labelled arm64: said' "$err" 'is labelled'
is 'TLS, amd64 programs in an image labelled arm64: nothing is left' "$(ctr_diff "$ENGINE" "$wrong_id")" "$before_wrong"
binfmt_need on
foreign=$(unique f)
foreign_id=$(ctr_create "$ENGINE" arm64 "$foreign")
before_foreign=$(ctr_diff "$ENGINE" "$foreign_id")
ok 'TLS, emulated: inject' "$SBINJECT" "$foreign"
ok 'TLS, emulated: remove' "$SBINJECT" remove "$foreign"
"$SBINJECT" payloads --extract tools-amd64 -o "$tmp/nowhere"
printf '\0\0' | dd of="$tmp/nowhere" bs=1 seek=18 conv=notrunc 2>/dev/null # for no machine
cat >"$tmp/nowhere.yaml" <<Y
version: 1
payloads:
  nowhere: {source: file, path: nowhere, sha256: $(sha256sum "$tmp/nowhere" | cut -d' ' -f1)}
rules:
  - when: {os: linux}
    use: nowhere
Y
run "$SBINJECT" -c "$tmp/nowhere.yaml" "$foreign"
is 'TLS, emulated, cannot be run: exit code' "$rc" 5
like 'TLS, emulated, cannot be run: said' "$err" 'for another architecture'
unlike 'TLS, emulated, cannot be run: undone' "$err" 'may be left'
is 'TLS, emulated, cannot be run: nothing is left' "$(ctr_diff "$ENGINE" "$foreign_id")" "$before_foreign"
exec 6>&-

DOCKER_CERT_PATH=$tmp run "$SBINJECT" status "$name"
is 'TLS without ca.pem' "$rc" 2
mkdir "$tmp/certs"
cp "$certs/ca.pem" "$tmp/certs/"
DOCKER_CERT_PATH=$tmp/certs run "$SBINJECT" status "$name"
is 'TLS without a client certificate' "$rc" 3
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$tmp/certs/key.pem" -out "$tmp/certs/ca.pem" \
  -subj /CN=other >/dev/null 2>&1
DOCKER_CERT_PATH=$tmp/certs run "$SBINJECT" status "$name"
is 'TLS with a foreign authority' "$rc" 3
like 'TLS with a foreign authority: said' "$err" 'certificate'
unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH
run "$SBINJECT" status "$name"
is 'plain HTTP to a TLS port' "$rc" 3
unset DOCKER_HOST

# A docker context on disk, as the docker command stores it.
export DOCKER_CONFIG=$tmp/docker
hash=$(printf 'lab' | sha256sum | cut -d' ' -f1)
mkdir -p "$DOCKER_CONFIG/contexts/meta/$hash" "$DOCKER_CONFIG/contexts/tls/$hash/docker"
jq -n --arg host "$tcp" '{Name: "lab", Metadata: {}, Endpoints: {docker: {Host: $host, SkipTLSVerify: false}}}' \
  >"$DOCKER_CONFIG/contexts/meta/$hash/meta.json"
cp "$certs"/{ca,cert,key}.pem "$DOCKER_CONFIG/contexts/tls/$hash/docker/"
DOCKER_CONTEXT=lab run "$SBINJECT" -v probe "$name"
is 'context with TLS by DOCKER_CONTEXT' "$rc" 0
like 'context: said' "$err" 'from DOCKER_CONTEXT'
echo '{"currentContext":"lab"}' >"$DOCKER_CONFIG/config.json"
ok 'context with TLS by config.json' "$SBINJECT" probe "$name"
DOCKER_CONTEXT=missing run "$SBINJECT" probe "$name"
is 'a missing context is an error' "$rc" 2
CONTAINER_HOST=$socket run "$SBINJECT" -v probe "$name"
like 'the context beats CONTAINER_HOST' "$err" 'from the current context'
rm "$DOCKER_CONFIG/config.json"
CONTAINER_HOST=$socket run "$SBINJECT" -v probe "$name"
like 'CONTAINER_HOST' "$err" 'from CONTAINER_HOST'
done_testing
