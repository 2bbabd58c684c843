/* SPDX-License-Identifier: MIT */
/* The server directory, and the distrust it deserves. */
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/server/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/way.h"

static const char *const own_files[] = {
	PLACE_SOCKET,
	PLACE_PID,
	PLACE_STATUS,
	PLACE_STATUS_TMP,
	PLACE_OUT_LOG,
	PLACE_ERR_LOG,
	PLACE_START_LOCK,
	PLACE_SERVER_LOCK,
};

/* ---- where it is ---- */

/* Removes empty, '.' and '..' components, by text alone. */
static void tidy_path(char *path)
{
	char *out = path, *p = path;

	while (*p) {
		char *end = p + 1 + strcspn(p + 1, "/");
		size_t len = (size_t)(end - p);

		if (len == 3 && memcmp(p, "/..", 3) == 0) {
			while (out > path && *--out != '/')
				;
		} else if (len > 1 && !(len == 2 && p[1] == '.')) {
			memmove(out, p, len);
			out += len;
		}
		p = end;
	}
	*out = '\0';
}

static int set_dir(struct place *place, const char *above, const char *name, struct fail *fail)
{
	int n = snprintf(place->dir, sizeof(place->dir), "%s/%s", above, name);

	if (n < 0 || (size_t)n >= sizeof(place->dir))
		return fail_sys(fail, ENAMETOOLONG, "server directory");
	return 0;
}

static void init(struct place *place)
{
	memset(place, 0, sizeof(*place));
	place->keeper = geteuid();
	place->fd = -1;
}

/* 1, 0 if no variable names one, -1. */
static int find_given(struct place *place, struct fail *fail)
{
	const char *given = getenv(PLACE_VARIABLE);
	char base[PATH_MAX] = "";

	if (!given || !*given)
		return 0;
	if (given[0] != '/' && !getcwd(base, sizeof(base)))
		return fail_sys(fail, errno, "cannot determine the working directory");
	if (set_dir(place, base, given, fail) < 0)
		return -1;
	tidy_path(place->dir);
	if (place->dir[0] == '\0')
		return fail_set(fail, "'/' cannot be the server directory");
	return 1;
}

/* What is delivered beside a home (beside.h) belongs to what is in the home. */
static bool is_beside_home(const char *program)
{
	const char *leaf = strrchr(program, '/') + 1;
	size_t above = (size_t)(leaf - program) - 1, len = strlen("/" WIRE_HOME_NAME);

	return name_is_delivery(leaf) &&
	       (above < len || memcmp(program + above - len, "/" WIRE_HOME_NAME, len) != 0);
}

static int set_beside(struct place *place, const char *program, struct fail *fail)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%.*s", (int)(strrchr(program, '/') - program), program);
	return set_dir(place, above,
		is_beside_home(program) ? WIRE_HOME_NAME "/" WIRE_SERVER_NAME : WIRE_SERVER_NAME,
		fail);
}

static bool is_closed(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static void look_above(const struct place *place, struct stat *ret)
{
	char above[PATH_MAX];
	char *slash;

	snprintf(above, sizeof(above), "%s", place->dir);
	slash = strrchr(above, '/');
	slash[slash == above] = '\0';
	if (stat(above, ret) < 0)
		memset(ret, 0xff, sizeof(*ret));
}

/* The installer's word on where the service of the programs here is. */
static bool follow_link(struct place *place)
{
	char target[PATH_MAX];
	struct stat above, st;
	ssize_t n;

	look_above(place, &above);
	if (!is_closed(&above) || lstat(place->dir, &st) < 0 || !S_ISLNK(st.st_mode) ||
		(st.st_uid != 0 && st.st_uid != geteuid()))
		return false;
	n = readlink(place->dir, target, sizeof(target) - 1);
	if (n < 1 || target[0] != '/')
		return false;
	target[n] = '\0';
	strcpy(place->dir, target);
	return true;
}

/* The program of a user's own directory, which others can enter, is there for them, too. */
static void choose_sharing(struct place *place)
{
	struct stat above;

	look_above(place, &above);
	if (geteuid() == 0 || !(above.st_mode & S_IXOTH) || (above.st_mode & 022))
		return;
	place->keeper = above.st_uid;
	place->shares = above.st_uid == geteuid();
}

int place_find(struct place *place, struct fail *fail)
{
	char program[PATH_MAX];
	struct place beside;
	int given;

	init(place);
	init(&beside);
	given = find_given(place, fail);
	if (given < 0)
		return -1;
	if (sys_program_path(program) < 0 || set_beside(&beside, program, fail) < 0)
		return given ? 0 : fail_set(fail, "cannot determine the path of this program");
	/* also for a server, which is told by the variable */
	if (given && strcmp(place->dir, beside.dir) != 0)
		return 0;
	*place = beside;
	if (!follow_link(place))
		choose_sharing(place);
	return 0;
}

int place_of(struct place *place, const char *program, struct fail *fail)
{
	int given;

	init(place);
	given = find_given(place, fail);
	if (given == 0)
		given = set_beside(place, program, fail);
	return given < 0 ? -1 : 0;
}

int place_at(struct place *place, const char *dir, struct fail *fail)
{
	init(place);
	if (dir[0] != '/' || strlen(dir) >= sizeof(place->dir))
		return fail_set(fail, "'%.200s' cannot be the server directory", dir);
	strcpy(place->dir, dir);
	return 0;
}

/* ---- whose it is ---- */

static int distrust(const struct place *place, struct fail *fail, const char *what)
{
	return fail_code(fail, FAIL_OCCUPIED,
		"Sandbox-tools server directory %.150s cannot be trusted: %s. "
		"Remove the entry (or correct its ownership and permissions) and retry.",
		place->dir, what);
}

static void clear_foreign(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid())
		tree_clear(fd, name);
}

