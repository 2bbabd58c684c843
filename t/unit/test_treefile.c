/* SPDX-License-Identifier: MIT */
/* wrap: malloc calloc realloc strdup */
/*
 * Trees as archives hold them: what cannot be one is refused with its reason, the digest is what
 * treesum.h says, and what is sent is what was read. The archives are made here, by hand, because
 * no tool would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/file.h"
#include "engine/json.h"
#include "payloads/lib/wire.h"
#include "payloads/treefile.h"
#include "t/unit/fail_alloc.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <sys/mman.h>

enum { BLOCK = 512, MAX_ITEMS = 6, MAX_TAR = 32 << 20 };

/* ---- archives ---- */

/* A member. */
struct item {
	char type; /* as in the header: '0' a file, '1' a hard link, '2' a link, '5' a directory… */
	const char *path, *target;
	unsigned mode; /* 0: 0644, or 0755 for a directory */
	const char *data;
	const char *pax;   /* "key=value", lines of a pax header before it; or NULL */
	const char *size;  /* as in the header, where it is not that of the data */
	bool long_by_name; /* GNU's way for long paths */
};

static void add(struct sb_buf *tar, const void *data, size_t len)
{
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(sb_buf_add(tar, data, len, &err), 0);
}

static void pad(struct sb_buf *tar)
{
	static const char zeros[BLOCK];

	add(tar, zeros, (BLOCK - tar->len % BLOCK) % BLOCK);
}

