# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# apt.sh: for scripts that fetch files of Debian's archive without touching the system's apt: the
# system's own sources and keys for its suite (with -security, -updates), lists and caches of our
# own. Sourced; uses die and say of the script.

# shellcheck source=/dev/null
apt_suite=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
[ -n "$apt_suite" ] || die "cannot tell this system's Debian suite from /etc/os-release"
apt_cache=${SBINJECT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sbinject}

# private_apt DIR ARCH…: point apt-get (by APT_CONFIG) to sources of ARCH in DIR, once.
private_apt() {
	apt_dir=$1
	shift
	[ ! -d "$apt_dir" ] || return 0
	say "fetching package lists (once)"
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	# shellcheck disable=SC2016	# apt expands these; -security has a code name of its own
	apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' \
		'Created-By: Packages' 2>/dev/null |
	awk -v s="$apt_suite" '($1 == s || index($1, s "-") == 1) && !seen[$2 $3 $4]++ {
		o = $5 ~ /^\// ? "[signed-by=" $5 "] " : ""
		print "deb " o $2, $3, $4; print "deb-src " o $2, $3, $4 }' >"$apt_dir/sources.list"
	[ -s "$apt_dir/sources.list" ] || die "apt knows no source for '$apt_suite'"
	{
		printf '#clear APT::Architectures;\n#clear APT::Update::Post-Invoke;\nAPT::Architectures {'
		printf ' "%s";' "$@"
		cat <<-X
			};
			Acquire::Languages "none";
			Acquire::Check-Valid-Until "false";
			Acquire::Retries "3";
			APT::Sandbox::User "root";
			Dir::State::lists "$apt_dir/lists";
			Dir::Cache "$apt_dir/cache";
			Dir::Etc::sourcelist "$apt_dir/sources.list";
			Dir::Etc::sourceparts "-";
		X
	} >"$apt_dir/apt.conf"
	export APT_CONFIG="$apt_dir/apt.conf"
	apt-get -qq update >&2 || die "cannot fetch the package lists"
}
