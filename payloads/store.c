/* SPDX-License-Identifier: MIT */
#include "payloads/store.h"

#include "engine/clock.h"
#include "engine/file.h"
#include "engine/interrupt.h"
#include "payloads/bundle.h"
#include "payloads/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { LOCK_POLL_MS = 100 };

static const struct {
	const char *name, *advice; /* what to do where it has other bytes than the pinned ones */
} tiers[] = {
	[STORE_FILE] = {"file", "correct the file, or its digest in the rules"},
	[STORE_BUNDLE] = {"bundle", "make the bundle again"},
	[STORE_CACHE] = {"cache", "delete that file"},
	[STORE_FETCHED] = {"fetched", ""},
};

const char *store_tier_name(enum store_tier tier)
{
	return tiers[tier].name;
}

void store_found_release(struct store_found *found)
{
	sb_closep(&found->bytes.fd);
	found->bytes.fd = -1;
}

const char *store_want_text(const struct store_want *want, char text[STORE_TEXT_SIZE])
{
	int n = snprintf(text, STORE_TEXT_SIZE, "payload '%.80s'", want->name);

	if (want->size)
		snprintf(text + n, STORE_TEXT_SIZE - (size_t)n, " (%.*f MB)",
			want->size < 10000000 ? 1 : 0, (double)want->size / 1e6);
	return text;
}

/* ---- the tiers ---- */

static int check(const struct store_want *want, const struct store_found *found, struct sb_err *err)
{
	char hex[SHA256_HEX];

	if (bytes_sha256(&found->bytes, found->place, hex, err) < 0)
		return sb_err_wrap(err, "payload '%s'", want->name);
	if (!strcmp(hex, want->sha256))
		return 0;
	return sb_err_set(err, SB_MISMATCH,
		"payload '%s' is not the pinned one: '%.300s' (%s) has sha256 %s, wanted is %s; %s",
		want->name, found->place, tiers[found->tier].name, hex, want->sha256,
		tiers[found->tier].advice);
}

static int find_at(const struct store_want *want, const char *path, enum store_tier tier,
	struct store_found *ret, struct sb_err *err)
{
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	int missing = sb_file_open(path, &found.bytes.fd, err);

	if (missing)
		return missing < 0 ? sb_err_wrap(err, "payload '%s'", want->name) : 1;
	found.tier = tier;
	if ((size_t)snprintf(found.place, sizeof(found.place), "%s", path) >= sizeof(found.place))
		return sb_err_set(err, SB_USAGE, "the path '%.100s...' is too long", path);
	if (bytes_of_file(found.bytes.fd, path, SB_MAX_ARCHIVE, &found.bytes, err) < 0 ||
		(!want->taken && check(want, &found, err) < 0))
		return -1;
	*ret = found;
	found.bytes.fd = -1;
	return 0;
}

static int find_file(const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	return want->path ? find_at(want, want->path, STORE_FILE, ret, err) : 1;
}

/* Hand on the descriptor of a bundle that has it. */
static int find_in_bundle(const struct store_want *want, const char *path, struct store_found *ret,
	struct sb_err *err)
{
	sb_auto(bundle_release) struct bundle bundle = BUNDLE_INIT;
	struct store_found found = {.tier = STORE_BUNDLE};
	const struct bundle_item *item;
	int missing = bundle_open(path, &bundle, err);

	if (missing)
		return missing;
	item = bundle_find(&bundle, want->sha256);
	if (!item)
		return 1;
	found.bytes = item->bytes;
	strcpy(found.place, bundle.path);
	if (check(want, &found, err) < 0)
		return -1;
	*ret = found;
	bundle.fd = -1;
	return 0;
}

/* One that a user has named has to be there. */
static int find_in_named(const struct store_want *want, const char *path, const char *who,
	struct store_found *ret, struct sb_err *err)
{
	if (!path || !*path)
		return 1;
	if (access(path, F_OK) < 0)
		return sb_err_set(
			err, SB_USAGE, "no bundle '%s' (from %s): %s", path, who, strerror(errno));
	return find_in_bundle(want, path, ret, err);
}

