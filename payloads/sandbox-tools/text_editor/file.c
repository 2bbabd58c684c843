/* SPDX-License-Identifier: MIT */
/* Files: load, create, replace, delete. */
#include "payloads/sandbox-tools/text_editor/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

#define XATTRS_MAX 65536
#define ACL "system.posix_acl_access"

/* ---- reading ---- */

/* Is it what the path was resolved to? The path's own descriptor is asked anew: what overlayfs
   copies up, it may number anew. */
static int check_same(const struct editor_path *path, int fd)
{
	struct stat was, is;

	if (fstat(path->file, &was) < 0 || fstat(fd, &is) < 0)
		return -errno;
	return sys_is_same(&was, &is) ? 0 : -ESTALE;
}

/* A device that always gives nothing and takes everything, wherever its node is. */
static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Opens the file of the path and no other: descriptor or -errno. */
static int open_same(const struct editor_path *path, int flags)
{
	int fd, r;

	/* looked at first: opening a device can have effects */
	if (!S_ISREG(path->st.st_mode) && !is_null_device(&path->st))
		return S_ISDIR(path->st.st_mode) ? -EISDIR : -EINVAL;
	fd = io_open(path->dir, path->leaf, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd == -ELOOP ? -ESTALE : fd;
	r = check_same(path, fd);
	if (r < 0)
		io_close(&fd);
	return r < 0 ? r : fd;
}

int file_open(const struct editor_path *path)
{
	return open_same(path, O_RDONLY);
}

int file_load(const struct editor_path *path, struct buf *ret)
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
	int dir; /* borrowed */
	int fd;
	char name[40];
};

static int successor_open(struct successor *s, int dir, mode_t mode)
{
	int r;

	*s = (struct successor){.dir = dir, .fd = -1, .name = ".sbinject-edit-"};
	if (dir < 0)
		return dir;
	r = sys_random_hex(s->name + strlen(s->name), 8);
	if (r < 0)
		return r;
	s->fd = io_open(dir, s->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	return s->fd < 0 ? s->fd : 0;
}

/* Gives up what was not put in place. */
static void successor_close(struct successor *s, bool placed)
{
	if (s->fd >= 0 && !placed)
		unlinkat(s->dir, s->name, 0);
	io_close(&s->fd);
}

static int successor_rename(const struct successor *s, const struct editor_path *path)
{
	return renameat(s->dir, s->name, path->dir, path->leaf) < 0 ? -errno : 0;
}

/* Gives a new file its name as well: 0 or -errno; *ret_renamed where it has that name only. */
static int place_new(const struct successor *s, const struct editor_path *path, bool *ret_renamed)
{
	struct stat st;
	int r = linkat(s->dir, s->name, path->dir, path->leaf, 0) < 0 ? -errno : 0;

	/* file systems without hard links */
	if (r == -EPERM || r == -EOPNOTSUPP || r == -ENOSYS) {
		r = fstatat(path->dir, path->leaf, &st, AT_SYMLINK_NOFOLLOW) == 0
			    ? -EEXIST
			    : successor_rename(s, path);
		*ret_renamed = r == 0;
	}
	return r;
}

int file_create(const struct editor_path *path, const struct file_content *content)
{
	struct successor s;
	bool renamed = false;
	int r = successor_open(&s, path->dir, 0666);

	/* the name itself may be short enough where the temporary one is not */
	if (r == 0)
		r = write_pieces(s.fd, content, 0);
	if (r == 0)
		r = place_new(&s, path, &renamed);
	successor_close(&s, renamed);
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
static int replace_by_another(const struct editor_path *path, int fd, const struct stat *st,
	const struct file_content *content)
{
	struct successor s;
	bool placed = false;
	int r;

	if (st->st_nlink != 1)
		return 1;
	r = successor_open(&s, path->dir, 0600);
	if (r < 0 || copy_attributes(fd, s.fd, st) < 0) {
		successor_close(&s, false);
		return r == -ENOSPC || r == -EDQUOT || r == -ENOMEM ? r : 1;
	}
	r = write_pieces(s.fd, content, 0);
	if (r == 0) {
		/* writing clears set-id bits unless root does it */
		fchmod(s.fd, st->st_mode & 07777);
		placed = successor_rename(&s, path) == 0;
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

static int replace_content(const struct editor_path *path, int fd, const struct stat *st,
	const struct file_content *content)
{
	int r;

	if (is_null_device(st))
		return write_pieces(fd, content, 0);
	r = replace_by_another(path, fd, st, content);
	return r > 0 ? replace_in_place(fd, st, content) : r;
}

int file_replace(const struct editor_path *path, const struct file_content *content)
{
	struct stat st;
	int fd, r;

	/* the right to write to the file is what counts, not the directory's */
	fd = open_same(path, O_RDWR);
	if (fd == -EACCES)
		fd = open_same(path, O_WRONLY);
	if (fd < 0)
		return fd;
	r = fstat(fd, &st) < 0 ? -errno : replace_content(path, fd, &st, content);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int file_delete(const struct editor_path *path)
{
	return unlinkat(path->dir, path->leaf, 0) < 0 ? -errno : 0;
}
