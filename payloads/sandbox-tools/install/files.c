/* SPDX-License-Identifier: MIT */
/* Placing the program and its links. */
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/install/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/way.h"

#define SWAP_NAMES 2 /* RENAME_EXCHANGE */
#define TEMPORARY ".sbinject-new-"
#define PROGRAM_MAX (64 << 20)
#define SWEEP_ENTRIES 10000
#define SWEEP_BUDGET 100000

struct noted {
	struct tree_made made; /* first: note_made() gets it back */
	struct files_notes *notes;
};

static int note(struct files_notes *notes, json_t *list, const char *path)
{
	size_t last = json_array_size(list);
	int r;

	if (json_array_append_new(list, json_string(path)) < 0)
		return -ENOMEM;
	r = notes->save(notes);
	if (r < 0)
		json_array_remove(list, last);
	return r;
}

static void forget_last(json_t *list)
{
	json_array_remove(list, json_array_size(list) - 1);
}

static int note_made(struct tree_made *made, const char *path)
{
	struct files_notes *notes = ((struct noted *)made)->notes;

	return note(notes, notes->parents, path);
}

bool files_digest(int dirfd, const char *name, const struct sys_self *self, char hex[SHA256_HEX])
{
	int fd = io_open(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	bool good;

	if (fd < 0)
		return false;
	good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       st.st_size <= PROGRAM_MAX;
	if (good && sys_is_self(self, &st))
		memcpy(hex, self->hex, SHA256_HEX);
	else if (good)
		good = sys_digest(fd, hex) == 0;
	close(fd);
	return good;
}

/* Is dirfd/name a link to a binary in the home? Then 'hex' is its digest by name. */
static bool is_link(int dirfd, const char *name, const char *home, char hex[SHA256_HEX])
{
	char target[SPEC_PATH_MAX + SHA256_HEX + 2];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));
	size_t len = strlen(home);

	if (n != (ssize_t)(len + SHA256_HEX) || memcmp(target, home, len) != 0 ||
		target[len] != '/')
		return false;
	target[n] = '\0';
	if (!name_is_binary(target + len + 1))
		return false;
	memcpy(hex, target + len + 1, SHA256_HEX);
	return true;
}

bool files_is_ours(const struct files_ours *ours, int dirfd, const char *name, char hex[SHA256_HEX])
{
	if (is_link(dirfd, name, ours->home->path, hex))
		return true;
	return files_digest(dirfd, name, ours->self, hex) &&
	       (strcmp(hex, ours->self->hex) == 0 || home_has(ours->home, hex) ||
		       (ours->recorded && strcmp(hex, ours->recorded) == 0));
}

