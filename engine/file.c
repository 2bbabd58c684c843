/* SPDX-License-Identifier: MIT */
#include "engine/file.h"

#include "engine/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

static int fail_write(const char *path, struct sb_err *err)
{
	if (eng_interrupted)
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	return sb_err_set(err, SB_FAILED, "cannot write '%s': %s", path, strerror(errno));
}

static int put_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && (errno != EINTR || eng_interrupted))
			return -1;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int sb_file_put(int fd, const char *shown, const void *data, size_t len, struct sb_err *err)
{
	return put_all(fd, data, len) < 0 ? fail_write(shown, err) : 0;
}

/* What was `failed` stays so; closing can tell of a failure, too. */
static int end(int fd, int failed)
{
	int error = errno;

	if (close(fd) < 0 && !failed)
		return -1;
	errno = error;
	return failed;
}

static int replace(
	const char *path, const char *shown, const void *data, size_t len, struct sb_err *err)
{
	static const char name[] = ".sbinject-XXXXXX";
	const char *slash = strrchr(path, '/');
	size_t dir_len = slash ? (size_t)(slash + 1 - path) : 0;
	sb_autofree char *temporary = malloc(dir_len + sizeof(name));
	int fd, failed;

	if (!temporary)
		return sb_err_nomem(err);
	memcpy(temporary, path, dir_len);
	memcpy(temporary + dir_len, name, sizeof(name));
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return fail_write(shown, err);
	failed = fchmod(fd, 0755) < 0 ? -1 : put_all(fd, data, len);
	if (end(fd, failed) < 0 || rename(temporary, path) < 0) {
		fail_write(shown, err);
		unlink(temporary);
		return -1;
	}
	return 0;
}

int sb_file_replace(const char *path, const void *data, size_t len, struct sb_err *err)
{
	return replace(path, path, data, len, err);
}

int sb_file_write(const char *path, const void *data, size_t len, struct sb_err *err)
{
	sb_autofree char *real = realpath(path, NULL);
	struct stat there;
	int fd;

	if (stat(path, &there) < 0)
		return errno == ENOENT && *path ? replace(path, path, data, len, err)
						: fail_write(path, err);
	if (S_ISREG(there.st_mode) && real)
		return replace(real, path, data, len, err);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return fd < 0 || end(fd, put_all(fd, data, len)) < 0 ? fail_write(path, err) : 0;
}
