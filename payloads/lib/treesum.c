/* SPDX-License-Identifier: MIT */
#include "payloads/lib/treesum.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
	[TREESUM_FILE] = "file",
	[TREESUM_EXEC] = "exec",
	[TREESUM_DIR] = "dir",
	[TREESUM_LINK] = "link",
};

static int make_room(struct treesum *sum)
{
	size_t room = sum->room ? 2 * sum->room : 64;
	char **lines;

	if (sum->count >= TREESUM_MEMBERS_MAX)
		return -E2BIG;
	if (sum->count < sum->room)
		return 0;
	lines = realloc(sum->lines, room * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	sum->lines = lines;
	sum->room = room;
	return 0;
}

int treesum_add(struct treesum *sum, enum treesum_kind kind, const char *path, uint64_t size,
	const char *sha256)
{
	int r = make_room(sum);

	if (r < 0)
		return r;
	if (asprintf(&sum->lines[sum->count], "%s\t%s\t%" PRIu64 "\t%s\n", path, words[kind],
		    kind == TREESUM_DIR ? 0 : size, kind == TREESUM_DIR ? "-" : sha256) < 0)
		return -ENOMEM;
	sum->count++;
	sum->bytes += kind == TREESUM_FILE || kind == TREESUM_EXEC ? size : 0;
	sum->files += kind != TREESUM_DIR;
	return 0;
}

static int compare(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

void treesum_end(struct treesum *sum, char hex[SHA256_HEX])
{
	struct sha256 ctx;

	if (sum->count)
		qsort(sum->lines, sum->count, sizeof(*sum->lines), compare);
	sha256_init(&ctx);
	for (size_t i = 0; i < sum->count; i++)
		sha256_add(&ctx, sum->lines[i], strlen(sum->lines[i]));
	sha256_end_hex(&ctx, hex);
}

void treesum_release(struct treesum *sum)
{
	while (sum->count)
		free(sum->lines[--sum->count]);
	free(sum->lines);
	*sum = (struct treesum)TREESUM_INIT;
}

/* ---- paths ---- */

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

static bool is_dots(const char *name, size_t len)
{
	return len <= 2 && !memcmp(name, "..", len);
}

const char *treesum_unfit(const char *path)
{
	size_t depth = 0;

	if (strlen(path) > TREESUM_PATH_MAX)
		return "its path is too long";
	if (!is_plain(path))
		return "its path has control characters";
	for (const char *p = path;; p++) {
		size_t len = strcspn(p, "/");

		/* an absolute path begins with an empty component */
		if (is_dots(p, len))
			return "its path is not a plain relative one";
		if (len > 255)
			return "a name in its path is too long";
		if (++depth > TREESUM_DEPTH_MAX)
			return "its path is too deep";
		p += len;
		if (!*p)
			return NULL;
	}
}

static size_t count_dirs(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* Leaves the "../" and "./" in front of a target out; NULL if they leave the tree. */
static const char *skip_dots(const char *target, size_t *up)
{
	while (!strncmp(target, "../", 3) || !strncmp(target, "./", 2)) {
		if (target[1] == '.' && (*up)-- == 0)
			return NULL;
		target = strchr(target, '/') + 1;
	}
	return target;
}

const char *treesum_unfit_link(const char *path, const char *target)
{
	static const char outside[] = "it is a link to a place outside of the tree";
	char rest[TREESUM_PATH_MAX + 1];
	size_t up = count_dirs(path), len;

	if (!*target || strlen(target) > TREESUM_PATH_MAX || !is_plain(target))
		return "it is a link to an odd place";
	target = skip_dots(target, &up);
	if (!target || *target == '/')
		return outside;
	for (len = strlen(target); len && target[len - 1] == '/';)
		len--;
	snprintf(rest, sizeof(rest), "%.*s", (int)len, target);
	if (!len || !strcmp(rest, "."))
		return NULL;
	if (!strcmp(rest, ".."))
		return up ? NULL : outside;
	/* behind a name that may be a link itself, ".." could lead anywhere */
	return treesum_unfit(rest) ? outside : NULL;
}
