/* SPDX-License-Identifier: MIT */
/* /etc/passwd and /etc/group, read with the distrust any file in a container deserves. */
#include "payloads/sandbox-tools/child/user.h"

#include <stdbool.h>
#include <string.h>

#include "payloads/sandbox-tools/child/lines.h"

/* Puts what a line of passwd says into 'ret', if it is a whole one and about the user looked for:
   by name, or without one by uid. */
static bool take_passwd_line(char *line, const char *name, uid_t wanted, struct user *ret)
{
	char *fields[LINES_FIELDS];
	unsigned uid, gid;

	if (lines_split(line, fields) < LINES_FIELDS - 1 || !lines_read_id(fields[2], &uid) ||
		!lines_read_id(fields[3], &gid) || strlen(fields[5]) >= sizeof(ret->home))
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

bool user_is_listed(const char *list, const char *name)
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
	char *line, *fields[LINES_FIELDS];
	struct lines lines;
	unsigned gid;
	int r = lines_open(&lines, path);

	user->group_count = 0;
	add_group(user, user->gid);
	if (r != 0)
		return r < 0 ? r : 0;
	while ((r = lines_next(&lines, &line)) > 0)
		if (lines_split(line, fields) == 4 && lines_read_id(fields[2], &gid) &&
			user_is_listed(fields[3], name))
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
