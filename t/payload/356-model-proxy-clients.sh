#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the client libraries of OpenAI, Anthropic and Google work with model_proxy: text, tools and errors, whole and as streams.
# tier: all
# The libraries come from the Python index, once, as model_proxy_clients.txt names them.
. "$(dirname "$(realpath "$0")")/../engines/paths.sh" # before HOME is the test's
export SBINJECT_CACHE
. "$(dirname "$(realpath "$0")")/lib.sh"
here=$(dirname "$(realpath "$0")")
clients=$SBINJECT_CACHE/interop/clients
make_clients() {
  rm -rf "$clients" "$clients.new"
  mkdir -p "${clients%/*}"
  python3 -m venv "$clients.new" && "$clients.new/bin/python" -m pip install -q --no-input --only-binary :all: \
    -r "$here/model_proxy_clients.txt" && cp "$here/model_proxy_clients.txt" "$clients.new/requirements.txt" &&
    mv "$clients.new" "$clients"
}
cmp -s "$here/model_proxy_clients.txt" "$clients/requirements.txt" || make_clients >"$W/log" 2>&1 ||
  { echo "1..0 # skip the libraries cannot be fetched"; exit 0; }

world w proc var/tmp
service=$R/var/tmp/sandbox-services/bridge_model_service
mkdir -p "$service/requests" "$service/responses"
(exec env -i BRIDGE_MODEL_SERVICE_PORT=0 /usr/sbin/chroot "$R" /t model_proxy) >"$W/out" 2>"$W/err" &
wait_for grep -qs running "$W/out"
env -i HOME="$W" PATH=/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 timeout 300 "$clients/bin/python" \
  "$here/model_proxy_clients.py" "$service" "$(sed -n 's/.*127\.0\.0\.1://p' "$W/out")" >"$W/said" 2>"$W/failed"
succeeded 'all can be asked' $?
tail -n 8 "$W/failed" | sed 's/^/#   /'
while IFS= read -r line; do
  case $line in
  'ok - '*) pass "${line#ok - }" ;;
  'not ok - '*) fail "${line#not ok - }" ;;
  *) printf '%s\n' "$line" ;;
  esac
done <"$W/said"
is 'points' "$(grep -c 'ok - ' "$W/said")" 23
done_testing
