/* SPDX-License-Identifier: MIT */
/* /etc/passwd and /etc/group, read with the distrust any file in a container deserves. */
#include "payloads/sandbox-tools/child/user.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"

#define FILE_MAX ((size_t)16 << 20) /* nothing behind this is looked at */
#define LINE_MAX_LEN 65536	    /* a longer line is skipped */
#define FIELDS_MAX 7
#define NO_ID 0xffffffffUL

struct lines {
	int fd;
	size_t left; /* bytes of the file that may still be read */
	char *data;  /* LINE_MAX_LEN bytes */
	size_t len, at;
};

static void lines_close(struct lines *lines)
{
	io_close(&lines->fd);
	free(lines->data);
	lines->data = NULL;
}

/* 0, 1 when there is no such regular file, -errno. */
static int lines_open(struct lines *lines, const char *path)
{
	struct stat st;

	*lines = (struct lines){.fd = io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0),
		.left = FILE_MAX};
	if (lines->fd == -ENOENT || lines->fd == -ENOTDIR || lines->fd == -ELOOP ||
		lines->fd == -ENXIO)
		return 1;
	if (lines->fd < 0)
		return lines->fd;
	lines->data = malloc(LINE_MAX_LEN);
	if (!lines->data) {
		lines_close(lines);
		return -ENOMEM;
	}
	if (fstat(lines->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		lines_close(lines);
		return 1;
	}
	return 0;
}

/* More bytes behind those not consumed yet: their number, 0 at the end, -errno. */
static ssize_t fill(struct lines *lines)
{
	size_t room;
	ssize_t n;

	memmove(lines->data, lines->data + lines->at, lines->len - lines->at);
	lines->len -= lines->at;
	lines->at = 0;
	room = LINE_MAX_LEN - lines->len;
	if (room > lines->left)
		room = lines->left;
	n = room > 0 ? io_read(lines->fd, lines->data + lines->len, room) : 0;
	if (n > 0) {
		lines->len += (size_t)n;
		lines->left -= (size_t)n;
	}
	return n;
}

/* Cuts off the next complete line, as a string: NULL if there is none. */
static char *cut_line(struct lines *lines, size_t *ret_len)
{
	char *start = lines->data + lines->at;
	char *end = memchr(start, '\n', lines->len - lines->at);

	if (!end)
		return NULL;
	*end = '\0';
	*ret_len = (size_t)(end - start);
	lines->at += *ret_len + 1;
	return start;
}

/* The next complete line, as a string: 1, 0 at the end, -errno. A line the end of file cuts off
   counts; one with a NUL byte inside is shorter than it looks and will match nothing. */
static int lines_next(struct lines *lines, char **ret)
{
	bool skipping = false;

	for (;;) {
		size_t len;
		char *line = cut_line(lines, &len);
		ssize_t n;

		if (line && !skipping && strlen(line) == len) {
			*ret = line;
			return 1;
		}
		if (line) {
			skipping = false;
			continue;
		}
		if (lines->len - lines->at == LINE_MAX_LEN) {
			skipping = true;
			lines->at = lines->len;
		}
		n = fill(lines);
		if (n < 0)
			return (int)n;
		if (n > 0)
			continue;
		/* the end: what is left has no newline, and room for the one we add */
		if (skipping || lines->left == 0 || lines->len == 0 || lines->len == LINE_MAX_LEN)
			return 0;
		lines->data[lines->len++] = '\n';
	}
}

/* Cuts a line at its colons: the number of fields, the last one with all the rest. */
static int split(char *line, char *fields[FIELDS_MAX])
{
	int n = 0;

	while (n < FIELDS_MAX - 1) {
		char *colon = strchr(line, ':');

		fields[n++] = line;
		if (!colon)
			return n;
		*colon = '\0';
		line = colon + 1;
	}
	fields[n++] = line;
	return n;
}

static bool parse_id(const char *text, unsigned *ret)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9' || strlen(text) > 10)
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*end || errno || value >= NO_ID)
		return false;
	*ret = (unsigned)value;
	return true;
}

/* Puts what a line of passwd says into 'ret', if it is a whole one and about the user looked for:
   by name, or without one by uid. */
static bool take_passwd_line(char *line, const char *name, uid_t wanted, struct user *ret)
{
	char *fields[FIELDS_MAX];
	unsigned uid, gid;

	if (split(line, fields) < FIELDS_MAX - 1 || !parse_id(fields[2], &uid) ||
		!parse_id(fields[3], &gid) || strlen(fields[5]) >= sizeof(ret->home))
		return false;
	if (name ? strcmp(fields[0], name) != 0 : uid != wanted)
		return false;
	ret->uid = uid;
	ret->gid = gid;
	strcpy(ret->home, fields[5][0] ? fields[5] : "/");
	return true;
}

/* 0, 1 when there is no such line, -errno. */
static int find_passwd_line(const char *path, const char *name, uid_t uid, struct user *ret)
{
	struct lines lines;
	char *line;
	int r = lines_open(&lines, path);

	if (r != 0)
		return r;
	while ((r = lines_next(&lines, &line)) > 0)
		if (take_passwd_line(line, name, uid, ret))
			break;
	lines_close(&lines);
	return r > 0 ? 0 : r < 0 ? r : 1;
}

static bool has_member(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (;;) {
		size_t n = strcspn(list, ",");

		if (n == len && memcmp(list, name, len) == 0)
			return true;
		if (!list[n])
			return false;
		list += n + 1;
	}
}

static void add_group(struct user *user, gid_t gid)
{
	for (int i = 0; i < user->group_count; i++)
		if (user->groups[i] == gid)
			return;
	if (user->group_count < USER_GROUPS_MAX)
		user->groups[user->group_count++] = gid;
}

static int find_groups(const char *path, const char *name, struct user *user)
{
	char *line, *fields[FIELDS_MAX];
	struct lines lines;
	unsigned gid;
	int r = lines_open(&lines, path);

	user->group_count = 0;
	add_group(user, user->gid);
	if (r != 0)
		return r < 0 ? r : 0;
	while ((r = lines_next(&lines, &line)) > 0)
		if (split(line, fields) == 4 && parse_id(fields[2], &gid) &&
			has_member(fields[3], name))
			add_group(user, gid);
	lines_close(&lines);
	return r;
}

int user_find_in(
	const char *passwd_path, const char *group_path, const char *name, struct user *ret)
{
	int r;

	if (!name[0] || name[0] == '#')
		return 1;
	r = find_passwd_line(passwd_path, name, 0, ret);
	return r != 0 ? r : find_groups(group_path, name, ret);
}

int user_find_home_in(const char *passwd_path, uid_t uid, char home[PATH_MAX])
{
	struct user user;
	int r = find_passwd_line(passwd_path, NULL, uid, &user);

	if (r == 0)
		strcpy(home, user.home);
	return r;
}

int user_find(const char *name, struct user *ret)
{
	return user_find_in("/etc/passwd", "/etc/group", name, ret);
}
