/* SPDX-License-Identifier: MIT */
/* Files of lines, read with the distrust any file in a container deserves. */
#include "payloads/sandbox-tools/child/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"

#define FILE_MAX ((size_t)16 << 20) /* nothing behind this is looked at */
#define LINE_MAX_LEN 65536	    /* a longer line is skipped */
#define NO_ID 0xffffffffUL

void lines_close(struct lines *lines)
{
	io_close(&lines->fd);
	free(lines->data);
	lines->data = NULL;
}

int lines_open(struct lines *lines, const char *path)
{
	struct stat st;

	*lines = (struct lines){.fd = io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0),
		.left = FILE_MAX};
	lines->left_out = lines->fd != -ENOENT && lines->fd != -ENOTDIR;
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
	lines->left_out = false;
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

int lines_next(struct lines *lines, char **ret)
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
			lines->left_out = true;
			skipping = false;
			continue;
		}
		if (lines->len - lines->at == LINE_MAX_LEN) {
			skipping = lines->left_out = true;
			lines->at = lines->len;
		}
		n = fill(lines);
		if (n < 0)
			return (int)n;
		if (n > 0)
			continue;
		lines->left_out |= lines->left == 0;
		/* the end: what is left has no newline, and room for the one we add */
		if (skipping || lines->left == 0 || lines->len == 0 || lines->len == LINE_MAX_LEN)
			return 0;
		lines->data[lines->len++] = '\n';
	}
}

int lines_split(char *line, char *fields[LINES_FIELDS])
{
	int n = 0;

	while (n < LINES_FIELDS - 1) {
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

bool lines_read_id(const char *text, unsigned *ret)
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
