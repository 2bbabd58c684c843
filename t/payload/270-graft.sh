#!/bin/sh
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
is "$(said)" "[true,\"$NONCE\",true,null]" 'it says so'
is "$(in_dev)" ".sbinject d 700 0
.sbinject/$STAGED f 755 0" 'a closed home with one file'
is "$(sha256sum <"$T/dev/.sbinject/$STAGED" | cut -d' ' -f1)" "$HEX" '… which is the program'
end; is "$?:$(in_dev):$(wc -l <"$W/out"):$(cat "$W/err")" '0::1:' 'when stdin ends it takes all of it back'

begin always; mv "$T/dev/.sbinject/$STAGED" "$T/dev/.sbinject/$HEX"; end
is "$(in_dev | wc -l):$(test -x "$T/dev/.sbinject/$HEX"; echo $?)" '2:0' 'what has another name by then stays'
begin always; rm "$T/dev/.sbinject/$STAGED"; echo other >"$T/dev/.sbinject/$STAGED"; end
is "$(cat "$T/dev/.sbinject/$STAGED")" other '… and so does another file of that name'
rm "$T/dev/.sbinject/$STAGED"
ln -s "$HEX" "$T/dev/.sbinject/current"
begin home; is "$(said)" "[true,\"$NONCE\",true,\"$HEX\"]" 'home: there is one'; end
begin current; is "$(said)" "[true,\"$NONCE\",true,\"$HEX\"]" 'current: it is'; end
other=$(printf 0%.0s $(seq 64)); ln -sfn "$other" "$T/dev/.sbinject/current"
begin current; end; is "$(said):$(in_dev | grep -c "$STAGED")" "[true,\"$NONCE\",false,\"$other\"]:0" 'current: another is, so nothing is done'
rm -r "$T/dev/.sbinject"
begin home; end; is "$(said):$(in_dev)" "[true,\"$NONCE\",false,null]:" 'home: there is none, so nothing is done'
begin always '.timeout_ms=1000'; wait $helper; is "$?:$(in_dev)" '0:' 'a helper that is forgotten ends by itself, and leaves nothing'
exec 9>&-
begin always; kill -9 $helper; end; is "$(in_dev | wc -l)" 2 'a helper that is killed leaves what it brought'
rm -r "$T/dev/.sbinject"

in_target() { find "$T" -xdev -printf '%P %y %m %U %l\n' | sort; [ -e "$T/dev/self" ] || in_dev; }

# refused CODE NAME [JQ]: nothing is written anywhere
refused() {
	pre=$(in_target)
	begin always "${3:-}"; end
	is "$(echo "$out" | jq -c '[.ok,.code]'):$(in_target)" "[false,\"$1\"]:$pre" "$2: $1"
}
refused digest 'another digest' '.sha256="'"$other"'"'
refused internal 'no such question' '.when="never"'
refused internal 'a way back up' '.home="'"$T"'/dev/../x"'
chmod 777 "$T/dev"; refused denied 'a directory that others can write to'; chmod 1777 "$T/dev"; refused denied '… also with the sticky bit'
chmod 755 "$T/dev"; chown 5 "$T/dev"; refused denied 'a directory of somebody else'; chown 0 "$T/dev"
mount -o remount,noexec "$T/dev"; refused noexec 'mounted noexec'; mount -o remount,exec "$T/dev"
mount -o remount,ro "$T/dev"; refused readonly 'mounted read-only'; mount -o remount,rw "$T/dev"
head -c 1000000 /dev/zero >"$T/dev/fill"; mount -o remount,size=1m "$T/dev"; refused nospace 'no space'
rm "$T/dev/fill"
mv "$T/dev" "$T/moved" 2>/dev/null || { umount "$T/dev"; mkdir "$T/moved"; mount -t tmpfs -o mode=755 none "$T/moved"; rmdir "$T/dev"; }
ln -s moved "$T/dev"; refused occupied 'a link on the way'; rm "$T/dev"; mkdir "$T/dev"
mount -t proc none "$T/dev"; refused occupied 'another file system than a tmpfs'; umount "$T/dev"
mount -t tmpfs -o mode=755 none "$T/dev"

# what stands at the home's name is replaced, and nothing behind it is touched
mkdir "$T/precious"; echo x >"$T/precious/x"
for thing in "ln -s $T/precious" 'mkfifo' 'touch' 'mkdir -m 777'; do
	$thing "$T/dev/.sbinject"
	chown -h 5 "$T/dev/.sbinject"
	pre=$(in_dev)
	begin always
	is "$(said):$(stat -c '%F %a %u' "$T/dev/.sbinject"):$(ls "$T/precious")" "[true,\"$NONCE\",true,null]:directory 700 0:x" "at the home's name: $thing"
	end; is "$(in_dev)" "$pre" '… and then it is back'
	begin always; mv "$T/dev/.sbinject/$STAGED" "$T/dev/.sbinject/$HEX"; end
	like "$(cd "$T/dev" && echo .sbinject.*)" '.sbinject.sbinject-aside-????????' '… or aside, if the home is used'
	rm -rf "$T/dev/.sbinject"*
done

# the root that it gets must be another's
question always >"$W/question"
is "$(env -i "$PROGRAM" graft <"$W/question" | jq -c '[.ok,.code]'):$(in_dev)" '[false,"denied"]:' 'not into its own root'
is "$(unshare -p -f --kill-child --mount-proc env -i "$PROGRAM" graft <"$W/question" | jq -c '[.ok,.code]'):$(in_dev)" '[false,"denied"]:' 'nor as the first process'
umount "$T/dev" "$T/moved"
done_testing
