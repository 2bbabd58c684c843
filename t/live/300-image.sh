#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the image, as it is loaded from its file, puts the service into another container of the engine
# whose socket it is given.
# tier: all
# engines: docker20 docker28 podman43 podman58
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"

release=$(sed -n 's/^RELEASE := //p' "$top/Makefile")
file=$top/dist/sbinject-$release-image-$(dpkg --print-architecture).tar
[ -f "$file" ] || { fail "the image is built" "'make image' does it"; done_testing; }
image=localhost/sbinject:$release
socket=$(engine_socket "$ENGINE")
case $ENGINE in
  podman*) engine=(podman --remote --url "$DOCKER_HOST") ;;
  *) engine=(docker) ;;
esac

# in_image ARGUMENT...: the command of the image
in_image() {
  run "${engine[@]}" run --rm --network none -v "$socket:/var/run/docker.sock" \
    -v "$volume:/root/.local/state/sbinject" -e SBINJECT_TRACE=http "$image" "$@"
}

run "${engine[@]}" load -i "$file"
is 'loaded: exit code' "$rc" 0
like 'loaded: its name' "$out" "localhost/sbinject:${release//./\\.}\$"
volume=$(unique state)
name=$(unique web)
id=$(ctr_create "$ENGINE" busybox "$name")

in_image --version
like '--version' "$rc $out" "^0 sbinject $release "
in_image --json "$name"
is 'inject: exit code' "$rc" 0
[ "$rc" = 0 ] || diag "$err"
like 'inject: uploaded' "$err" 'PUT '
is 'inject: into the other container' "$(jq -r '[.result, .id] | join(" ")' <<<"$out")" "injected $id"
in_image --json "$name"
is 'inject again: it is there' "$(jq -r .result <<<"$out")" already
unlike 'inject again: nothing is uploaded, as the key was kept' "$err" 'PUT '
in_image call "$name" version
is 'call: exit code' "$rc" 0
in_image remove "$name"
is 'remove: exit code' "$rc" 0
in_image nosuch
is 'no such container: exit code' "$rc" 4

run "${engine[@]}" image rm -f "$image"
run "${engine[@]}" volume rm "$volume"
is 'nothing of it is left' "$("${engine[@]}" images -q localhost/sbinject | wc -l)" 0
done_testing
