/* SPDX-License-Identifier: MIT */
/* The digest of what a directory holds. */
#include "payloads/sandbox-tools/install/survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"
#include "payloads/lib/treesum.h"
#include "payloads/sandbox-tools/install/files.h"
#include "payloads/lib/wire.h"

struct walk {
	struct treesum sum;
	uint64_t stamp;
	bool is_service, is_again;
	char path[TREESUM_PATH_MAX + 1];
	size_t len; /* of path */
	struct fail *fail;
};

static int odd(struct walk *walk, const char *what)
{
	return fail_code(walk->fail, FAIL_DIGEST, "'%.200s' %s", walk->path, what);
}

static int add(struct walk *walk, enum treesum_kind kind, uint64_t size, const char *hex)
{
	int r = treesum_add(&walk->sum, kind, walk->path, size, hex);

	if (r == -E2BIG)
		return fail_code(walk->fail, FAIL_DIGEST, "there is more than a tree can hold");
	return r < 0 ? fail_sys(walk->fail, r, "cannot examine '%.200s'", walk->path) : 0;
}

static int add_file(struct walk *walk, int dir, const char *name, const struct stat *st)
{
	int fd = io_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0), r;
	char hex[SHA256_HEX];
	struct stat opened;

	r = fd;
	if (fd >= 0 && (fstat(fd, &opened) < 0 || !sys_is_same(st, &opened)))
		r = -EAGAIN;
	if (r >= 0)
		r = sys_digest(fd, hex);
	io_close(&fd);
	if (r < 0)
		return fail_sys(walk->fail, r, "cannot read '%.200s'", walk->path);
	return add(walk, st->st_mode & S_IXUSR ? TREESUM_EXEC : TREESUM_FILE, (uint64_t)st->st_size,
		hex);
}

static int add_link(struct walk *walk, int dir, const char *name)
{
	char target[TREESUM_PATH_MAX + 2], hex[SHA256_HEX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0)
		return fail_sys(walk->fail, errno, "cannot read '%.200s'", walk->path);
	if (n > TREESUM_PATH_MAX)
		return odd(walk, "is a link to an odd place");
	sha256_hex(target, (size_t)n, hex);
	return add(walk, TREESUM_LINK, (uint64_t)n, hex);
}

static int add_all(struct walk *walk, int dir);

static int add_dir(struct walk *walk, int dir, const char *name)
{
	int fd, r;

	if (!walk->is_again && add(walk, TREESUM_DIR, 0, NULL) < 0)
		return -1;
	fd = tree_open_dir(dir, name);
	if (fd < 0)
		return fail_sys(walk->fail, fd, "cannot open '%.200s'", walk->path);
	r = add_all(walk, fd);
	close(fd);
	return r;
}

/* The order in which a directory is read is left out of it. */
static void stamp(struct walk *walk, const struct stat *st)
{
	const uint64_t facts[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_mode,
		(uint64_t)st->st_size, (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
	uint8_t digest[SHA256_BYTES];
	struct sha256 ctx;
	uint64_t one;

	sha256_init(&ctx);
	sha256_add(&ctx, facts, sizeof(facts));
	sha256_add(&ctx, walk->path, walk->len);
	sha256_end(&ctx, digest);
	memcpy(&one, digest, sizeof(one));
	walk->stamp += one;
}

/* Nobody but us can change it, and it grants nothing. */
static bool is_sound(const struct stat *st)
{
	mode_t mode = st->st_mode & 07777;

	if (st->st_uid != geteuid())
		return false;
	return S_ISLNK(st->st_mode) || mode == 0755 || (S_ISREG(st->st_mode) && mode == 0644);
}

static int add_one(struct walk *walk, int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_sys(walk->fail, errno, "cannot examine '%.200s'", walk->path);
	if (!is_sound(&st))
		return odd(walk, "has another owner or mode than it was given");
	stamp(walk, &st);
	if (S_ISDIR(st.st_mode))
		return add_dir(walk, dir, name);
	if (walk->is_again)
		return 0;
	if (S_ISREG(st.st_mode))
		return add_file(walk, dir, name, &st);
	return S_ISLNK(st.st_mode) ? add_link(walk, dir, name) : odd(walk, "is a special file");
}

static int append(struct walk *walk, const char *name)
{
	size_t room = sizeof(walk->path) - walk->len;
	int n = snprintf(walk->path + walk->len, room, "%s%s", walk->len ? "/" : "", name);

	if ((size_t)n >= room || treesum_unfit(walk->path))
		return odd(walk, "does not belong to a tree");
	walk->len += (size_t)n;
	return 0;
}

static bool is_left_out(const struct walk *walk, const char *name)
{
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return true;
	return walk->is_service && walk->len == 0 && !strcmp(name, WIRE_SERVER_NAME);
}

static int add_all(struct walk *walk, int fd)
{
	int copy = io_open(fd, ".", O_RDONLY | O_DIRECTORY, 0), r = 0;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	size_t len = walk->len;
	struct dirent *entry;

	if (!dir) {
		io_close(&copy);
		return fail_sys(walk->fail, errno, "cannot list '%.200s'", walk->path);
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (is_left_out(walk, entry->d_name))
			continue;
		r = append(walk, entry->d_name);
		if (r == 0)
			r = add_one(walk, fd, entry->d_name);
		walk->len = len;
		walk->path[len] = '\0';
	}
	closedir(dir);
	return r;
}

int survey_run(int dir, bool is_service, struct survey *ret, struct fail *fail)
{
	struct walk walk = {.sum = TREESUM_INIT, .is_service = is_service, .fail = fail};
	int r = add_all(&walk, dir);

	treesum_end(&walk.sum, ret->hex);
	ret->files = walk.sum.files;
	ret->bytes = walk.sum.bytes;
	ret->stamp = walk.stamp;
	treesum_release(&walk.sum);
	return r;
}

int survey_again(int dir, const struct survey *survey, struct fail *fail)
{
	struct walk walk = {.sum = TREESUM_INIT, .is_again = true, .fail = fail};

	if (add_all(&walk, dir) < 0)
		return -1;
	if (walk.stamp == survey->stamp)
		return 0;
	return fail_code(fail, FAIL_DIGEST, "the tree was changed while it was examined");
}

bool survey_is(int parent, const char *name, bool is_service, const char *hex, struct survey *ret)
{
	int dir = tree_open_dir(parent, name);
	struct fail ignored = FAIL_INIT;
	bool same = dir >= 0 && files_is_own_dir(dir) &&
		    survey_run(dir, is_service, ret, &ignored) == 0 && !strcmp(ret->hex, hex);

	io_close(&dir);
	return same;
}
