/* SPDX-License-Identifier: MIT */
/* The home directory of an installation. */
#include "payloads/sandbox-tools/install/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"

#define STATE_MAX 65536
#define HOME_CURRENT "current"
#define DELIVERY_SECS 600 /* how long a delivered binary may wait for its install */
#define ERASE_BUDGET 10000

static int open_directory(const char *path)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, NULL), fd;

	if (parent < 0)
		return parent;
	fd = tree_open_dir(parent, leaf);
	close(parent);
	return fd;
}

static int check_owner(const struct home *home, struct fail *fail)
{
	struct stat st;

	if (fstat(home->fd, &st) < 0)
		return fail_sys(fail, errno, "cannot examine '%s'", home->path);
	if (st.st_uid != geteuid())
		return fail_code(fail, "denied", "'%s' belongs to another user", home->path);
	if ((st.st_mode & 077) && fchmod(home->fd, 0700) < 0)
		return fail_sys(fail, errno, "cannot make '%s' private", home->path);
	return 0;
}

/* Is the lock file we hold still the one that others would open? */
static bool is_current_lock(const struct home *home)
{
	struct stat held, there;

	return fstat(home->lock, &held) == 0 &&
	       fstatat(home->fd, HOME_LOCK, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

static int take_lock(struct home *home, int64_t deadline, struct fail *fail)
{
	int r;

	do {
		io_close(&home->lock);
		home->lock = io_open(
			home->fd, HOME_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
		/* the directory was removed while we waited */
		if (home->lock == -ENOENT)
			return 1;
		if (home->lock < 0)
			return fail_sys(fail, home->lock, "cannot open '%s/lock'", home->path);
		r = io_lock(home->lock, deadline);
		if (r == -ETIMEDOUT)
			return fail_code(fail, "busy", "another run holds '%s/lock'", home->path);
		if (r < 0)
			return fail_sys(fail, r, "cannot lock '%s/lock'", home->path);
	} while (!is_current_lock(home));
	return 0;
}

int home_open(struct home *home, const char *path, int64_t deadline, struct fail *fail)
{
	int r;

	*home = (struct home)HOME_INIT;
	home->path = path;
	home->fd = open_directory(path);
	if (home->fd == -ENOENT)
		return 1;
	if (home->fd < 0)
		return fail_sys(fail, home->fd, "cannot open '%s'", path);
	r = check_owner(home, fail);
	if (r == 0)
		r = take_lock(home, deadline, fail);
	if (r != 0)
		home_close(home);
	return r;
}

void home_close(struct home *home)
{
	io_close(&home->lock);
	io_close(&home->fd);
}

json_t *home_read_state(const struct home *home)
{
	struct buf text = BUF_INIT(STATE_MAX);
	json_t *state = NULL;
	int fd;

	if (home->fd < 0)
		return NULL;
	fd = io_open(home->fd, HOME_STATE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return NULL;
	if (io_read_all(fd, &text, io_in(1000)) == 0)
		state = json_loadb(text.data, text.len, 0, NULL);
	close(fd);
	buf_release(&text);
	if (state && !json_is_object(state)) {
		json_decref(state);
		state = NULL;
	}
	return state;
}

int home_write_state(const struct home *home, const json_t *state, struct fail *fail)
{
	static const char fresh[] = HOME_STATE ".new";
	char *text;
	int fd, r;

	if (!state) {
		unlinkat(home->fd, HOME_STATE, 0);
		return 0;
	}
	text = json_dumps(state, JSON_ENSURE_ASCII | JSON_INDENT(1));
	if (!text)
		return fail_sys(fail, ENOMEM, "cannot write '%s/%s'", home->path, HOME_STATE);
	unlinkat(home->fd, fresh, 0);
	fd = io_open(home->fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	r = fd < 0 ? fd : io_write_full(fd, text, strlen(text), IO_NEVER);
	free(text);
	io_close(&fd);
	if (r == 0 && renameat(home->fd, fresh, home->fd, HOME_STATE) < 0)
		r = -errno;
	return r < 0 ? fail_sys(fail, r, "cannot write '%s/%s'", home->path, HOME_STATE) : 0;
}

bool home_read_current(const struct home *home, char hex[SHA256_HEX])
{
	ssize_t n = home->fd < 0 ? -1 : readlinkat(home->fd, HOME_CURRENT, hex, SHA256_HEX);

	if (n != SHA256_HEX - 1)
		return false;
	hex[n] = '\0';
	return strspn(hex, "0123456789abcdef") == SHA256_HEX - 1;
}

int home_write_current(const struct home *home, const char *hex, struct fail *fail)
{
	static const char fresh[] = HOME_CURRENT ".new";

	unlinkat(home->fd, fresh, 0);
	if (symlinkat(hex, home->fd, fresh) < 0 ||
		renameat(home->fd, fresh, home->fd, HOME_CURRENT) < 0)
		return fail_sys(fail, errno, "cannot write '%s/%s'", home->path, HOME_CURRENT);
	return 0;
}

bool home_has(const struct home *home, const char *hex)
{
	struct stat st;

	return home->fd >= 0 && fstatat(home->fd, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}

/* ---- cleaning up ---- */

static bool is_binary_name(const char *name)
{
	return strlen(name) == SHA256_HEX - 1 && strspn(name, "0123456789abcdef") == SHA256_HEX - 1;
}

static bool is_delivery_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == SHA256_HEX - 1 && name[SHA256_HEX - 1] == '.';
}

/* Delivered within the last minutes? By its change time, which no archive can set. */
static bool is_fresh(int dirfd, const char *name)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ctim.tv_sec <= now.tv_sec && now.tv_sec - st.st_ctim.tv_sec < DELIVERY_SECS;
}

/* Deletes every entry that 'doomed' agrees to; number removed. */
static int remove_entries(const struct home *home,
	bool (*doomed)(const struct home *, const char *, const void *), const void *data)
{
	int copy = openat(home->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), removed = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		io_close(&copy);
		return 0;
	}
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && doomed(home, name, data))
			removed += tree_remove(home->fd, name, ERASE_BUDGET) == 0;
	}
	closedir(dir);
	return removed;
}

static bool is_swept(const struct home *home, const char *name, const void *keep)
{
	if (is_binary_name(name))
		return strcmp(name, keep) != 0;
	return is_delivery_name(name) && !is_fresh(home->fd, name);
}

void home_sweep(const struct home *home, const char *hex)
{
	remove_entries(home, is_swept, hex);
}

static bool is_erased(const struct home *home, const char *name, const void *keep_deliveries)
{
	if (strcmp(name, HOME_LOCK) == 0 || strcmp(name, HOME_STATE) == 0)
		return false;
	return !(keep_deliveries && is_delivery_name(name) && is_fresh(home->fd, name));
}

int home_erase(struct home *home, bool keep_deliveries)
{
	char leaf[NAME_MAX + 1];
	int removed, parent;

	if (home->fd < 0)
		return 0;
	removed = remove_entries(home, is_erased, keep_deliveries ? "" : NULL);
	removed += unlinkat(home->fd, HOME_STATE, 0) == 0;
	parent = tree_open_parent(home->path, leaf, NULL);
	if (parent < 0)
		return removed;
	removed += unlinkat(home->fd, HOME_LOCK, 0) == 0;
	removed += tree_rmdir(parent, leaf) == 0;
	close(parent);
	return removed;
}