static void add_head(struct sb_buf *tar, const struct item *item, size_t len)
{
	unsigned mode = item->mode ? item->mode : item->type == '5' ? 0755 : 0644;
	char head[BLOCK] = "";
	unsigned sum = 0;

	strncpy(head, item->path, 100);
	snprintf(head + 100, 8, "%07o", mode & 07777);
	snprintf(head + 108, 8, "%07o", 0);
	snprintf(head + 116, 8, "%07o", 0);
	snprintf(head + 124, 12, "%011zo", len);
	if (item->size)
		memcpy(head + 124, item->size, 12);
	snprintf(head + 136, 12, "%011o", 0);
	memset(head + 148, ' ', 8);
	head[156] = item->type;
	if (item->target)
		strncpy(head + 157, item->target, 100);
	memcpy(head + 257, item->long_by_name ? "ustar  " : "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	add(tar, head, BLOCK);
}

static void add_data(struct sb_buf *tar, const char *data, size_t len)
{
	add(tar, data, len);
	pad(tar);
}

/* "LEN key=value\n", in which LEN counts itself. */
static size_t pax_line(char *text, size_t size, const char *line, size_t len)
{
	size_t total = len + 3;
	char digits[24];

	while (total < len + 2 + (size_t)snprintf(digits, sizeof(digits), "%zu", total))
		total++;
	snprintf(text, size, "%zu %.*s\n", total, (int)len, line);
	return total;
}

static void add_pax(struct sb_buf *tar, const char *pax)
{
	const struct item head = {.type = 'x', .path = "pax"};
	char text[8192];
	size_t len = 0;

	while (*pax) {
		size_t n = strcspn(pax, "\n");

		len += pax_line(text + len, sizeof(text) - len, pax, n);
		pax += n + (pax[n] == '\n');
	}
	add_head(tar, &head, len);
	add_data(tar, text, len);
}

static void add_long(struct sb_buf *tar, const char *path)
{
	const struct item head = {.type = 'L', .path = "././@LongLink", .long_by_name = true};

	add_head(tar, &head, strlen(path) + 1);
	add_data(tar, path, strlen(path) + 1);
}

static void add_item(struct sb_buf *tar, const struct item *item)
{
	size_t len = item->data ? strlen(item->data) : 0;

	if (item->pax)
		add_pax(tar, item->pax);
	if (item->long_by_name)
		add_long(tar, item->path);
	add_head(tar, item, len);
	if (len)
		add_data(tar, item->data, len);
}

static void add_items(struct sb_buf *tar, const struct item *items, size_t count)
{
	for (size_t i = 0; i < count && items[i].type; i++)
		add_item(tar, &items[i]);
}

static void add_end(struct sb_buf *tar)
{
	static const char zeros[2 * BLOCK];

	add(tar, zeros, sizeof(zeros));
}

/* ---- reading them ---- */

struct reading {
	struct treefile file;
	struct treefile_facts facts;
	struct sb_err err;
	int result;
};

static int open_bytes(const void *data, size_t len)
{
	struct sb_err err = SB_ERR_INIT;
	int fd = memfd_create("tree", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(sb_file_put(fd, "memory", data, len, &err), 0);
	return fd;
}

static struct reading survey_at(const void *data, size_t len, size_t offset, const char *launcher)
{
	struct reading ret = {.err = SB_ERR_INIT};
	sb_autoclose int fd = open_bytes(data, len);

	ret.file = (struct treefile){.source = {"x", fd, offset, len - offset},
		.launcher = launcher,
		.arch = launcher ? "amd64" : NULL};
	ret.result = treefile_survey(&ret.file, &ret.facts, &ret.err);
	return ret;
}

static struct reading survey(const struct sb_buf *tar)
{
	return survey_at(tar->data, tar->len, 0, NULL);
}

static int ignore(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	(void)ctx, (void)data, (void)len, (void)err;
	return 0;
}

static struct sb_err send_error(const struct sb_buf *tar)
{
	sb_autoclose int fd = open_bytes(tar->data, tar->len);
	const struct treefile file = {.source = {"x", fd, 0, tar->len}};
	const struct treefile_out out = {ignore, NULL};
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(treefile_send(&file, &out, &err), -1);
	return err;
}

/* Refused, in both ways of reading it, for that reason. */
static bool is_refused(const char *name, const struct sb_buf *tar, const char *why)
{
	struct reading got = survey(tar);
	struct sb_err sending;

	if (got.result == 0 || got.err.code != SB_USAGE || strcmp(got.err.text, why) != 0) {
		print_error("%s: %d, '%s', not '%s'\n", name, got.err.code, got.err.text, why);
		return false;
	}
	sending = send_error(tar);
	if (strcmp(sending.text, why) != 0)
		print_error("%s, sending: '%s', not '%s'\n", name, sending.text, why);
	return !strcmp(sending.text, why);
}

/* ---- what cannot be a tree ---- */

#define A10 "aaaaaaaaaa"
#define A50 A10 A10 A10 A10 A10
#define A250 A50 A50 A50 A50 A50
#define D10 "d/d/d/d/d/d/d/d/d/d/"
#define NO_PLAIN(path) "'x': '" path "': its path is not a plain relative one"
#define OUTSIDE(path) "'x': '" path "': it is a link to a place outside of the tree"
#define TWICE(path) "'x': '" path "': it comes twice"
#define NO_DIR(path) "'x': '" path "': it is in what is no directory"
#define NOT_BEFORE(path) "'x': '" path "': it is the same as a file that did not come before"

#define A_FILE                           \
	{                                \
		.type = '0', .path = "a" \
	}
static const struct {
	const char *name;
	struct item items[MAX_ITEMS];
	const char *why;
} refused[] = {
	{"an absolute name", {{.type = '0', .path = "/a"}}, NO_PLAIN("/a")},
	{"an absolute directory", {{.type = '5', .path = "/a/"}}, NO_PLAIN("/a")},
	{"..", {{.type = '5', .path = ".."}}, NO_PLAIN("..")},
	{".. first", {{.type = '0', .path = "../a"}}, NO_PLAIN("../a")},
	{".. behind ./", {{.type = '0', .path = "./../a"}}, NO_PLAIN("../a")},
	{".. in between", {{.type = '0', .path = "a/../b"}}, NO_PLAIN("a/../b")},
	{".. last", {{.type = '5', .path = "a/.."}}, NO_PLAIN("a/..")},
	{". in between", {{.type = '0', .path = "a/./b"}}, NO_PLAIN("a/./b")},
	{"two slashes", {{.type = '0', .path = "a//b"}}, NO_PLAIN("a//b")},
	{"a file for the top", {{.type = '0', .path = "."}}, "'x': '.' is not a directory"},
	{"a link for the top", {{.type = '2', .path = "./", .target = "a"}},
		"'x': '.' is not a directory"},
	{"an absolute link", {{.type = '2', .path = "a", .target = "/etc"}}, OUTSIDE("a")},
	{"a link that leaves", {{.type = '2', .path = "a", .target = "../b"}}, OUTSIDE("a")},
	{"a link to what the tree is in", {{.type = '2', .path = "a", .target = ".."}},
		OUTSIDE("a")},
	{"a link that leaves from below", {{.type = '2', .path = "a/b/c", .target = "../../../d"}},
		OUTSIDE("a/b/c")},
	{".. behind a link's name",
		{{.type = '5', .path = "d"}, {.type = '2', .path = "d/a", .target = ".."},
			{.type = '2', .path = "b", .target = "d/a/../.."}},
		OUTSIDE("b")},
	{"a link that leaves behind ./", {{.type = '2', .path = "a", .target = "./../b"}},
		OUTSIDE("a")},
	{"a link to the root", {{.type = '2', .path = "a", .target = "//"}}, OUTSIDE("a")},
	{"an absolute link behind ./", {{.type = '2', .path = "a", .target = ".//etc"}},
		OUTSIDE("a")},
	{".. behind a name", {{.type = '2', .path = "a", .target = "b/../c"}}, OUTSIDE("a")},
	{"a link to nothing", {{.type = '2', .path = "a", .target = "", .pax = "linkpath="}},
		"'x': 'a' is a link to what is not text"},
	{"a link with a control character", {{.type = '2', .path = "a", .target = "b\nc"}},
		"'x': 'a': it is a link to an odd place"},
	{"below a file", {A_FILE, {.type = '0', .path = "a/b"}}, NO_DIR("a/b")},
	{"a directory below a file", {A_FILE, {.type = '5', .path = "a/b"}}, NO_DIR("a/b")},
	{"below a link",
		{{.type = '5', .path = "d"}, {.type = '2', .path = "a", .target = "d"},
			{.type = '0', .path = "a/b"}},
		NO_DIR("a/b")},
	{"far below a link",
		{{.type = '5', .path = "d"}, {.type = '2', .path = "a", .target = "d"},
			{.type = '0', .path = "a/b/c"}},
		NO_DIR("a/b/c")},
	{"a hard link below a link",
		{A_FILE, {.type = '2', .path = "l", .target = "."},
			{.type = '1', .path = "l/b", .target = "a"}},
		NO_DIR("l/b")},
	{"a directory for a link",
		{{.type = '2', .path = "a", .target = "b"}, {.type = '5', .path = "a"}},
		TWICE("a")},
	{"a directory for a file", {A_FILE, {.type = '5', .path = "a"}}, TWICE("a")},
	{"a file twice", {A_FILE, A_FILE}, TWICE("a")},
	{"a file twice, in other words", {A_FILE, {.type = '0', .path = "./a"}}, TWICE("a")},
	{"a link twice",
		{{.type = '2', .path = "a", .target = "b"},
			{.type = '2', .path = "a", .target = "b"}},
		TWICE("a")},
	{"a file for a directory", {{.type = '5', .path = "a"}, A_FILE}, TWICE("a")},
	{"a file for a directory that was left out", {{.type = '0', .path = "a/b"}, A_FILE},
		TWICE("a")},
	{"a character device", {{.type = '3', .path = "a"}},
		"'x': 'a' is a device, a FIFO or a socket"},
	{"a block device", {{.type = '4', .path = "a"}},
		"'x': 'a' is a device, a FIFO or a socket"},
	{"a FIFO", {{.type = '6', .path = "a"}}, "'x': 'a' is a device, a FIFO or a socket"},
	{"set-user-ID", {{.type = '0', .path = "a", .mode = 04755}},
		"'x': 'a' has the set-user-ID or set-group-ID bit"},
	{"set-group-ID", {{.type = '5', .path = "a", .mode = 02755}},
		"'x': 'a' has the set-user-ID or set-group-ID bit"},
	{"an attribute", {{.type = '0', .path = "a", .pax = "SCHILY.xattr.user.b=c"}},
		"'x': 'a' has extended attributes"},
	{"a capability",
		{{.type = '0', .path = "a", .pax = "SCHILY.xattr.security.capability=abc"}},
		"'x': 'a' has extended attributes"},
	{"a sparse file",
		{{.type = '0',
			.path = "a",
			.pax = "GNU.sparse.size=9\nGNU.sparse.map=5,1",
			.data = "b"}},
		"'x': 'a' is a sparse file"},
	{"too deep", {{.type = '0', .path = D10 D10 D10 D10 "d/d/d/d/d/d/d/d/a"}},
		"'x': '" D10 D10 D10 D10 "d/d/d/d/d/d/d/d/a': its path is too deep"},
	{"a control character", {{.type = '0', .path = "a\033b"}},
		"'x': 'a\\x1bb': its path has control characters"},
	{"a line break", {{.type = '0', .path = "a\nb"}},
		"'x': 'a\\x0ab': its path has control characters"},
	{"not UTF-8", {{.type = '0', .path = "a\xff"}}, "'x': 'a\\xff': its path is not UTF-8"},
	{"a link that is not UTF-8", {{.type = '2', .path = "a", .target = "b\xff"}},
		"'x': 'a': its path is not UTF-8"},
	{"a hard link to nothing", {{.type = '1', .path = "b", .target = "a"}}, NOT_BEFORE("b")},
	{"a hard link to what comes later", {{.type = '1', .path = "b", .target = "a"}, A_FILE},
		NOT_BEFORE("b")},
	{"a hard link to a directory",
		{{.type = '5', .path = "a"}, {.type = '1', .path = "b", .target = "a"}},
		NOT_BEFORE("b")},
	{"a hard link to a link",
		{A_FILE, {.type = '2', .path = "l", .target = "a"},
			{.type = '1', .path = "b", .target = "l"}},
		"'x': 'b': it is a second name of a link"},
	{"a hard link to itself", {{.type = '1', .path = "a", .target = "a"}}, NOT_BEFORE("a")},
	{"a hard link that leaves", {{.type = '1', .path = "a", .target = "../b"}},
		NOT_BEFORE("a")},
	{"a hard link to what is not there", {{.type = '1', .path = "a", .target = "/etc/passwd"}},
		NOT_BEFORE("a")},
	{"more than 4 GiB", {{.type = '0', .path = "a", .size = "40000000001"}},
		"'x': 'a': a tree can have 4 GiB at most"},
	{"more than can be counted",
		{{.type = '0', .path = "a", .size = "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff"}},
		"'x': 'a': a tree can have 4 GiB at most"},
	{"more than 4 GiB in all",
		{{.type = '0', .path = "a", .data = "b"},
			{.type = '0', .path = "b", .size = "40000000000"}},
		"'x': 'b': a tree can have 4 GiB at most"},
	{"nothing but the top", {{.type = '5', .path = "./"}}, "'x' is empty"},
};

static void test_treefile__refuses(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(refused); i++) {
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);

		add_items(&tar, refused[i].items, MAX_ITEMS);
		add_end(&tar);
		wrong += !is_refused(refused[i].name, &tar, refused[i].why);
	}
	assert_int_equal(wrong, 0);
}

