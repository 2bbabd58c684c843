/* SPDX-License-Identifier: MIT */
/* Files of long replies, among users who need not like each other. */
#include "payloads/sandbox-tools/chunk/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"

#define SUFFIX "-json-rpc-chunks"
#define EXTENSION ".jsonrpc"
#define ROOT_MODE 01733
#define SCAN_MAX 100000 /* directory entries looked at */

typedef char file_name[ENVELOPE_HANDLE + sizeof(EXTENSION)];

/* ---- the root ---- */

void store_find(struct chunk_store *store)
{
	const char *called = sys_exec_path();
	char *path = called ? realpath(called, NULL) : NULL;
	char *slash;
	int n = -1;

	if (!path)
		path = realpath("/proc/self/exe", NULL);
	if (!path && called && called[0] == '/')
		path = strdup(called);
	slash = path ? strrchr(path, '/') : NULL;
	if (slash && slash > path)
		n = snprintf(
			store->root, sizeof(store->root), "%.*s" SUFFIX, (int)(slash - path), path);
	else
		n = snprintf(store->root, sizeof(store->root), "%s/.inspect-sandbox-tools" SUFFIX,
			sys_tmpdir());
	if (n < 0 || (size_t)n >= sizeof(store->root))
		store->root[0] = '\0';
	free(path);
}

static int open_root(const struct chunk_store *store, bool create)
{
	/* O_PATH: the mode lets other users enter and write, but not list */
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
	char leaf[NAME_MAX + 1];
	int parent, fd, r;

	if (!store->root[0])
		return -ENAMETOOLONG;
	parent = tree_open_parent(store->root, leaf, NULL);
	if (parent < 0)
		return parent;
	fd = io_open(parent, leaf, flags, 0);
	if (fd == -ENOENT && create) {
		r = tree_mkdir(parent, leaf, ROOT_MODE);
		fd = r < 0 && r != -EEXIST ? r : io_open(parent, leaf, flags, 0);
	}
	close(parent);
	return fd;
}

/* An opened root may be used when nobody but root, or ourselves, owns it; root takes anybody's,
   because all it does there is safe from the owner. */
static int check_root(const struct chunk_store *store, int fd, bool create, struct fail *fail)
{
	uid_t uid = geteuid();
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_sys(fail, errno, "cannot examine '%s'", store->root);
	if (uid != 0 && st.st_uid != 0 && st.st_uid != uid)
		return fail_set(fail,
			"JSON-RPC response chunk directory has an unexpected owner: %s (uid %lu)",
			store->root, (unsigned long)st.st_uid);
	if ((st.st_mode & 07777) == ROOT_MODE || !create)
		return 0;
	if ((st.st_uid == uid || uid == 0) && fchmodat(fd, ".", ROOT_MODE, 0) == 0)
		return 0;
	return fail_set(fail,
		"JSON-RPC response chunk directory has unsafe permissions: %s (mode %04o)",
		store->root, (unsigned)st.st_mode & 07777);
}

static void name_own_dir(char name[24])
{
	snprintf(name, 24, "%lu", (unsigned long)geteuid());
}

/* A directory of the root that is what its name says: of that user, and nobody else's to enter.
   Descriptor or -errno. */
static int open_user_dir(int root, const char *name, uid_t uid, bool exact)
{
	int fd = tree_open_dir(root, name);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != uid ||
			       (exact && (st.st_mode & 07777) != 0700))) {
		io_close(&fd);
		return -EPERM;
	}
	return fd;
}

/* ---- adding ---- */

static int make_own_dir(const struct chunk_store *store, int root, struct fail *fail)
{
	char name[24];
	int fd;

	name_own_dir(name);
	if (mkdirat(root, name, 0700) < 0 && errno != EEXIST)
		return fail_sys(fail, errno, "cannot create '%s/%s'", store->root, name);
	fd = open_user_dir(root, name, geteuid(), false);
	if (fd >= 0 && fchmod(fd, 0700) < 0) {
		int error = errno;

		io_close(&fd);
		fd = -error;
	}
	if (fd < 0)
		return fail_sys(fail, fd, "cannot use '%s/%s'", store->root, name);
	return fd;
}

static bool is_stored_name(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(EXTENSION) && strcmp(name + len - strlen(EXTENSION), EXTENSION) == 0;
}

