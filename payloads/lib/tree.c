/* SPDX-License-Identifier: MIT */
/* Directory changes that neither follow links nor disturb modification times. */
#include "payloads/lib/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

#define MAX_DEPTH 64
#define CLEAR_BUDGET 100000

static bool is_shut_to_its_owner(int dirfd, const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & S_IWUSR) &&
	       faccessat(dirfd, ".", W_OK, AT_EACCESS) < 0 && errno == EACCES;
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

static int remove_at(int dirfd, const char *name, int *budget, int depth, dev_t dev);

static int remove_content(int fd, int *budget, int depth, dev_t dev)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int first = 0;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		int r;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = remove_at(dirfd(dir), entry->d_name, budget, depth + 1, dev);
		if (r < 0 && first == 0)
			first = r;
		if (r == -E2BIG)
			break;
	}
	closedir(dir);
	return first;
}

static int remove_at(int dirfd, const char *name, int *budget, int depth, dev_t dev)
{
	struct stat st;
	int fd, r;

	if (--*budget < 0 || depth > MAX_DEPTH)
		return -E2BIG;
	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	r = -errno;
	if (r != -EISDIR && r != -EPERM)
		return r;
	fd = tree_open_dir(dirfd, name);
	if (fd < 0)
		return fd == -ENOTDIR || fd == -ELOOP ? r : fd;
	if (fstat(fd, &st) == 0 && st.st_dev != dev) {
		close(fd);
		return -EBUSY;
	}
	r = remove_content(fd, budget, depth, dev);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return 0;
	return r < 0 ? r : -errno;
}

int tree_remove(int dirfd, const char *name, int budget)
{
	struct tree_parent parent;
	struct stat st;
	int r;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	tree_parent_open(&parent, dirfd);
	r = remove_at(dirfd, name, &budget, 0, st.st_dev);
	tree_parent_close(&parent);
	return r;
}

int tree_clear(int dirfd, const char *name)
{
	char aside[64] = ".sbinject-cleared-";
	int r = sys_random_hex(aside + strlen(aside), 8);

	if (r == 0)
		r = tree_rename(dirfd, name, dirfd, aside);
	if (r == 0)
		tree_remove(dirfd, aside, CLEAR_BUDGET);
	return r == -ENOENT ? 0 : r;
}

/* Opens 'name' below 'fd', creating it if that is wanted; 'upto' is its whole path. */
static int step_down(int fd, const char *name, const char *upto, struct tree_made *made)
{
	int next = io_open(fd, name, O_RDONLY | O_DIRECTORY, 0);
	int r;

	if (next != -ENOENT || !made)
		return next;
	r = tree_mkdir(fd, name, 0755);
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