static void test_treefile__refuses_long_names(void **state)
{
	static const struct {
		const char *path, *why;
	} rows[] = {
		{A250 "aaaaaa", "a name in its path is too long"},
		{"d/" A250 "aaaaaa/b", "a name in its path is too long"},
		{A250 "/" A250 "/" A250 "/" A250 "/" A10 A10, "its path is too long"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		for (int way = 0; way < 2; way++) {
			sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
			char pax[1100], why[400];
			const struct item item = {.type = '0',
				.path = way ? "short" : rows[i].path,
				.pax = way ? pax : NULL,
				.long_by_name = !way};

			snprintf(pax, sizeof(pax), "path=%s", rows[i].path);
			snprintf(why, sizeof(why), "'x': '%.196s...': %s", rows[i].path,
				rows[i].why);
			add_item(&tar, &item);
			add_end(&tar);
			assert_true(is_refused("long", &tar, why));
		}
}

static void test_treefile__has_a_limit_of_members(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);

	(void)state;
	for (int i = 0; i < 20001; i++) {
		char path[20];
		const struct item item = {.type = '0', .path = path};

		snprintf(path, sizeof(path), "%d", i);
		if (i == 20000) {
			struct reading got;

			add_end(&tar);
			got = survey(&tar);
			assert_int_equal(got.result, 0);
			assert_int_equal(got.facts.files, 20000);
			tar.len -= 2 * BLOCK;
		}
		add_item(&tar, &item);
	}
	add_end(&tar);
	assert_true(is_refused("20001", &tar,
		"'x': '20000': a tree can have 20000 files and directories at most"));
}

/* 1 MiB, by more and more names: what examines the tree reads them all. */
static void test_treefile__has_a_limit_of_second_names(void **state)
{
	enum { SIZE = 1 << 20 };
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	sb_autofree char *text = calloc(1, SIZE + 1);
	const struct item first = {.type = '0', .path = "a", .data = memset(text, 'x', SIZE)};

	(void)state;
	add_item(&tar, &first);
	for (int i = 1; i < 4096; i++) {
		char path[20];
		const struct item item = {.type = '1', .path = path, .target = "a"};

		snprintf(path, sizeof(path), "%d", i);
		add_item(&tar, &item);
	}
	add_end(&tar);
	assert_int_equal(survey(&tar).facts.bytes, UINT64_C(4) << 30);
	tar.len -= 2 * BLOCK;
	add_item(&tar, &(const struct item){.type = '1', .path = "b", .target = "a"});
	assert_true(is_refused("one more", &tar, "'x': 'b': a tree can have 4 GiB at most"));
}

/* Two files and the directory that neither says. */
static void test_treefile__counts_what_an_archive_leaves_out(void **state)
{
	static const struct item items[] = {
		{.type = '0', .path = "a/b", .data = "one"}, {.type = '0', .path = "a/c"}};
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	sb_autobuf struct sb_buf full = SB_BUF_INIT(MAX_TAR);
	static const struct item dir = {.type = '5', .path = "./a/", .mode = 0700};
	struct reading got, other;

	(void)state;
	add_items(&tar, items, 2);
	add_end(&tar);
	add_item(&full, &dir);
	add_items(&full, items, 2);
	add_item(&full, &dir);
	add_end(&full);
	got = survey(&tar);
	other = survey(&full);
	assert_int_equal(got.result, 0);
	assert_int_equal(other.result, 0);
	assert_int_equal(got.facts.files, 2);
	assert_int_equal(got.facts.bytes, 3);
	assert_string_equal(got.facts.tree, other.facts.tree);
}

/* ---- what is accepted, however it is written ---- */

/* treesum.h, in other words: sorted lines. */
static void expect_digest(const char *lines, char hex[SHA256_HEX])
{
	sha256_hex(lines, strlen(lines), hex);
}

/* "PATH<tab>KIND<tab>SIZE<tab>" and the digest of the text. */
static char *line_of(const char *path, const char *kind, const char *text)
{
	char hex[SHA256_HEX], *line = NULL;

	sha256_hex(text, strlen(text), hex);
	assert_true(asprintf(&line, "%s\t%s\t%zu\t%s\n", path, kind, strlen(text), hex) > 0);
	return line;
}

static void test_treefile_survey__makes_the_digest(void **state)
{
	static const struct item items[] = {{.type = '5', .path = "./"},
		{.type = '0', .path = "./b/run", .mode = 0700, .data = "x"},
		{.type = '2', .path = "./b/l", .target = "../b-"},
		{.type = '0', .path = "./b-", .mode = 0666, .data = "text"},
		{.type = '1', .path = "./b/same", .target = "./b-"},
		{.type = '5', .path = "./b/empty/"}};
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	char *lines[] = {line_of("b-", "file", "text"), strdup("b\tdir\t0\t-\n"),
		strdup("b/empty\tdir\t0\t-\n"), line_of("b/l", "link", "../b-"),
		line_of("b/run", "exec", "x"), line_of("b/same", "file", "text")};
	/* bytewise: a tab comes before '-', that before '/' */
	static const int order[] = {1, 0, 2, 3, 4, 5};
	char all[2000] = "", hex[SHA256_HEX];
	struct reading got;

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++)
		strcat(all, lines[order[i]]);
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++)
		free(lines[i]);
	expect_digest(all, hex);
	add_items(&tar, items, SB_ARRAY_SIZE(items));
	add_end(&tar);
	got = survey(&tar);
	assert_int_equal(got.result, 0);
	assert_string_equal(got.facts.tree, hex);
	assert_int_equal(got.facts.files, 4);
	assert_int_equal(got.facts.bytes, 9);
}

