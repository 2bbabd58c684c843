#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: the client releases are listed truly, found by name, and a release that is not known is refused.
# tier: check
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

sb hosts --json
exits "hosts --json" 0
cp "$tmp/run.out" "$tmp/list"
is "those that are served have nine members, the others five" \
  "$(jq -c 'keys_unsorted' "$tmp/list" | sort -u)" \
  '["client","from","to","served","path","service","artifact","number","needs"]
["client","from","to","served","why"]'
is "the table has as many lines" "$("$SBINJECT" hosts | wc -l)" "$(wc -l <"$tmp/list")"
sb hosts --for 'inspect_ai 0.3.260'
exits "hosts --for" 0
is "a release is found in its range" "$out" \
  "inspect_ai 0.3.259 to 0.3.260   user      tar.gz 26  /var/tmp/.da7be258e003d428/inspect-sandbox-tools  needs test timeout"
sb hosts --for 'inspect_ai 0.3.100'
like "one that is not served says why" "$out" "not served: it runs inspect-tool-support"
for release in 0.3.35 0.3.141 99.0.0 0.3.285.dev1; do
  sb hosts --for "inspect_ai $release"
  exits "a release that is in no range: $release" 6
  like "… $release: it names what to do" "$err" "'$release' is not a release .* use a newer sbinject"
done
for client in inspect_ai harbor 'harbor 1.0' ''; do
  sb hosts --for "$client"
  exits "--for '$client' names no release that is listed" 2
done

# The manual's table: each range of releases with the same path and service, once. The last one grows.
groups=$(jq -rs '[.[] | select(.served)] | reduce .[] as $h ([];
  if length > 0 and .[-1].service == $h.service and .[-1].path == $h.path
  then .[-1].to = $h.to else . + [$h] end) | .[-1].to = "later" | .[] | "\(.from) \(.to) \(.service) \(.path)"' "$tmp/list")
is "the manual has the same ranges" "$groups" "$(cat <<'END'
0.3.133 0.3.140 user /opt/inspect-sandbox-tools
0.3.142 0.3.262 user /var/tmp/.da7be258e003d428/inspect-sandbox-tools
0.3.263 0.3.273 root /var/tmp/.da7be258e003d428/inspect-sandbox-tools
0.3.275 later auto /var/tmp/.da7be258e003d428/inspect-sandbox-tools
END
)"
while read -r from to _; do
  [ "$from" != 0.3.142 ] || from='up to'
  like "… $from $to" "$(sed -n '/^inspect_ai	container/,/^\.TE/p; /^Releases from/,/^\.PP/p' "$top/man/sbinject.1" | xargs)" "$from (to |and )?$to"
done <<<"$groups"
done_testing
