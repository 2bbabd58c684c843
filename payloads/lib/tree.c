/* SPDX-License-Identifier: MIT */
/* Directory changes that neither follow links nor disturb modification times. */
#include "payloads/lib/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/wire.h"

#define MAX_DEPTH 64
#define CLEAR_BUDGET 100000
#define SWEEP_BUDGET 1000000
#define RENEW_ATTEMPTS 100
#define REMOVE_ATTEMPTS 10
#define ASIDE ".sbinject-cleared-"
#define ASIDE_SIZE 40
#define KEPT_DIGITS 8
#define NO_REPLACE 1 /* RENAME_NOREPLACE */
#define EXCHANGE 2   /* RENAME_EXCHANGE */

static bool is_shut_to_its_owner(int dirfd, const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & S_IWUSR) &&
	       faccessat(dirfd, ".", W_OK, 0) < 0 && errno == EACCES;
}

void tree_parent_open(struct tree_parent *parent, int dirfd)
{
	struct stat st;

	*parent = (struct tree_parent){.fd = dirfd};
	if (fstat(dirfd, &st) < 0)
		return;
	parent->known = true;
	parent->mtime = st.st_mtim;
	parent->mode = st.st_mode & 07777;
	if (is_shut_to_its_owner(dirfd, &st))
		parent->opened = fchmod(dirfd, parent->mode | S_IWUSR) == 0;
}

void tree_parent_close(const struct tree_parent *parent)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, parent->mtime};

	if (parent->opened)
		fchmod(parent->fd, parent->mode);
	if (parent->known)
		futimens(parent->fd, times);
}

int tree_mkdir(int dirfd, const char *name, mode_t mode)
{
	struct tree_parent parent;
	int r;

	tree_parent_open(&parent, dirfd);
	r = mkdirat(dirfd, name, mode) < 0 ? -errno : 0;
	tree_parent_close(&parent);
	return r;
}

static int remove_one(int dirfd, const char *name, int flags)
{
	struct tree_parent parent;
	int r;

	tree_parent_open(&parent, dirfd);
	r = unlinkat(dirfd, name, flags) < 0 ? -errno : 0;
	tree_parent_close(&parent);
	return r;
}

int tree_rmdir(int dirfd, const char *name)
{
	return remove_one(dirfd, name, AT_REMOVEDIR);
}

int tree_unlink(int dirfd, const char *name)
{
	return remove_one(dirfd, name, 0);
}

int tree_rename(int from, const char *name, int to, const char *new_name)
{
	struct tree_parent source, target;
	int r;

	tree_parent_open(&source, from);
	tree_parent_open(&target, to);
	r = renameat(from, name, to, new_name) < 0 ? -errno : 0;
	tree_parent_close(&target);
	tree_parent_close(&source);
	return r;
}

int tree_symlink(const char *target, int dirfd, const char *name)
{
	struct tree_parent parent;
	int r;

	tree_parent_open(&parent, dirfd);
	r = symlinkat(target, dirfd, name) < 0 ? -errno : 0;
	tree_parent_close(&parent);
	return r;
}