/* One path, said in each way that a header can: the same tree. */
static void test_treefile_survey__reads_each_form_of_a_name(void **state)
{
	static const char path[] = "d\xc3\xa4/" A250;
	char pax[400], hex[SHA256_HEX], *lines[2], all[1000];
	const struct item forms[] = {
		{.type = '0', .path = "x", .pax = pax, .data = "t"},
		{.type = '0', .path = path, .long_by_name = true, .data = "t"},
	};

	(void)state;
	snprintf(pax, sizeof(pax), "path=%s\nmtime=1.5\ncomment=none", path);
	lines[0] = strdup("d\xc3\xa4\tdir\t0\t-\n");
	lines[1] = line_of(path, "file", "t");
	snprintf(all, sizeof(all), "%s%s", lines[0], lines[1]);
	free(lines[0]);
	free(lines[1]);
	expect_digest(all, hex);
	for (size_t i = 0; i < SB_ARRAY_SIZE(forms); i++) {
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
		struct reading got;

		add_item(&tar, &forms[i]);
		add_end(&tar);
		got = survey(&tar);
		if (got.result < 0)
			fail_msg("%zu: %s", i, got.err.text);
		assert_string_equal(got.facts.tree, hex);
	}
}

/* Where it is in a file, as in a bundle. */
static void test_treefile_survey__reads_from_an_offset(void **state)
{
	static const struct item item = A_FILE;
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR), moved = SB_BUF_INIT(MAX_TAR);
	struct reading here, there;

	(void)state;
	add_item(&tar, &item);
	add_end(&tar);
	add(&moved, "something else", 14);
	add(&moved, tar.data, tar.len);
	here = survey(&tar);
	there = survey_at(moved.data, moved.len, 14, NULL);
	assert_int_equal(here.result, 0);
	assert_int_equal(there.result, 0);
	assert_string_equal(here.facts.tree, there.facts.tree);
}

