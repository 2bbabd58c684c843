/* SPDX-License-Identifier: MIT */
/* Files of long replies. */
#include "payloads/sandbox-tools/chunk/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/sandbox-tools/tools.h"

#define EXTENSION ".jsonrpc"
#define SPILL_SUFFIX "-json-rpc-chunks"
#define SPILL_BUDGET 1000000
#define SCAN_MAX 100000 /* directory entries looked at */

typedef char file_name[ENVELOPE_HANDLE + sizeof(EXTENSION)];

/* ---- the directory ---- */

/* A real one of ours that nobody else can enter: descriptor or -errno. */
static int open_dir(int parent, bool create)
{
	int fd = tree_open_dir(parent, PLACE_CHUNKS);
	struct stat st;

	if (fd == -ENOENT && create) {
		if (mkdirat(parent, PLACE_CHUNKS, 0700) < 0 && errno != EEXIST)
			return -errno;
		fd = tree_open_dir(parent, PLACE_CHUNKS);
	}
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
			       ((st.st_mode & 077) && fchmod(fd, 0700) < 0))) {
		io_close(&fd);
		return -EPERM;
	}
	return fd;
}

/* The same in a place that is not open: -ENOENT if there is none. */
static int open_store(const struct place *at, bool create, struct fail *fail)
{
	struct place place = *at;
	int r, fd;

	place.fd = -1;
	r = place_open(&place, create, fail);
	if (r != 0)
		return r > 0 ? -ENOENT : fail->error ? -fail->error : -EPERM;
	fd = open_dir(place.fd, create);
	place_close(&place);
	if (fd < 0)
		fail_sys(fail, fd, "cannot use '%s/" PLACE_CHUNKS "'", at->dir);
	return fd;
}

static bool is_stored_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == ENVELOPE_HANDLE &&
	       strcmp(name + ENVELOPE_HANDLE, EXTENSION) == 0;
}

/* Deletes what was last used before 'oldest'; number deleted. */
static int expire(int fd, time_t oldest)
{
	int copy = io_open(fd, ".", O_RDONLY | O_DIRECTORY, 0), removed = 0;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	struct dirent *entry;
	struct stat st;

	if (!dir)
		io_close(&copy);
	for (int n = 0; dir && n < SCAN_MAX && (entry = readdir(dir)); n++)
		if (is_stored_name(entry->d_name) &&
			fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_mtime < oldest)
			removed += unlinkat(fd, entry->d_name, 0) == 0;
	if (dir)
		closedir(dir);
	return removed;
}

/* ---- its files ---- */

static void name_file(file_name name, const char *handle)
{
	snprintf(name, sizeof(file_name), "%.32s" EXTENSION, handle);
}

int store_reserve(const struct place *place, struct store_file *ret, struct fail *fail)
{
	file_name name;
	int r;

	*ret = (struct store_file)STORE_FILE_INIT;
	ret->dir = open_store(place, true, fail);
	if (ret->dir < 0)
		return -1;
	expire(ret->dir, time(NULL) - STORE_EXPIRY);
	r = sys_random_hex(ret->handle, ENVELOPE_HANDLE / 2);
	if (r == 0) {
		name_file(name, ret->handle);
		r = ret->fd =
			io_open(ret->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	}
	if (r >= 0)
		return 0;
	store_close(ret);
	return fail_sys(fail, r, "cannot store the reply in '%s/" PLACE_CHUNKS "'", place->dir);
}

int store_write(const struct store_file *file, const char *text, size_t len, struct fail *fail)
{
	int r = io_write_full(file->fd, text, len, IO_NEVER);

	if (r == 0)
		return 0;
	/* half a text is none */
	if (ftruncate(file->fd, 0) < 0 && errno != EINTR)
		r = -errno;
	return fail_sys(fail, r, "cannot store the reply");
}

void store_close(struct store_file *file)
{
	file_name name;
	struct stat st;

	if (file->fd >= 0 && fstat(file->fd, &st) == 0 && st.st_size == 0) {
		name_file(name, file->handle);
		unlinkat(file->dir, name, 0);
	}
	io_close(&file->fd);
	io_close(&file->dir);
	*file = (struct store_file)STORE_FILE_INIT;
}

int store_open(const struct place *place, const char *handle, uint64_t *ret_size)
{
	struct fail ignored = FAIL_INIT;
	int dir = open_store(place, false, &ignored), fd;
	file_name name;
	struct stat st;

	if (dir < 0)
		return dir;
	name_file(name, handle);
	fd = io_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	close(dir);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
		close(fd);
		return -ENOENT;
	}
	if (fd < 0)
		return fd == -ELOOP || fd == -ENXIO ? -ENOENT : fd;
	futimens(fd, NULL);
	*ret_size = (uint64_t)st.st_size;
	return fd;
}

int store_remove(const struct place *place, const char *handle)
{
	struct fail ignored = FAIL_INIT;
	int dir = open_store(place, false, &ignored), r = 0;
	file_name name;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	name_file(name, handle);
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		r = -errno;
	close(dir);
	return r;
}

/* ---- removing all of it ---- */

static int erase_in_place(const struct place *place)
{
	int dir = open_dir(place->fd, false), removed;

	if (dir < 0)
		return 0;
	removed = expire(dir, INT64_MAX);
	close(dir);
	return removed + (unlinkat(place->fd, PLACE_CHUNKS, AT_REMOVEDIR) == 0);
}

/* What is ours in a directory that another user made where releases of old spilled to. */
static int erase_own_spill(int parent, const char *name)
{
	int fd = tree_open_dir(parent, name), removed = 0;
	char own[24];
	struct stat st;

	snprintf(own, sizeof(own), "%lu", (unsigned long)geteuid());
	if (fd >= 0 && fstatat(fd, own, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid())
		removed = tree_remove(fd, own, SPILL_BUDGET) == 0;
	io_close(&fd);
	return removed;
}

/* Releases of old spilled long replies beside the program's directory. */
static int erase_spill(int parent, const char *name)
{
	char spill[NAME_MAX + 1];
	struct stat st;
	int n = snprintf(spill, sizeof(spill), "%s" SPILL_SUFFIX, name);

	if (n >= (int)sizeof(spill) || fstatat(parent, spill, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode))
		return 0;
	if (st.st_uid != geteuid())
		return erase_own_spill(parent, spill);
	return tree_remove(parent, spill, SPILL_BUDGET) == 0;
}

static int erase(const struct tool_traces *where)
{
	if (where->place)
		return erase_in_place(where->place);
	return where->beside ? erase_spill(where->parent, where->beside) : 0;
}

/* No method of its own: it stands behind those of others. */
const struct tool tool_chunk = {.erase = erase};