int tree_open_dir(int dirfd, const char *name)
{
	return io_open(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
}

struct removal {
	int budget;
	int64_t deadline;
	dev_t dev;
	int top;	/* the directory that is being removed */
	unsigned moved; /* into it, from too far down */
};

static int remove_at(struct removal *removal, int dirfd, const char *name, int depth);

static int remove_entries(struct removal *removal, DIR *dir, int depth)
{
	struct dirent *entry;
	int first = 0;

	while ((entry = readdir(dir))) {
		int r;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = remove_at(removal, dirfd(dir), entry->d_name, depth + 1);
		if (r < 0 && first == 0)
			first = r;
		if (r == -E2BIG)
			break;
	}
	return first;
}

static int remove_content(struct removal *removal, int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	int r;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	if (depth == 0)
		removal->top = fd;
	r = remove_entries(removal, dir, depth);
	while (depth == 0 && removal->moved > 0 && r != -E2BIG) {
		removal->moved = 0;
		rewinddir(dir);
		r = remove_entries(removal, dir, depth);
	}
	closedir(dir);
	return r;
}

/* For a directory too far down to go on with: every level costs a descriptor. */
static int move_up(struct removal *removal, int dirfd, const char *name)
{
	char fresh[40] = "deep-";
	int r = sys_random_hex(fresh + strlen(fresh), 8);

	if (r < 0 || renameat(dirfd, name, removal->top, fresh) < 0)
		return -E2BIG;
	removal->moved++;
	return 0;
}

static int remove_at(struct removal *removal, int dirfd, const char *name, int depth)
{
	struct stat st;
	int fd, r;

	if (--removal->budget < 0 || io_now() >= removal->deadline)
		return -E2BIG;
	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	r = -errno;
	if (r != -EISDIR && r != -EPERM)
		return r;
	if (depth > MAX_DEPTH)
		return move_up(removal, dirfd, name);
	fd = tree_open_dir(dirfd, name);
	if (fd < 0)
		return fd == -ENOTDIR || fd == -ELOOP ? r : fd;
	if (fstat(fd, &st) == 0 && st.st_dev != removal->dev) {
		close(fd);
		return -EBUSY;
	}
	r = remove_content(removal, fd, depth);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return 0;
	return r < 0 ? r : -errno;
}

int tree_remove(int dirfd, const char *name, int budget)
{
	return tree_remove_until(dirfd, name, budget, IO_NEVER);
}

int tree_remove_until(int dirfd, const char *name, int budget, int64_t deadline)
{
	struct removal removal = {.budget = budget, .deadline = deadline};
	struct tree_parent parent;
	struct stat st;
	int r;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	removal.dev = st.st_dev;
	tree_parent_open(&parent, dirfd);
	r = remove_at(&removal, dirfd, name, 0);
	tree_parent_close(&parent);
	return r;
}

/* For what was moved aside; somebody who still uses it may add to it meanwhile. */
static void remove_aside(int dirfd, const char *name)
{
	for (int i = 0; i < REMOVE_ATTEMPTS; i++)
		if (tree_remove(dirfd, name, CLEAR_BUDGET) != -ENOTEMPTY)
			break;
}

static int aside_name(char name[ASIDE_SIZE])
{
	strcpy(name, ASIDE);
	return sys_random_hex(name + strlen(ASIDE), 8);
}

int tree_clear(int dirfd, const char *name)
{
	char aside[ASIDE_SIZE];
	int r = aside_name(aside);

	if (r == 0)
		r = tree_rename(dirfd, name, dirfd, aside);
	if (r == 0)
		remove_aside(dirfd, aside);
	return r == -ENOENT ? 0 : r;
}

/* ---- moving aside what is to be kept ---- */

int tree_aside_name(const char *name, char aside[NAME_MAX + 1])
{
	char digits[KEPT_DIGITS + 1];
	int r = sys_random_hex(digits, KEPT_DIGITS / 2);

	if (r < 0)
		return r;
	if (snprintf(aside, NAME_MAX + 1, "%s" WIRE_ASIDE_MARK "%s", name, digits) > NAME_MAX)
		return -ENAMETOOLONG;
	return 0;
}

bool tree_split_aside(const char *aside, char name[NAME_MAX + 1])
{
	size_t len = strlen(aside), tail = strlen(WIRE_ASIDE_MARK) + KEPT_DIGITS;
	const char *end = aside + len - tail;

	if (len <= tail || len > NAME_MAX ||
		strncmp(end, WIRE_ASIDE_MARK, strlen(WIRE_ASIDE_MARK)) != 0 ||
		strspn(end + strlen(WIRE_ASIDE_MARK), "0123456789abcdef") != KEPT_DIGITS)
		return false;
	memcpy(name, aside, len - tail);
	name[len - tail] = '\0';
	return true;
}

static int rename_with(int dirfd, const char *from, const char *to, unsigned flags)
{
	return syscall(SYS_renameat2, dirfd, from, dirfd, to, flags) < 0 ? -errno : 0;
}

/* For the flags: some file systems know none, and some seccomp profiles not the call. */
static bool is_unknown(int error)
{
	return error == -EINVAL || error == -ENOSYS || error == -EPERM;
}

static int rename_to_free(int dirfd, const char *from, const char *to)
{
	int r = rename_with(dirfd, from, to, NO_REPLACE);
	struct stat st;

	if (!is_unknown(r))
		return r;
	if (fstatat(dirfd, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dirfd, from, dirfd, to) < 0 ? -errno : 0;
}

/* An exchange in three steps. */
static int exchange_slowly(int dirfd, const char *fresh, const char *name)
{
	char third[ASIDE_SIZE];
	int r = aside_name(third);

	if (r == 0)
		r = rename_to_free(dirfd, fresh, third);
	if (r < 0)
		return r;
	r = rename_to_free(dirfd, name, fresh);
	if (r == 0) {
		r = rename_to_free(dirfd, third, name);
		if (r < 0)
			rename_to_free(dirfd, fresh, name);
	}
	if (r < 0 && rename_to_free(dirfd, third, fresh) < 0)
		unlinkat(dirfd, third, AT_REMOVEDIR);
	return r;
}

int tree_rename_free(int dirfd, const char *name, const char *new_name)
{
	struct tree_parent parent;
	int r;

	tree_parent_open(&parent, dirfd);
	r = rename_to_free(dirfd, name, new_name);
	tree_parent_close(&parent);
	return r;
}

int tree_exchange(int dirfd, const char *one, const char *other)
{
	struct tree_parent parent;
	int r;

	tree_parent_open(&parent, dirfd);
	r = rename_with(dirfd, one, other, EXCHANGE);
	if (is_unknown(r))
		r = exchange_slowly(dirfd, one, other);
	tree_parent_close(&parent);
	return r;
}

/* Brings 'fresh', an empty directory, under 'name'; what was there is then called 'fresh'. 0,
   -errno, -EAGAIN when somebody was faster. */
static int exchange_kept(int dirfd, const char *fresh, const char *name)
{
	int r = rename_with(dirfd, fresh, name, EXCHANGE);

	if (is_unknown(r))
		r = exchange_slowly(dirfd, fresh, name);
	/* a directory of an image cannot be renamed; an empty one can be replaced */
	if (r == -EXDEV && renameat(dirfd, fresh, dirfd, name) == 0)
		return 0;
	if (r != -ENOENT)
		return r;
	r = rename_to_free(dirfd, fresh, name);
	return r == -EEXIST ? -EAGAIN : r;
}

static int open_own_dir(int dirfd, const char *name)
{
	int fd = tree_open_dir(dirfd, name);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid())) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Two of us may do this at once: what the other one has just made, and we have moved, goes back. */
static int exchange_foreign(int dirfd, const char *fresh, const char *name)
{
	int r = exchange_kept(dirfd, fresh, name);
	int own = r < 0 ? -1 : open_own_dir(dirfd, fresh);

	if (own < 0)
		return r;
	close(own);
	r = rename_with(dirfd, fresh, name, EXCHANGE);
	return r < 0 ? r : -EAGAIN;
}

static int replace_foreign(int dirfd, const char *name, mode_t mode, const char *aside)
{
	int fd, r;

	if (mkdirat(dirfd, aside, mode) < 0)
		return -errno;
	fd = tree_open_dir(dirfd, aside);
	r = fd < 0 ? fd : fchmod(fd, mode) < 0 ? -errno : exchange_foreign(dirfd, aside, name);
	if (r == 0)
		return fd;
	io_close(&fd);
	unlinkat(dirfd, aside, AT_REMOVEDIR);
	return r;
}

int tree_claim_dir(int dirfd, const char *name, mode_t mode, const char *aside)
{
	struct tree_parent parent;
	int fd = -EAGAIN;

	tree_parent_open(&parent, dirfd);
	for (int i = 0; fd == -EAGAIN && i < RENEW_ATTEMPTS; i++) {
		fd = open_own_dir(dirfd, name);
		if (fd < 0)
			fd = replace_foreign(dirfd, name, mode, aside);
	}
	tree_parent_close(&parent);
	return fd;
}

int tree_put_back(int dirfd, const char *aside)
{
	char name[NAME_MAX + 1];
	struct tree_parent parent;
	struct stat st;
	int r;

	if (!tree_split_aside(aside, name))
		return -EINVAL;
	if (fstatat(dirfd, aside, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	tree_parent_open(&parent, dirfd);
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
		unlinkat(dirfd, aside, AT_REMOVEDIR) == 0)
		r = 0;
	else
		r = rename_to_free(dirfd, aside, name);
	tree_parent_close(&parent);
	return r;
}

int tree_put_back_from(int dirfd, const char *name)
{
	int copy = io_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0), restored = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int64_t deadline = io_in(TREE_SWEEP_MS);
	char whose[NAME_MAX + 1];
	struct dirent *entry;

	if (!dir) {
		io_close(&copy);
		return 0;
	}
	while (io_now() < deadline && (entry = readdir(dir)))
		if (tree_split_aside(entry->d_name, whose) && strcmp(whose, name) == 0)
			restored += tree_put_back(dirfd, entry->d_name) == 0;
	closedir(dir);
	return restored;
}

static bool is_aside(const char *name)
{
	size_t len = strlen(ASIDE);

	return strncmp(name, ASIDE, len) == 0 && strlen(name) == len + 16 &&
	       strspn(name + len, "0123456789abcdef") == 16;
}

int tree_sweep(int dirfd)
{
	int copy = io_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0), removed = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int64_t deadline = io_in(TREE_SWEEP_MS);
	struct dirent *entry;

	if (!dir) {
		io_close(&copy);
		return 0;
	}
	while (io_now() < deadline && (entry = readdir(dir)))
		if (is_aside(entry->d_name))
			removed += tree_remove_until(
					   dirfd, entry->d_name, SWEEP_BUDGET, deadline) == 0;
	closedir(dir);
	return removed;
}

