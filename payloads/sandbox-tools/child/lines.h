/* SPDX-License-Identifier: MIT */
/* Lines of fields, as in /etc/passwd and /etc/group. */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHILD_LINES_H
#define PAYLOADS_SANDBOX_TOOLS_CHILD_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINES_FIELDS 7

struct lines {
	int fd;
	size_t left; /* bytes of the file that may still be read */
	char *data;
	size_t len, at;
	bool left_out; /* something that is there, and is no line */
};

/* 0, 1 when there is no such regular file ('left_out': but something else), -errno. */
int lines_open(struct lines *lines, const char *path);
/* The next complete line, as a string: 1, 0 at the end, -errno. A line the end of file cuts off
   counts; one that is very long or has a NUL byte inside is left out, and so is what comes after
   very many bytes. */
int lines_next(struct lines *lines, char **ret);
void lines_close(struct lines *lines);
/* Cuts a line at its colons: the number of fields, the last one with all the rest. */
int lines_split(char *line, char *fields[LINES_FIELDS]);
/* Is it the decimal number of a user or a group? */
bool lines_read_id(const char *text, unsigned *ret);

#endif