static int find_in_installed(
	const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	static const char *const patterns[] = {
		"/usr/share/sbinject/*.sbb", "/usr/local/share/sbinject/*.sbb"};
	int found = 1;

	for (size_t i = 0; i < SB_ARRAY_SIZE(patterns) && found > 0; i++) {
		glob_t paths = {0};
		int failed = glob(patterns[i], 0, NULL, &paths);

		if (failed == GLOB_NOSPACE)
			found = sb_err_nomem(err);
		for (size_t j = 0; !failed && j < paths.gl_pathc && found > 0; j++)
			found = find_in_bundle(want, paths.gl_pathv[j], ret, err);
		globfree(&paths);
	}
	return found;
}

static int find_bundled(const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	int found = find_in_named(want, want->bundle, "--bundle", ret, err);

	if (found > 0)
		found = find_in_named(want, getenv("SBINJECT_BUNDLE"), "SBINJECT_BUNDLE", ret, err);
	return found > 0 ? find_in_installed(want, ret, err) : found;
}

static bool cache_path(char path[PATH_MAX])
{
	return own_dir_path(getenv("XDG_CACHE_HOME"), "/.cache", "sbinject/sha256", path, PATH_MAX);
}

static int find_below(
	const char *dir, const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, want->sha256) >= sizeof(path))
		return 1;
	return find_at(want, path, STORE_CACHE, ret, err);
}

static int find_cached(const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	char dir[PATH_MAX];

	return cache_path(dir) ? find_below(dir, want, ret, err) : 1;
}

int store_dir_find(const struct store_dir *dir, const struct store_want *want,
	struct store_found *ret, struct sb_err *err)
{
	return find_below(dir->path, want, ret, err);
}

int store_find(const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	static int (*const finders[])(const struct store_want *want, struct store_found *ret,
		struct sb_err *err) = {find_file, find_bundled, find_cached};
	int found = 1;

	for (size_t i = 0; i < SB_ARRAY_SIZE(finders) && found > 0; i++)
		found = finders[i](want, ret, err);
	return found;
}

int store_need(const struct store_want *want, struct store_found *ret, struct sb_err *err)
{
	char text[STORE_TEXT_SIZE];
	int found = store_find(want, ret, err);

	if (found <= 0)
		return found;
	if (want->path)
		return sb_err_set(
			err, SB_USAGE, "payload '%s': no such file '%s'", want->name, want->path);
	return sb_err_set(err, SB_UNSUPPORTED,
		"%s is not here: run 'sbinject fetch %s', or take it along with 'sbinject bundle'",
		store_want_text(want, text), want->name);
}

/* ---- the cache ---- */

void store_dir_release(struct store_dir *dir)
{
	sb_closep(&dir->fd);
	dir->fd = -1;
}

int store_dir_cache(struct store_dir *ret, struct sb_err *err)
{
	if (!cache_path(ret->path))
		return sb_err_set(err, SB_USAGE,
			"no directory for the cache; set XDG_CACHE_HOME or HOME, or use --output");
	ret->fd = own_dir_open(ret->path);
	if (ret->fd < 0)
		return sb_err_set(err, SB_FAILED,
			"cannot use '%s' as the cache: it must be a directory of this user that "
			"nobody else can write to; set XDG_CACHE_HOME to another place",
			ret->path);
	return 0;
}

int store_dir_open(const char *path, struct store_dir *ret, struct sb_err *err)
{
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return sb_err_set(err, SB_USAGE, "cannot make '%s': %s", path, strerror(errno));
	ret->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0 ||
		(size_t)snprintf(ret->path, sizeof(ret->path), "%s", path) >= sizeof(ret->path))
		return sb_err_set(err, SB_USAGE, "cannot use the directory '%s': %s", path,
			ret->fd < 0 ? strerror(errno) : "its path is too long");
	return 0;
}

void store_slot_release(struct store_slot *slot)
{
	struct stat st;

	if (slot->fd >= 0 && fstat(slot->fd, &st) == 0 && st.st_size == 0)
		unlinkat(slot->dir->fd, slot->name, 0);
	sb_closep(&slot->fd);
	slot->fd = -1;
}

