#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: injection and a call of every tool work in real userlands of several distributions and ages,
# as validate.sh tells, which anybody can run over images of their own.
# engines: docker28 podman58
# images: bullseye bookworm trixie sid musl busybox distroless scratch
# timeout: 400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
validate() { run "$top/t/live/validate.sh" -s "$SBINJECT" "$@"; }

# To make a container takes Podman's way of storing images many seconds.
with_shell='bullseye bookworm trixie sid musl busybox'
[ "$ENGINE" = docker28 ] || with_shell='sid musl'
for image in $with_shell; do
  validate "sbinject-test/$image:1"
  is "$image: exit" "$rc" 0
  is "$image: every tool" "$(xargs <<<"$out")" "sbinject-test/$image:1 status version remote_version text_editor exec_remote bash_session mcp remove"
done
for image in distroless scratch; do
  validate "sbinject-test/$image:1"
  is "$image: exit" "$rc" 0
  is "$image: what runs programs says that there is no shell" "$(xargs <<<"$out")" \
    "sbinject-test/$image:1 status version remote_version text_editor (exec_remote: no shell) (bash_session: no shell) (mcp: no shell) remove"
done

validate sbinject-test/none:1
is 'no such image: exit' "$rc" 1
like 'no such image: said' "$out" 'sbinject-test/none:1 .*no container: '
SBINJECT=/bin/false run "$top/t/live/validate.sh" sbinject-test/scratch:1
is 'a program that fails: exit' "$rc" 1
is 'nothing is left' "$(api "$ENGINE" GET '/containers/json?all=1' | jq '[.[].Names[0] | select(test("validate"))] | length')" 0
done_testing
