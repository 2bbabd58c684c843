#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: an engine that fails while the service is looked at, asked or removed: the right exit code, in
# time, in one line; the service is none the worse, and what was half removed can be removed.
# tier: sample
# first: docker28 podman58
# images: busybox
# timeout: 2400
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/faults.sh
. "$top/t/live/faults.sh"
need_sbinject
faults_container

unharmed() { ok "$what: the service is none the worse" "$SBINJECT" -q status "$name"; }

common='                 ping inspect image look exec start
drop@            3    3       3     3    3    3
cut:resp@:20     3    3       3     3    3    3
cut:resp-body@:1 3    3       3     -    3    3
stall:resp@:0,30 3    3       3     3    3    3
reply@:500,html  3    1       1     1    0    0' # once more, with an upload
for command in status call; do faults_table with_service unharmed "$command" "$name" <<<"$common"; done
# It asks in the end how its program ended.
faults_table with_service unharmed pipe "$name" <<<"$(paste -d' ' - <(printf '%s\n' ended 3 3 3 3 1) <<<"$common")"

# What cannot be looked into is listed all the same. Only docker may have to be asked whether looking is
# safe.
[[ $ENGINE == docker* ]] && without='' || without='$(NR == 1 ? 3 : 4) = "";'
faults_table with_service unharmed ls --look < <(awk "{ $without print }" <<'END'
                 ping list inspect look
drop@            3    3    0       0
cut:resp@:20     3    3    0       0
cut:resp-body@:1 3    3    0       -
stall:resp@:0,30 3    3    0       0
reply@:500,html  3    1    0       0
END
)

faults_table with_service repaired remove "$name" <<'END'
                 ping inspect image look exec start
drop@            3    3       3     3    3    3
cut:resp@:20     3    3       3     3    3    3
cut:resp-body@:1 3    3       3     -    3    3
stall:resp@:0,30 3    3       3     3    3    3
reply@:500,html  3    1       1     1    0    0
END
done_testing
