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

static int begin(
	const char *path, const char *shown, unsigned mode, struct sb_file *ret, struct sb_err *err)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash + 1 - path) : 0;

	if (snprintf(ret->path, PATH_MAX, "%s", path) >= PATH_MAX ||
		snprintf(ret->temporary, PATH_MAX, "%.*s.sbinject-XXXXXX", dir_len, path) >=
			PATH_MAX) {
		errno = ENAMETOOLONG;
		return fail_write(shown, err);
	}
	ret->fd = mkostemp(ret->temporary, O_CLOEXEC);
	if (ret->fd < 0)
		return fail_write(shown, err);
	if (fchmod(ret->fd, mode) < 0) {
		fail_write(shown, err);
		sb_file_release(ret);
		return -1;
	}
	return 0;
}

int sb_file_begin(const char *path, unsigned mode, struct sb_file *ret, struct sb_err *err)
{
	sb_autofree char *real = realpath(path, NULL);
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT && *path ? begin(path, path, mode, ret, err)
						: fail_write(path, err);
	if (!S_ISREG(st.st_mode))
		return sb_err_set(err, SB_USAGE, "'%s' is not a regular file", path);
	return begin(real ? real : path, path, mode, ret, err);
}

int sb_file_keep(struct sb_file *file, struct sb_err *err)
{
	int closed = close(file->fd);

	file->fd = -1;
	if (closed < 0 || rename(file->temporary, file->path) < 0) {
		fail_write(file->path, err);
		unlink(file->temporary);
		return -1;
	}
	return 0;
}

void sb_file_release(struct sb_file *file)
{
	if (file->fd < 0)
		return;
	close(file->fd);
	file->fd = -1;
	unlink(file->temporary);
}

static int replace(
	const char *path, const char *shown, const void *data, size_t len, struct sb_err *err)
{
	sb_auto(sb_file_release) struct sb_file file = SB_FILE_INIT;

	if (begin(path, shown, 0755, &file, err) < 0 ||
		sb_file_put(file.fd, shown, data, len, err) < 0)
		return -1;
	return sb_file_keep(&file, err);
}

int sb_file_replace(const char *path, const void *data, size_t len, struct sb_err *err)
{
	return replace(path, path, data, len, err);
}

int sb_file_write(const char *path, const void *data, size_t len, struct sb_err *err)
{
	sb_autofree char *real = realpath(path, NULL);
	struct stat there;
	int fd, failed;

	if (stat(path, &there) < 0)
		return errno == ENOENT && *path ? replace(path, path, data, len, err)
						: fail_write(path, err);
	if (S_ISREG(there.st_mode) && real)
		return replace(real, path, data, len, err);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return fail_write(path, err);
	failed = sb_file_put(fd, path, data, len, err);
	/* Closing can tell of a failure, too. */
	return close(fd) < 0 && !failed ? fail_write(path, err) : failed;
}
