/* SPDX-License-Identifier: MIT */
/* The in-container programs' base: digests, frames, buffers, directory steps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"
#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/memory.h"
#include "payloads/lib/quote.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/sha256_blocks.h"
#include "payloads/lib/sys.h"
#include "payloads/lib/tree.h"

static const struct {
	const char *text, *hex;
} vectors[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
	 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

/* wrap: io_now */

static int64_t clock_step, shift; /* of the clock, each time that somebody looks */

int64_t __real_io_now(void);
int64_t __wrap_io_now(void);

int64_t __wrap_io_now(void)
{
	shift += clock_step;
	return __real_io_now() + shift;
}

static void test_sha256_hex__knows_the_standard_vectors(void **state)
{
	char hex[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
		assert_string_equal(hex, vectors[i].hex);
	}
}

/* At most 119 bytes, padded by hand. */
static void hash_with(sha256_blocks_fn *blocks, const char *text, char hex[SHA256_HEX])
{
	size_t len = strlen(text), end = len < 56 ? 64 : 128;
	uint8_t padded[128] = {0};
	struct sha256 ctx;

	memcpy(padded, text, len);
	padded[len] = 0x80;
	padded[end - 2] = (uint8_t)(len * 8 >> 8);
	padded[end - 1] = (uint8_t)(len * 8);
	sha256_init(&ctx);
	blocks(ctx.state, padded, end / 64);
	for (int i = 0; i < 8; i++)
		snprintf(hex + 8 * i, 9, "%08x", ctx.state[i]);
}

/* Of these one is never what sha256_hex() uses here. */
static void test_sha256_blocks__know_the_standard_vectors_each(void **state)
{
	sha256_blocks_fn *const ways[] = {sha256_blocks_plain, sha256_blocks_special()};
	char hex[SHA256_HEX];

	(void)state;
	for (size_t way = 0; way < 2 && ways[way]; way++) {
		for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
			hash_with(ways[way], vectors[i].text, hex);
			assert_string_equal(hex, vectors[i].hex);
		}
	}
}

static void fill_random(void *into, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)into)[i] = (uint8_t)(rand() >> 8);
}

static void test_sha256_blocks_special__does_what_plain_c_does(void **state)
{
	sha256_blocks_fn *special = sha256_blocks_special();
	uint8_t data[64 * 40 + 16];
	uint32_t one[8], other[8];

	(void)state;
	if (!special)
		skip();
	srand(1);
	for (int round = 0; round < 2000; round++) {
		size_t count = (size_t)rand() % 41, skew = (size_t)rand() % 16;

		fill_random(data, sizeof(data));
		fill_random(one, sizeof(one));
		memcpy(other, one, sizeof(one));
		sha256_blocks_plain(one, data + skew, count);
		special(other, data + skew, count);
		assert_memory_equal(one, other, sizeof(one));
	}
}

static void test_sha256_add__does_not_care_about_pieces(void **state)
{
	char text[1000], whole[SHA256_HEX], pieces[SHA256_HEX];
	struct sha256 ctx;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t len = 0; len < 200; len++) {
		sha256_hex(text, len, whole);
		for (size_t step = 1; step < 70; step += 3) {
			sha256_init(&ctx);
			for (size_t at = 0; at < len; at += step)
				sha256_add(&ctx, text + at, len - at < step ? len - at : step);
			sha256_end_hex(&ctx, pieces);
			assert_string_equal(pieces, whole);
		}
	}
	sha256_init(&ctx);
	for (int i = 0; i < 1000; i++)
		sha256_add(&ctx, text, 1000);
	sha256_end_hex(&ctx, pieces);
	assert_string_equal(
		pieces, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_buf__grows_to_its_limit_and_no_further(void **state)
{
	struct buf buf = BUF_INIT(10000);
	char piece[3000];

	(void)state;
	memset(piece, 'x', sizeof(piece));
	for (int i = 0; i < 3; i++)
		assert_int_equal(buf_add(&buf, piece, sizeof(piece)), 0);
	assert_int_equal(buf_add(&buf, piece, sizeof(piece)), -EMSGSIZE);
	assert_int_equal(buf.len, 9000);
	buf_drop(&buf, 8999);
	assert_int_equal(buf_add(&buf, piece, sizeof(piece)), 0);
	assert_int_equal(buf.len, 3001);
	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -EMSGSIZE);
	buf_release(&buf);
	assert_int_equal(buf_add_str(&buf, "again"), 0);
	buf_drop(&buf, 5);
	assert_int_equal(buf.len, 0);
	buf_release(&buf);
}

