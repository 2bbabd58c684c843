/* SPDX-License-Identifier: MIT */
/*
 * view of a directory: what "find <path>/ -maxdepth 2 -not -path '*\/.*'" would print, sorted, and
 * made without a shell, so that a name is a name whatever is in it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/fail.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/show.h"

/* The answer shows so many characters, and a name takes two at least: of more names than this,
   sorted, the rest cannot be seen. */
#define NAMES_MAX (EDITOR_SHOWN_MAX / 2)

struct names {
	char **list;
	size_t count;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void cut(struct names *names, size_t count)
{
	qsort(names->list, names->count, sizeof(*names->list), compare);
	while (names->count > count)
		free(names->list[--names->count]);
}

static void names_release(struct names *names)
{
	while (names->count > 0)
		free(names->list[--names->count]);
	free(names->list);
	names->list = NULL;
}

/* The directory's entries but the hidden ones, sorted: 0 or -errno. 'fd' is closed. */
static int read_names(int fd, struct names *names)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int r = 0;

	names->count = 0;
	names->list = calloc(2 * NAMES_MAX, sizeof(*names->list));
	if (!dir || !names->list) {
		if (dir)
			closedir(dir);
		else
			close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (names->count == 2 * NAMES_MAX)
			cut(names, NAMES_MAX);
		names->list[names->count] = strdup(entry->d_name);
		r = names->list[names->count] ? 0 : -ENOMEM;
		names->count += r == 0;
	}
	closedir(dir);
	cut(names, NAMES_MAX);
	return r;
}

static int open_names(int dirfd, const char *name, int flags, struct names *names)
{
	int fd = io_open(dirfd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | flags, 0);

	*names = (struct names){NULL, 0};
	return fd < 0 ? fd : read_names(fd, names);
}

/* Lines on their way into the reply, as many characters as can be shown. */
struct listing {
	struct editor_reply *reply;
	struct editor_reply line; /* to count characters in */
	size_t chars;
	bool full;
};

/* As many of the line's first 'len' bytes as there is room for; those after them only count. */
static void show_line(struct listing *l, size_t len)
{
	const struct buf *text = &l->line.text;

	for (size_t i = 0; i < text->len && !l->full; i++) {
		bool starts = ((unsigned char)text->data[i] & 0xc0) != 0x80;

		if (starts && l->chars == EDITOR_SHOWN_MAX) {
			l->full = true;
			reply_add(l->reply, show_clipped);
			return;
		}
		l->chars += starts;
		if (i < len)
			reply_add_text(l->reply, text->data + i, 1);
	}
	if (l->line.error < 0)
		l->reply->error = l->line.error;
}

/* One more line, made of a path (without '/' at its end), and a name or two. */
static void add_line(struct listing *l, const char *path, const char *dir, const char *name)
{
	const char *const parts[] = {path, dir ? "/" : "", dir ? dir : "", name ? "/" : "",
		name ? name : (dir ? "" : "/")};
	struct buf *text = &l->line.text;

	text->len = 0;
	if (l->chars > 0)
		reply_add(&l->line, "\n");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		reply_add_escaped(&l->line, text_of(parts[i]));
	/* the directory itself is shown without the '/' that find prints and counts */
	show_line(l, dir || path[0] == '\0' || text->len == 0 ? text->len : text->len - 1);
}

static int add_directory(struct listing *l, const char *prefix, int fd, const struct names *names)
{
	int r = 0;

	for (size_t i = 0; i < names->count && r == 0 && !l->full; i++) {
		struct names below;

		add_line(l, prefix, names->list[i], NULL);
		/* what is no directory, or not ours to look into, has nothing below it */
		r = open_names(fd, names->list[i], O_NOFOLLOW, &below);
		for (size_t k = 0; r == 0 && k < below.count && !l->full; k++)
			add_line(l, prefix, names->list[i], below.list[k]);
		names_release(&below);
		r = r == -ENOMEM ? r : 0;
	}
	return r;
}

static void fail_listing(struct editor_reply *reply, int error, const char *path)
{
	reply_fail(reply, "Encountered error attempting to view ");
	reply_add_escaped(reply, text_of(path));
	reply_add(reply, ": 'find: '");
	reply_add_escaped(reply, text_of(path));
	reply_add(reply, strcmp(path, "/") == 0 ? "" : "/");
	reply_add(reply, "': ");
	reply_add(reply, fail_error_text(-error));
	reply_add(reply, "\n'");
}

void view_directory(const struct editor_path *path, struct editor_reply *reply)
{
	const char *prefix = strcmp(path->name, "/") == 0 ? "" : path->name;
	struct listing l = {.reply = reply, .line = {.text = BUF_INIT(reply->text.limit)}};
	struct names names = {NULL, 0};
	int fd =
		io_open(path->dir, path->leaf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	int r = fd < 0 ? fd : open_names(fd, ".", 0, &names);

	if (r == 0) {
		reply_add(reply, "Here are the files and directories up to 2 levels deep in ");
		reply_add_escaped(reply, text_of(path->name));
		reply_add(reply, ", excluding hidden items:\n");
		/* below a hidden directory everything is hidden */
		if (strstr(path->name, "/.")) {
			reply_add(reply, ".");
		} else {
			add_line(&l, prefix, NULL, NULL);
			r = add_directory(&l, prefix, fd, &names);
		}
		reply_add(reply, "\n");
	}
	if (r == -ENOMEM)
		reply->error = r;
	else if (r < 0)
		fail_listing(reply, r, path->name);
	names_release(&names);
	buf_release(&l.line.text);
	io_close(&fd);
}
