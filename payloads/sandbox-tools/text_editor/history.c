/* SPDX-License-Identifier: MIT */
/*
 * Undo history on disk. A file "<sha256 of path>-<number>" holds: MAGIC, '+' or '-' (the edited
 * file existed or not), u64 length of the path, path, u64 length of the text, text; numbers are
 * big-endian.
 */
#include "payloads/sandbox-tools/text_editor/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"

#define MAGIC "sbinject-edit 1\n"
#define TEMPORARY "new"
#define LOCK_MS 5000
#define ERASE_BUDGET 1000000
#define PATH_KEPT_MAX 65536

typedef char entry_name[SHA256_HEX + 12];

static const char *parent_dir; /* NULL: the temporary directory */

void history_use(const char *parent)
{
	parent_dir = parent;
}

static void discard(int error, const char *why)
{
	fprintf(stderr, "Discarding text_editor history at %s/" HISTORY_DIR "%lu due to: %s\n",
		parent_dir ? parent_dir : sys_tmpdir(), (unsigned long)geteuid(),
		why ? why : strerror(error < 0 ? -error : error));
}

/* ---- the directory ---- */

static bool is_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       ((st.st_mode & 077) == 0 || fchmod(fd, 0700) == 0);
}

static int make_dir(int parent, const char *leaf)
{
	int r = tree_mkdir(parent, leaf, 0700);

	return r < 0 && r != -EEXIST ? r : tree_open_dir(parent, leaf);
}

/* Opens the directory that it is in; 'leaf' is its name there. Descriptor or -errno. */
static int open_parent(char leaf[NAME_MAX + 1])
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" HISTORY_DIR "%lu",
		parent_dir ? parent_dir : sys_tmpdir(), (unsigned long)geteuid());

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	return tree_open_parent(path[1] == '/' ? path + 1 : path, leaf, NULL);
}

/* It, or a new one. Root moves away what others left in its place. */
static int open_or_make(int parent, const char *leaf)
{
	int fd = make_dir(parent, leaf), r;

	if (geteuid() != 0)
		return fd;
	if (fd != -ENOTDIR && fd != -ELOOP && (fd < 0 || is_private(fd)))
		return fd;
	io_close(&fd);
	r = tree_clear(parent, leaf);
	return r < 0 ? r : make_dir(parent, leaf);
}

/* Opens and locks it: descriptor or -errno, -ENOENT without 'create' when it is not there. */
static int open_dir(bool create)
{
	char leaf[NAME_MAX + 1];
	int parent = open_parent(leaf), fd, r;

	if (parent < 0)
		return parent;
	fd = create ? open_or_make(parent, leaf) : tree_open_dir(parent, leaf);
	close(parent);
	if (fd < 0)
		return fd;
	r = is_private(fd) ? io_lock(fd, io_in(LOCK_MS)) : -EPERM;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* ---- its files ---- */

static void make_key(const char *path, char key[SHA256_HEX])
{
	sha256_hex(path, strlen(path), key);
}

static void make_name(entry_name name, const char *key, unsigned number)
{
	snprintf(name, sizeof(entry_name), "%.64s-%u", key, number);
}

/* The number in a name that starts with the key ("" for any), 0 if it is not such a name. */
static unsigned parse_name(const char *name, const char *key)
{
	char *end;
	unsigned long number;

	if (strspn(name, "0123456789abcdef") != SHA256_HEX - 1 || name[SHA256_HEX - 1] != '-' ||
		strncmp(name, key, strlen(key)) != 0 || name[SHA256_HEX] < '1' ||
		name[SHA256_HEX] > '9')
		return 0;
	number = strtoul(name + SHA256_HEX, &end, 10);
	return *end || number > 1000000000 ? 0 : (unsigned)number;
}

/* What a look through the directory finds. */
struct survey {
	const char *key;
	unsigned newest, oldest; /* of the key; 0: none */
	unsigned count;		 /* of the key */
	unsigned all;		 /* entries of any key */
	uint64_t total;		 /* bytes of all files */
	time_t when;		 /* of the file that was changed first */
	entry_name stalest;
};

static void survey_one(struct survey *s, const char *name, const struct stat *st)
{
	unsigned number = parse_name(name, s->key);

	s->total += (uint64_t)st->st_size;
	if (!parse_name(name, ""))
		return;
	s->all++;
	if (!s->stalest[0] || st->st_mtime < s->when) {
		snprintf(s->stalest, sizeof(s->stalest), "%.76s", name);
		s->when = st->st_mtime;
	}
	if (!number)
		return;
	s->count++;
	if (number > s->newest)
		s->newest = number;
	if (!s->oldest || number < s->oldest)
		s->oldest = number;
}

static int list(int fd, DIR **ret)
{
	int copy = io_open(fd, ".", O_RDONLY | O_DIRECTORY, 0);

	if (copy < 0)
		return copy;
	*ret = fdopendir(copy);
	if (*ret)
		return 0;
	close(copy);
	return -ENOMEM;
}

static int survey(int fd, const char *key, struct survey *ret)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int r = list(fd, &dir);

	*ret = (struct survey){.key = key};
	if (r < 0)
		return r;
	while ((entry = readdir(dir)))
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			survey_one(ret, entry->d_name, &st);
	closedir(dir);
	return 0;
}

