#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: if the disk of the container's root is full, or has no room for one more file, or fills up
# during the upload or later, the injection fails with exit code 5 and one line that says so, and
# leaves nothing that the line does not report. Once there is room, all of it can be removed and the
# next run succeeds. What was injected before is found and removed on a full disk, too.
# tier: check
# engines: docker20-small
# images: busybox
# shellcheck source=t/live/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/live/faults.sh
. "$top/t/live/faults.sh"
need_sbinject
faults_container
data=$SBINJECT_ENGINES/$ENGINE/data
inodes=$(df --output=itotal "$data" | tail -n 1)
at_exit() { make_room; }

make_room() {
  rm -f "$data/fill"
  mount -o "remount,nr_inodes=$inodes" "$data"
}

# leave KILOBYTES: so much is free.
leave() {
  local free
  free=$(df --output=avail -k "$data" | tail -n 1)
  fallocate -l "$((free - $1))K" "$data/fill"
}

# The program has 210 kB; once it is there, it writes a little more.
for free in 0 100 220; do
  what="$free kB free"
  leave "$free"
  run "$SBINJECT" -t 8 "$name"
  exits 5
  like "$what: says so" "$err" '[Nn]o space left'
  truthful
  make_room
  ok "$what: remove" "$SBINJECT" remove "$name"
  nothing_left
  repaired
done

# The upload makes a directory and a file, the program some more.
for files in 0 1 2 3 5 8; do
  what="room for $files files"
  mount -o "remount,nr_inodes=$(($(df --output=iused "$data" | tail -n 1) + files))" "$data"
  run "$SBINJECT" -t 8 "$name"
  exits 5
  like "$what: says so" "$err" '[Nn]o space left'
  make_room # the engine needs a file to tell what differs
  truthful
  ok "$what: remove" "$SBINJECT" remove "$name"
  nothing_left
  repaired
done

with_service
leave 0
what='injected, then full'
run "$SBINJECT" "$name"
exits 05
ok "$what: healthy" "$SBINJECT" status "$name"
ok "$what: remove" "$SBINJECT" remove "$name"
nothing_left
make_room
repaired
done_testing
