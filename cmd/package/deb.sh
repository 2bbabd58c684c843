#!/bin/bash
# SPDX-License-Identifier: MIT
# deb.sh ARCH: dist/sbinject_RELEASE_ARCH.deb, for every Debian and its relatives: it depends on nothing.
# shellcheck source=cmd/package/lib.sh
. "$(dirname "$0")/lib.sh"

root=$tmp/root
doc=$root/usr/share/doc/sbinject
maintainer='the sbinject authors <sbinject@users.noreply.github.com>'

# changelog: the notes of the release, as Debian writes them
changelog() {
  printf 'sbinject (%s) unstable; urgency=medium\n\n' "$RELEASE"
  awk -v head="## $RELEASE (" '
    /^## / { on = index($0, head) == 1; next }
    on && sub(/^- /, "") { print "  * " $0; next }
    on && /^  [^ ]/ { print "  " $0 }' man/CHANGES.md
  printf '\n -- %s  %s\n' "$maintainer" "$(date -R -d "@$date")"
}

copyright() {
  printf 'What is linked in, and under which licences: /usr/share/doc/sbinject/THIRD-PARTY\n\n'
  cat LICENSE
}

# It is static on purpose: for systems with other libraries, or none.
overrides() {
  printf 'sbinject: %s [usr/bin/sbinject]\n' shared-library-lacks-prerequisites \
    'embedded-library curl' 'embedded-library libyaml'
}

control() {
  cat <<-END
	Package: sbinject
	Version: $RELEASE
	Architecture: $1
	Maintainer: $maintainer
	Installed-Size: $(du -sk --apparent-size "$root" | cut -f1)
	Suggests: docker.io | podman
	Section: admin
	Priority: optional
	Description: put a tool service into running containers
	 sbinject puts a small static program into a container that was built without
	 it, starts it, and checks that it is the right one. It talks to the REST API
	 of Docker or Podman. The container needs no shell, no tar and no libc.
	 .
	 It is made for the evaluation of AI agents, for instance with inspect_ai.
	END
}

staged "$1" "$root" /usr
rm "$doc/LICENSE" "$doc/CHANGES.md"
mkdir -p "$root/usr/share/lintian/overrides" "$root/usr/share/zsh/vendor-completions" "$root/DEBIAN"
mv "$root/usr/share/zsh/site-functions/_sbinject" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
changelog | gzip -n9 >"$doc/changelog.gz"
copyright >"$doc/copyright"
overrides >"$root/usr/share/lintian/overrides/sbinject"
find "$root/usr/share/man" -type f -exec gzip -n9 {} +
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
control "$1" >"$root/DEBIAN/control"
deb=$tmp/sbinject_${RELEASE}_$1.deb
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$deb" >/dev/null
done_with "$deb"