/* Forgets all about one file. */
static void forget(int fd, const char *key)
{
	struct survey s;
	entry_name name;

	while (survey(fd, key, &s) == 0 && s.count > 0) {
		make_name(name, key, s.newest);
		if (unlinkat(fd, name, 0) < 0)
			return;
	}
}

/* Forgets all about all. */
static int forget_all(int fd)
{
	struct dirent *entry;
	DIR *dir;
	int r = list(fd, &dir);

	if (r < 0)
		return r;
	while ((entry = readdir(dir)))
		unlinkat(fd, entry->d_name, 0);
	closedir(dir);
	return 0;
}

/* Names the oldest edit of the file that has been left alone longest, never a later one: an undo
   would then skip it. */
static int name_stalest(int fd, const struct survey *s, entry_name name)
{
	char key[SHA256_HEX];
	struct survey its;
	int r;

	snprintf(key, sizeof(key), "%.64s", s->stalest);
	r = survey(fd, key, &its);
	make_name(name, key, its.oldest);
	return r;
}

/* Makes room: no more than HISTORY_DEPTH edits of this file, no more than fits in all. */
static void trim(int fd, const char *key)
{
	struct survey s;
	entry_name name;

	while (survey(fd, key, &s) == 0) {
		bool fits =
			s.all <= HISTORY_COUNT_MAX && (s.total <= HISTORY_TOTAL_MAX || s.all == 0);

		if (s.count > HISTORY_DEPTH)
			make_name(name, key, s.oldest);
		else if (fits || name_stalest(fd, &s, name) < 0)
			return;
		if (unlinkat(fd, name, 0) < 0)
			return;
	}
}

/* ---- entries ---- */

static void put_u64(unsigned char *out, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		out[i] = (unsigned char)(number >> (56 - 8 * i));
}

static uint64_t get_u64(const char *in)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | (unsigned char)in[i];
	return number;
}

static int write_entry(int out, const char *path, const struct text *before)
{
	unsigned char len[8];
	int r = io_write_full(out, MAGIC, strlen(MAGIC), IO_NEVER);

	if (r == 0)
		r = io_write_full(out, before ? "+" : "-", 1, IO_NEVER);
	put_u64(len, strlen(path));
	if (r == 0)
		r = io_write_full(out, len, sizeof(len), IO_NEVER);
	if (r == 0)
		r = io_write_full(out, path, strlen(path), IO_NEVER);
	put_u64(len, before ? before->len : 0);
	if (r == 0)
		r = io_write_full(out, len, sizeof(len), IO_NEVER);
	if (r == 0 && before)
		r = io_write_full(out, before->data, before->len, IO_NEVER);
	return r;
}