/* ---- compressed, and cut off ---- */

static void compress_to(
	const struct sb_buf *tar, int (*filter)(struct archive *a), struct sb_buf *ret)
{
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t room = tar->len + 65536, used = 0;
	char *bytes = malloc(room);

	assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
	assert_int_equal(filter(a), ARCHIVE_OK);
	archive_write_set_bytes_in_last_block(a, 1);
	assert_int_equal(archive_write_open_memory(a, bytes, room, &used), ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(a, tar->data, tar->len), tar->len);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_entry_free(entry);
	archive_write_free(a);
	add(ret, bytes, used);
	free(bytes);
}

static const struct {
	const char *name;
	int (*filter)(struct archive *a);
} filters[] = {
	{"gzip", archive_write_add_filter_gzip},
	{"xz", archive_write_add_filter_xz},
	{"zstd", archive_write_add_filter_zstd},
	{"none", archive_write_add_filter_none},
};

/* Three files, of which the last cannot be compressed. */
static void add_three(struct sb_buf *tar)
{
	static const struct item small[] = {A_FILE, {.type = '0', .path = "b", .data = "text"}};
	char noise[40000];
	struct item big = {.type = '0', .path = "c", .data = noise};
	unsigned x = 1;

	for (size_t i = 0; i < sizeof(noise) - 1; i++) {
		x = x * 1103515245 + 12345;
		noise[i] = (char)(x >> 16 | 1);
	}
	noise[sizeof(noise) - 1] = '\0';
	add_items(tar, small, 2);
	add_item(tar, &big);
	add_end(tar);
}

