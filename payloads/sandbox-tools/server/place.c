/* SPDX-License-Identifier: MIT */
/* Paths and files of the service, and the distrust they deserve. */
#include "payloads/sandbox-tools/server/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"

#define SOCKET_PATH_MAX 100

static const char *const own_files[] = {
	PLACE_PID,
	PLACE_STATUS,
	PLACE_STATUS_TMP,
	PLACE_OUT_LOG,
	PLACE_ERR_LOG,
	PLACE_START_LOCK,
	PLACE_SERVER_LOCK,
};

/* Removes empty, '.' and '..' components, by text alone. */
static void tidy_path(char *path)
{
	char *out = path, *p = path;

	while (*p) {
		char *end = p + 1 + strcspn(p + 1, "/");
		size_t len = (size_t)(end - p);

		if (len == 3 && memcmp(p, "/..", 3) == 0) {
			while (out > path && *--out != '/')
				;
		} else if (len > 1 && !(len == 2 && p[1] == '.')) {
			memmove(out, p, len);
			out += len;
		}
		p = end;
	}
	*out = '\0';
}

static int choose_dir(struct place *place, struct fail *fail)
{
	const char *given = getenv(PLACE_VARIABLE);
	char base[PATH_MAX] = "", *real;
	struct stat st;
	int n;

	if (!given || !*given) {
		n = snprintf(place->dir, sizeof(place->dir), "%s/sandbox-tools", sys_tmpdir());
	} else {
		if (given[0] != '/' && !getcwd(base, sizeof(base)))
			return fail_sys(fail, errno, "cannot tell the working directory");
		n = snprintf(place->dir, sizeof(place->dir), "%s/%s", base, given);
	}
	if (n < 0 || (size_t)n >= sizeof(place->dir))
		return fail_sys(fail, ENAMETOOLONG, "server directory");
	tidy_path(place->dir);
	if (place->dir[0] == '\0')
		return fail_set(fail, "'/' cannot be the server directory");
	/* the caller's own link, given by name, is meant to be followed; nobody else's is */
	if (given && lstat(place->dir, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid == geteuid() &&
		(real = realpath(place->dir, NULL))) {
		snprintf(place->dir, sizeof(place->dir), "%s", real);
		free(real);
	}
	return 0;
}

/* A path too long for a socket address gets a short one, derived from the resolved directory. */
static void choose_socket(struct place *place)
{
	char hex[SHA256_HEX], *real;

	place->socket_parent[0] = '\0';
	if (strlen(place->dir) + strlen("/" PLACE_SOCKET_NAME) <= SOCKET_PATH_MAX) {
		snprintf(place->socket, sizeof(place->socket), "%.81s/%s", place->dir,
			PLACE_SOCKET_NAME);
		return;
	}
	real = realpath(place->dir, NULL);
	sha256_hex(real ? real : place->dir, strlen(real ? real : place->dir), hex);
	free(real);
	snprintf(place->socket_parent, sizeof(place->socket_parent),
		"/tmp/inspect-sandbox-tools-%lu", (unsigned long)geteuid());
	snprintf(place->socket, sizeof(place->socket), "%.63s/%.16s.sock", place->socket_parent,
		hex);
}

int place_find(struct place *place, struct fail *fail)
{
	memset(place, 0, sizeof(*place));
	place->fd = -1;
	return choose_dir(place, fail);
}

int place_at(struct place *place, const char *dir, struct fail *fail)
{
	memset(place, 0, sizeof(*place));
	place->fd = -1;
	if (dir[0] != '/' || strlen(dir) >= sizeof(place->dir))
		return fail_set(fail, "'%.200s' cannot be the server directory", dir);
	strcpy(place->dir, dir);
	return 0;
}

static int ignore_made(struct tree_made *made, const char *path)
{
	(void)made;
	(void)path;
	return 0;
}

/* Is this a directory that we may put our files into? */
static bool is_trusted(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (st.st_uid == geteuid())
		return geteuid() != 0 || !(st.st_mode & 022);
	/* without root one server serves every user of a shared directory */
	return geteuid() != 0 && (st.st_mode & S_IWOTH);
}

static void clear_foreign(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid())
		tree_clear(fd, name);
}

/* Our own directory that others could write to, as an image may bring it: closes it and throws
   out what they put under our names. Not one that is meant to be shared, such as /tmp. */
static void close_to_others(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || !(st.st_mode & 022) ||
		(st.st_uid == 0 && (st.st_mode & S_ISVTX)) || fchmod(fd, 0700) < 0)
		return;
	for (size_t i = 0; i < sizeof(own_files) / sizeof(own_files[0]); i++)
		clear_foreign(fd, own_files[i]);
	clear_foreign(fd, PLACE_SOCKET_NAME);
}

static bool is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

/* Without root it is for everybody, but each may remove only what is theirs; also in one that is
   there. */
static int make_dir(int parent, const char *leaf)
{
	mode_t mode = geteuid() == 0 ? 0700 : 01777;
	int r = tree_mkdir(parent, leaf, mode), fd;
	struct stat st;

	if (r < 0 && r != -EEXIST)
		return r;
	fd = tree_open_dir(parent, leaf);
	if (fd >= 0 && (r == 0 || (geteuid() != 0 && fstat(fd, &st) == 0 &&
					  st.st_uid == geteuid() && (st.st_mode & S_IWOTH))))
		fchmod(fd, mode);
	return fd;
}

