/* SPDX-License-Identifier: MIT */
/*
 * Users as engines read them. What they do with lines that are not as they should be differs from
 * one to the next, so such lines are an error here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "payloads/sandbox-tools/child/lines.h"
#include "payloads/sandbox-tools/child/user.h"

#define ID_MAX 2147483647U
#define NAME_MAX_LEN 256
#define PASSWD_FIELDS 7
#define GROUP_FIELDS 4

static const struct user_files etc = {"/etc/passwd", "/etc/group"};

/* One of the two parts: a name, or a number. */
struct part {
	char name[NAME_MAX_LEN]; /* "" if it is not there */
	bool is_number;
	unsigned number;
};

/* What is looked for in a file, and what was found. */
struct search {
	const char *path;
	int fields; /* of each line */
	struct part wanted;
	bool found;
	struct user *user;
	char name[NAME_MAX_LEN]; /* of passwd: whose line it was */
	bool members;		 /* of group: every group that has 'name' */
	struct fail *fail;
};

/* 0 to go on, 1 to end, -1 with 'fail'. */
typedef int (*take_fn)(struct search *search, char *fields[LINES_FIELDS]);

static int fail_odd(struct search *search)
{
	return fail_set(search->fail, "%s has lines that engines read differently", search->path);
}

/* No blank of any script, which engines cut off at both ends of a line. */
static bool is_plain(char c)
{
	return c > ' ' && c <= '~';
}

static int take_line(struct search *search, char *line, take_fn take)
{
	char *fields[LINES_FIELDS];

	if (!line[0])
		return 0;
	if (!is_plain(line[0]) || !is_plain(line[strlen(line) - 1]) ||
		lines_split(line, fields) != search->fields || !fields[0][0] ||
		strchr("#+-", fields[0][0]) || strchr(fields[search->fields - 1], ':') ||
		strlen(fields[0]) >= NAME_MAX_LEN)
		return fail_odd(search);
	return take(search, fields);
}

/* A file that is not there has no lines. */
static int read_lines(struct search *search, take_fn take)
{
	struct lines lines;
	char *line;
	int r = lines_open(&lines, search->path), taken = 0;

	if (r > 0)
		return lines.left_out ? fail_odd(search) : 0;
	while (r == 0 && taken == 0 && (r = lines_next(&lines, &line)) > 0) {
		taken = take_line(search, line, take);
		r = 0;
	}
	lines_close(&lines);
	if (r < 0)
		return fail_sys(search->fail, r, "cannot read %s", search->path);
	if (lines.left_out)
		return fail_odd(search);
	return taken < 0 ? -1 : 0;
}

static bool is_wanted(const struct part *wanted, const char *name, unsigned id)
{
	return wanted->is_number ? wanted->number == id : strcmp(wanted->name, name) == 0;
}

static int take_user(struct search *search, char *fields[LINES_FIELDS])
{
	struct user *user = search->user;
	unsigned uid, gid;

	if (!lines_read_id(fields[2], &uid) || !lines_read_id(fields[3], &gid) || uid > ID_MAX ||
		gid > ID_MAX)
		return fail_odd(search);
	if (!is_wanted(&search->wanted, fields[0], uid))
		return 0;
	/* what no home is made of differs, too */
	if (fields[5][0] != '/' || strlen(fields[5]) >= sizeof(user->home))
		return fail_odd(search);
	user->uid = uid;
	user->gid = gid;
	strcpy(user->home, fields[5]);
	strcpy(search->name, fields[0]);
	search->found = true;
	return 1;
}

static int add_group(struct search *search, gid_t gid)
{
	if (search->user->group_count == USER_GROUPS_MAX)
		return fail_set(search->fail, "%s has too many groups of the user", search->path);
	search->user->groups[search->user->group_count++] = gid;
	return 0;
}

static int take_group(struct search *search, char *fields[LINES_FIELDS])
{
	unsigned gid;

	if (!lines_read_id(fields[2], &gid) || gid > ID_MAX)
		return fail_odd(search);
	if (search->members)
		return user_is_listed(fields[3], search->name) ? add_group(search, gid) : 0;
	if (!is_wanted(&search->wanted, fields[0], gid))
		return 0;
	search->wanted.number = gid;
	search->found = true;
	return 1;
}

