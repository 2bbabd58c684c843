/* SPDX-License-Identifier: MIT */
/* A tree of files from a stream. */
#include "payloads/sandbox-tools/install/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/treesum.h"
#include "payloads/lib/wire.h"

#define BLOCK_SIZE ((size_t)256 << 10) /* more than a line is long: two paths, escaped */
#define PIPE_SIZE (1 << 20)
#define PIECE_SIZE (1 << 16)

struct intake {
	int stream, top;
	struct buf in;
	/* the directory that the last member was put into, which the next one is likely to be in */
	char dir_path[TREESUM_PATH_MAX + 1];
	int dir;
	struct fail *fail;
	char piece[PIECE_SIZE]; /* of a file; a buffer that empties each time costs more than this
				 */
};

/* ---- the stream ---- */

/* Bytes that came, 'size' at most; -1 with 'fail'. */
static ssize_t receive(struct intake *in, char *into, size_t size)
{
	int r = io_wait(in->stream, POLLIN, io_in(INTAKE_IDLE_MS));
	ssize_t n = r < 0 ? r : io_read(in->stream, into, size);

	if (n < 0)
		return fail_sys(in->fail, (int)n, "cannot read the tree");
	if (n == 0)
		return fail_set(in->fail, "the tree's stream ended before its end");
	return n;
}

static int more(struct intake *in)
{
	int r = buf_reserve(&in->in, MIN(in->in.limit - in->in.len, BLOCK_SIZE / 2));
	ssize_t n;

	if (r < 0)
		return fail_sys(in->fail, r, "cannot read the tree");
	n = receive(in, in->in.data + in->in.len, in->in.size - in->in.len);
	if (n < 0)
		return -1;
	in->in.len += (size_t)n;
	return 0;
}

/* The next line's object; NULL with 'fail'. */
static json_t *next_line(struct intake *in)
{
	json_t *line;
	char *end = NULL;

	while (in->in.len == 0 || !(end = memchr(in->in.data, '\n', in->in.len))) {
		if (in->in.len >= in->in.limit) {
			fail_set(in->fail, "the tree's stream has a line that is too long");
			return NULL;
		}
		if (more(in) < 0)
			return NULL;
	}
	line = json_loadb(in->in.data, (size_t)(end - in->in.data), JSON_REJECT_DUPLICATES, NULL);
	buf_drop(&in->in, (size_t)(end - in->in.data) + 1);
	if (!line)
		fail_set(in->fail, "the tree's stream is damaged");
	return line;
}

/* ---- where a member goes ---- */

static int fail_at(struct intake *in, int error, const char *path)
{
	return fail_sys(in->fail, error, "cannot unpack '%.200s'", path);
}

/* Descriptor of the directory called the first 'len' bytes of 'path', to be closed; -errno. */
static int walk(const struct intake *in, const char *path, size_t len)
{
	int fd = io_open(in->top, ".", O_RDONLY | O_DIRECTORY, 0);
	char name[NAME_MAX + 1];

	for (const char *p = path; fd >= 0 && p < path + len;) {
		size_t part = strcspn(p, "/");
		int next;

		memcpy(name, p, part);
		name[part] = '\0';
		next = tree_open_dir(fd, name);
		close(fd);
		fd = next;
		p += part + 1;
	}
	return fd;
}

/* Opens the directory that 'path' is in, for as long as members come for it. */
static int enter(struct intake *in, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	*ret_name = slash ? slash + 1 : path;
	if (in->dir >= 0 && strlen(in->dir_path) == len && !memcmp(in->dir_path, path, len))
		return 0;
	io_close(&in->dir);
	in->dir = walk(in, path, len);
	if (in->dir < 0)
		return fail_at(in, in->dir, path);
	memcpy(in->dir_path, path, len);
	in->dir_path[len] = '\0';
	return 0;
}

/* ---- members ---- */