/* Appends a character as UTF-8. */
static void add_utf8(struct buf *out, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	unsigned char first = more ? (unsigned char)(0xff00u >> (more + 1)) : 0, byte;

	byte = (unsigned char)(first | c >> 6 * more);
	assert_int_equal(buf_add(out, &byte, 1), 0);
	for (; more > 0; more--) {
		byte = 0x80 | (c >> 6 * (more - 1) & 0x3f);
		assert_int_equal(buf_add(out, &byte, 1), 0);
	}
}

static void test_quote_add__writes_every_character_as_jansson_does(void **state)
{
	struct buf text = BUF_INIT(1 << 24), out = BUF_INIT(1 << 24), chars = BUF_INIT(1 << 24);
	json_t *value;
	char *wanted;

	(void)state;
	assert_int_equal(buf_add_str(&chars, "\""), 0);
	for (uint32_t c = 0; c < 0x110000; c++) {
		if (c >= 0xd800 && c < 0xe000)
			continue;
		add_utf8(&text, c);
		assert_int_equal(quote_add_char(&chars, c), 0);
	}
	assert_int_equal(buf_add_str(&chars, "\""), 0);
	value = json_stringn(text.data, text.len);
	wanted = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	assert_non_null(wanted);
	assert_int_equal(quote_add(&out, text.data, text.len), 0);
	assert_int_equal(out.len, strlen(wanted));
	assert_memory_equal(out.data, wanted, out.len);
	assert_int_equal(chars.len, out.len);
	assert_memory_equal(chars.data, wanted, out.len);
	free(wanted);
	json_decref(value);
	buf_release(&text);
	buf_release(&out);
	buf_release(&chars);
}

static void test_quote_add__adds_all_or_nothing(void **state)
{
	struct buf out = BUF_INIT(9);

	(void)state;
	assert_int_equal(quote_add(&out, NULL, 0), 0);
	assert_int_equal(quote_add(&out, "\0", 1), -EMSGSIZE);
	assert_int_equal(quote_add(&out, "12345", 5), 0);
	assert_int_equal(out.len, 9);
	assert_memory_equal(out.data, "\"\"\"12345\"", 9);
	buf_release(&out);
}

static void test_frame_find__takes_frames_apart(void **state)
{
	struct buf buf = BUF_INIT(100000), part;
	struct frame frame;

	(void)state;
	assert_int_equal(frame_add(&buf, 7, "hello", 5), 0);
	assert_int_equal(frame_add(&buf, 0xfffffffe, "", 0), 0);
	for (size_t len = 0; len < FRAME_HEAD_SIZE + 5; len++) {
		part = buf;
		part.len = len;
		assert_int_equal(frame_find(&part, 5, &frame), 0);
	}
	assert_int_equal(frame_find(&buf, 4, &frame), -EMSGSIZE);
	assert_int_equal(frame_find(&buf, 5, &frame), 1);
	assert_int_equal(frame.tag, 7);
	assert_int_equal(frame.len, 5);
	assert_memory_equal(frame.data, "hello", 5);
	buf_drop(&buf, FRAME_HEAD_SIZE + frame.len);
	assert_int_equal(frame_find(&buf, 0, &frame), 1);
	assert_true(frame.tag == 0xfffffffe);
	assert_int_equal(frame.len, 0);
	buf_release(&buf);
}

static void test_frame_check_hello__refuses_strangers(void **state)
{
	uint8_t hello[FRAME_HELLO_SIZE];
	uint32_t pid;

	(void)state;
	frame_put_hello(hello, 4711);
	assert_int_equal(frame_check_hello(hello, &pid), 0);
	assert_int_equal(pid, 4711);
	hello[11]++;
	assert_int_equal(frame_check_hello(hello, &pid), -EPROTO);
	memcpy(hello, "HTTP/1.1 400 Bad", FRAME_HELLO_SIZE);
	assert_int_equal(frame_check_hello(hello, &pid), -EPROTO);
}

static void test_frame_receive__ends_in_time(void **state)
{
	struct buf reply = BUF_INIT(1000);
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(frame_receive(ends[0], &reply, 1000, io_in(20)), -ETIMEDOUT);
	assert_int_equal(frame_send(ends[1], 1, "abc", 3, io_in(1000)), 0);
	assert_int_equal(frame_receive(ends[0], &reply, 1000, io_in(1000)), 0);
	assert_int_equal(reply.len, 3);
	assert_int_equal(frame_send(ends[1], 1, "abc", 3, io_in(1000)), 0);
	assert_int_equal(frame_receive(ends[0], &reply, 2, io_in(1000)), -EMSGSIZE);
	close(ends[1]);
	assert_int_equal(frame_receive(ends[0], &reply, 1000, io_in(1000)), -ENODATA);
	close(ends[0]);
	buf_release(&reply);
}

