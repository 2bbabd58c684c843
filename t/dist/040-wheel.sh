#!/bin/bash
# Goal: on a new minimal Debian with Docker and Python, one pip install is all it takes until an
# evaluation runs with --sandbox sbinject; and tools that judge packages have nothing to say.
# tier: all
# SPDX-License-Identifier: MIT
# shellcheck source=t/dist/lib.sh
. "$(dirname "$0")/lib.sh"

known=$(sed -n '2s/.* //p' cmd/inspect-sbinject/inspect_sbinject/contract.tsv)
wheel=$(echo "$dist"/inspect_sbinject-"$release"-*"$(uname -m)".whl)

# Its engine has to have the image of the container before.
engine=docker28
"$top/t/engines/engine.sh" status $engine 2>/dev/null || {
  "$top/t/engines/engine.sh" start $engine >&2
  trap '"$top/t/engines/engine.sh" stop $engine >&2; rm -rf --one-file-system "$tmp"' EXIT
}
"$top/t/images/image.sh" load $engine bookworm >&2

steps="export DEBIAN_FRONTEND=noninteractive
apt-get -qq update && apt-get -qq install -y --no-install-recommends python3-venv docker-cli docker-compose >/dev/null 2>&1 &&
python3 -m venv /tmp/new && export PIP_DISABLE_PIP_VERSION_CHECK=1 &&
/tmp/new/bin/pip -q install dist/${wheel##*/} inspect_ai==$known -c t/interop/requirements-$known.txt &&
cd /tmp && bash /root/sbinject/t/interop/installed.sh /tmp/new &&
cd /root/sbinject && /tmp/new/bin/pip -q install mypy==2.4.1 twine==7.0.0 &&
{ cd cmd/inspect-sbinject && /tmp/new/bin/mypy && cd ../..; } &&
/tmp/new/bin/twine check --strict dist/*.whl"

run "$top/t/fresh.sh" --engine=$engine --with "$dist" trixie "$steps"
is 'on a new Debian 13: exit code' "$rc" 0
[ "$rc" = 0 ] || diag "$(tail -n 40 <<<"$out"$'\n'"$err")"
grep -E '^(not )?ok - ' <<<"$out" >"$tmp/points" || :
while IFS= read -r point; do
  case $point in
  'ok - '*) pass "${point#ok - }" ;;
  *) fail "${point#not ok - }" "$(grep -A 20 -F -- "$point" <<<"$out")" ;;
  esac
done <"$tmp/points"
is 'all steps were made' "$(wc -l <"$tmp/points")" 4
like 'mypy --strict' "$out" 'Success: no issues found'
is 'twine check --strict' "$(grep -c 'PASSED' <<<"$out")" "$(wc -w <<<"$hosts")"

done_testing
