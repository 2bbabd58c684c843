/* SPDX-License-Identifier: MIT */
/* Path resolution and what each command demands of a path. */
#include "payloads/sandbox-tools/text_editor/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/io.h"

#define LINKS_MAX 40

/* A path on its way from 'rest' (what is left to walk) to 'done' (walked, no '/' at the end). Both
   are strings. */
struct walk {
	struct buf done, rest;
	size_t at; /* in rest */
	int links;
};

static void walk_release(struct walk *walk)
{
	buf_release(&walk->done);
	buf_release(&walk->rest);
}

static void drop_last(struct buf *done)
{
	while (done->len > 0 && done->data[--done->len] != '/')
		;
}

/* Appends and keeps a NUL behind the end. */
static int add(struct buf *buf, const char *data, size_t len)
{
	int r = buf_reserve(buf, len + 1);

	if (r == 0 && len > 0)
		r = buf_add(buf, data, len);
	if (r == 0)
		buf->data[buf->len] = '\0';
	return r;
}

/* The link's target takes the place of its name. */
static int follow(struct walk *walk, const char *target, size_t len)
{
	struct buf rest = BUF_INIT(walk->rest.limit);
	int r;

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	r = add(&rest, target, len);
	if (r == 0)
		r = add(&rest, "/", 1);
	if (r == 0)
		r = add(&rest, walk->rest.data + walk->at, walk->rest.len - walk->at);
	if (r < 0) {
		buf_release(&rest);
		return r;
	}
	buf_release(&walk->rest);
	walk->rest = rest;
	walk->at = 0;
	if (target[0] == '/')
		walk->done.len = 0;
	else
		drop_last(&walk->done);
	return 0;
}

static int step(struct walk *walk, const char *name, size_t len)
{
	char target[PATH_MAX];
	ssize_t n;
	int r;

	if (len == 0 || (len == 1 && name[0] == '.'))
		return 0;
	if (len == 2 && memcmp(name, "..", 2) == 0) {
		drop_last(&walk->done);
		return 0;
	}
	r = add(&walk->done, "/", 1);
	if (r == 0)
		r = add(&walk->done, name, len);
	if (r < 0)
		return r;
	n = walk->done.len < PATH_MAX ? readlink(walk->done.data, target, sizeof(target)) : -1;
	return n > 0 ? follow(walk, target, (size_t)n) : 0;
}

static int start(struct walk *walk, struct text path)
{
	char cwd[PATH_MAX] = "";
	int r;

	if (path.len == 0 || path.data[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return -errno;
	}
	r = add(&walk->rest, cwd, strlen(cwd));
	if (r == 0)
		r = add(&walk->rest, "/", 1);
	return r < 0 ? r : add(&walk->rest, path.data, path.len);
}

/* The resolved path, to be freed: 0 or -errno. On -ELOOP it is the link that was one too many. */
static int resolve(struct text path, char **ret)
{
	const size_t most = ((size_t)64 << 20) + 2 * PATH_MAX;
	struct walk walk = {.done = BUF_INIT(most), .rest = BUF_INIT(most)};
	int r = start(&walk, path);

	while (r == 0 && walk.at < walk.rest.len) {
		const char *name = walk.rest.data + walk.at;
		size_t len = strcspn(name, "/");

		walk.at += len + 1 < walk.rest.len - walk.at ? len + 1 : walk.rest.len - walk.at;
		r = step(&walk, name, len);
	}
	if (r == 0 || r == -ELOOP) {
		if (walk.done.len == 0 && add(&walk.done, "/", 1) < 0)
			r = -ENOMEM;
		*ret = strndup(walk.done.data ? walk.done.data : "", walk.done.len);
		if (!*ret)
			r = -ENOMEM;
	}
	walk_release(&walk);
	return r;
}

/* The directory a resolved path is in, as an O_PATH descriptor, or -errno. There is no link on the
   way, unless somebody has just put it there. */
static int open_parent(char *name, const char **ret_leaf)
{
	int fd = io_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
	char *part = name + 1, *slash;

	for (; fd >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		int next;

		*slash = '\0';
		next = io_open(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
		*slash = '/';
		close(fd);
		fd = next;
	}
	*ret_leaf = *part ? part : ".";
	return fd;
}

/* 0 also when the path does not exist, -errno. */
static int open_path(struct editor_path *path)
{
	int r;

	if (strlen(path->name) >= PATH_MAX)
		return -ENAMETOOLONG;
	path->dir = r = open_parent(path->name, &path->leaf);
	if (r >= 0)
		path->file = r = io_open(path->dir, path->leaf, O_PATH | O_NOFOLLOW, 0);
	if (r >= 0)
		r = fstat(path->file, &path->st) < 0 ? -errno : 0;
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

static void say_invalid(struct editor_reply *reply, struct text given)
{
	reply_fail(reply, "Invalid path ");
	reply_add_quoted(reply, given);
	reply_add(reply, ": ");
}

/* Finds the file: 0 or -1. */
static int look(struct editor_path *path, struct text given, struct editor_reply *reply)
{
	int r;

	if (given.len > 0 && memchr(given.data, '\0', given.len)) {
		say_invalid(reply, given);
		reply_add(reply, "embedded null byte");
		return -1;
	}
	r = resolve(given, &path->name);
	if (r == -ELOOP) {
		say_invalid(reply, given);
		reply_add(reply, "Symlink loop from ");
		reply_add_quoted(reply, (struct text){path->name, strlen(path->name)});
		return -1;
	}
	if (r == 0)
		r = open_path(path);
	if (r < 0) {
		say_invalid(reply, given);
		reply_add_errno(reply, r, path->name ? path->name : ".");
	}
	return r < 0 ? -1 : 0;
}

int path_resolve(
	struct editor_path *path, const struct editor_request *req, struct editor_reply *reply)
{
	struct text shown;

	if (look(path, req->path, reply) < 0)
		return -1;
	shown = (struct text){path->name, strlen(path->name)};
	if (req->command == EDITOR_CREATE && path->file >= 0) {
		reply_fail(reply, "File already exists at: ");
		reply_add_escaped(reply, shown);
		reply_add(reply, ". Cannot overwrite files using command `create`.");
		return -1;
	}
	if (req->command != EDITOR_CREATE && path->file < 0) {
		reply_fail(reply, "The path ");
		reply_add_escaped(reply, shown);
		reply_add(reply, " does not exist. Please provide a valid path.");
		return -1;
	}
	if (req->command != EDITOR_VIEW && path->file >= 0 && S_ISDIR(path->st.st_mode)) {
		reply_fail(reply, "The path ");
		reply_add_escaped(reply, shown);
		reply_add(reply,
			" is a directory and only the `view` command can be used on directories");
		return -1;
	}
	return 0;
}

void path_release(struct editor_path *path)
{
	io_close(&path->dir);
	io_close(&path->file);
	free(path->name);
	path->name = NULL;
}
