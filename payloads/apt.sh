# shellcheck shell=sh disable=SC2154	# tmp, dir, versions
# SPDX-License-Identifier: MIT
# apt.sh: for scripts that build from Debian's archive without touching the system's apt: the
# system's own sources and keys for its suite (with -security, -updates), lists of our own, and a
# cache of what was downloaded and of what was made, which is checked before use. Sourced; uses of the
# script: die and say; $cache, its place there; $dir, what it makes, and $versions, of what.

# shellcheck source=/dev/null
apt_suite=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
[ -n "$apt_suite" ] || die "cannot tell this system's Debian suite from /etc/os-release"
apt_cache=${SBINJECT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sbinject}
apt_sources=$apt_cache/sources/$apt_suite

sums() { (cd "$1" && find . ! -type d ! -name .sums -exec sha256sum {} + | LC_ALL=C sort -k 2); }

# keep DIR NAME: what was made in DIR goes into the cache; another's who was faster will do.
keep() {
  chmod -R u=rwX,go=rX "$1"
  sums "$1" >"$1/.sums"
  mkdir -p "${2%/*}"
  mv -T "$1" "$2" 2>/dev/null || [ -f "$2/.sums" ] || die "cannot write '$2'"
}

# kept NAME: whether the cache has it, as it was then.
kept() {
  [ -d "$1" ] || return 1
  ! sums "$1" 2>/dev/null | cmp -s - "$1/.sums" || return 0
  say "'$1' is not as it was made, so it is made anew" >&2
  rm -rf "$1"
  return 1
}

# fall_back NAMES: without the network: what an earlier run has made, as $result; the last of NAMES-*.
fall_back() {
  # shellcheck disable=SC2012
  old=$(ls -td "$1"-* 2>/dev/null | while read -r r; do ! kept "$r" || { echo "$r"; break; }; done)
  [ -n "$old" ] || return 1
  result=$old
  say "linking with what the cache has: $(paste -s -d ' ' "$old/.versions")" >&2
}

# begin: make $tmp to work in, beside what is in $cache, and name $new, beside $dir; both go in the end.
begin() {
  mkdir -p "$cache" "$(dirname "$dir")"
  cache=$(cd "$cache" && pwd)
  new=$dir.new.$$
  tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
  trap 'rm -rf "$tmp" "$new"' EXIT
  trap 'exit 1' HUP INT TERM
}

# hand_over: a copy of $result becomes $dir; another's who was faster will do.
hand_over() {
  rm -rf "$new"
  cp -R "$result" "$new"
  touch "$new/.versions"
  rm -rf "$dir"
  mv -T "$new" "$dir" 2>/dev/null || { [ -f "$dir/.stamp" ] || die "cannot create '$dir'"; }
}

# stanzas: "PACKAGE VERSION" for each on stdin; the version is that of its source.
stanzas() {
  awk '$1 == "Package:" { package = $2; version = "" }
    $1 == "Source:" && NF > 2 { version = $3 }
    $1 == "Version:" { gsub(/[()]/, "", version); print package, version ? version : $2 }'
}

# newest PACKAGE…: the newest versions that apt's lists know, or that are installed.
newest() { LC_ALL=C apt-cache show --no-all-versions "$@" 2>/dev/null | stanzas | LC_ALL=C sort; }

# fresh FILE: neither lists nor installed packages have changed since it was written.
fresh() { [ -n "$(find "$1" -newer /var/lib/apt/lists -newer /var/lib/dpkg/status 2>/dev/null)" ]; }

# newest_by FILE PACKAGE…: the same, from a fresh FILE, as apt takes half a second.
newest_by() {
  file=$1
  shift
  if fresh "$file"; then cat "$file"; else newest "$@"; fi
}

# up_to_date: end; $dir is of $versions still.
up_to_date() {
  fresh "$dir/.versions" || echo "$versions" >"$dir/.versions"
  exit 0
}

# version_in VERSIONS PACKAGE
version_in() { echo "$1" | awk -v p="$2" '$1 == p { print $2 }'; }