void place_close_to_others(const struct place *place)
{
	struct stat st;

	if (fstat(place->fd, &st) < 0 || st.st_uid != geteuid() || !(st.st_mode & 077) ||
		(place->shares && !(st.st_mode & 022)) || fchmod(place->fd, 0700) < 0 ||
		!(st.st_mode & 022))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(own_files); i++)
		clear_foreign(place->fd, own_files[i]);
	clear_foreign(place->fd, PLACE_CHUNKS);
}

static int make(const struct place *place, int parent, const char *leaf)
{
	int r = tree_mkdir(parent, leaf, 0700), fd;

	if (r < 0 && r != -EEXIST)
		return r;
	fd = tree_open_dir(parent, leaf);
	if (fd >= 0 && r == 0)
		fchmod(fd, place->shares ? 0755 : 0700);
	return fd;
}

static int refuse_owner(const struct place *place, const struct stat *st, struct fail *fail)
{
	char what[100];

	snprintf(what, sizeof(what), "it is owned by uid %lu, not uid %lu",
		(unsigned long)st->st_uid, (unsigned long)geteuid());
	return distrust(place, fail, what);
}

/* One that is meant to be everybody's, such as /tmp, is not taken from them. */
static int check_own(const struct place *place, struct fail *fail)
{
	struct stat st;

	if (fstat(place->fd, &st) < 0)
		return fail_sys(fail, errno, "cannot examine '%s'", place->dir);
	if (st.st_uid != geteuid())
		return refuse_owner(place, &st, fail);
	if (st.st_uid == 0 && (st.st_mode & 022) && (st.st_mode & S_ISVTX))
		return distrust(place, fail, "it is open to others");
	return 0;
}

/* What there is at that name, if that cannot be a directory of ours. */
static int check_kind(const struct place *place, const struct stat *st, struct fail *fail)
{
	if (S_ISLNK(st->st_mode))
		return distrust(place, fail, "it is a symbolic link");
	if (!S_ISDIR(st->st_mode))
		return distrust(place, fail, "it is not a directory");
	return st->st_uid != geteuid() ? refuse_owner(place, st, fail) : 0;
}

/* What is there, if it could not be opened. */
static int explain(
	const struct place *place, int parent, const char *leaf, int error, struct fail *fail)
{
	struct stat st;

	if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_sys(fail, error,
			"Sandbox-tools server directory %.150s cannot be created "
			"(" PLACE_VARIABLE " can name another)",
			place->dir);
	if (check_kind(place, &st, fail) < 0)
		return -1;
	return fail_sys(fail, error, "cannot open '%s'", place->dir);
}

int place_check(const struct place *place, struct fail *fail)
{
	struct stat st;

	if (lstat(place->dir, &st) < 0 || (S_ISDIR(st.st_mode) && st.st_uid == place->keeper))
		return 0;
	return check_kind(place, &st, fail);
}