/* The directory's entries: a stream of its own, so that 'fd' stays open. */
static DIR *list(int fd)
{
	int copy = io_open(fd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	if (!dir)
		io_close(&copy);
	return dir;
}

static void expire(int fd)
{
	time_t oldest = time(NULL) - STORE_EXPIRY;
	DIR *dir = list(fd);
	struct dirent *entry;
	struct stat st;

	for (int n = 0; dir && n < SCAN_MAX && (entry = readdir(dir)); n++)
		if (is_stored_name(entry->d_name) &&
			fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			!S_ISDIR(st.st_mode) && st.st_mtime < oldest)
			unlinkat(fd, entry->d_name, 0);
	if (dir)
		closedir(dir);
}

static void name_file(file_name name, const char *handle)
{
	snprintf(name, sizeof(file_name), "%.32s" EXTENSION, handle);
}

static int write_file(int dir, const char *handle, const char *text, size_t len)
{
	file_name name;
	int fd, r;

	name_file(name, handle);
	fd = io_open(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	r = io_write_full(fd, text, len, IO_NEVER);
	/* a full disk may only show now */
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, name, 0);
	return r;
}

int store_add(const struct chunk_store *store, const char *text, size_t len,
	char handle[ENVELOPE_HANDLE + 1], struct fail *fail)
{
	int root = open_root(store, true), dir = -1, r;

	if (root < 0)
		return fail_sys(fail, root, "JSON-RPC response chunk path is not a directory: %s",
			store->root);
	r = check_root(store, root, true, fail);
	if (r == 0)
		dir = r = make_own_dir(store, root, fail);
	if (r >= 0) {
		expire(dir);
		r = sys_random_hex(handle, ENVELOPE_HANDLE / 2);
		if (r == 0)
			r = write_file(dir, handle, text, len);
		if (r < 0)
			fail_sys(fail, r, "cannot store the reply in '%s'", store->root);
	}
	io_close(&dir);
	close(root);
	return r < 0 ? -1 : 0;
}

/* ---- finding ---- */

/* Is the file there, regular and its owner's? Descriptor or -errno. */
static int open_file(int dir, const file_name name, uid_t uid)
{
	int fd = io_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != uid)) {
		io_close(&fd);
		return -ENOENT;
	}
	return fd == -ELOOP || fd == -ENXIO ? -ENOENT : fd;
}

/* The user a directory of the root is named after. */
static bool parse_uid(const char *name, uid_t *ret)
{
	char *end;
	unsigned long uid;

	if (name[0] < '0' || name[0] > '9' || strlen(name) > 10)
		return false;
	uid = strtoul(name, &end, 10);
	*ret = (uid_t)uid;
	return !*end && uid < 0xffffffffUL;
}

/* Like find(), in every user's directory. */
static int find_any(int root, const file_name name, int *ret_dir)
{
	DIR *dir = list(root);
	struct dirent *entry;
	int fd = -ENOENT;
	uid_t uid;

	for (int n = 0; dir && fd < 0 && n < SCAN_MAX && (entry = readdir(dir)); n++) {
		if (!parse_uid(entry->d_name, &uid))
			continue;
		*ret_dir = open_user_dir(root, entry->d_name, uid, true);
		fd = *ret_dir < 0 ? -ENOENT : open_file(*ret_dir, name, uid);
		if (fd < 0)
			io_close(ret_dir);
	}
	if (dir)
		closedir(dir);
	return fd < 0 ? -ENOENT : fd;
}

/* The file, and the directory it is in: descriptors to close, or -errno. */
static int find(const struct chunk_store *store, const file_name name, int *ret_dir)
{
	struct fail ignored = FAIL_INIT;
	int root = open_root(store, false), fd;
	char own[24];

	*ret_dir = -1;
	if (root < 0)
		return root;
	if (check_root(store, root, false, &ignored) < 0) {
		close(root);
		return -EPERM;
	}
	name_own_dir(own);
	*ret_dir = open_user_dir(root, own, geteuid(), false);
	fd = *ret_dir < 0 ? -ENOENT : open_file(*ret_dir, name, geteuid());
	if (fd == -ENOENT) {
		io_close(ret_dir);
		if (geteuid() == 0)
			fd = find_any(root, name, ret_dir);
	}
	close(root);
	return fd;
}

int store_open(const struct chunk_store *store, const char *handle, uint64_t *ret_size)
{
	file_name name;
	struct stat st;
	int dir, fd;

	name_file(name, handle);
	fd = find(store, name, &dir);
	io_close(&dir);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	futimens(fd, NULL);
	*ret_size = (uint64_t)st.st_size;
	return fd;
}

int store_remove(const struct chunk_store *store, const char *handle)
{
	file_name name;
	int dir, fd, r = 0;

	name_file(name, handle);
	fd = find(store, name, &dir);
	if (fd >= 0 && unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		r = -errno;
	else if (fd < 0 && fd != -ENOENT)
		r = fd;
	io_close(&fd);
	io_close(&dir);
	return r;
}
