#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: injection and a call of every tool work in real userlands of several distributions and ages;
# anybody can run the same check, t/validate.sh, over their own images.
# tier: check
# engines: docker28 podman58
# images: bullseye bookworm trixie forky sid musl busybox distroless scratch
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject
validate() { run "$top/t/validate.sh" -s "$SBINJECT" "$@"; }

# To make a container takes Podman's way of storing images many seconds.
with_shell='bullseye bookworm trixie forky sid musl busybox'
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

# Volumes of the image go with the container.
volumes() { api "$ENGINE" GET /volumes | jq -c '[.Volumes[]?.Name] | sort'; }
before=$(volumes)
with_volume=$(unique volume)
id=$(ctr_new "$ENGINE" scratch "$with_volume" '' '{"Volumes":{"/data":{}}}')
api "$ENGINE" POST "/commit?container=$id&repo=sbinject-test/$with_volume&tag=1" >/dev/null
ctr_rm "$ENGINE" "$id"
validate "sbinject-test/$with_volume:1"
is 'an image with a volume: exit' "$rc" 0
is 'an image with a volume: none is left' "$(volumes)" "$before"
api "$ENGINE" DELETE "/images/sbinject-test/$with_volume:1" >/dev/null

# The engine that the chosen command speaks to is the one that sbinject is to find.
if [[ $ENGINE == podman* ]]; then
  url=$DOCKER_HOST
  cat >"$tmp/podman" <<-END
	#!/bin/sh
	[ "\$1" != info ] || exec echo "${url#unix://}"
	CONTAINER_HOST=$url exec podman "\$@"
	END
  chmod +x "$tmp/podman"
  DOCKER_HOST=unix:///dev/null validate -c "$tmp/podman" sbinject-test/scratch:1
  is 'podman: exit' "$rc" 0
  CONTAINER_HOST=$url DOCKER_HOST=unix:///dev/null validate -c podman sbinject-test/scratch:1
  is 'podman by CONTAINER_HOST: exit' "$rc" 0
fi

validate sbinject-test/none:1
is 'no such image: exit' "$rc" 1
like 'no such image: said' "$out" 'sbinject-test/none:1 .*no container: '
SBINJECT=/bin/false run "$top/t/validate.sh" sbinject-test/scratch:1
is 'a program that fails: exit' "$rc" 1
is 'nothing is left' "$(api "$ENGINE" GET '/containers/json?all=1' | jq '[.[].Names[0] | select(test("validate"))] | length')" 0
done_testing
