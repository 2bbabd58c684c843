/* SPDX-License-Identifier: MIT */
#include "payloads/own_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool own_dir_path(const char *xdg, const char *in_home, const char *name, char *path, size_t size)
{
	const char *home = getenv("HOME");
	int n = -1;

	/* The XDG specification: a relative path is to be ignored. */
	if (xdg && *xdg == '/')
		n = snprintf(path, size, "%s/%s", xdg, name);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s%s/%s", home, in_home, name);
	return n > 0 && (size_t)n < size;
}

static void make_dirs(char *path)
{
	bool may_make = false;

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct stat st;

		*slash = '\0';
		if (may_make)
			mkdir(path, 0700);
		may_make = stat(path, &st) == 0 && st.st_uid == geteuid();
		*slash = '/';
	}
	if (may_make)
		mkdir(path, 0700);
}

int own_dir_open(char *path)
{
	struct stat st;
	int fd;

	make_dirs(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))) {
		close(fd);
		fd = -1;
	}
	return fd;
}