static void test_treefile__reads_what_is_compressed(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	struct reading plain;

	(void)state;
	add_three(&tar);
	plain = survey(&tar);
	assert_int_equal(plain.result, 0);
	for (size_t i = 0; i < SB_ARRAY_SIZE(filters); i++) {
		sb_autobuf struct sb_buf packed = SB_BUF_INIT(MAX_TAR);
		struct reading got;

		compress_to(&tar, filters[i].filter, &packed);
		got = survey(&packed);
		if (got.result < 0)
			fail_msg("%s: %s", filters[i].name, got.err.text);
		assert_string_equal(got.facts.tree, plain.facts.tree);
	}
}

static void test_treefile__refuses_what_is_cut_off(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);

	(void)state;
	add_three(&tar);
	for (size_t i = 0; i < SB_ARRAY_SIZE(filters); i++) {
		sb_autobuf struct sb_buf packed = SB_BUF_INIT(MAX_TAR);

		compress_to(&tar, filters[i].filter, &packed);
		/* to the middle of the last file */
		for (size_t len = 1; len < packed.len / 2; len += 997) {
			struct reading got = survey_at(packed.data, len, 0, NULL);

			if (got.result == 0)
				fail_msg("%s: %zu bytes are accepted", filters[i].name, len);
			assert_int_equal(got.err.code, SB_USAGE);
			assert_null(strchr(got.err.text, '\n'));
		}
	}
}

/* Between two members, it would be a smaller tree. */
static void test_treefile__refuses_what_has_no_end(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	size_t end;

	(void)state;
	add_three(&tar);
	end = tar.len - 2 * BLOCK;
	assert_int_equal(survey(&tar).result, 0);
	tar.len = end + BLOCK; /* some have half a mark */
	assert_int_equal(survey(&tar).result, 0);
	tar.len = end;
	assert_true(is_refused("all members", &tar, "'x' is cut off: it has no mark at its end"));
	tar.len = BLOCK;
	assert_true(is_refused("the first", &tar, "'x' is cut off: it has no mark at its end"));
	tar.len = 3 * BLOCK;
	assert_true(is_refused("two of three", &tar, "'x' is cut off: it has no mark at its end"));
}

static void test_treefile__refuses_what_is_no_archive(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} rows[] = {
		{"", 0, "'x' is not a tar archive that can be read: "},
		{"\0", 1, "'x' is not a tar archive that can be read: "},
		{"hello, this is no archive at all", 32,
			"'x' is not a tar archive that can be read: "},
		{"\x1f\x8b\x08\0\0\0\0\0\0\xff", 10, "'x' is not a tar archive that can be read: "},
		{"PK\3\4", 4, "'x' is not a tar archive that can be read: "},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct reading got = survey_at(rows[i].bytes, rows[i].len, 0, NULL);

		assert_int_equal(got.result, -1);
		assert_int_equal(got.err.code, SB_USAGE);
		if (strncmp(got.err.text, rows[i].why, strlen(rows[i].why)) != 0)
			fail_msg("%zu: '%s', not '%s'", i, got.err.text, rows[i].why);
	}
}

/* What no header counts can be as large as one likes: here, a directory with content, 10 GiB. */
static void test_treefile__ends_a_bomb(void **state)
{
	static const struct item head = {.type = 'D', .path = "d", .size = "120000000000"};
	static char zeros[1 << 20];
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR), packed = SB_BUF_INIT(MAX_TAR);
	sb_autobuf struct sb_buf piece = SB_BUF_INIT(MAX_TAR), bomb = SB_BUF_INIT(MAX_TAR);
	struct sb_buf many = {.data = zeros, .len = sizeof(zeros)};

	(void)state;
	add_item(&tar, &head);
	compress_to(&tar, archive_write_add_filter_zstd, &packed);
	compress_to(&many, archive_write_add_filter_zstd, &piece);
	add(&bomb, packed.data, packed.len);
	for (int i = 0; i < 10 << 10; i++)
		add(&bomb, piece.data, piece.len);
	assert_true(is_refused("bomb", &bomb, "'x' is too large: more than 5 GiB unpacked"));
}

