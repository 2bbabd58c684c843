/* SPDX-License-Identifier: MIT */
/* Files: load, create, replace. */
#include "payloads/sandbox-tools/text_editor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

#define XATTRS_MAX 65536
#define ACL "system.posix_acl_access"

/* ---- reading ---- */

int file_open(const char *path)
{
	struct stat st;
	int fd;

	/* looked at first: opening a device can have effects */
	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	fd = io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		io_close(&fd);
		return -EINVAL;
	}
	return fd;
}

int file_load(const char *path, struct buf *ret)
{
	int fd = file_open(path), r = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	/* room for all at once, so that a large file is not copied while it is read */
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		r = (uint64_t)st.st_size >= FILE_SIZE_MAX
			    ? -EMSGSIZE
			    : buf_reserve(ret, (size_t)st.st_size + 1);
	if (r == 0)
		r = io_read_all(fd, ret, IO_NEVER);
	close(fd);
	return r == -EMSGSIZE ? -EFBIG : r;
}

/* ---- writing ---- */

static int write_pieces(int fd, const struct file_content *content, size_t skip)
{
	int r = 0;

	for (size_t i = 0; i < content->count && r == 0; i++) {
		struct text piece = content->pieces[i];
		size_t n = skip < piece.len ? skip : piece.len;

		skip -= n;
		if (piece.len > n)
			r = io_write_full(fd, piece.data + n, piece.len - n, IO_NEVER);
	}
	return r;
}

/* A file that will take another's place, in the same directory. */
struct successor {
	char *path; /* owned */
	int fd;
};

static int successor_open(struct successor *s, const char *path, mode_t mode)
{
	char hex[17];
	int r = sys_random_hex(hex, 8);
	const char *slash = strrchr(path, '/');

	s->fd = -1;
	s->path = NULL;
	if (r < 0)
		return r;
	if (!slash ||
		asprintf(&s->path, "%.*s/.sbinject-edit-%s", (int)(slash - path), path, hex) < 0) {
		s->path = NULL;
		return -ENOMEM;
	}
	s->fd = io_open(AT_FDCWD, s->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	return s->fd < 0 ? s->fd : 0;
}

/* Gives up what was not put in place. */
static void successor_close(struct successor *s, bool placed)
{
	if (s->fd >= 0 && !placed)
		unlink(s->path);
	io_close(&s->fd);
	free(s->path);
}

int file_create(const char *path, const struct file_content *content)
{
	struct successor s;
	bool placed = false;
	int r = successor_open(&s, path, 0666);

	/* the name itself may be short enough where the temporary one is not */
	if (r == 0)
		r = write_pieces(s.fd, content, 0);
	if (r == 0 && link(s.path, path) < 0) {
		r = -errno;
		/* file systems without hard links */
		if (r == -EPERM || r == -EOPNOTSUPP || r == -ENOSYS) {
			r = access(path, F_OK) == 0 ? -EEXIST : 0;
			if (r == 0)
				r = rename(s.path, path) < 0 ? -errno : 0;
			placed = r == 0;
		}
	}
	successor_close(&s, placed);
	return r;
}

static int copy_xattr(int from, int to, const char *name)
{
	static char value[XATTRS_MAX];
	ssize_t n = fgetxattr(from, name, value, sizeof(value));

	if (n < 0)
		return errno == ENODATA ? 0 : -errno;
	return fsetxattr(to, name, value, (size_t)n, 0) < 0 ? -errno : 0;
}

/* The extended attributes, and no more access control than the original had. What belongs to the
   security modules is theirs to decide. */
static int copy_xattrs(int from, int to)
{
	static char names[XATTRS_MAX];
	ssize_t len = flistxattr(from, names, sizeof(names));
	bool has_acl = false;
	int r = 0;

	if (len < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	for (ssize_t i = 0; i < len && r == 0; i += (ssize_t)strlen(names + i) + 1) {
		has_acl |= strcmp(names + i, ACL) == 0;
		r = copy_xattr(from, to, names + i);
		if (strncmp(names + i, "security.", 9) == 0)
			r = 0;
	}
	if (!has_acl)
		fremovexattr(to, ACL);
	return r;
}

/* Owner before mode: changing it clears set-id bits. */
static int copy_attributes(int from, int to, const struct stat *st)
{
	struct stat is;

	if (fstat(to, &is) < 0)
		return -errno;
	if ((is.st_uid != st->st_uid || is.st_gid != st->st_gid) &&
		fchown(to, st->st_uid, st->st_gid) < 0)
		return -errno;
	if (copy_xattrs(from, to) < 0 || fchmod(to, st->st_mode & 07777) < 0)
		return -EPERM;
	return 0;
}

/* 0, 1: has to be done in place, -errno. 'fd' is the file, open for writing. */
static int replace_by_another(
	const char *path, int fd, const struct stat *st, const struct file_content *content)
{
	struct successor s;
	bool placed = false;
	int r;

	if (st->st_nlink != 1)
		return 1;
	r = successor_open(&s, path, 0600);
	if (r < 0 || copy_attributes(fd, s.fd, st) < 0) {
		successor_close(&s, false);
		return r == -ENOSPC || r == -EDQUOT || r == -ENOMEM ? r : 1;
	}
	r = write_pieces(s.fd, content, 0);
	if (r == 0) {
		/* writing clears set-id bits unless root does it */
		fchmod(s.fd, st->st_mode & 07777);
		placed = rename(s.path, path) == 0;
		r = placed ? 0 : 1;
	}
	successor_close(&s, placed);
	return r;
}

static int replace_in_place(int fd, const struct stat *st, const struct file_content *content)
{
	off_t size = 0;
	int r;

	for (size_t i = 0; i < content->count; i++)
		size += (off_t)content->pieces[i].len;
	/* a full disk shall be noticed before anything is lost */
	if (size > st->st_size &&
		fallocate(fd, FALLOC_FL_KEEP_SIZE, st->st_size, size - st->st_size) < 0 &&
		(errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return -errno;
	if (lseek(fd, (off_t)content->same, SEEK_SET) < 0)
		return -errno;
	r = write_pieces(fd, content, content->same);
	if (r == 0 && ftruncate(fd, size) < 0)
		r = -errno;
	return r;
}

int file_replace(const char *path, const struct file_content *content)
{
	struct stat st;
	int fd, r;

	/* the right to write to the file is what counts, not the directory's */
	fd = io_open(AT_FDCWD, path, O_RDWR | O_NONBLOCK | O_NOCTTY, 0);
	if (fd == -EACCES)
		fd = io_open(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	r = replace_by_another(path, fd, &st, content);
	if (r > 0)
		r = replace_in_place(fd, &st, content);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}
