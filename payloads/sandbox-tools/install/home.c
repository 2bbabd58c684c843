/* SPDX-License-Identifier: MIT */
/* The home directory of an installation. */
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/install/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/sandbox-tools/server/place.h"

#define STATE_MAX 65536
#define RECORD_FRESH "record.new"
#define CURRENT_FRESH "current.new"
#define LINK_FRESH "link.new"
#define DELIVERY_SECS 600 /* how long a delivered binary may wait for its install */
#define ERASE_BUDGET 10000

/* ---- names ---- */

/* <home>/user/<sha256> becomes <home>. */
static bool strip_user(char *path)
{
	char *sha256 = strrchr(path, '/'), *user;

	if (!sha256 || !name_is_binary(sha256 + 1))
		return false;
	*sha256 = '\0';
	user = strrchr(path, '/');
	if (user && strcmp(user + 1, WIRE_USER_NAME) == 0) {
		*user = '\0';
		return true;
	}
	*sha256 = '/';
	return false;
}

/* The home that a program of that path is in, if it is in one. */
static bool find_home(const char *program, char home[PATH_MAX])
{
	const char *leaf = strrchr(program, '/');

	if (!leaf || leaf - program >= PATH_MAX)
		return false;
	snprintf(home, PATH_MAX, "%.*s", (int)(leaf - program), program);
	return strip_user(home) || name_is_delivery(leaf + 1) || name_is_kept(leaf + 1);
}

static const char *leaf_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whatever it leads to is called by the digest. */
static bool is_current(const char *home, const char *hex)
{
	char path[PATH_MAX + sizeof("/" WIRE_HOME_NAME "/" WIRE_CURRENT_NAME)], target[PATH_MAX];
	bool is_beside = strcmp(leaf_of(home), WIRE_HOME_NAME) != 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" WIRE_CURRENT_NAME, home);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0 && is_beside) {
		snprintf(path, sizeof(path), "%s/" WIRE_HOME_NAME "/" WIRE_CURRENT_NAME, home);
		n = readlink(path, target, sizeof(target) - 1);
	}
	target[n < 0 ? 0 : n] = '\0';
	return strcmp(leaf_of(target), hex) == 0;
}

bool home_forbids(const char *program, const char *hex)
{
	char home[PATH_MAX];

	return find_home(program, home) && !is_current(home, hex);
}

static bool is_own_name(const char *name)
{
	static const char *const names[] = {HOME_LOCK, HOME_STATE, HOME_TREES, RECORD_FRESH,
		WIRE_CURRENT_NAME, CURRENT_FRESH, LINK_FRESH, WIRE_USER_NAME};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return name_is_binary(name) || name_is_delivery(name) || name_is_kept(name);
}

/* ---- the directory ---- */

static int open_directory(const char *path)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, NULL), fd;

	if (parent < 0)
		return parent;
	fd = tree_open_dir(parent, leaf);
	close(parent);
	return fd;
}