/* One that its owner may not write to is no use to the owner. */
static void open_to_owner(const struct place *place)
{
	struct stat st;

	if (fstat(place->fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		fchmod(place->fd, (st.st_mode & 07777) | S_IRWXU);
}

static int open_own(struct place *place, struct fail *fail)
{
	char leaf[NAME_MAX + 1];
	int parent = way_make(place->dir, leaf, fail);

	if (parent < 0)
		return -1;
	place->fd = make(place, parent, leaf);
	if (place->fd < 0)
		explain(place, parent, leaf, place->fd, fail);
	close(parent);
	if (place->fd < 0 || check_own(place, fail) < 0) {
		place_close(place);
		return -1;
	}
	place_close_to_others(place);
	open_to_owner(place);
	/* what was made for one alone stays that, also when it has to be made again */
	place->shares = place->shares && place_is_shared(place);
	return 0;
}

/* Nothing, a link or a file, or what is somebody else's: no server directory of ours. */
static int look(struct place *place, struct fail *fail)
{
	struct stat st;

	place->fd =
		io_open(AT_FDCWD, place->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (place->fd == -ENOENT || place->fd == -ENOTDIR || place->fd == -ELOOP)
		return 1;
	if (place->fd < 0)
		return fail_sys(fail, place->fd, "cannot open '%s'", place->dir);
	if (fstat(place->fd, &st) == 0 &&
		(st.st_uid == geteuid() || (st.st_uid == place->keeper && !(st.st_mode & 022))))
		return 0;
	return 1;
}

int place_open(struct place *place, bool create, struct fail *fail)
{
	int r;

	place_close(place);
	if (create)
		return open_own(place, fail);
	r = look(place, fail);
	if (r != 0)
		place_close(place);
	return r;
}

void place_close(struct place *place)
{
	io_close(&place->fd);
	place->fd = -1;
}

bool place_trusts(const struct place *place, uid_t uid)
{
	return uid == geteuid() || uid == 0 || uid == place->keeper;
}

bool place_is_shared(const struct place *place)
{
	struct stat st;

	return geteuid() != 0 && fstat(place->fd, &st) == 0 && (st.st_mode & S_IXOTH);
}

/* ---- what is in it ---- */

/* A path from the directory itself is short enough for an address, however long the directory's
   own is, and needs no /proc. */
static int act_inside(const struct place *place, int fd,
	int (*act)(int fd, const struct sockaddr *address, socklen_t len))
{
	static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = PLACE_SOCKET};
	int back = io_open(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0);
	int r = fchdir(place->fd) < 0 ? -errno : 0;

	if (r == 0 && act(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	/* one that we could not enter again ourselves is no directory to be in */
	if ((back < 0 || fchdir(back) < 0) && chdir("/") < 0)
		r = r < 0 ? r : -errno;
	io_close(&back);
	return r;
}

int place_bind(const struct place *place, int fd)
{
	mode_t old = umask(place_is_shared(place) ? 0111 : 0177);
	int r;

	place_remove(place, PLACE_SOCKET);
	r = act_inside(place, fd, bind);
	umask(old);
	return r;
}

int place_connect(const struct place *place, int fd)
{
	return act_inside(place, fd, connect);
}

static bool is_plain_file(const struct place *place, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	       place_trusts(place, st.st_uid);
}

int place_open_file(const struct place *place, const char *name, int flags, struct fail *fail)
{
	int fd = -1;

	for (int attempt = 0; attempt < 2; attempt++) {
		fd = io_open(
			place->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
		if (fd >= 0 && is_plain_file(place, fd)) {
			fchmod(fd, 0600);
			return fd;
		}
		if (fd >= 0) {
			io_close(&fd);
			fd = -EPERM;
		}
		if (tree_clear(place->fd, name) < 0)
			break;
	}
	return fail_sys(fail, fd, "cannot open '%s/%s'", place->dir, name);
}

int place_read_file(const struct place *place, const char *name)
{
	int fd = io_open(place->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd >= 0 && !is_plain_file(place, fd)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

bool place_is_current(const struct place *place)
{
	struct stat at, is;

	return lstat(place->dir, &at) == 0 && fstat(place->fd, &is) == 0 && sys_is_same(&at, &is);
}

void place_remove(const struct place *place, const char *name)
{
	unlinkat(place->fd, name, 0);
}

void place_remove_above(const struct place *place)
{
	char path[PATH_MAX], leaf[NAME_MAX + 1];
	struct stat st;
	int parent;

	snprintf(path, sizeof(path), "%s", place->dir);
	*strrchr(path, '/') = '\0';
	parent = tree_open_parent(path, leaf, NULL);
	if (parent >= 0 && fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		tree_rmdir(parent, leaf);
	io_close(&parent);
}

int place_erase(struct place *place)
{
	char leaf[NAME_MAX + 1];
	int removed = 0, parent;

	for (size_t i = 0; i < ARRAY_SIZE(own_files); i++)
		removed += unlinkat(place->fd, own_files[i], 0) == 0;
	removed += tree_sweep(place->fd);
	parent = tree_open_parent(place->dir, leaf, NULL);
	if (parent >= 0)
		removed += tree_sweep(parent) + (tree_rmdir(parent, leaf) == 0);
	io_close(&parent);
	place_close(place);
	return removed;
}