/* Nothing, or a link or a file, which is no more of a server directory. */
static bool is_none(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

static int open_dir(const char *path, bool create, struct fail *fail)
{
	struct tree_made made = {ignore_made};
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, create ? &made : NULL);
	int fd;

	if (parent < 0) {
		fail_sys(fail, parent, "cannot open the directory of '%s'", path);
		return parent == -ENOENT ? -2 : -1;
	}
	fd = create ? make_dir(parent, leaf) : tree_open_dir(parent, leaf);
	if (fd >= 0 && geteuid() == 0)
		close_to_others(fd);
	if (create && geteuid() == 0 && (is_none(fd) || (fd >= 0 && !is_own(fd)))) {
		io_close(&fd);
		fd = tree_renew_dir(parent, leaf, 0700);
	}
	close(parent);
	if (fd < 0) {
		fail_sys(fail, fd, "cannot use '%s'", path);
		return is_none(fd) ? -2 : -1;
	}
	if (!is_trusted(fd)) {
		close(fd);
		fail_code(fail, "occupied", "'%s' belongs to another user or is open to others",
			path);
		return create ? -1 : -2;
	}
	return fd;
}

/* The directory of a long path's socket: ours and 0700, or not used. */
static int secure_socket_parent(struct place *place, bool create, struct fail *fail)
{
	struct stat st;
	int fd;

	if (!place->socket_parent[0])
		return 0;
	fd = open_dir(place->socket_parent, create, fail);
	if (fd == -2 && !create)
		return 1;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
		io_close(&fd);
		return fail_set(
			fail, "Unsafe sandbox-tools socket directory: %s", place->socket_parent);
	}
	if (create)
		fchmod(fd, 0700);
	close(fd);
	return 0;
}

int place_open(struct place *place, bool create, struct fail *fail)
{
	int r;

	place_close(place);
	place->fd = open_dir(place->dir, create, fail);
	if (place->fd < 0) {
		r = place->fd;
		place->fd = -1;
		return r == -2 && !create ? 1 : -1;
	}
	choose_socket(place);
	r = secure_socket_parent(place, create, fail);
	if (r != 0)
		place_close(place);
	return r;
}

int place_claim(struct place *place, struct fail *fail)
{
	if (place_open(place, true, fail) < 0)
		return -1;
	if (!is_own(place->fd))
		return fail_code(fail, "occupied", "'%s' belongs to another user", place->dir);
	close_to_others(place->fd);
	return 0;
}

void place_close(struct place *place)
{
	io_close(&place->fd);
}

bool place_trusts(const struct place *place, uid_t uid)
{
	struct stat st;

	return uid == geteuid() || uid == 0 || (fstat(place->fd, &st) == 0 && uid == st.st_uid);
}

static bool is_plain_file(const struct place *place, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       place_trusts(place, st.st_uid);
}

/* Other users must be able to lock what the first one created, and need no more. */
static mode_t mode_of(const char *name)
{
	if (geteuid() == 0)
		return 0600;
	return strcmp(name, PLACE_START_LOCK) == 0 || strcmp(name, PLACE_SERVER_LOCK) == 0 ? 0666
											   : 0644;
}

int place_open_file(const struct place *place, const char *name, int flags, struct fail *fail)
{
	mode_t mode = mode_of(name);
	int fd = -1;

	for (int attempt = 0; attempt < 2; attempt++) {
		fd = io_open(
			place->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | flags, mode);
		if (fd >= 0 && is_plain_file(place, fd)) {
			if (geteuid() != 0)
				fchmod(fd, mode);
			return fd;
		}
		if (fd >= 0) {
			io_close(&fd);
			fd = -EPERM;
		}
		if (geteuid() != 0 || tree_clear(place->fd, name) < 0)
			break;
	}
	return fail_sys(fail, fd, "cannot open '%s/%s'", place->dir, name);
}

int place_read_file(const struct place *place, const char *name)
{
	int fd = io_open(place->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd >= 0 && !is_plain_file(place, fd)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

bool place_is_current(const struct place *place)
{
	struct stat at, is;

	return lstat(place->dir, &at) == 0 && fstat(place->fd, &is) == 0 &&
	       at.st_ino == is.st_ino && at.st_dev == is.st_dev;
}

void place_remove(const struct place *place, const char *name)
{
	unlinkat(place->fd, name, 0);
}

void place_remove_socket(const struct place *place)
{
	if (place->socket_parent[0])
		unlink(place->socket);
	else
		place_remove(place, PLACE_SOCKET_NAME);
}

int place_erase(struct place *place)
{
	char leaf[NAME_MAX + 1];
	int removed = 0, parent;

	if (place->socket_parent[0]) {
		removed += unlink(place->socket) == 0;
		parent = tree_open_parent(place->socket_parent, leaf, NULL);
		if (parent >= 0)
			removed += tree_rmdir(parent, leaf) == 0;
		io_close(&parent);
	}
	removed += unlinkat(place->fd, PLACE_SOCKET_NAME, 0) == 0;
	for (size_t i = 0; i < sizeof(own_files) / sizeof(own_files[0]); i++)
		removed += unlinkat(place->fd, own_files[i], 0) == 0;
	removed += tree_sweep(place->fd);
	parent = tree_open_parent(place->dir, leaf, NULL);
	if (parent >= 0)
		removed += tree_sweep(parent) + (tree_rmdir(parent, leaf) == 0);
	io_close(&parent);
	place_close(place);
	return removed;
}