/* -1: engines would not take that, or not all. */
static int read_part(const char *text, size_t len, struct part *ret, struct fail *fail)
{
	*ret = (struct part){.name = ""};
	if (len >= sizeof(ret->name) || strchr("+-# \t", text[0]))
		return fail_set(fail, "engines read the user or group '%.200s' differently", text);
	memcpy(ret->name, text, len);
	ret->is_number = strspn(ret->name, "0123456789") == len;
	if (ret->is_number && (!lines_read_id(ret->name, &ret->number) || ret->number > ID_MAX))
		return fail_set(fail, "no user or group has the number '%s'", ret->name);
	return 0;
}

/* The number of a group by name or number. */
static int find_group(
	const struct user_files *files, const char *text, gid_t *ret, struct fail *fail)
{
	struct search search = {.path = files->group, .fields = GROUP_FIELDS, .fail = fail};

	if (read_part(text, strlen(text), &search.wanted, fail) < 0 ||
		read_lines(&search, take_group) < 0)
		return -1;
	if (!search.found && !search.wanted.is_number)
		return fail_set(fail, "unable to find group %s", search.wanted.name);
	*ret = search.wanted.number;
	return 0;
}

static int find_members(const struct user_files *files, const struct search *who, struct fail *fail)
{
	struct search search = {.path = files->group,
		.fields = GROUP_FIELDS,
		.user = who->user,
		.members = true,
		.fail = fail};

	strcpy(search.name, who->name);
	return read_lines(&search, take_group);
}

static int add_more(const struct user_files *files, const char *const *more, struct user *user,
	struct fail *fail)
{
	struct search list = {.path = files->group, .user = user, .fail = fail};
	gid_t gid;

	for (; more && *more; more++)
		if (find_group(files, *more, &gid, fail) < 0 || add_group(&list, gid) < 0)
			return -1;
	return 0;
}

static int find_home(
	const struct user_files *files, uid_t uid, char home[PATH_MAX], struct fail *fail)
{
	struct user user = {.home = "/"};
	struct search search = {.path = files->passwd,
		.fields = PASSWD_FIELDS,
		.wanted = {.is_number = true, .number = uid},
		.user = &user,
		.fail = fail};

	if (read_lines(&search, take_user) < 0)
		return -1;
	strcpy(home, user.home);
	return 0;
}

/* One release of an engine lists a gid once that is among the other groups, too, and the next one
   does it twice. */
static int check_gid(const struct user *user, struct fail *fail)
{
	for (int i = 1; i < user->group_count; i++)
		if (user->groups[i] == user->gid)
			return fail_set(fail, "engines list the group %u of user %u differently",
				user->gid, user->uid);
	return 0;
}

/* The user, and a group that is named: 0 or -1. */
static int find_both(const struct user_files *files, const char *wanted, struct search *search)
{
	size_t len = strcspn(wanted, ":");
	const char *group = wanted[len] ? wanted + len + 1 : NULL;
	struct user *user = search->user;

	if (len == 0 || (group && (!group[0] || strchr(group, ':'))))
		return fail_set(search->fail, "engines read the user '%.200s' differently", wanted);
	if (read_part(wanted, len, &search->wanted, search->fail) < 0 ||
		read_lines(search, take_user) < 0)
		return -1;
	if (!search->found && !search->wanted.is_number)
		return fail_set(search->fail, "unable to find user %s", search->wanted.name);
	if (!search->found)
		user->uid = search->wanted.number;
	return group ? find_group(files, group, &user->gid, search->fail) : 0;
}

int user_resolve_in(const struct user_files *files, const char *wanted, const char *const *more,
	bool lists_gid, struct user *ret, struct fail *fail)
{
	struct search search = {
		.path = files->passwd, .fields = PASSWD_FIELDS, .user = ret, .fail = fail};

	*ret = (struct user){.uid = 0};
	if (find_both(files, wanted, &search) < 0)
		return -1;
	ret->groups[0] = ret->gid;
	ret->group_count = lists_gid;
	if (!strchr(wanted, ':') && search.found && find_members(files, &search, fail) < 0)
		return -1;
	snprintf(ret->shown, sizeof(ret->shown), "%u:%u", ret->uid, ret->gid);
	/* which may be that of another line */
	if (find_home(files, ret->uid, ret->home, fail) < 0)
		return -1;
	if (add_more(files, more, ret, fail) < 0)
		return -1;
	return lists_gid ? check_gid(ret, fail) : 0;
}

int user_resolve(const char *wanted, const char *const *more, bool lists_gid, struct user *ret,
	struct fail *fail)
{
	return user_resolve_in(&etc, wanted, more, lists_gid, ret, fail);
}

int user_resolve_home(uid_t uid, char home[PATH_MAX], struct fail *fail)
{
	return find_home(&etc, uid, home, fail);
}
