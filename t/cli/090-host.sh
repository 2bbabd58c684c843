#!/bin/bash
# Goal: what is odd on this host neither holds up sbinject, nor makes it tell secrets, nor kills it.
# tier: check
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# What waits for ever must not hold up the test.
sb() { run timeout -k 9 120 "$SBINJECT" "$@"; }

rules() { # rules PAYLOAD-PATH SHA256
  printf 'version: 1\npayloads: {x: {source: file, path: %s, sha256: %s}}\n' "$1" "$2"
  printf 'rules: [{when: {}, use: x}]\n'
}
digest=$(sha256sum </dev/null)
digest=${digest%% *}

# ---- what is no regular file ----

mkfifo "$tmp/fifo"
for file in "$tmp/fifo" /dev/zero "$tmp"; do
  sb -H "$tmp/none" --config "$file" web
  exits "$file as rules file: exit 2" 2
  one_line "$file as rules file: why" "'$file' is not a regular file"
done
SBINJECT_CONFIG=$tmp/fifo sb rules
exits "a FIFO by SBINJECT_CONFIG: exit 2" 2
mkdir "$tmp/docker"
mkfifo "$tmp/docker/config.json"
DOCKER_CONFIG=$tmp/docker sb ls
exits "a FIFO as docker configuration: exit 2" 2
one_line "a FIFO as docker configuration: why" "'$tmp/docker/config.json' is not a regular file"
rules fifo "$digest" >"$tmp/rules.yaml"
sb rules --check "$tmp/rules.yaml"
is "a FIFO as payload is a warning of --check" "$rc $err" "0 "
like "a FIFO as payload: why" "$out" "warning: $tmp/rules.yaml:2:12: .*'$tmp/fifo' is not a regular file"

# ---- rules that others can change ----

: >"$tmp/payload"
chmod 666 "$tmp/payload"
rules payload "$digest" >"$tmp/rules.yaml"
sb rules --check "$tmp/rules.yaml"
is "a payload may be anybody's: its digest is pinned" "$rc $err" "0 "
chmod 606 "$tmp/rules.yaml"
for args in "rules --check $tmp/rules.yaml" "-c $tmp/rules.yaml -H $tmp/none web"; do
  # shellcheck disable=SC2086
  sb $args
  exits "rules open to others, ${args%% *}: exit 2" 2
  one_line "rules open to others, ${args%% *}: what to do" \
    "'$tmp/rules.yaml' is writable by others \(mode 0606\).*'chmod go-w' on it"
done
chmod go-w "$tmp/rules.yaml"
sb rules --check "$tmp/rules.yaml"
exits "... and that helps" 0

# ---- secrets ----

for url in tcp://user:s3cret@h:1 s3cret@h:1 ssh://user:s3cret@h npipe://user:s3cret@h; do
  sb --json -H "$url" web
  exits "$url: exit 2" 2
  unlike "$url: the password is not shown" "$out$err" s3cret
  like "$url: but where it stood" "$err" '\*\*\*@h'
  DOCKER_HOST=$url sb -v web
  unlike "DOCKER_HOST=$url: the password is not shown" "$out$err" s3cret
done
rm "$tmp/docker/config.json"
echo '{"auths": {"r": {"auth": 1 "s3cret"}}}' >"$tmp/docker/config.json"
DOCKER_CONFIG=$tmp/docker sb --json web
exits "a broken docker configuration: exit 2" 2
one_line "a broken docker configuration: where" "config.json is not valid JSON: .*line 1, column"
unlike "a broken docker configuration is not quoted" "$out$err" s3cr

# ---- what an engine tells ----

printf '[{"Id": "%064d", "Names": ["/x"], "Image": "a\177\302\233\342\200\256b", "State": "\\u007f"}]' 0 >"$tmp/list.json"
"$top/t/cli/engine.py" "$tmp/engine.sock" "$tmp/list.json" 2>/dev/null &
trap 'kill '$!'; rm -rf "$tmp"' EXIT
until [ -S "$tmp/engine.sock" ]; do sleep 0.05; done
for json in '' --json; do
  # shellcheck disable=SC2086
  sb -H "$tmp/engine.sock" ls $json
  exits "control characters, ls $json: exit 0" 0
  is "control characters, ls $json: printable ASCII" "$(LC_ALL=C tr -d ' -~\n' <"$tmp/run.out" | od -An -c)" ""
done
is "control characters: --json tells them" "$(jq -r .state "$tmp/run.out" | od -An -tx1 | xargs)" "7f 0a"

# ---- proxies of the host ----

export http_proxy=http://proxy.invalid:1 https_proxy=http://proxy.invalid:1 ALL_PROXY=http://proxy.invalid:1
for tls in '' 1; do
  DOCKER_TLS=$tls sb -H tcp://127.0.0.1:1 ls
  one_line "over ${tls:+TLS and }TCP, no proxy is asked" 'nothing is listening there'
done
sb -H "$tmp/engine.sock" ls
exits 'over a socket, no proxy is asked' 0
unset http_proxy https_proxy ALL_PROXY

# ---- limits ----

like "no file may grow: told of" "$(bash -c "{ ulimit -f 0; $SBINJECT --version >$tmp/version; echo \"exit \$?\"; } 2>&1 | cat")" \
  "cannot write to stdout: File too large"$'\n'"exit 1$"
for kb in 64 128; do
  run bash -c "ulimit -s $kb; exec $SBINJECT inject -H $tmp/none a b"
  exits "a stack of $kb kB: exit 3" 3
done

done_testing