static int push(int fd, const char *path, const char *key, const struct text *before)
{
	struct survey s;
	entry_name name;
	int r = survey(fd, key, &s), out;

	/* trim() never leaves so much, and would take long over it */
	if (r == 0 && s.all > 2 * HISTORY_COUNT_MAX)
		r = forget_all(fd);
	if (r < 0)
		return r;
	unlinkat(fd, TEMPORARY, 0);
	out = io_open(fd, TEMPORARY, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (out < 0)
		return out;
	r = write_entry(out, path, before);
	if (close(out) < 0 && r == 0)
		r = -errno;
	make_name(name, key, s.newest + 1);
	if (r == 0 && renameat(fd, TEMPORARY, fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(fd, TEMPORARY, 0);
	else
		trim(fd, key);
	return r;
}

void history_push(const char *path, const struct text *before)
{
	bool fits = (!before || before->len <= HISTORY_ENTRY_MAX) && strlen(path) < PATH_KEPT_MAX;
	char key[SHA256_HEX];
	int fd = open_dir(true), r;

	if (fd < 0) {
		discard(fd, NULL);
		return;
	}
	make_key(path, key);
	r = fits ? push(fd, path, key, before) : -EFBIG;
	/* without this edit the older ones would undo more than was asked for */
	if (r < 0) {
		forget(fd, key);
		discard(r, NULL);
	}
	close(fd);
}

/* Takes an entry's bytes apart: true if it is whole and about that path. The text stays. */
static bool parse_entry(const char *path, struct history_entry *entry)
{
	size_t head = strlen(MAGIC) + 1 + 8, path_len = strlen(path);
	struct buf *b = &entry->text;

	if (b->len < head + path_len + 8 || memcmp(b->data, MAGIC, strlen(MAGIC)) != 0 ||
		get_u64(b->data + head - 8) != path_len ||
		memcmp(b->data + head, path, path_len) != 0 ||
		get_u64(b->data + head + path_len) != b->len - head - path_len - 8)
		return false;
	entry->existed = b->data[strlen(MAGIC)] == '+';
	if (!entry->existed && b->data[strlen(MAGIC)] != '-')
		return false;
	buf_drop(b, head + path_len + 8);
	return true;
}

static int read_entry(int fd, const char *name, struct buf *ret)
{
	int in = io_open(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0), r = -EPERM;
	struct stat st;

	if (in < 0)
		return in;
	if (fstat(in, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		r = io_read_all(in, ret, IO_NEVER);
	close(in);
	return r;
}

int history_last(const char *path, struct history_entry *ret)
{
	struct survey s = {0};
	char key[SHA256_HEX];
	entry_name name;
	int fd = open_dir(false), r;

	*ret = (struct history_entry){.text = BUF_INIT(HISTORY_ENTRY_MAX + 2 * PATH_KEPT_MAX)};
	if (fd == -ENOENT)
		return 0;
	if (fd < 0) {
		discard(fd, NULL);
		return 0;
	}
	make_key(path, key);
	r = survey(fd, key, &s);
	if (r == 0 && s.count > 0) {
		make_name(name, key, s.newest);
		ret->number = s.newest;
		r = read_entry(fd, name, &ret->text);
		if (r == 0 && !parse_entry(path, ret))
			r = -EBADMSG;
	}
	if (r < 0 && r != -ENOMEM) {
		forget(fd, key);
		discard(r, r == -EBADMSG ? "corrupt entry" : NULL);
	}
	close(fd);
	if (r == 0 && s.count > 0)
		return 1;
	buf_release(&ret->text);
	return r == -ENOMEM ? r : 0;
}

void history_drop(const char *path, const struct history_entry *entry)
{
	char key[SHA256_HEX];
	entry_name name;
	int fd = open_dir(false);

	if (fd < 0)
		return;
	make_key(path, key);
	make_name(name, key, entry->number);
	unlinkat(fd, name, 0);
	close(fd);
}

/* ---- removing all of it ---- */

/* A directory of that name is somebody's history only if it is his own. */
static bool is_history(int parent, const char *name)
{
	struct stat st;
	char *end;
	unsigned long uid;

	if (strncmp(name, HISTORY_DIR, strlen(HISTORY_DIR)) != 0)
		return false;
	uid = strtoul(name + strlen(HISTORY_DIR), &end, 10);
	return !*end && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == uid;
}

int history_erase(const char *parent)
{
	int fd = io_open(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0), removed = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int64_t deadline = io_in(TREE_SWEEP_MS);
	struct dirent *entry;

	if (!dir) {
		io_close(&fd);
		return 0;
	}
	while (io_now() < deadline && (entry = readdir(dir)))
		if (is_history(fd, entry->d_name))
			removed +=
				tree_remove_until(fd, entry->d_name, ERASE_BUDGET, deadline) == 0;
	closedir(dir);
	return removed;
}
