/* SPDX-License-Identifier: MIT */
/* From what a caller says about a user to that user. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "payloads/sandbox-tools/child/user.h"

#define ID_MAX 4294967294LL /* the one above it means "none" to the kernel */

static int fail_null_byte(struct fail *fail)
{
	return fail_set(fail, "ValueError('embedded null byte')");
}

/* ---- names ---- */

/* 0, 1 or -1 as user_choose, without regard to what this process may do. */
static int choose_name(const json_t *wanted, struct user *ret, struct fail *fail)
{
	const char *name = json_string_value(wanted);
	int r;

	if (strlen(name) != json_string_length(wanted))
		return fail_null_byte(fail);
	snprintf(ret->shown, sizeof(ret->shown), "'%.200s'", name);
	r = user_find(name, ret);
	if (r < 0)
		return fail_sys(fail, r, "cannot look up user %s", ret->shown);
	ret->unknown = r > 0;
	if (ret->unknown)
		ret->home[0] = '\0'; /* callers make an environment before it is found out */
	return ret->unknown || ret->uid != geteuid();
}

/* ---- identities ---- */

static int read_id(const json_t *value, const char *name, unsigned *ret, struct fail *fail)
{
	json_int_t id = json_integer_value(value);

	if (!json_is_integer(value) || id < 0 || id > ID_MAX)
		return fail_code(fail, FAIL_PARAMS,
			"Invalid parameters: the %s of an identity is a number from 0 to %lld",
			name, ID_MAX);
	*ret = (unsigned)id;
	return 0;
}

static int read_groups(const json_t *list, struct user *ret, struct fail *fail)
{
	size_t count = json_array_size(list);

	if (count > USER_GROUPS_MAX)
		return fail_code(fail, FAIL_PARAMS,
			"Invalid parameters: an identity has at most %d groups", USER_GROUPS_MAX);
	for (size_t i = 0; i < count; i++)
		if (read_id(json_array_get(list, i), "groups", &ret->groups[i], fail) < 0)
			return -1;
	ret->group_count = (int)count;
	return 0;
}

static int read_home(const json_t *value, struct user *ret, struct fail *fail)
{
	const char *home = json_string_value(value);
	int r;

	if (!home) {
		r = user_find_home_in("/etc/passwd", ret->uid, ret->home);
		if (r < 0)
			return fail_sys(fail, r, "cannot look up the home of %s", ret->shown);
		if (r > 0)
			strcpy(ret->home, "/");
		return 0;
	}
	if (strlen(home) != json_string_length(value))
		return fail_null_byte(fail);
	if (strlen(home) >= sizeof(ret->home))
		return fail_sys(fail, ENAMETOOLONG, "cannot use the home of %s", ret->shown);
	strcpy(ret->home, home);
	return 0;
}

/* Is each of 'some' the gid or one of 'all'? */
static bool are_among(const gid_t *some, int count, gid_t gid, const gid_t *all, int all_count)
{
	for (int i = 0; i < count; i++) {
		int k = 0;

		while (k < all_count && all[k] != some[i])
			k++;
		if (k == all_count && some[i] != gid)
			return false;
	}
	return true;
}

bool user_is_current(const struct user *user)
{
	gid_t groups[USER_GROUPS_MAX];
	int count = getgroups(USER_GROUPS_MAX, groups);

	return user->uid == geteuid() && user->gid == getegid() && count >= 0 &&
	       are_among(user->groups, user->group_count, user->gid, groups, count) &&
	       are_among(groups, count, user->gid, user->groups, user->group_count);
}

static int choose_identity(const json_t *wanted, struct user *ret, struct fail *fail)
{
	ret->unknown = false;
	if (read_id(json_object_get(wanted, "uid"), "uid", &ret->uid, fail) < 0 ||
		read_id(json_object_get(wanted, "gid"), "gid", &ret->gid, fail) < 0 ||
		read_groups(json_object_get(wanted, "groups"), ret, fail) < 0)
		return -1;
	snprintf(ret->shown, sizeof(ret->shown), "%u:%u", ret->uid, ret->gid);
	if (read_home(json_object_get(wanted, "home"), ret, fail) < 0)
		return -1;
	return !user_is_current(ret);
}

/* ---- both ---- */

int user_choose(const json_t *wanted, struct user *ret, struct fail *fail)
{
	int r;

	if (!wanted || json_is_null(wanted))
		return 0;
	r = json_is_string(wanted) ? choose_name(wanted, ret, fail)
				   : choose_identity(wanted, ret, fail);
	if (r > 0 && geteuid() != 0)
		return fail_code(fail, FAIL_TOOL,
			"Cannot switch to user %s: server is not running as root", ret->shown);
	return r;
}

int user_become(const struct user *user)
{
	if (setgroups((size_t)user->group_count, user->groups) < 0)
		return -errno;
	if (setgid(user->gid) < 0)
		return -errno;
	return setuid(user->uid) < 0 ? -errno : 0;
}