static void test_fail_sys__says_what_and_why(void **state)
{
	struct fail fail = FAIL_INIT;

	(void)state;
	assert_int_equal(fail_sys(&fail, -ENOENT, "cannot open '%s'", "/x"), -1);
	assert_string_equal(fail.text, "cannot open '/x': No such file or directory");
	assert_int_equal(fail.error, ENOENT);
	fail_code(&fail, FAIL_DIGEST, "%01000d", 1);
	assert_int_equal(strlen(fail.text), sizeof(fail.text) - 1);
	assert_int_equal(fail.code, FAIL_DIGEST);
	fail_sys(&fail, EIO, "%01000d", 1);
	assert_int_equal(strlen(fail.text), sizeof(fail.text) - 1);
}

static void test_tree_open_parent__refuses_crooked_paths(void **state)
{
	static const char *const bad[] = {
		"", "x", "/", "//x", "/tmp/", "/../x", "/./x", "/tmp/..", "/tmp/.", "/tmp//x"};
	char leaf[NAME_MAX + 1];
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tree_open_parent(bad[i], leaf, NULL), -EINVAL);
	assert_int_equal(tree_open_parent("/no-such-directory/x", leaf, NULL), -ENOENT);
	fd = tree_open_parent("/tmp/..x", leaf, NULL);
	assert_true(fd >= 0);
	assert_string_equal(leaf, "..x");
	close(fd);
}

