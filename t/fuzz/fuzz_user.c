/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as passwd and group files. Who is found is the first one of that name whose
   line makes sense, with each group once. The first byte is the length of the name, 0xff ends a
   file, and 0xfe stands for as many bytes as nearly fill the reader's buffer. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/child/user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LONG 65530 /* the reader skips lines of 65536 bytes and more */
#define FILE_SIZE (4 << 20)

static void need(int truth)
{
	if (!truth)
		abort();
}

/* Puts what stands before the next 0xff into a file in memory: how much of the data that was. */
static size_t fill(int fd, const uint8_t *data, size_t size, struct buf *text)
{
	char many[LONG];
	size_t i;

	memset(many, 'a', sizeof(many));
	for (i = 0; i < size && data[i] != 0xff; i++) {
		int r = data[i] == 0xfe ? buf_add(text, many, LONG) : buf_add(text, data + i, 1);

		if (r < 0)
			break;
	}
	need(ftruncate(fd, 0) == 0 && pwrite(fd, text->data, text->len, 0) == (ssize_t)text->len);
	return i < size ? i + 1 : i;
}

static bool is_number(const char *text, unsigned long wanted)
{
	char *end;

	return strlen(text) <= 10 && strspn(text, "0123456789") == strlen(text) && *text &&
	       strtoul(text, &end, 10) == wanted && !*end;
}

/* Is there a line "name:*:uid:gid:*:home[:*]"? The slow way, line by line. */
static bool has_line(const struct buf *text, const char *name, const struct user *user)
{
	const char *at = text->data, *end = at + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);
		char *line = strndup(at, len), *rest = line, *field[7];
		int n = 0;

		need(line != NULL);
		while (n < 7 && rest)
			field[n++] = strsep(&rest, ":");
		if (len < 65536 && n >= 6 && strcmp(field[0], name) == 0 &&
			is_number(field[2], user->uid) && is_number(field[3], user->gid) &&
			strcmp(field[5][0] ? field[5] : "/", user->home) == 0) {
			free(line);
			return true;
		}
		free(line);
		at += len + 1;
	}
	return false;
}

static void check(const struct user *user, const struct buf *passwd, const char *name)
{
	need(user->uid != (uid_t)-1 && user->gid != (gid_t)-1);
	need(user->home[0] && memchr(user->home, '\0', sizeof(user->home)));
	need(user->group_count >= 1 && user->group_count <= USER_GROUPS_MAX);
	need(user->groups[0] == user->gid);
	for (int i = 0; i < user->group_count; i++)
		for (int j = 0; j < i; j++)
			need(user->groups[i] != user->groups[j]);
	need(has_line(passwd, name, user));
}

static bool has_name(const struct buf *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text->data, *end = at + text->len; at && at < end;) {
		if ((size_t)(end - at) > len && memcmp(at, name, len) == 0 && at[len] == ':')
			return true;
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return false;
}

/* As engines read it: who is found by name has such a line, too. */
static void resolve(const struct user_files *files, const struct buf *passwd, const char *name)
{
	static const char *const more[] = {"5", "wheel", NULL};
	struct fail fail = FAIL_INIT;
	struct user user;

	if (user_resolve_in(files, name, more, false, &user, &fail) == 0)
		need(user.uid <= INT32_MAX && user.gid <= INT32_MAX && user.home[0] == '/' &&
			user.group_count >= 2);
	else
		need(fail.text[0]);
	if (user_resolve_in(files, name, NULL, true, &user, &fail) < 0)
		return;
	need(user.uid <= INT32_MAX && user.gid <= INT32_MAX && user.home[0] == '/');
	need(user.group_count >= 1 && user.groups[0] == user.gid);
	for (int i = 1; i < user.group_count; i++)
		need(user.groups[i] != user.gid);
	need(strcspn(name, "0123456789:") < strlen(name) || strchr(name, ':') ||
		has_name(passwd, name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char paths[2][32];
	static int fds[2] = {-1, -1};
	struct buf passwd = BUF_INIT(FILE_SIZE), group = BUF_INIT(FILE_SIZE);
	char name[16] = "";
	struct user user;
	size_t at;
	int r;

	for (int i = 0; fds[1] < 0; i++) {
		fds[i] = memfd_create("file", MFD_CLOEXEC);
		need(fds[i] >= 0);
		snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d", fds[i]);
	}
	if (size < 1 || size < 1 + data[0] % sizeof(name))
		return 0;
	memcpy(name, data + 1, data[0] % sizeof(name));
	at = 1 + data[0] % sizeof(name);
	at += fill(fds[0], data + at, size - at, &passwd);
	fill(fds[1], data + at, size - at, &group);
	r = user_find_in(paths[0], paths[1], name, &user);
	need(r == 0 || r == 1);
	if (r == 0)
		check(&user, &passwd, name);
	resolve(&(struct user_files){paths[0], paths[1]}, &passwd, name);
	buf_release(&passwd);
	buf_release(&group);
	return 0;
}
