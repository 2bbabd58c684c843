#!/bin/bash
# SPDX-License-Identifier: MIT
# Goal: graft brings the program through another process's root into a tmpfs that is root's, follows
# nothing that it finds, and takes back what nobody has given another name.
# tier: check
. "$(dirname "$(realpath "$0")")/lib.sh"
world w tmp proc dev
T=$W/target # seen from here as from pid 1; the helper's own root is another
mkdir -p "$T/dev"
mount -t tmpfs -o mode=755 none "$T/dev"
cp "$PROGRAM" "$R/helper"
mkfifo "$W/in"

question() { # question WHEN [JQ-FILTER]
  NONCE=$(nonce) STAGED=$HEX.$NONCE
  jq -nc --arg n "$NONCE" --arg h "$T/dev/.sbinject" --arg s "$STAGED" --arg x "$HEX" --arg w "$1" \
    '{nonce:$n,home:$h,sha256:$x,staged:$s,when:$w,timeout_ms:20000}'"${2:+|$2}"
}

# begin WHEN [JQ]: the helper runs, and has said $out; end: its stdin ends
begin() {
  question "$@" >"$W/question"
  : >"$W/out"
  env -i /usr/sbin/chroot "$R" /helper graft <"$W/in" >"$W/out" 2>"$W/err" &
  helper=$!
  exec 9>"$W/in"
  cat "$W/question" >&9
  wait_for test -s "$W/out"
  out=$(cat "$W/out")
}
end() { exec 9>&-; wait $helper; }
said() { echo "$out" | jq -c '[.ok,.nonce,.grafted,.current]'; }
in_dev() { find "$T/dev" -mindepth 1 -printf '%P %y %m %U\n' | sort; }

begin always
is 'it says so' "$(said)" "[true,\"$NONCE\",true,null]"
is 'a closed home with one file' "$(in_dev)" ".sbinject d 700 0
.sbinject/$STAGED f 755 0"
is '… which is the program' "$(sha256sum <"$T/dev/.sbinject/$STAGED" | cut -d' ' -f1)" "$HEX"
end; is 'when stdin ends it takes all of it back' "$?:$(in_dev):$(wc -l <"$W/out"):$(cat "$W/err")" '0::1:'

begin always; mv "$T/dev/.sbinject/$STAGED" "$T/dev/.sbinject/$HEX"; end
is 'what has another name by then stays' "$(in_dev | wc -l):$(test -x "$T/dev/.sbinject/$HEX"; echo $?)" '2:0'
begin always; rm "$T/dev/.sbinject/$STAGED"; echo other >"$T/dev/.sbinject/$STAGED"; end
is '… and so does another file of that name' "$(cat "$T/dev/.sbinject/$STAGED")" other
rm "$T/dev/.sbinject/$STAGED"
ln -s "$HEX" "$T/dev/.sbinject/current"
begin home; is 'home: there is one' "$(said)" "[true,\"$NONCE\",true,\"$HEX\"]"; end
begin current; is 'current: it is' "$(said)" "[true,\"$NONCE\",true,\"$HEX\"]"; end
other=$(printf 0%.0s $(seq 64)); ln -sfn "$other" "$T/dev/.sbinject/current"
begin current; end; is 'current: another is, so nothing is done' "$(said):$(in_dev | grep -c "$STAGED")" "[true,\"$NONCE\",false,\"$other\"]:0"
rm -r "$T/dev/.sbinject"
begin home; end; is 'home: there is none, so nothing is done' "$(said):$(in_dev)" "[true,\"$NONCE\",false,null]:"
begin always '.timeout_ms=1000'; wait $helper; is 'a helper that is forgotten ends by itself, and leaves nothing' "$?:$(in_dev)" '0:'
exec 9>&-
begin always; kill -9 $helper; end; is 'a helper that is killed leaves what it brought' "$(in_dev | wc -l)" 2
rm -r "$T/dev/.sbinject"

in_target() { find "$T" -xdev -printf '%P %y %m %U %l\n' | sort; [ -e "$T/dev/self" ] || in_dev; }

# refused NAME CODE [JQ]: nothing is written anywhere
refused() {
  pre=$(in_target)
  begin always "${3:-}"; end
  is "$1: $2" "$(echo "$out" | jq -c '[.ok,.code]'):$(in_target)" "[false,\"$2\"]:$pre"
}
refused 'another digest' digest '.sha256="'"$other"'"'
refused 'no such question' internal '.when="never"'
refused 'a way back up' internal '.home="'"$T"'/dev/../x"'
chmod 777 "$T/dev"; refused 'a directory that others can write to' denied
chmod 1777 "$T/dev"; refused '… also with the sticky bit' denied
chmod 755 "$T/dev"; chown 5 "$T/dev"; refused 'a directory of somebody else' denied; chown 0 "$T/dev"
mount -o remount,noexec "$T/dev"; refused 'mounted noexec' noexec; mount -o remount,exec "$T/dev"
mount -o remount,ro "$T/dev"; refused 'mounted read-only' readonly; mount -o remount,rw "$T/dev"
head -c 1000000 /dev/zero >"$T/dev/fill"; mount -o remount,size=1m "$T/dev"; refused 'no space' nospace
rm "$T/dev/fill"
mv "$T/dev" "$T/moved" 2>/dev/null || { umount "$T/dev"; mkdir "$T/moved"; mount -t tmpfs -o mode=755 none "$T/moved"; rmdir "$T/dev"; }
ln -s moved "$T/dev"; refused 'a link on the way' occupied; rm "$T/dev"; mkdir "$T/dev"
mount -t proc none "$T/dev"; refused 'another file system than a tmpfs' occupied; umount "$T/dev"
mount -t tmpfs -o mode=755 none "$T/dev"

# what stands at the home's name is replaced, and nothing behind it is touched
mkdir "$T/precious"; echo x >"$T/precious/x"
for thing in "ln -s $T/precious" 'mkfifo' 'touch' 'mkdir -m 777'; do
  $thing "$T/dev/.sbinject"
  chown -h 5 "$T/dev/.sbinject"
  pre=$(in_dev)
  begin always
  is "at the home's name: $thing" "$(said):$(stat -c '%F %a %u' "$T/dev/.sbinject"):$(ls "$T/precious")" "[true,\"$NONCE\",true,null]:directory 700 0:x"
  end; is '… and then it is back' "$(in_dev)" "$pre"
  begin always; mv "$T/dev/.sbinject/$STAGED" "$T/dev/.sbinject/$HEX"; end
  fits '… or aside, if the home is used' "$(cd "$T/dev" && echo .sbinject.*)" '.sbinject.sbinject-aside-????????'
  rm -rf "$T/dev/.sbinject"*
done

# the root that it gets must be another's
question always >"$W/question"
is 'not into its own root' "$(env -i "$PROGRAM" graft <"$W/question" | jq -c '[.ok,.code]'):$(in_dev)" '[false,"denied"]:'
is 'nor as the first process' "$(unshare -p -f --kill-child --mount-proc env -i "$PROGRAM" graft <"$W/question" | jq -c '[.ok,.code]'):$(in_dev)" '[false,"denied"]:'
umount "$T/dev" "$T/moved"
done_testing