static void test_tree_remove__follows_no_link_and_keeps_the_time(void **state)
{
	char dir[] = "/tmp/test_payload_lib.XXXXXX";
	struct stat before, after;
	int fd, i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(fd, "keep", 0700), 0);
	assert_int_equal(mkdirat(fd, "keep/inside", 0700), 0);
	assert_int_equal(mkdirat(fd, "a", 0700), 0);
	assert_int_equal(mkdirat(fd, "a/b", 0700), 0);
	assert_int_equal(symlinkat("../keep", fd, "a/link"), 0);
	assert_int_equal(mkfifoat(fd, "a/b/fifo", 0600), 0);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(tree_remove(fd, "a", 3), -E2BIG);
	assert_int_equal(tree_remove(fd, "a", 100), 0);
	assert_int_equal(tree_remove(fd, "a", 100), -ENOENT);
	assert_int_equal(tree_mkdir(fd, "c", 0700), 0);
	assert_int_equal(tree_clear(fd, "c"), 0);
	assert_int_equal(tree_clear(fd, "c"), 0);
	assert_int_equal(fstat(fd, &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_int_equal(faccessat(fd, "keep/inside", F_OK, 0), 0);
	assert_int_equal(mkdirat(fd, "deep", 0700), 0);
	for (i = 0; i < 300; i++) {
		assert_int_equal(mkdirat(fd, "wrap", 0700), 0);
		assert_int_equal(renameat(fd, "deep", fd, "wrap/deep"), 0);
		assert_int_equal(renameat(fd, "wrap", fd, "deep"), 0);
	}
	assert_int_equal(tree_remove(fd, "deep", 100), -E2BIG);
	assert_int_equal(tree_remove(fd, "deep", 1000), 0);
	assert_int_equal(tree_remove(fd, "keep", 1000), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

static void test_tree_sweep__removes_what_has_its_names(void **state)
{
	char dir[] = "/tmp/test_payload_lib.XXXXXX";
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(fd, ".sbinject-cleared-0123456789abcdef", 0755), 0);
	assert_int_equal(mkdirat(fd, ".sbinject-cleared-other", 0755), 0);
	assert_int_equal(tree_sweep(fd), 1);
	assert_int_equal(unlinkat(fd, ".sbinject-cleared-other", AT_REMOVEDIR), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

/* What sys_is_self() relies on: the same file under another name cannot be written to either. */
static void test_sys_is_self__knows_every_name_of_what_runs(void **state)
{
	char path[PATH_MAX], other[PATH_MAX + 8], hex[SHA256_HEX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct sys_self self;
	struct stat st;
	int fd;

	(void)state;
	assert_true(n > 0);
	path[n] = '\0';
	snprintf(other, sizeof(other), "%s.other", path);
	unlink(other);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(sys_know_self(&self), 0);
	fd = open(other, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(sys_digest(fd, hex), 0);
	close(fd);
	assert_true(sys_is_self(&self, &st));
	assert_string_equal(self.hex, hex);
	assert_int_equal(open(other, O_WRONLY), -1);
	assert_int_equal(errno, ETXTBSY);
	assert_int_equal(unlink(other), 0);
	fd = open(other, O_RDWR | O_CREAT | O_EXCL, 0755);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(sys_is_self(&self, &st));
	close(fd);
	assert_int_equal(unlink(other), 0);
}

static void test_tree_split_aside__knows_its_names(void **state)
{
	static const struct {
		const char *aside, *name;
	} rows[] = {
		{"x.sbinject-aside-0123abcd", "x"},
		{".sbinject.sbinject-aside-0123abcd", ".sbinject"},
		{"x.sbinject-aside-0123abcd.sbinject-aside-01234567", "x.sbinject-aside-0123abcd"},
		{".sbinject-aside-0123abcd", NULL},
		{"x.sbinject-aside-0123abc", NULL},
		{"x.sbinject-aside-0123abcde", NULL},
		{"x.sbinject-aside-0123ABCD", NULL},
		{"x", NULL},
		{"", NULL},
	};
	char name[NAME_MAX + 1], aside[NAME_MAX + 1], other[NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(tree_split_aside(rows[i].aside, name), rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
	}
	assert_int_equal(tree_aside_name("x", aside), 0);
	assert_int_equal(tree_aside_name("x", other), 0);
	assert_string_not_equal(aside, other);
	assert_true(tree_split_aside(aside, name));
	assert_string_equal(name, "x");
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	assert_int_equal(tree_aside_name(name, aside), -ENAMETOOLONG);
}

/* Puts things of several kinds at "x": 0 nothing, 1 a link, 2 a file, 3 another user's directory.
 */
static void put_thing(int fd, int what)
{
	if (what == 1)
		assert_int_equal(symlinkat("nowhere", fd, "x"), 0);
	if (what == 2)
		assert_int_equal(mknodat(fd, "x", S_IFREG | 0640, 0), 0);
	if (what == 3) {
		assert_int_equal(mkdirat(fd, "x", 0750), 0);
		assert_int_equal(mkdirat(fd, "x/inside", 0700), 0);
		assert_int_equal(fchownat(fd, "x", 65534, 65534, 0), 0);
	}
}

static void test_tree_claim_dir__keeps_what_was_there(void **state)
{
	char dir[] = "/tmp/test_payload_lib.XXXXXX", aside[NAME_MAX + 1];
	struct stat before, after;
	int fd, new;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (int what = 0; what < 4; what++) {
		put_thing(fd, what);
		assert_int_equal(fstatat(fd, "x", &before, AT_SYMLINK_NOFOLLOW), what ? 0 : -1);
		assert_int_equal(tree_aside_name("x", aside), 0);
		new = tree_claim_dir(fd, "x", 0711, aside);
		assert_int_equal(fstat(new, &after), 0);
		assert_int_equal(after.st_mode, S_IFDIR | 0711);
		assert_int_equal(tree_put_back(fd, aside), what ? -EEXIST : -ENOENT);
		assert_int_equal(faccessat(fd, aside, F_OK, AT_SYMLINK_NOFOLLOW), what ? 0 : -1);
		close(new);
		new = tree_claim_dir(fd, "x", 0711, "never");
		assert_int_equal(fstatat(fd, "x", &after, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(after.st_uid, geteuid());
		close(new);
		assert_int_equal(unlinkat(fd, "x", AT_REMOVEDIR), 0);
		assert_int_equal(tree_put_back_from(fd, "x"), what ? 1 : 0);
		assert_int_equal(fstatat(fd, "x", &after, AT_SYMLINK_NOFOLLOW), what ? 0 : -1);
		assert_true(!what ||
			    (after.st_ino == before.st_ino && after.st_mode == before.st_mode &&
				    after.st_uid == before.st_uid));
		tree_remove(fd, "x", 10);
	}
	/* what a run leaves that was killed before the exchange */
	assert_int_equal(mkdirat(fd, aside, 0700), 0);
	assert_int_equal(tree_put_back(fd, aside), 0);
	assert_int_equal(tree_put_back(fd, "x"), -EINVAL);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

/* Anybody can make more than there is time for. */
static void test_tree_sweep__ends_in_time(void **state)
{
	char dir[] = "/tmp/test_tree.XXXXXX", name[64];
	int fd, removed;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), ".sbinject-cleared-%016d", i);
		assert_int_equal(mkdirat(fd, name, 0755), 0);
	}
	clock_step = TREE_SWEEP_MS / 20;
	removed = tree_sweep(fd);
	clock_step = shift = 0;
	assert_in_range(removed, 1, 20);
	assert_int_equal(tree_sweep(fd), 40 - removed);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- memory ---- */

static void put(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	char *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (slash = strchr(path + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_memory_limit__is_the_least_of_all_groups_above(void **state)
{
	static const struct {
		const char *groups;
		size_t limit;
	} cases[] = {
		{"0::/\n", MEMORY_ANY},
		{"0::/a\n", 64 << 20},
		{"0::/a/b\n", 32 << 20},
		{"0::/a/max\n", 64 << 20},
		{"0::/a/gone/x\n", 64 << 20},
		{"0::/../..\n", MEMORY_ANY},
		{"3:cpu,memory:/v1\n1:name=systemd:/a\n0::/\n", 1000},
		{"3:memory:/\n", MEMORY_ANY},
		{"3:memoryx,xmemory:/v1\n", MEMORY_ANY},
		{"2:memory:/v1\n0::/a", 1000},
		{"0::/fifo\n", MEMORY_ANY},
		{"0::/odd\n", MEMORY_ANY},
		{"nonsense\n::\n", MEMORY_ANY},
		{"", MEMORY_ANY},
	};
	char dir[] = "/tmp/test_memory.XXXXXX", path[PATH_MAX];

	(void)state;
	assert_non_null(mkdtemp(dir));
	put(dir, "a/memory.max", "67108864\n");
	put(dir, "a/b/memory.max", "33554432\n");
	put(dir, "a/max/memory.max", "max\n");
	put(dir, "odd/memory.max", "99999999999999999999999999\n");
	put(dir, "memory/memory.limit_in_bytes", "9223372036854771712\n");
	put(dir, "memory/v1/memory.limit_in_bytes", "1000\n");
	put(dir, "fifo/x", "");
	snprintf(path, sizeof(path), "%s/fifo/memory.max", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/groups", dir);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t limit;

		put(dir, "groups", cases[i].groups);
		limit = memory_limit_in(path, dir);
		/* more than any machine has is no limit */
		assert_int_equal(limit > (size_t)1 << 60 ? MEMORY_ANY : limit, cases[i].limit);
	}
	assert_int_equal(memory_limit_in("/nowhere", dir), MEMORY_ANY);
	assert_int_equal(tree_remove(AT_FDCWD, dir, 100), 0);
}

static void test_memory_part__has_a_least_and_a_most(void **state)
{
	(void)state;
	assert_int_equal(memory_part(MEMORY_ANY, 4, 5 << 20), 5 << 20);
	assert_int_equal(memory_part(64 << 20, 4, 256 << 20), 16 << 20);
	assert_int_equal(memory_part((64 << 20) - 1, 4, 256 << 20), (16 << 20) - 1024);
	assert_int_equal(memory_part(0, 4, 256 << 20), MEMORY_LEAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256_hex__knows_the_standard_vectors),
		cmocka_unit_test(test_sha256_blocks__know_the_standard_vectors_each),
		cmocka_unit_test(test_sha256_blocks_special__does_what_plain_c_does),
		cmocka_unit_test(test_sha256_add__does_not_care_about_pieces),
		cmocka_unit_test(test_buf__grows_to_its_limit_and_no_further),
		cmocka_unit_test(test_quote_add__writes_every_character_as_jansson_does),
		cmocka_unit_test(test_quote_add__adds_all_or_nothing),
		cmocka_unit_test(test_frame_find__takes_frames_apart),
		cmocka_unit_test(test_frame_check_hello__refuses_strangers),
		cmocka_unit_test(test_frame_receive__ends_in_time),
		cmocka_unit_test(test_fail_sys__says_what_and_why),
		cmocka_unit_test(test_tree_open_parent__refuses_crooked_paths),
		cmocka_unit_test(test_tree_remove__follows_no_link_and_keeps_the_time),
		cmocka_unit_test(test_tree_sweep__removes_what_has_its_names),
		cmocka_unit_test(test_sys_is_self__knows_every_name_of_what_runs),
		cmocka_unit_test(test_tree_split_aside__knows_its_names),
		cmocka_unit_test(test_tree_claim_dir__keeps_what_was_there),
		cmocka_unit_test(test_tree_sweep__ends_in_time),
		cmocka_unit_test(test_memory_limit__is_the_least_of_all_groups_above),
		cmocka_unit_test(test_memory_part__has_a_least_and_a_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