bool home_has_user(const struct home *home)
{
	struct stat st;

	return fstatat(home->fd, WIRE_USER_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_owner(const struct home *home, struct fail *fail)
{
	mode_t mode = home_has_user(home) ? 0711 : 0700;
	struct stat st;

	if (fstat(home->fd, &st) < 0)
		return fail_sys(fail, errno, "cannot examine '%s'", home->path);
	if (st.st_uid != geteuid())
		return fail_code(fail, FAIL_DENIED, "'%s' belongs to another user", home->path);
	if ((st.st_mode & 077) != (mode & 077) && fchmod(home->fd, mode) < 0)
		return fail_sys(fail, errno, "cannot make '%s' private", home->path);
	return 0;
}

/* Ours, and by nobody else to be changed? */
static bool is_own_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink <= 1 &&
	       !(st->st_mode & 022);
}

/* Opens the lock, which a user who had the directory before us may have planted, and hold. */
static int open_lock(const struct home *home)
{
	struct stat st;

	if (fstatat(home->fd, HOME_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0 && !is_own_file(&st))
		tree_clear(home->fd, HOME_LOCK);
	return io_open(home->fd, HOME_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* Is the lock file we hold still the one that others would open? */
static bool is_current_lock(const struct home *home)
{
	struct stat held;

	return fstat(home->lock, &held) == 0 && is_own_file(&held) &&
	       sys_has_name(&held, home->fd, HOME_LOCK);
}

static int take_lock(struct home *home, int64_t deadline, struct fail *fail)
{
	int r;

	do {
		if (home->lock >= 0 && io_now() >= deadline)
			return fail_code(fail, FAIL_BUSY, "'%s/lock' keeps changing", home->path);
		io_close(&home->lock);
		home->lock = open_lock(home);
		/* the directory was removed while we waited */
		if (home->lock == -ENOENT)
			return 1;
		if (home->lock < 0)
			return fail_sys(fail, home->lock, "cannot open '%s/lock'", home->path);
		r = io_lock(home->lock, deadline);
		if (r == -ETIMEDOUT)
			return fail_code(
				fail, FAIL_BUSY, "another run holds '%s/lock'", home->path);
		if (r < 0)
			return fail_sys(fail, r, "cannot lock '%s/lock'", home->path);
	} while (!is_current_lock(home));
	return 0;
}

/* Deletes every entry that 'doomed' agrees to; number removed. */
static int remove_entries(const struct home *home,
	bool (*doomed)(const struct home *, const char *, void *), void *data)
{
	int copy = openat(home->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), removed = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		io_close(&copy);
		return 0;
	}
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && doomed(home, name, data))
			removed += tree_remove(home->fd, name, ERASE_BUDGET) == 0;
	}
	closedir(dir);
	return removed;
}

/* Under a name of ours. An entry that cannot be deleted as a whole gets another name at least. */
static bool is_foreign(const struct home *home, const char *name, void *data)
{
	struct stat st;

	(void)data;
	if (!is_own_name(name) && strcmp(name, WIRE_SERVER_NAME) != 0)
		return false;
	return fstatat(home->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid != geteuid() &&
	       tree_clear(home->fd, name) < 0;
}

int home_open(struct home *home, const char *path, int64_t deadline, struct fail *fail)
{
	int r;

	*home = (struct home)HOME_INIT;
	home->path = path;
	home->fd = open_directory(path);
	if (home->fd == -ENOENT)
		return 1;
	if (home->fd < 0)
		return fail_sys(fail, home->fd, "cannot open '%s'", path);
	r = check_owner(home, fail);
	if (r == 0)
		r = take_lock(home, deadline, fail);
	if (r == 0)
		remove_entries(home, is_foreign, NULL);
	else
		home_close(home);
	return r;
}

int home_peek(struct home *home, const char *path)
{
	struct stat st;

	*home = (struct home)HOME_INIT;
	home->path = path;
	home->fd = open_directory(path);
	if (home->fd < 0)
		return home->fd;
	if (fstat(home->fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	home_close(home);
	return -EPERM;
}

static int make_directory(const char *path)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, NULL), r;

	if (parent < 0)
		return parent;
	r = tree_mkdir(parent, leaf, 0700);
	close(parent);
	return r == -EEXIST ? 0 : r;
}

int home_make(struct home *home, const char *path, int64_t deadline, struct fail *fail)
{
	int r;

	/* an uninstall may remove it at any time before we hold the lock */
	do {
		r = make_directory(path);
		/* where what is above it is missing, only root could make that */
		if (r == -ENOENT)
			r = -EACCES;
		if (r < 0)
			return fail_sys(fail, r, "cannot create '%s'", path);
		r = home_open(home, path, deadline, fail);
	} while (r > 0 && io_now() < deadline);
	return r > 0 ? fail_code(fail, FAIL_BUSY, "'%s' keeps disappearing", path) : r;
}

void home_close(struct home *home)
{
	io_close(&home->lock);
	io_close(&home->fd);
}

/* Descriptor, -ENOENT if there is none of ours, -errno. */
static int open_record(const struct home *home, const char *name)
{
	int fd = io_open(home->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;

	if (fd == -ELOOP || fd == -ENXIO ||
		(fd >= 0 && (fstat(fd, &st) < 0 || !is_own_file(&st)))) {
		io_close(&fd);
		tree_clear(home->fd, name);
		fd = -ENOENT;
	}
	return fd;
}

static int read_record(
	const struct home *home, const char *name, json_t **ret_record, struct fail *fail)
{
	struct buf text = BUF_INIT(STATE_MAX);
	json_error_t error;
	int fd, r;

	*ret_record = NULL;
	fd = home->fd < 0 ? -ENOENT : open_record(home, name);
	if (fd == -ENOENT)
		return 1;
	r = fd < 0 ? fd : io_read_all(fd, &text, io_in(1000));
	io_close(&fd);
	if (r == 0) {
		*ret_record = json_loadb(text.data, text.len, 0, &error);
		if (!*ret_record && json_error_code(&error) == json_error_out_of_memory)
			r = -ENOMEM;
	}
	buf_release(&text);
	/* longer than what we ever wrote: not JSON of ours either */
	if (r < 0 && r != -EMSGSIZE) {
		fail_code(fail, FAIL_INTERNAL, "cannot read '%s/%s': %s", home->path, name,
			strerror(-r));
		return -1;
	}
	if (*ret_record && !json_is_object(*ret_record)) {
		json_decref(*ret_record);
		*ret_record = NULL;
	}
	return *ret_record ? 0 : 1;
}

int home_read_state(const struct home *home, json_t **ret_state, struct fail *fail)
{
	return read_record(home, HOME_STATE, ret_state, fail);
}

int home_read_trees(const struct home *home, json_t **ret_trees, struct fail *fail)
{
	return read_record(home, HOME_TREES, ret_trees, fail);
}

/* For a temporary name, which may be planted too. */
static void free_name(const struct home *home, const char *name)
{
	if (unlinkat(home->fd, name, 0) < 0 && errno != ENOENT)
		tree_clear(home->fd, name);
}

/* rename(2) over whatever has the name. */
static int rename_over(const struct home *home, const char *from, const char *name)
{
	if (renameat(home->fd, from, home->fd, name) == 0)
		return 0;
	if (errno != EISDIR && errno != ENOTDIR)
		return -errno;
	tree_clear(home->fd, name);
	return renameat(home->fd, from, home->fd, name) < 0 ? -errno : 0;
}

static int write_record(
	const struct home *home, const char *name, const json_t *record, struct fail *fail)
{
	char *text;
	int fd, r;

	if (!record) {
		unlinkat(home->fd, name, 0);
		return 0;
	}
	text = json_dumps(record, JSON_ENSURE_ASCII | JSON_INDENT(1));
	if (!text)
		return fail_sys(fail, ENOMEM, "cannot write '%s/%s'", home->path, name);
	free_name(home, RECORD_FRESH);
	fd = io_open(home->fd, RECORD_FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	r = fd < 0 ? fd : io_write_full(fd, text, strlen(text), IO_NEVER);
	free(text);
	io_close(&fd);
	if (r == 0)
		r = rename_over(home, RECORD_FRESH, name);
	return r < 0 ? fail_sys(fail, r, "cannot write '%s/%s'", home->path, name) : 0;
}

int home_write_state(const struct home *home, const json_t *state, struct fail *fail)
{
	return write_record(home, HOME_STATE, state, fail);
}

int home_write_trees(const struct home *home, const json_t *trees, struct fail *fail)
{
	return write_record(home, HOME_TREES, trees, fail);
}

bool home_read_current(const struct home *home, char hex[SHA256_HEX])
{
	ssize_t n = home->fd < 0 ? -1 : readlinkat(home->fd, WIRE_CURRENT_NAME, hex, SHA256_HEX);

	if (n != SHA256_HEX - 1)
		return false;
	hex[n] = '\0';
	return strspn(hex, "0123456789abcdef") == SHA256_HEX - 1;
}

static int write_link(
	const struct home *home, const char *name, const char *target, struct fail *fail)
{
	int r;

	free_name(home, LINK_FRESH);
	r = symlinkat(target, home->fd, LINK_FRESH) < 0 ? -errno
							: rename_over(home, LINK_FRESH, name);
	return r < 0 ? fail_sys(fail, r, "cannot write '%s/%s'", home->path, name) : 0;
}

int home_write_current(const struct home *home, const char *hex, struct fail *fail)
{
	return write_link(home, WIRE_CURRENT_NAME, hex, fail);
}

bool home_read_server(const struct home *home, char dir[PATH_MAX])
{
	ssize_t n = home->fd < 0 ? -1 : readlinkat(home->fd, WIRE_SERVER_NAME, dir, PATH_MAX - 1);

	dir[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int home_write_server(const struct home *home, const char *dir, struct fail *fail)
{
	char there[PATH_MAX];
	bool is_link = home_read_server(home, there);

	if (is_link && dir && strcmp(there, dir) == 0)
		return 0;
	if (dir)
		return write_link(home, WIRE_SERVER_NAME, dir, fail);
	if (is_link && unlinkat(home->fd, WIRE_SERVER_NAME, 0) < 0)
		return fail_sys(fail, errno, "cannot remove '%s/" WIRE_SERVER_NAME "'", home->path);
	return 0;
}

void home_forget(const char *delivery)
{
	char path[PATH_MAX], leaf[NAME_MAX + 1];
	int parent;

	if (!find_home(delivery, path) || strcmp(leaf_of(path), WIRE_HOME_NAME) != 0)
		return;
	parent = tree_open_parent(path, leaf, NULL);
	if (parent >= 0)
		tree_rmdir(parent, leaf);
	io_close(&parent);
}

bool home_has(const struct home *home, const char *hex)
{
	struct stat st;

	return home->fd >= 0 && fstatat(home->fd, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}

static bool is_same_file(int dirfd, const char *one, const char *other)
{
	struct stat st;

	return fstatat(dirfd, one, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       sys_has_name(&st, dirfd, other);
}

int home_link(const struct home *home, const char *from, const char *name)
{
	int r;

	if (is_same_file(home->fd, from, name))
		return 0;
	free_name(home, LINK_FRESH);
	r = linkat(home->fd, from, home->fd, LINK_FRESH, 0) < 0 ? -errno : 0;
	if (r == 0)
		r = rename_over(home, LINK_FRESH, name);
	if (r < 0) {
		free_name(home, LINK_FRESH);
		free_name(home, name);
	}
	return r;
}

int home_drop_user(const struct home *home)
{
	char hex[SHA256_HEX];
	int removed = tree_remove(home->fd, WIRE_USER_NAME, ERASE_BUDGET) == 0;

	if (!home_read_current(home, hex))
		removed += unlinkat(home->fd, WIRE_CURRENT_NAME, 0) == 0;
	return removed;
}

/* ---- cleaning up ---- */

/* Delivered within the last minutes? By its change time, which no archive can set. */
static bool is_fresh(int dirfd, const char *name)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ctim.tv_sec <= now.tv_sec && now.tv_sec - st.st_ctim.tv_sec < DELIVERY_SECS;
}

struct sweep {
	const char *hex, *keep;
	int kept; /* names of other users seen so far */
};

static bool is_kept_too_long(const struct home *home, const char *name, struct sweep *sweep)
{
	if (sweep->keep && strcmp(name, sweep->keep) == 0)
		return false;
	return !is_same_file(home->fd, name, sweep->hex) || ++sweep->kept > HOME_KEPT_MAX;
}

static bool is_swept(const struct home *home, const char *name, void *data)
{
	struct sweep *sweep = data;

	if (name_is_binary(name))
		return strcmp(name, sweep->hex) != 0;
	if (name_is_kept(name))
		return is_kept_too_long(home, name, sweep);
	return name_is_delivery(name) && !is_fresh(home->fd, name);
}

void home_sweep(const struct home *home, const char *hex, const char *keep)
{
	struct sweep sweep = {hex, keep, 0};

	remove_entries(home, is_swept, &sweep);
}

static bool is_kept(const struct home *home, const char *name, void *data)
{
	(void)home;
	(void)data;
	return name_is_kept(name);
}

/* Who finds no kept name looks for "current", and brings a program if there is one. */
int home_retire(const struct home *home)
{
	int removed;

	if (home->fd < 0)
		return 0;
	removed = unlinkat(home->fd, WIRE_CURRENT_NAME, 0) == 0;
	return removed + remove_entries(home, is_kept, NULL);
}

static bool is_erased(const struct home *home, const char *name, void *data)
{
	const bool *keep_deliveries = data;

	if (!is_own_name(name) || strcmp(name, HOME_LOCK) == 0 || strcmp(name, HOME_STATE) == 0)
		return false;
	return !(*keep_deliveries && name_is_delivery(name) && is_fresh(home->fd, name));
}

/* Has what should have been deleted stayed? Deliveries may have come meanwhile. */
static bool is_left(const struct home *home, const char *name, void *data)
{
	bool *left = data;

	(void)home;
	*left = *left || (is_own_name(name) && strcmp(name, HOME_LOCK) != 0 &&
				 strcmp(name, HOME_STATE) != 0 && !name_is_delivery(name));
	return false;
}

bool home_erase(struct home *home, bool keep_deliveries, int *removed)
{
	char leaf[NAME_MAX + 1];
	bool left = false;
	int parent;

	if (home->fd < 0)
		return true;
	*removed += tree_sweep(home->fd) + remove_entries(home, is_erased, &keep_deliveries);
	remove_entries(home, is_left, &left);
	if (left)
		return false;
	*removed += unlinkat(home->fd, HOME_STATE, 0) == 0;
	parent = tree_open_parent(home->path, leaf, NULL);
	if (parent < 0)
		return true;
	*removed += unlinkat(home->fd, HOME_LOCK, 0) == 0;
	if (tree_rmdir(parent, leaf) == 0)
		*removed += 1 + tree_put_back_from(parent, leaf);
	close(parent);
	return true;
}

void home_abandon(const char *path, const char *delivery)
{
	char leaf[NAME_MAX + 1];
	int parent = tree_open_parent(path, leaf, NULL);
	int fd = parent < 0 ? parent : tree_open_dir(parent, leaf);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
		tree_unlink(fd, delivery);
		if (tree_rmdir(parent, leaf) == 0)
			tree_put_back_from(parent, leaf);
	}
	io_close(&fd);
	io_close(&parent);
}