# with_version PACKAGE VERSION: $versions, but for that
with_version() { echo "$versions" | awk -v p="$1" -v v="$2" '{ print $1, $1 == p ? v : $2 }'; }

# private_apt: point apt-get and apt-cache (by APT_CONFIG) to sources and new lists in $tmp, once.
private_apt() {
  apt_dir=$tmp/apt
  [ ! -d "$apt_dir" ] || return "$apt_failed"
  apt_failed=1
  say "fetching package lists (once)"
  mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
  # shellcheck disable=SC2016	# apt expands these; -security has a code name of its own
  apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' \
    'Created-By: Packages' 2>/dev/null |
  awk -v s="$apt_suite" '($1 == s || index($1, s "-") == 1) && !seen[$2 $3 $4]++ {
    o = $5 ~ /^\// ? "[signed-by=" $5 "] " : ""
    print "deb " o $2, $3, $4; print "deb-src " o $2, $3, $4 }' >"$apt_dir/sources.list"
  [ -s "$apt_dir/sources.list" ] || die "apt knows no source for '$apt_suite'"
  cat >"$apt_dir/apt.conf" <<-X
		#clear APT::Architectures;
		#clear APT::Update::Post-Invoke;
		APT::Architectures { "$(dpkg --print-architecture)"; };
		Acquire::Languages "none";
		Acquire::Retries "3";
		APT::Sandbox::User "root";
		APT::Update::Error-Mode "any";
		Dir::State::lists "$apt_dir/lists";
		Dir::Cache "$apt_dir/cache";
		Dir::Etc::sourcelist "$apt_dir/sources.list";
		Dir::Etc::sourceparts "-";
	X
  export APT_CONFIG="$apt_dir/apt.conf"
  if ! apt-get -qq update >&2; then
    say "cannot fetch the package lists" >&2
    return 1
  fi
  apt_failed=0
}

# download NAME WHAT APT-GET-ARGS…: what apt-get puts into a directory, into the cache as NAME
download() {
  name=$1 what=$2
  shift 2
  ! kept "$apt_sources/$name" || return 0
  private_apt || return 1
  say "downloading $what"
  rm -rf "$tmp/get"
  mkdir "$tmp/get"
  if ! (cd "$tmp/get" && apt-get -qq "$@") >"$tmp/log" 2>&1; then
    tail -n 5 "$tmp/log" >&2
    say "cannot download $what" >&2
    return 1
  fi
  keep "$tmp/get" "$apt_sources/$name"
}

# fetch_source SOURCE VERSION; fetch_package PACKAGE VERSION: apt checks it by the archive's keys.
fetch_source() { download "$1_$2" "the source of $1 $2" --download-only source "$1=$2"; }
fetch_package() { download "$1_$2" "$1 $2" download "$1"; }

# notice NAME VERSION FILE COPYRIGHT: name what is linked in, in $tmp/out/.stamp and in
# $tmp/out/THIRD-PARTY, with the licences it is under. FILE stands for all of it.
notice() {
  sum=$(sha256sum <"$3" | cut -d' ' -f1)
  echo "$1 $2 $sum" >>"$tmp/out/.stamp"
  {
    printf '%s %s\n%s, sha256 %s\n\n' "$1" "$2" "${3##*/}" "$sum"
    cat "$4" || echo "(its copyright file is not installed)"
    ! grep -q 'common-licenses/Apache-2' "$4" || cat /usr/share/common-licenses/Apache-2.0
    printf '\n%s\n\n' ------------------------------------------------------------------------
  } >>"$tmp/out/THIRD-PARTY"
}

# source_of SOURCE VERSION: in $tmp/SOURCE, checked once more by its description (.dsc), and patched
source_of() {
  dpkg-source -x "$apt_sources/$1_$2"/*.dsc "$tmp/$1" >"$tmp/log" 2>&1 ||
    die "cannot unpack the source of $1"
  notice "$1" "$2" "$apt_sources/$1_$2"/*.dsc "$tmp/$1/debian/copyright"
}