/* Whether the name still is that of the open file: who had the lock before may have moved it. */
static bool is_named(const struct store_slot *slot)
{
	struct stat open, named;

	return fstat(slot->fd, &open) == 0 &&
	       fstatat(slot->dir->fd, slot->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

static int lock(
	const struct store_slot *slot, void (*on_wait)(const char *name), struct sb_err *err)
{
	while (flock(slot->fd, LOCK_EX | LOCK_NB) < 0) {
		if (eng_interrupted)
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sb_err_set(err, SB_FAILED, "cannot lock '%s': %s", slot->path,
				strerror(errno));
		if (on_wait)
			on_wait(slot->want->name);
		on_wait = NULL;
		sb_sleep_ms(LOCK_POLL_MS);
	}
	return 0;
}

static int open_part(struct store_slot *slot, void (*on_wait)(const char *name), struct sb_err *err)
{
	for (;;) {
		slot->fd = openat(slot->dir->fd, slot->name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
		if (slot->fd < 0)
			return sb_err_set(err, SB_FAILED, "cannot write '%s': %s", slot->path,
				strerror(errno));
		if (lock(slot, on_wait, err) < 0)
			return -1;
		if (is_named(slot))
			return 0;
		close(slot->fd);
		on_wait = NULL;
	}
}

int store_slot_begin(const struct store_dir *dir, const struct store_want *want,
	void (*on_wait)(const char *name), struct store_slot *ret, struct sb_err *err)
{
	struct store_slot slot = {.dir = dir, .want = want, .fd = -1};
	struct stat st;

	snprintf(slot.name, sizeof(slot.name), "%.64s.part", want->sha256);
	if ((size_t)snprintf(slot.path, sizeof(slot.path), "%s/%s", dir->path, slot.name) >=
		sizeof(slot.path))
		return sb_err_set(err, SB_USAGE, "the path '%.100s...' is too long", dir->path);
	if (open_part(&slot, on_wait, err) < 0) {
		sb_closep(&slot.fd);
		return -1;
	}
	*ret = slot;
	if (fstatat(dir->fd, want->sha256, &st, 0) < 0)
		return 0;
	store_slot_release(ret);
	return 1;
}

int store_slot_clear(struct store_slot *slot, struct sb_err *err)
{
	if (ftruncate(slot->fd, 0) < 0 || lseek(slot->fd, 0, SEEK_SET) < 0)
		return sb_err_set(
			err, SB_FAILED, "cannot write '%s': %s", slot->path, strerror(errno));
	return 0;
}

int store_slot_write(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	const struct store_slot *slot = ctx;

	return sb_file_put(slot->fd, slot->path, data, len, err);
}

static int refuse(struct store_slot *slot, const char *from, const char *hex, struct sb_err *err)
{
	if (store_slot_clear(slot, err) < 0)
		return -1;
	return sb_err_set(err, SB_MISMATCH,
		"payload '%s' is not the pinned one: what came from '%.300s' has sha256 %s, wanted is %s",
		slot->want->name, from, hex, slot->want->sha256);
}

int store_slot_keep(struct store_slot *slot, const char *from, struct sb_err *err)
{
	char hex[SHA256_HEX];
	struct bytes bytes;

	if (bytes_of_file(slot->fd, slot->path, SB_MAX_ARCHIVE, &bytes, err) < 0 ||
		bytes_sha256(&bytes, slot->path, hex, err) < 0)
		return -1;
	if (strcmp(hex, slot->want->sha256) != 0)
		return refuse(slot, from, hex, err);
	/* Else a crash of the machine can leave the name without the bytes. */
	if (fsync(slot->fd) < 0 ||
		renameat(slot->dir->fd, slot->name, slot->dir->fd, slot->want->sha256) < 0 ||
		fsync(slot->dir->fd) < 0)
		return sb_err_set(
			err, SB_FAILED, "cannot write '%s': %s", slot->path, strerror(errno));
	sb_closep(&slot->fd);
	slot->fd = -1;
	return 0;
}