bool files_is_own_dir(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

/* ---- the directory ---- */

/* What others can make of the way meanwhile, the second walk finds out. */
int files_open_parent(const char *path, char *leaf, struct files_notes *notes, struct fail *fail)
{
	struct noted noted = {{note_made}, notes};
	int dir = tree_open_parent(path, leaf, &noted.made);

	/* mkdir's EEXIST is a dangling link */
	if (dir == -EEXIST)
		return fail_code(fail, FAIL_OCCUPIED,
			"a symbolic link on the way to '%s' is dangling", path);
	if (dir < 0)
		return fail_sys(fail, dir, "cannot reach the directory of '%s'", path);
	close(dir);
	return way_open(path, leaf, fail);
}

static bool is_there(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int note_aside(struct files_notes *notes, const char *path, const char *name, char *aside)
{
	char whole[SPEC_PATH_MAX + NAME_MAX + 1];

	snprintf(whole, sizeof(whole), "%s%s", path, aside + strlen(name));
	return note(notes, notes->aside, whole);
}

/* A new directory, noted before it is made, as is the name of what may have to go aside for it. */
static int claim_dir(int parent, const char *name, const char *path, struct files_notes *notes,
	struct fail *fail)
{
	bool was = is_there(parent, name);
	char aside[NAME_MAX + 1];
	int r = tree_aside_name(name, aside), fd;

	if (r == 0)
		r = note_aside(notes, path, name, aside);
	if (r == 0 && (r = note(notes, notes->parents, path)) < 0)
		forget_last(notes->aside);
	if (r < 0)
		return fail_sys(fail, r, "cannot record '%s'", path);
	fd = tree_claim_dir(parent, name, 0700, aside);
	if (fd < 0)
		forget_last(notes->parents);
	if (!is_there(parent, aside))
		forget_last(notes->aside);
	if (fd < 0 && was)
		return fail_code(fail, FAIL_OCCUPIED, "cannot clear '%s': %s", path, strerror(-fd));
	return fd < 0 ? fail_sys(fail, fd, "cannot create '%s'", path) : fd;
}

/* The last directory: a real one, ours. */
static int open_own_dir(int parent, const char *name, const char *path, struct files_notes *notes,
	struct fail *fail)
{
	int fd = tree_open_dir(parent, name);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
		return fd;
	io_close(&fd);
	return claim_dir(parent, name, path, notes, fail);
}

/* Calls 'fn' for each name in the directory until it returns false: whether it never did. */
static bool each_name(int dirfd, bool (*fn)(int dirfd, const char *name, void *ctx), void *ctx)
{
	int copy = io_open(dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool goes_on = true;

	if (!dir)
		io_close(&copy);
	while (dir && goes_on && (entry = readdir(dir)))
		goes_on = fn(dirfd, entry->d_name, ctx);
	if (dir)
		closedir(dir);
	return goes_on;
}

static bool sweep_name(int dirfd, const char *name, void *ctx)
{
	int *left = ctx;

	if (strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0)
		tree_remove(dirfd, name, SWEEP_BUDGET);
	return --*left > 0;
}

void files_sweep(int dirfd)
{
	int left = SWEEP_ENTRIES;

	each_name(dirfd, sweep_name, &left);
}

static bool is_name_ours(int dirfd, const char *name, void *leaf)
{
	(void)dirfd;
	return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, leaf);
}

/* A directory for the program alone is 0700, or hosts do not trust it. In one that it shares with
   other files only others' right to write is taken away. */
static void make_private(struct files_target *target)
{
	mode_t mode, wanted;
	struct stat st;

	if (fstat(target->dir, &st) < 0)
		return;
	mode = st.st_mode & 07777;
	wanted = each_name(target->dir, is_name_ours, target->leaf) ? 0700 : mode & ~022U;
	if (mode != wanted && fchmod(target->dir, wanted) == 0)
		target->dir_mode = mode;
}

bool files_is_noexec(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOEXEC);
}

/* Is the directory, or the deepest there is above it, on a read-only file system? */
static bool is_read_only(const char *path)
{
	char dir[SPEC_PATH_MAX + 1];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	while (faccessat(AT_FDCWD, dir[0] ? dir : "/", W_OK, AT_EACCESS) < 0) {
		if (errno != ENOENT || !(slash = strrchr(dir, '/')))
			return errno == EROFS;
		*slash = '\0';
	}
	return false;
}

int files_open(
	struct files_target *target, const char *path, struct files_notes *notes, struct fail *fail)
{
	char dir[SPEC_PATH_MAX + 1], name[NAME_MAX + 1];
	char *slash;
	int parent;

	target->path = path;
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	snprintf(target->leaf, sizeof(target->leaf), "%s", slash + 1);
	*slash = '\0';
	if (is_read_only(dir)) {
		target->form = PLACED_NONE;
		target->dir = tree_open_parent(path, name, NULL);
		return 0;
	}
	parent = files_open_parent(dir, name, notes, fail);
	if (parent < 0)
		return -1;
	target->dir = open_own_dir(parent, name, dir, notes, fail);
	close(parent);
	if (target->dir < 0)
		return -1;
	target->form = files_is_noexec(target->dir) ? PLACED_LINK : PLACED_FILE;
	return 0;
}

void files_make_parents(const char *path, struct files_notes *notes)
{
	struct noted noted = {{note_made}, notes};
	char leaf[NAME_MAX + 1];
	int dir = tree_open_parent(path, leaf, &noted.made);

	io_close(&dir);
}

void files_close(struct files_target *target)
{
	io_close(&target->dir);
}

/* ---- the program ---- */

static int copy_content(int from, int to)
{
	char block[65536];
	ssize_t n;

	while ((n = io_read(from, block, sizeof(block))) > 0) {
		int r = io_write_full(to, block, (size_t)n, IO_NEVER);

		if (r < 0)
			return r;
	}
	return (int)n;
}

int files_copy(int from, const char *hex, int dirfd, const char *name)
{
	char check[SHA256_HEX];
	int to = io_open(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0700);
	int r = to < 0 ? to : copy_content(from, to);

	if (r == 0 && fchmod(to, 0755) < 0)
		r = -errno;
	if (r == 0)
		r = sys_digest(to, check);
	if (r == 0 && strcmp(check, hex) != 0)
		r = -EIO;
	if (r < 0 && to >= 0)
		unlinkat(dirfd, name, 0);
	io_close(&to);
	return r;
}

/* Swaps the new file with whatever has the final name, so that the former stays under the
   temporary one. Where the file system cannot, a second name keeps the former file and the new
   one is renamed over it. */
static int replace(struct files_target *target, const char *temporary)
{
	int dir = target->dir;

	if (syscall(SYS_renameat2, dir, temporary, dir, target->leaf, SWAP_NAMES) == 0) {
		strcpy(target->spare, temporary);
		return 0;
	}
	if (errno == EROFS || errno == EACCES || errno == ENOSPC || errno == EBUSY)
		return -errno;
	snprintf(target->spare, sizeof(target->spare), "%.200s.old", temporary);
	if (linkat(dir, target->leaf, dir, target->spare, 0) < 0)
		target->spare[0] = '\0';
	return renameat(dir, temporary, dir, target->leaf) < 0 ? -errno : 0;
}

static void link_target(
	char target[SPEC_PATH_MAX + SHA256_HEX + 1], const char *home, const char *hex)
{
	snprintf(target, SPEC_PATH_MAX + SHA256_HEX + 1, "%s/%s", home, hex);
}

static int put_link(const struct files_target *target, const struct home *home, const char *hex,
	const char *temporary)
{
	char program[SPEC_PATH_MAX + SHA256_HEX + 1];

	link_target(program, home->path, hex);
	return symlinkat(program, target->dir, temporary) < 0 ? -errno : 0;
}

static int put_file(const struct files_target *target, const struct home *home, const char *hex,
	const char *temporary)
{
	int from, r;

	if (linkat(home->fd, hex, target->dir, temporary, 0) == 0)
		return 0;
	switch (errno) {
	case EXDEV:
	case EPERM:
	case EMLINK:
	case EOPNOTSUPP:
	case ENOSYS:
		break;
	default:
		return -errno;
	}
	from = io_open(home->fd, hex, O_RDONLY | O_NOFOLLOW, 0);
	r = from < 0 ? from : files_copy(from, hex, target->dir, temporary);
	io_close(&from);
	return r;
}

/* A link needs no room. */
static int put_temporary(struct files_target *target, const struct home *home, const char *hex,
	const char *temporary)
{
	int r = target->form == PLACED_FILE ? put_file(target, home, hex, temporary) : -ENOSPC;

	if (r != -ENOSPC && r != -EDQUOT)
		return r;
	target->form = PLACED_LINK;
	return put_link(target, home, hex, temporary);
}

/* On a read-only file system only what is there can stand; and with no server directory beside it,
   it is no name of the service. */
static int accept(const struct files_target *target, struct fail *fail)
{
	if (!target->right && target->was != FILES_ABSENT)
		return fail_code(fail, FAIL_READONLY,
			"'%s' is another program, on a read-only file system", target->path);
	return 0;
}

/* An executable at the path that all hosts have agreed on was put there by one of them, to be
   replaced by the next. Nobody else has a use for that name. */
static bool is_hosts(const char *path, const struct stat *st)
{
	return strcmp(path, FILES_AGREED) == 0 && S_ISREG(st->st_mode) && (st->st_mode & S_IXUSR);
}

int files_look(struct files_target *target, const struct files_ours *ours, const char *hex,
	struct fail *fail)
{
	char found[SHA256_HEX] = "";
	struct stat st;
	bool is_ours;

	if (target->dir < 0 || fstatat(target->dir, target->leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	is_ours = files_is_ours(ours, target->dir, target->leaf, found);
	target->was = strcmp(found, hex) == 0 ? FILES_SAME : FILES_OTHER;
	target->usable = target->was == FILES_SAME && st.st_uid == geteuid() &&
			 (S_ISLNK(st.st_mode) || (st.st_mode & 0122) == S_IXUSR);
	target->right =
		target->usable &&
		(target->form == PLACED_LINK ? S_ISLNK(st.st_mode) : (st.st_mode & 07777) == 0755);
	if (target->form == PLACED_NONE)
		return accept(target, fail);
	if (!is_ours && !is_hosts(target->path, &st))
		return fail_code(
			fail, FAIL_OCCUPIED, "'%s' exists and is not our program", target->path);
	return 0;
}

static int put_at_path(struct files_target *target, const struct home *home, const char *hex,
	const char *temporary)
{
	int r = put_temporary(target, home, hex, temporary);

	if (r < 0)
		return r;
	if (target->was != FILES_ABSENT)
		r = replace(target, temporary);
	else if (renameat(target->dir, temporary, target->dir, target->leaf) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(target->dir, temporary, 0);
	return r;
}

int files_place(struct files_target *target, const struct home *home, const char *hex,
	const char *nonce, struct fail *fail)
{
	struct tree_parent parent;
	char temporary[64];
	int r;

	if (target->form == PLACED_NONE)
		return 0;
	files_sweep(target->dir);
	make_private(target);
	if (target->right)
		return 0;
	snprintf(temporary, sizeof(temporary), TEMPORARY "%.32s", nonce);
	tree_parent_open(&parent, target->dir);
	r = put_at_path(target, home, hex, temporary);
	target->placed = r == 0;
	tree_parent_close(&parent);
	/* nobody can replace what is mounted there; the right program need not be */
	if (r == -EBUSY && target->usable)
		return 0;
	if (r == -EBUSY)
		return fail_code(
			fail, FAIL_OCCUPIED, "another program is mounted at '%s'", target->path);
	return r < 0 ? fail_sys(fail, r, "cannot place '%s'", target->path) : 0;
}

void files_restore(struct files_target *target)
{
	struct tree_parent parent;

	if (target->dir_mode)
		fchmod(target->dir, target->dir_mode);
	if (!target->placed)
		return;
	tree_parent_open(&parent, target->dir);
	if (target->spare[0] == '\0')
		unlinkat(target->dir, target->leaf, 0);
	else
		renameat(target->dir, target->spare, target->dir, target->leaf);
	tree_parent_close(&parent);
	target->placed = false;
	target->spare[0] = '\0';
}

void files_commit(struct files_target *target)
{
	struct tree_parent parent;

	if (!target->spare[0])
		return;
	tree_parent_open(&parent, target->dir);
	tree_remove(target->dir, target->spare, 100000);
	tree_parent_close(&parent);
	target->spare[0] = '\0';
}

bool files_find(
	const char *path, const char *home, const struct sys_self *self, enum wire_placed *ret_form)
{
	char leaf[NAME_MAX + 1], found[SHA256_HEX] = "", dir[SPEC_PATH_MAX + 1];
	int fd = tree_open_parent(path, leaf, NULL);

	*ret_form = PLACED_NONE;
	if (fd >= 0 && files_digest(fd, leaf, self, found))
		*ret_form = PLACED_FILE;
	else if (fd >= 0 && is_link(fd, leaf, home, found))
		*ret_form = PLACED_LINK;
	io_close(&fd);
	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	if (*ret_form != PLACED_NONE && strcmp(found, self->hex) != 0)
		return false;
	if (!is_read_only(dir))
		return *ret_form != PLACED_NONE;
	*ret_form = PLACED_NONE;
	return true;
}

const char *files_form_word(enum wire_placed form)
{
	static const char *const words[] = {WIRE_PLACES(WIRE_WORD)};

	return words[form];
}

/* ---- links ---- */

static bool points_to(int dirfd, const char *name, const char *path)
{
	char target[SPEC_PATH_MAX + 2];
	ssize_t n = readlinkat(dirfd, name, target, sizeof(target));

	return n >= 0 && (size_t)n == strlen(path) && memcmp(target, path, (size_t)n) == 0;
}

static int make_link(const char *link, const char *path, json_t *made, struct files_notes *notes,
	struct fail *fail)
{
	char leaf[NAME_MAX + 1];
	int dir = files_open_parent(link, leaf, notes, fail), r;

	if (dir < 0)
		return -1;
	if (points_to(dir, leaf, path)) {
		close(dir);
		return 0;
	}
	r = tree_symlink(path, dir, leaf);
	if (r == 0 && json_array_append_new(made, json_string(link)) < 0) {
		tree_unlink(dir, leaf);
		r = -ENOMEM;
	}
	close(dir);
	if (r == -EEXIST)
		return fail_code(fail, FAIL_OCCUPIED, "'%s' exists and is not our link", link);
	return r < 0 ? fail_sys(fail, r, "cannot create the link '%s'", link) : 0;
}

int files_link(const json_t *links, const char *path, json_t *made, struct files_notes *notes,
	struct fail *fail)
{
	json_t *link;
	size_t i;

	json_array_foreach ((json_t *)links, i, link) {
		if (make_link(json_string_value(link), path, made, notes, fail) < 0)
			return -1;
	}
	return 0;
}

int files_find_missing(const json_t *links, const char *path, json_t *missing)
{
	json_t *link;
	size_t i;

	json_array_foreach ((json_t *)links, i, link) {
		char leaf[NAME_MAX + 1];
		int dir = tree_open_parent(json_string_value(link), leaf, NULL);
		bool is_there = dir >= 0 && points_to(dir, leaf, path);

		io_close(&dir);
		if (!is_there && json_array_append(missing, link) < 0)
			return -ENOMEM;
	}
	return 0;
}

int files_unlink(const json_t *links, const char *path)
{
	int removed = 0;
	json_t *link;
	size_t i;

	json_array_foreach ((json_t *)links, i, link) {
		char leaf[NAME_MAX + 1];
		int dir = json_is_string(link)
				  ? tree_open_parent(json_string_value(link), leaf, NULL)
				  : -1;

		if (dir < 0)
			continue;
		if (points_to(dir, leaf, path))
			removed += tree_unlink(dir, leaf) == 0;
		close(dir);
	}
	return removed;
}

/* Number of those, from the last to the one at 'from', of which 'act' returned 0. */
static int act_backwards(const json_t *paths, size_t from, int (*act)(int dirfd, const char *name))
{
	int count = 0;

	for (size_t i = json_array_size(paths); i > from; i--) {
		const char *path = json_string_value(json_array_get(paths, i - 1));
		char leaf[NAME_MAX + 1];
		int dir = path ? tree_open_parent(path, leaf, NULL) : -1;

		if (dir < 0)
			continue;
		count += act(dir, leaf) == 0;
		close(dir);
	}
	return count;
}

int files_remove_parents(const json_t *parents, size_t from)
{
	return act_backwards(parents, from, tree_rmdir);
}

int files_put_back(const json_t *aside, size_t from)
{
	return act_backwards(aside, from, tree_put_back);
}