/* Opens 'name' below 'fd', creating it if that is wanted; 'upto' is its whole path. */
static int step_down(int fd, const char *name, const char *upto, struct tree_made *made)
{
	int next = io_open(fd, name, O_RDONLY | O_DIRECTORY, 0);
	int r;

	if (next != -ENOENT || !made)
		return next;
	r = tree_mkdir(fd, name, 0755);
	if (r == -EEXIST) {
		/* another process was faster, or a link leads nowhere */
		next = io_open(fd, name, O_RDONLY | O_DIRECTORY, 0);
		return next == -ENOENT ? r : next;
	}
	if (r < 0)
		return r;
	r = made->note(made, upto);
	next = r < 0 ? r : tree_open_dir(fd, name);
	if (next < 0)
		tree_rmdir(fd, name);
	else
		fchmod(next, 0755);
	return next;
}

int tree_open_parent(const char *path, char *leaf, struct tree_made *made)
{
	char whole[PATH_MAX];
	char *p = whole + 1;
	int fd, next;

	if (path[0] != '/' || strlen(path) >= sizeof(whole))
		return -EINVAL;
	strcpy(whole, path);
	fd = io_open(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
	while (fd >= 0) {
		char *end = strchr(p, '/');
		size_t len = end ? (size_t)(end - p) : strlen(p);
		char name[NAME_MAX + 1];

		if (len == 0 || len > NAME_MAX || (len <= 2 && memcmp(p, "..", len) == 0))
			break;
		memcpy(name, p, len);
		name[len] = '\0';
		if (!end) {
			strcpy(leaf, name);
			return fd;
		}
		*end = '\0';
		next = step_down(fd, name, whole, made);
		*end = '/';
		close(fd);
		fd = next;
		p = end + 1;
	}
	if (fd < 0)
		return fd;
	close(fd);
	return -EINVAL;
}
