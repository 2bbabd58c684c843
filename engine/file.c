/* SPDX-License-Identifier: MIT */
#include "engine/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int sb_file_open(const char *path, int *ret, struct sb_err *err)
{
	/* Opening must not wait either, nor make a terminal ours. */
	sb_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 1;
	/* ENXIO: a socket, or a device that is none. */
	if (fd < 0 && errno != ENXIO)
		return sb_err_set(err, SB_USAGE, "cannot open '%s': %s", path, strerror(errno));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return sb_err_set(err, SB_USAGE, "'%s' is not a regular file", path);
	*ret = fd;
	fd = -1;
	return 0;
}
