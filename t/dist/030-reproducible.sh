#!/bin/bash
# Goal: built in another directory, with other settings of the user, the static commands and all
# packages are the same byte for byte.
# tier: all
# SPDX-License-Identifier: MIT
# shellcheck source=t/dist/lib.sh
. "$(dirname "$0")/lib.sh"

another=$tmp/another/much-longer_directory.d
mkdir -p "$another"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$another"

(
  umask 077
  export TZ=Pacific/Auckland LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH=
  make_ -C "$another" packages
)
for arch in $hosts; do
  ok "$arch: the static command" cmp "$(static "$arch")" "$another/build/host/$arch/sbinject"
done
for file in "$another"/dist/*; do
  ok "${file##*/}" cmp "$dist/${file##*/}" "$file"
done
is "all packages" "$(grep -c . "$another/dist/SHA256SUMS")" $(($(wc -w <<<"$hosts") * 5))

done_testing