/* ---- the launcher ---- */

static void put_elf(char image[sizeof(Elf64_Ehdr)], unsigned machine)
{
	Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				   EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = (Elf64_Half)machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(head)};

	memcpy(image, &head, sizeof(head));
}

static void add_program(struct sb_buf *tar, const char *path, unsigned mode, unsigned machine)
{
	const struct item item = {.type = '0', .path = path, .mode = mode};
	char image[sizeof(Elf64_Ehdr)];

	put_elf(image, machine);
	add_head(tar, &item, sizeof(image));
	add_data(tar, image, sizeof(image));
}

#define NO_FILE "'x' has no executable file 'bin/run'"
#define NO_ELF "'x': the launcher 'bin/run' is not an ELF program"

static void test_treefile__checks_the_launcher(void **state)
{
	static const struct {
		const char *path;
		unsigned mode, machine;
		struct item other;
		const char *why; /* NULL: it is fit */
	} rows[] = {
		{"./bin/run", 0755, EM_X86_64, {0}, NULL},
		{"bin/run", 0500, EM_X86_64, {0}, NULL},
		{"bin/other", 0755, EM_X86_64, {0}, NO_FILE},
		{"bin/run", 0644, EM_X86_64, {0}, NO_FILE},
		{"bin/run", 0655, EM_X86_64, {0}, NO_FILE},
		{"bin/real", 0755, EM_X86_64, {.type = '2', .path = "bin/run", .target = "real"},
			NO_FILE},
		{"bin/real", 0755, EM_X86_64, {.type = '5', .path = "bin/run"}, NO_FILE},
		{"bin/real", 0755, EM_X86_64, {.type = '0', .path = "bin/run", .mode = 0755},
			NO_ELF},
		{"bin/real", 0755, EM_X86_64,
			{.type = '0',
				.path = "bin/run",
				.mode = 0755,
				.data = "#!/bin/sh\nexec x\n"},
			NO_ELF},
		{"bin/real", 0755, EM_X86_64,
			{.type = '0', .path = "bin/run", .mode = 0755, .data = "\177ELF"}, NO_ELF},
		{"bin/run", 0755, EM_AARCH64, {0},
			"'x': the launcher 'bin/run' is for arm64, the container is amd64"},
		{"bin/run", 0755, EM_PARISC, {0},
			"'x': the launcher 'bin/run' is for another machine, the container is amd64"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
		struct reading got;

		add_program(&tar, rows[i].path, rows[i].mode, rows[i].machine);
		add_items(&tar, &rows[i].other, 1);
		add_end(&tar);
		got = survey_at(tar.data, tar.len, 0, "bin/run");
		assert_int_equal(got.err.code, rows[i].why ? SB_UNSUPPORTED : SB_OK);
		assert_string_equal(got.err.text, rows[i].why ? rows[i].why : "");
	}
}

/* ---- sending ---- */

struct taken {
	struct sb_buf bytes;
	size_t pieces, until; /* how many to take before it is ended */
	int end;	      /* how */
};

static int take(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	struct taken *taken = ctx;

	if (taken->pieces++ >= taken->until)
		return taken->end < 0 ? sb_err_set(err, SB_NO_ENGINE, "the engine is gone") : 1;
	return sb_buf_add(&taken->bytes, data, len, err);
}

static int send_to(const struct sb_buf *tar, struct taken *taken, struct sb_err *err)
{
	sb_autoclose int fd = open_bytes(tar->data, tar->len);
	const struct treefile file = {.source = {"x", fd, 0, tar->len}};
	const struct treefile_out out = {take, taken};

	return treefile_send(&file, &out, err);
}

static void test_treefile_send__writes_what_was_read(void **state)
{
	static const struct item items[] = {
		{.type = '0', .path = "./a/b", .mode = 0711, .data = "{\n}"},
		{.type = '5', .path = "a/"}, {.type = '2', .path = "a/l", .target = "b"},
		{.type = '1', .path = "c", .target = "./a/b"},
		{.type = '0', .path = "d\"\xc3\xa4"}};
	static const char wanted[] = "{\"dir\":\"a\"}\n"
				     "{\"file\":\"a/b\",\"size\":3,\"exec\":true}\n{\n}"
				     "{\"link\":\"a/l\",\"to\":\"b\"}\n"
				     "{\"again\":\"c\",\"of\":\"a/b\"}\n"
				     "{\"file\":\"d\\\"\xc3\xa4\",\"size\":0,\"exec\":false}\n"
				     "{\"end\":true}\n";
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	struct taken taken = {SB_BUF_INIT(MAX_TAR), 0, SIZE_MAX, 0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	add_items(&tar, items, SB_ARRAY_SIZE(items));
	add_end(&tar);
	assert_int_equal(send_to(&tar, &taken, &err), 0);
	assert_string_equal(sb_buf_str(&taken.bytes), wanted);
	assert_int_equal(taken.pieces, 1); /* small things go together */
	sb_buf_release(&taken.bytes);
}

/* Enough for many pieces. */
static void add_large(struct sb_buf *tar)
{
	enum { SIZE = 1 << 20 };
	sb_autofree char *text = malloc(SIZE + 1);

	memset(text, 'x', SIZE);
	text[SIZE] = '\0';
	for (int i = 0; i < 3; i++) {
		const char path[] = {(char)('a' + i), '\0'};
		const struct item item = {.type = '0', .path = path, .data = text};

		add_item(tar, &item);
	}
	add_end(tar);
}

static void test_treefile_send__may_be_ended(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	struct taken all = {SB_BUF_INIT(MAX_TAR), 0, SIZE_MAX, 0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	add_large(&tar);
	assert_int_equal(send_to(&tar, &all, &err), 0);
	assert_true(all.pieces > 5);
	for (size_t until = 0; until < all.pieces; until++)
		for (int end = -1; end <= 1; end += 2) {
			struct taken taken = {SB_BUF_INIT(MAX_TAR), 0, until, end};

			sb_err_clear(&err);
			assert_int_equal(send_to(&tar, &taken, &err), end);
			assert_int_equal(err.code, end < 0 ? SB_NO_ENGINE : SB_OK);
			assert_int_equal(taken.pieces, until + 1);
			assert_memory_equal(taken.bytes.len ? taken.bytes.data : "", all.bytes.data,
				taken.bytes.len);
			sb_buf_release(&taken.bytes);
		}
	sb_buf_release(&all.bytes);
}

/* ---- without memory ---- */

static int survey_once(const struct treefile *file, struct sb_err *err)
{
	struct treefile_facts facts;

	return treefile_survey(file, &facts, err);
}

static int send_once(const struct treefile *file, struct sb_err *err)
{
	const struct treefile_out out = {ignore, NULL};

	return treefile_send(file, &out, err);
}

static void test_treefile__survives_each_failing_allocation(void **state)
{
	static int (*const ways[])(const struct treefile *file, struct sb_err *err) = {
		survey_once, send_once};
	static const struct item items[] = {{.type = '0', .path = "a/b", .data = "text"},
		{.type = '2', .path = "a/l", .target = "b"},
		{.type = '1', .path = "a/c", .target = "a/b"},
		{.type = '0', .path = "d", .mode = 0755}, {.type = '5', .path = "e"}};
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(MAX_TAR);
	sb_autoclose int fd = -1;

	(void)state;
	add_items(&tar, items, SB_ARRAY_SIZE(items));
	add_end(&tar);
	fd = open_bytes(tar.data, tar.len);
	for (size_t i = 0; i < SB_ARRAY_SIZE(ways); i++) {
		const struct treefile file = {.source = {"x", fd, 0, tar.len}};
		int rc = -1;

		for (long n = 0; rc < 0; n++) {
			struct sb_err err = SB_ERR_INIT;

			armed = lasting = true;
			left = n;
			rc = ways[i](&file, &err);
			armed = false;
			assert_int_equal(err.code, rc < 0 ? SB_FAILED : SB_OK);
			assert_string_equal(err.text, rc < 0 ? "out of memory" : "");
			assert_in_range(n, 0, 100);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_treefile__refuses),
		cmocka_unit_test(test_treefile__refuses_long_names),
		cmocka_unit_test(test_treefile__has_a_limit_of_members),
		cmocka_unit_test(test_treefile__has_a_limit_of_second_names),
		cmocka_unit_test(test_treefile__counts_what_an_archive_leaves_out),
		cmocka_unit_test(test_treefile_survey__makes_the_digest),
		cmocka_unit_test(test_treefile_survey__reads_each_form_of_a_name),
		cmocka_unit_test(test_treefile_survey__reads_from_an_offset),
		cmocka_unit_test(test_treefile__reads_what_is_compressed),
		cmocka_unit_test(test_treefile__refuses_what_is_cut_off),
		cmocka_unit_test(test_treefile__refuses_what_has_no_end),
		cmocka_unit_test(test_treefile__refuses_what_is_no_archive),
		cmocka_unit_test(test_treefile__ends_a_bomb),
		cmocka_unit_test(test_treefile__checks_the_launcher),
		cmocka_unit_test(test_treefile_send__writes_what_was_read),
		cmocka_unit_test(test_treefile_send__may_be_ended),
		cmocka_unit_test(test_treefile__survives_each_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
