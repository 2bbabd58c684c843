/* SPDX-License-Identifier: MIT */
/*
 * Users as the container's own /etc/passwd and /etc/group know them (read directly: a static
 * program has no name service), and becoming one.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHILD_USER_H
#define PAYLOADS_SANDBOX_TOOLS_CHILD_USER_H

#include <limits.h>
#include <sys/types.h>

#define USER_GROUPS_MAX 256

struct user {
	uid_t uid;
	gid_t gid;
	char home[PATH_MAX]; /* "/" when passwd names none */
	gid_t groups[USER_GROUPS_MAX];
	int group_count;
};

/* Looks a name up: 0; 1 when passwd does not know it; or -errno. Lines and files without end, and
   what is no regular file, count as unknown. */
int user_find(const char *name, struct user *ret);
/* The same in other files. */
int user_find_in(
	const char *passwd_path, const char *group_path, const char *name, struct user *ret);
/* Supplementary groups, gid, uid, in that order. 0 or -errno; a process that may not do it but is
   that user already stays as it is. Async-signal-safe: for use between fork and exec. */
int user_become(const struct user *user);

#endif
