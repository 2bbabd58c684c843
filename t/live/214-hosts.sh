#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: what a release of a client expects is done: whose the service is, where the program is found; what
# it will miss in the container is reported; a release that is not known is refused, and nothing is done.
# tier: check
# engines: docker20 docker28 podman43 podman43-rootless podman58
# images: busybox bookworm scratch
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
need_sbinject

program=/var/tmp/.da7be258e003d428/inspect-sandbox-tools

# prepared IMAGE CLIENT [CONFIG]: $name, $id and the receipt $out of a container
prepared() {
  name=$(unique "h$RANDOM")
  id=$(ctr_create "$ENGINE" "$1" "$name" '{}' "${3:-}")
  ok "$1, $2: inject" "$SBINJECT" --json --client "$2" "$name"
}
gone() { # and nothing is left
  ok "$name: remove" "$SBINJECT" remove "$name"
  ctr_rm "$ENGINE" "$id"
}

prepared scratch 'inspect_ai 0.3.285'
is 'of scratch, everything is missing' "$(jq -c .missing <<<"$out")" '["/bin/sh","stat","id","/usr/bin/timeout"]'
gone
prepared bookworm 'inspect_ai 0.3.285'
is 'of Debian, nothing' "$(jq -c .missing <<<"$out")" '[]'
ok 'a client without a release' "$SBINJECT" --json --client inspect_ai "$name"
is '… is told nothing' "$(jq -c .missing <<<"$out")" null
run "$SBINJECT" --client 'inspect_ai 99.0.0' "$name"
is 'a release that is not known: exit 6' "$rc" 6
like '… and what to do' "$err" "use a newer sbinject, or --client 'inspect_ai "
run "$SBINJECT" --client 'inspect_ai 0.3.100' "$name"
is 'a release that cannot be served: exit 5' "$rc" 5
like '… and why' "$err" 'cannot be served: it runs inspect-tool-support'
gone

prepared busybox 'inspect_ai 0.3.140'
is 'an early release finds the program at its own path' "$(ctr_exec "$ENGINE" "$id" readlink /opt/inspect-sandbox-tools)" "$program"
gone
prepared busybox 'inspect_ai 0.3.262' '{"User":"1000:1000"}'
is 'one that comes as the user finds it' "$(jq -c '[.service,.uid]' <<<"$out")" '["user",1000]'
gone
prepared busybox 'inspect_ai 0.3.263' '{"User":"1000:1000"}'
is 'one that comes as root, too' "$(jq -c '[.service,.uid]' <<<"$out")" '["root",0]'
gone
done_testing
