/* SPDX-License-Identifier: MIT */
/* Limits of control groups. */
#include "payloads/lib/memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/buf.h"
#include "payloads/lib/io.h"

#define GROUPS_MAX 65536
#define READ_MS 1000 /* who is root in the container may have put anything there */

/* Both may be there, though only one has the memory. */
static const struct version {
	const char *controller, *dir, *file;
} versions[] = {
	{"", "", "memory.max"},
	{"memory", "/memory", "memory.limit_in_bytes"},
};

/* As a string that is the caller's to free(); NULL if it cannot be read or is too long. */
static char *read_text(const char *path, size_t max)
{
	struct buf text = BUF_INIT(max);
	int fd = io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0), r;

	if (fd < 0)
		return NULL;
	r = io_read_all(fd, &text, io_in(READ_MS));
	if (r == 0)
		r = buf_add(&text, "", 1);
	io_close(&fd);
	if (r < 0)
		buf_release(&text);
	return text.data;
}

/* What a file says, "max" being no number. */
static size_t read_limit(const char *path)
{
	char *text = read_text(path, 32);
	unsigned long long value = ULLONG_MAX;

	if (text && *text >= '0' && *text <= '9')
		value = strtoull(text, NULL, 10);
	free(text);
	return value < MEMORY_ANY ? (size_t)value : MEMORY_ANY;
}

/* 'group' is cut, name by name. */
static size_t least_limit(const char *mount, const struct version *version, char *group)
{
	size_t least = MEMORY_ANY, limit;
	char path[PATH_MAX];
	char *slash;

	do {
		if (snprintf(path, sizeof(path), "%s%s%s/%s", mount, version->dir, group,
			    version->file) < (int)sizeof(path)) {
			limit = read_limit(path);
			least = limit < least ? limit : least;
		}
		slash = strrchr(group, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return least;
}

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name), n;

	for (;; list += n + 1) {
		n = strcspn(list, ",");
		if (n == len && memcmp(list, name, n) == 0)
			return true;
		if (!list[n])
			return false;
	}
}

/* "ID:CONTROLLER,...:GROUP", cut to pieces. */
static size_t limit_of_line(const char *mount, char *line)
{
	char *controllers = strchr(line, ':'), *group;

	group = controllers ? strchr(++controllers, ':') : NULL;
	if (!group)
		return MEMORY_ANY;
	*group++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (is_listed(controllers, versions[i].controller))
			return least_limit(mount, &versions[i], group);
	return MEMORY_ANY;
}

size_t memory_limit_in(const char *groups, const char *mount)
{
	char *text = read_text(groups, GROUPS_MAX), *rest = text, *line;
	size_t least = MEMORY_ANY, limit;

	while (rest && (line = strsep(&rest, "\n"))) {
		limit = limit_of_line(mount, line);
		least = limit < least ? limit : least;
	}
	free(text);
	return least;
}

size_t memory_limit(void)
{
	return memory_limit_in("/proc/self/cgroup", "/sys/fs/cgroup");
}

size_t memory_part(size_t memory, size_t part, size_t most)
{
	size_t size = memory / part & ~(size_t)1023;

	if (size < MEMORY_LEAST)
		size = MEMORY_LEAST;
	return size < most ? size : most;
}

void memory_format(size_t size, char *text, size_t room)
{
	static const char *const units[] = {"GiB", "MiB", "KiB"};
	int shift = 30;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++, shift -= 10)
		if (size > 0 && size % ((size_t)1 << shift) == 0) {
			snprintf(text, room, "%zu %s", size >> shift, units[i]);
			return;
		}
	snprintf(text, room, "%zu bytes", size);
}
