/* SPDX-License-Identifier: MIT */
#include "conf/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Whoever can set the environment needs no rules file of others. */
static bool called_sudo(uid_t uid)
{
	const char *text = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	char own[24];

	snprintf(own, sizeof(own), "%lu", (unsigned long)uid);
	return text && !strcmp(text, own);
}

static bool is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid() || called_sudo(uid);
}

/* The user's primary group, of the same name, and nobody else in it; no room is as good as others.
 */
static bool is_own_group(gid_t gid, uid_t owner)
{
	char user_text[4096], group_text[4096];
	struct passwd user_space, *user = NULL;
	struct group group_space, *group = NULL;

	if (getpwuid_r(owner, &user_space, user_text, sizeof(user_text), &user) != 0 || !user ||
		user->pw_gid != gid)
		return false;
	if (getgrgid_r(gid, &group_space, group_text, sizeof(group_text), &group) != 0 || !group ||
		strcmp(group->gr_name, user->pw_name) != 0)
		return false;
	for (char **member = group->gr_mem; *member; member++)
		if (strcmp(*member, user->pw_name) != 0)
			return false;
	return true;
}

static bool others_write(int fd, const struct stat *st)
{
	struct statvfs fs;

	if (!(st->st_mode & 022) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX)))
		return false;
	if (!(st->st_mode & 002) && is_own_group(st->st_gid, st->st_uid))
		return false;
	return fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_RDONLY);
}

int trust_check(int fd, const char *path, struct sb_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sb_err_set(err, SB_USAGE, "cannot examine '%s': %s", path, strerror(errno));
	if (!is_trusted(st.st_uid))
		return sb_err_set(err, SB_USAGE,
			"'%s' belongs to user %lu, who is neither root nor you; rules decide "
			"what runs as root in containers, so use your own copy",
			path, (unsigned long)st.st_uid);
	if (others_write(fd, &st))
		return sb_err_set(err, SB_USAGE,
			"'%s' is writable by others (mode %04o); rules decide what runs as "
			"root in containers, so run 'chmod go-w' on it",
			path, (unsigned)st.st_mode & 07777);
	return 0;
}

int trust_check_dir(const char *dir, struct sb_err *err)
{
	sb_autoclose int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return sb_err_set(err, SB_USAGE, "cannot open '%s': %s", dir, strerror(errno));
	return trust_check(fd, dir, err);
}
