/* SPDX-License-Identifier: MIT */
/*
 * Which user to run something as: users as the container's own /etc/passwd and /etc/group list them
 * (read directly: a static program has no name service) or as a caller describes them by numbers,
 * and becoming one.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHILD_USER_H
#define PAYLOADS_SANDBOX_TOOLS_CHILD_USER_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "payloads/lib/fail.h"

#define USER_GROUPS_MAX 1024
#define USER_SHOWN_MAX 210

struct user {
	uid_t uid;
	gid_t gid;
	char home[PATH_MAX]; /* "/" when passwd names none */
	gid_t groups[USER_GROUPS_MAX];
	int group_count;
	char shown[USER_SHOWN_MAX]; /* for messages: "'nobody'", or "1000:1000" */
	bool unknown;		    /* passwd does not have the name: 'shown' is set, 'home' "" */
};

/* Looks a name up: 0; 1 when passwd does not know it; or -errno. Lines and files without end, and
   what is no regular file, count as unknown. */
int user_find(const char *name, struct user *ret);
/* The same in other files. */
int user_find_in(
	const char *passwd_path, const char *group_path, const char *name, struct user *ret);
/* The home directory passwd has for a uid: 0; 1 when it has none; or -errno. */
int user_find_home_in(const char *passwd_path, uid_t uid, char home[PATH_MAX]);

/*
 * Whom a value of type PARAM_USER asks for: a name, or an identity {uid, gid, groups, home}, whose
 * home, when it is null, is the one passwd has for the uid, or "/". 0: the user that this process
 * is already (by uid for a name; by uid, gid and the set of groups for an identity, gid being one
 * of them in any case), so nothing is switched and HOME stays; also for no value or null. 1: 'ret',
 * which can be unknown. -1 with 'fail': FAIL_TOOL for a process that is not root, FAIL_PARAMS for
 * numbers that are no ids and more groups than fit.
 */
int user_choose(const json_t *wanted, struct user *ret, struct fail *fail);
/*
 * Whom a container's engine runs a command as when it is asked for "USER" or "USER:GROUP", each a
 * name or a number, with 'more' groups (NULL at the end; may be NULL) on top; 'lists_gid': it
 * counts the gid among the supplementary groups. 0 and 'ret', with some groups twice where the
 * engine has them so; -1 with 'fail': there is nobody of that name, or engines would not agree on
 * who it is.
 */
int user_resolve(const char *wanted, const char *const *more, bool lists_gid, struct user *ret,
	struct fail *fail);
/* The home that it gives to a user. As before. */
int user_resolve_home(uid_t uid, char home[PATH_MAX], struct fail *fail);
/* The same in other files. */
struct user_files {
	const char *passwd, *group;
};
int user_resolve_in(const struct user_files *files, const char *wanted, const char *const *more,
	bool lists_gid, struct user *ret, struct fail *fail);

/* Is the name in a list such as a line of group has? */
bool user_is_listed(const char *list, const char *name);
/* Is it the user that this process is, the groups taken as a set with the gid in it? */
bool user_is_current(const struct user *user);
/* Supplementary groups, gid, uid, in that order. 0 or -errno. Async-signal-safe: for use between
   fork and exec. */
int user_become(const struct user *user);

#endif