static int make_dir(struct intake *in, const char *path, const json_t *line)
{
	const char *name;

	(void)line;
	if (enter(in, path, &name) < 0)
		return -1;
	if (mkdirat(in->dir, name, 0700) < 0 || fchmodat(in->dir, name, 0755, 0) < 0)
		return fail_at(in, errno, path);
	return 0;
}

static int fill(struct intake *in, int fd, uint64_t size, const char *path)
{
	size_t part = MIN(size, in->in.len);
	int r = io_write_full(fd, in->in.data, part, IO_NEVER);

	buf_drop(&in->in, part);
	for (uint64_t left = size - part; r == 0 && left; left -= part) {
		ssize_t n = receive(in, in->piece, MIN(left, sizeof(in->piece)));

		if (n < 0)
			return -1;
		part = (size_t)n;
		r = io_write_full(fd, in->piece, part, IO_NEVER);
	}
	return r < 0 ? fail_at(in, r, path) : 0;
}

static int make_file(struct intake *in, const char *path, const json_t *line)
{
	mode_t mode = json_is_true(json_object_get(line, WIRE_EXEC)) ? 0755 : 0644;
	json_int_t size = json_integer_value(json_object_get(line, WIRE_SIZE));
	const char *name;
	int fd, r;

	if (size < 0)
		return fail_set(in->fail, "the tree's stream is damaged");
	if (enter(in, path, &name) < 0)
		return -1;
	fd = io_open(in->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_at(in, fd, path);
	r = fill(in, fd, (uint64_t)size, path);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = fail_at(in, errno, path);
	close(fd);
	return r;
}

static int make_link(struct intake *in, const char *path, const json_t *line)
{
	const char *target = json_string_value(json_object_get(line, WIRE_TO)), *name;

	if (!target || treesum_unfit_link(path, target))
		return fail_set(in->fail, "the tree's stream has an odd link '%.200s'", path);
	if (enter(in, path, &name) < 0)
		return -1;
	return symlinkat(target, in->dir, name) < 0 ? fail_at(in, errno, path) : 0;
}

static int make_again(struct intake *in, const char *path, const json_t *line)
{
	const char *first = json_string_value(json_object_get(line, WIRE_OF)), *slash, *name;
	int from, r;

	if (!first || treesum_unfit(first))
		return fail_set(in->fail, "the tree's stream has an odd link '%.200s'", path);
	slash = strrchr(first, '/');
	from = walk(in, first, slash ? (size_t)(slash - first) : 0);
	if (from < 0)
		return fail_at(in, from, first);
	r = enter(in, path, &name);
	if (r == 0 && linkat(from, slash ? slash + 1 : first, in->dir, name, 0) < 0)
		r = fail_at(in, errno, path);
	close(from);
	return r;
}

static const struct {
	const char *key;
	int (*make)(struct intake *in, const char *path, const json_t *line);
} kinds[] = {
	{WIRE_FILE, make_file},
	{WIRE_DIR, make_dir},
	{WIRE_LINK, make_link},
	{WIRE_AGAIN, make_again},
};

/* 1: it is the end. */
static int take(struct intake *in, const json_t *line)
{
	if (json_is_true(json_object_get(line, WIRE_END)))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *path = json_string_value(json_object_get(line, kinds[i].key));

		if (path && treesum_unfit(path))
			return fail_set(in->fail, "the tree's stream has an odd path");
		if (path)
			return kinds[i].make(in, path, line);
	}
	return fail_set(in->fail, "the tree's stream has an unknown thing");
}

int intake_run(int stream, int dir, struct fail *fail)
{
	struct intake in = {
		.stream = stream, .top = dir, .in = BUF_INIT(BLOCK_SIZE), .dir = -1, .fail = fail};
	int r = 0;

	/* fewer switches between the engine and us */
	fcntl(stream, F_SETPIPE_SZ, PIPE_SIZE);
	while (r == 0) {
		json_t *line = next_line(&in);

		r = line ? take(&in, line) : -1;
		json_decref(line);
	}
	io_close(&in.dir);
	buf_release(&in.in);
	return r < 0 ? -1 : 0;
}
