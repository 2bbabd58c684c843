/* SPDX-License-Identifier: MIT */
/* Following a path step by step. */
#include "payloads/lib/way.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"

#define LINKS_MAX 40 /* as the kernel */

struct way {
	const char *goal;    /* borrowed: what is to be kept from others */
	int fd;		     /* the directory that is reached */
	char at[PATH_MAX];   /* its path, "" for the root */
	char rest[PATH_MAX]; /* what is to go from there */
	int links;	     /* followed so far */
	bool makes;	     /* what is missing */
};

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

static int check_directory(const struct way *way, struct fail *fail)
{
	const char *at = way->at[0] ? way->at : "/";
	struct stat st;

	if (fstat(way->fd, &st) < 0)
		return fail_sys(fail, errno, "cannot examine '%s'", at);
	if (!is_trusted(&st))
		return fail_code(fail, FAIL_DENIED,
			"'%s' belongs to user %lu, who could replace '%s'; run 'chown root' on it",
			at, (unsigned long)st.st_uid, way->goal);
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return fail_code(fail, FAIL_DENIED,
			"'%s' is open to others and not sticky, so they could replace '%s'; "
			"run 'chmod +t' on it",
			at, way->goal);
	return 0;
}

static int enter(struct way *way, int fd, struct fail *fail)
{
	io_close(&way->fd);
	way->fd = fd;
	return check_directory(way, fail);
}

static int enter_root(struct way *way, struct fail *fail)
{
	int fd = io_open(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);

	way->at[0] = '\0';
	return fd < 0 ? fail_sys(fail, fd, "cannot open '/'") : enter(way, fd, fail);
}

/* Takes the next component off 'rest'; false if there is none. */
static bool next_name(struct way *way, char name[PATH_MAX])
{
	char *start = way->rest + strspn(way->rest, "/");
	size_t len = strcspn(start, "/");

	memcpy(name, start, len);
	name[len] = '\0';
	memmove(way->rest, start + len, strlen(start + len) + 1);
	return len > 0;
}

static void add_name(struct way *way, const char *name)
{
	size_t len = strlen(way->at);
	char *slash = strrchr(way->at, '/');

	if (strcmp(name, "..") == 0 && slash)
		*slash = '\0';
	else if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		snprintf(way->at + len, sizeof(way->at) - len, "/%s", name);
}

/* What the link says comes before the rest. The descriptor is of the link itself, so that its owner
   is that of the text. */
static int read_link(struct way *way, int link, const char *name, struct fail *fail)
{
	char target[PATH_MAX], rest[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(link, &st) < 0 || (n = readlinkat(link, "", target, sizeof(target) - 1)) < 0)
		return fail_sys(fail, ENOTDIR, "'%s/%s'", way->at, name);
	if (!is_trusted(&st))
		return fail_code(fail, FAIL_DENIED,
			"the link '%s/%s' belongs to user %lu, who could replace '%s'", way->at,
			name, (unsigned long)st.st_uid, way->goal);
	target[n] = '\0';
	strcpy(rest, way->rest);
	if (++way->links > LINKS_MAX || snprintf(way->rest, sizeof(way->rest), "%s/%s", target,
						rest) >= (int)sizeof(way->rest))
		return fail_sys(fail, ELOOP, "'%s/%s'", way->at, name);
	return target[0] == '/' ? enter_root(way, fail) : 0;
}

static int follow(struct way *way, const char *name, struct fail *fail)
{
	int link = io_open(way->fd, name, O_PATH | O_NOFOLLOW, 0), r;

	if (link < 0)
		return fail_sys(fail, link, "cannot open '%s/%s'", way->at, name);
	r = read_link(way, link, name, fail);
	close(link);
	return r;
}

/* Another process may be faster. */
static int make(const struct way *way, const char *name)
{
	int r = tree_mkdir(way->fd, name, 0700);

	return r < 0 && r != -EEXIST ? r : tree_open_dir(way->fd, name);
}

static int step(struct way *way, const char *name, struct fail *fail)
{
	int next = tree_open_dir(way->fd, name);

	if (next == -ENOENT && way->makes)
		next = make(way, name);
	if (next == -ENOTDIR || next == -ELOOP)
		return follow(way, name, fail);
	if (next < 0)
		return fail_sys(fail, next, "cannot open '%s/%s'", way->at, name);
	add_name(way, name);
	return enter(way, next, fail);
}

static int walk(const char *path, char *leaf, bool makes, struct fail *fail)
{
	const char *slash = strrchr(path, '/');
	struct way way = {.goal = path, .fd = -1, .makes = makes};
	char name[PATH_MAX];
	int r;

	if (!slash || slash - path >= PATH_MAX || strlen(slash + 1) > NAME_MAX)
		return fail_sys(fail, ENAMETOOLONG, "'%s'", path);
	strcpy(leaf, slash + 1);
	snprintf(way.rest, sizeof(way.rest), "%.*s", (int)(slash - path), path);
	r = enter_root(&way, fail);
	while (r == 0 && next_name(&way, name))
		r = step(&way, name, fail);
	if (r < 0)
		io_close(&way.fd);
	return way.fd;
}

int way_open(const char *path, char *leaf, struct fail *fail)
{
	return walk(path, leaf, false, fail);
}

int way_make(const char *path, char *leaf, struct fail *fail)
{
	return walk(path, leaf, true, fail);
}

int way_check(const char *path, struct fail *fail)
{
	char leaf[NAME_MAX + 1];
	int fd = way_open(path, leaf, fail), r = fd < 0 ? -1 : 0;

	io_close(&fd);
	return r;
}
