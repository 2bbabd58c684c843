/* SPDX-License-Identifier: MIT */
/* Bundles: what is written comes back, and nothing else is taken for one. */
/* wrap: malloc calloc realloc strdup */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/buf.h"
#include "engine/file.h"
#include "payloads/bundle.h"
#include "t/unit/fail_alloc.h"

#include <fcntl.h>

enum { BLOCK = 512 };

static char path[] = "/tmp/sbinject-unit-XXXXXX";
static const char one[] = "the first archive", two[] = "the second";
static char one_sha256[SHA256_HEX], two_sha256[SHA256_HEX];

static int begin(void **state)
{
	int fd;

	(void)state;
	sha256_hex(one, strlen(one), one_sha256);
	sha256_hex(two, strlen(two), two_sha256);
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

/* ---- what we write ---- */

static int source(const char *text)
{
	struct sb_err err = SB_ERR_INIT;
	char name[] = "/tmp/sbinject-unit-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(sb_file_put(fd, name, text, strlen(text), &err), 0);
	return fd;
}

/* Three payloads, two of them with the same bytes; given in an order of the caller's. */
static int write_three(bool backwards, const char *sha256, struct sb_err *err)
{
	sb_autoclose int first = source(one), second = source(two);
	sb_autoclose int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
	struct bundle_item items[] = {
		{"a-thing", "amd64", "tar.gz", "somebody 1.0", sha256, {first, 0, strlen(one)},
			"first"},
		{"b-thing", NULL, NULL, NULL, two_sha256, {second, 0, strlen(two)}, "second"},
		{"c-thing", "arm64", "tar.gz", NULL, sha256, {first, 0, strlen(one)}, "first"},
	};
	struct bundle_item last = items[2];

	if (backwards) {
		items[2] = items[0];
		items[0] = last;
	}
	return bundle_write(fd, path, items, SB_ARRAY_SIZE(items), err);
}

static void assert_item(const struct bundle *bundle, size_t i, const char *name, const char *text)
{
	const struct bundle_item *item = &bundle->items[i];
	struct sb_err err = SB_ERR_INIT;
	char got[64] = "";

	assert_string_equal(item->name, name);
	assert_int_equal(item->bytes.size, strlen(text));
	assert_int_equal(
		pread(bundle->fd, got, strlen(text), (off_t)item->bytes.offset), strlen(text));
	assert_string_equal(got, text);
	assert_int_equal(bundle_check(item, &err), 0);
	assert_string_equal(bundle_find(bundle, item->sha256)->sha256, item->sha256);
}

static void test_bundle__comes_back(void **state)
{
	sb_auto(bundle_release) struct bundle bundle = BUNDLE_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(write_three(false, one_sha256, &err), 0);
	if (bundle_open(path, &bundle, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(bundle.count, 3);
	assert_item(&bundle, 0, "a-thing", one);
	assert_item(&bundle, 1, "b-thing", two);
	assert_item(&bundle, 2, "c-thing", one);
	assert_int_equal(bundle.items[0].bytes.offset, bundle.items[2].bytes.offset);
	assert_string_equal(bundle.items[0].serves, "somebody 1.0");
	assert_null(bundle.items[1].arch);
	assert_null(bundle_find(&bundle, ""));
}

static void read_back(struct sb_buf *ret)
{
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(sb_buf_read_file(ret, path, &err), 0);
}

static void test_bundle_write__is_reproducible(void **state)
{
	sb_autobuf struct sb_buf first = SB_BUF_INIT(1 << 20), second = SB_BUF_INIT(1 << 20);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(write_three(false, one_sha256, &err), 0);
	read_back(&first);
	assert_int_equal(write_three(true, one_sha256, &err), 0);
	read_back(&second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
}

static void test_bundle_write__refuses_what_has_changed(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	char other[SHA256_HEX];

	(void)state;
	sha256_hex("", 0, other);
	assert_int_equal(write_three(false, other, &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_non_null(strstr(err.text, other));
	assert_non_null(strstr(err.text, one_sha256));
}

static void test_bundle_check__finds_a_changed_byte(void **state)
{
	sb_auto(bundle_release) struct bundle bundle = BUNDLE_INIT;
	sb_autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(write_three(false, one_sha256, &err), 0);
	assert_int_equal(bundle_open(path, &bundle, &err), 0);
	assert_int_equal(pwrite(fd, "X", 1, (off_t)bundle.items[1].bytes.offset), 1);
	assert_int_equal(bundle_check(&bundle.items[0], &err), 0);
	assert_int_equal(bundle_check(&bundle.items[1], &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_non_null(strstr(err.text, "'b-thing'"));
	assert_non_null(strstr(err.text, two_sha256));
}

static void test_bundle_open__refuses_every_cut(void **state)
{
	sb_autobuf struct sb_buf whole = SB_BUF_INIT(1 << 20);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(write_three(false, one_sha256, &err), 0);
	read_back(&whole);
	for (size_t len = 0; len < whole.len; len += len % BLOCK ? BLOCK - 7 : 7) {
		struct bundle bundle = BUNDLE_INIT;
		struct sb_err why = SB_ERR_INIT;

		assert_int_equal(truncate(path, (off_t)len), 0);
		assert_int_equal(bundle_open(path, &bundle, &why), -1);
		assert_int_equal(why.code, SB_MISMATCH);
		assert_non_null(strstr(why.text, path));
		assert_int_equal(bundle.fd, -1);
	}
	assert_int_equal(truncate(path, (off_t)whole.len + BLOCK), 0);
	assert_int_equal(bundle_open(path, &(struct bundle)BUNDLE_INIT, &err), -1);
}

/* ---- what others write ---- */

struct entry {
	char type;
	const char *name, *data;
	const char *size; /* as the header has it; NULL: of the data */
};

static void add(struct sb_buf *tar, const struct entry *entry)
{
	size_t len = entry->data ? strlen(entry->data) : 0;
	struct sb_err err = SB_ERR_INIT;
	char head[BLOCK] = "", pad[BLOCK] = "";
	unsigned sum = 8 * ' ';

	snprintf(head, 100, "%s", entry->name);
	strcpy(head + 100, "0000644");
	strcpy(head + 108, "0000000");
	strcpy(head + 116, "0000000");
	snprintf(head + 124, 12, "%011o", (unsigned)len);
	if (entry->size)
		memcpy(head + 124, entry->size, 12);
	strcpy(head + 136, "00000000000");
	head[156] = entry->type;
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	assert_int_equal(sb_buf_add(tar, head, sizeof(head), &err), 0);
	assert_int_equal(sb_buf_add(tar, entry->data, len, &err), 0);
	assert_int_equal(sb_buf_add(tar, pad, (BLOCK - len % BLOCK) % BLOCK, &err), 0);
}

static int open_entries(const struct entry *entries, struct sb_err *err)
{
	sb_auto(bundle_release) struct bundle bundle = BUNDLE_INIT;
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20);
	sb_autoclose int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	static const char zeros[2 * BLOCK];

	for (; entries->name; entries++)
		add(&tar, entries);
	assert_int_equal(sb_buf_add(&tar, zeros, sizeof(zeros), err), 0);
	assert_int_equal(sb_file_put(fd, path, tar.data, tar.len, err), 0);
	return bundle_open(path, &bundle, err);
}

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEX2 "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define LISTED(size)                                                             \
	"{\"sbinject_bundle\":1,\"payloads\":[{\"name\":\"a\",\"sha256\":\"" HEX \
	"\",\"size\":" size "}]}"
#define FIRST(text)                              \
	{                                        \
		'0', "manifest.json", text, NULL \
	}
#define MEMBER                                    \
	{                                         \
		'0', "sha256/" HEX, "hello", NULL \
	}
#define END                         \
	{                           \
		0, NULL, NULL, NULL \
	}

static void test_bundle_open__takes_what_is_listed(void **state)
{
	static const struct entry good[] = {FIRST(LISTED("5")), MEMBER, END},
				  none[] = {FIRST("{\"sbinject_bundle\":1,\"payloads\":[]}"), END};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	if (open_entries(good, &err) != 0 || open_entries(none, &err) != 0)
		fail_msg("%s", err.text);
}

static void test_bundle_open__refuses_what_is_hostile(void **state)
{
	static const struct {
		struct entry entries[5];
		const char *why;
		enum sb_code code;
	} rows[] = {
		{{END}, "empty", SB_MISMATCH},
		{{MEMBER, END}, "does not begin with a manifest.json", SB_MISMATCH},
		{{FIRST(""), END}, "not valid JSON", SB_MISMATCH},
		{{FIRST("[]"), END}, "not one of a bundle", SB_MISMATCH},
		{{FIRST("{\"sbinject_bundle\":1,\"payloads\":{}}"), END}, "not one of a bundle",
			SB_MISMATCH},
		{{FIRST("{\"sbinject_bundle\":0,\"payloads\":[]}"), END}, "not one of a bundle",
			SB_MISMATCH},
		{{FIRST("{\"sbinject_bundle\":2,\"payloads\":0}"), END}, "newer sbinject",
			SB_UNSUPPORTED},
		{{FIRST("{\"sbinject_bundle\":1,\"payloads\":[0]}"), END}, "something unknown",
			SB_MISMATCH},
		{{FIRST(LISTED("-1")), MEMBER, END}, "something unknown", SB_MISMATCH},
		{{FIRST(LISTED("4")), MEMBER, END}, "does not list", SB_MISMATCH},
		{{FIRST(LISTED("5")), END}, "lacks what", SB_MISMATCH},
		{{FIRST(LISTED("5")), MEMBER, MEMBER, END}, "does not list", SB_MISMATCH},
		{{FIRST(LISTED("5")), FIRST("{}"), MEMBER, END}, "does not list", SB_MISMATCH},
		{{FIRST(LISTED("5")), MEMBER, {'0', "sha256/" HEX2, "hello", NULL}, END},
			"does not list", SB_MISMATCH},
		{{FIRST(LISTED("5")), {'0', "sha256/../" HEX, "hello", NULL}, END}, "does not list",
			SB_MISMATCH},
		{{FIRST(LISTED("5")), {'0', "/etc/passwd", "hello", NULL}, END}, "does not list",
			SB_MISMATCH},
		{{FIRST(LISTED("5")), {'2', "sha256/" HEX, NULL, NULL}, END}, "other than a file",
			SB_MISMATCH},
		{{FIRST(LISTED("5")), {'1', "sha256/" HEX, NULL, NULL}, END}, "other than a file",
			SB_MISMATCH},
		{{FIRST(LISTED("5")), {'5', "sha256/", NULL, NULL}, MEMBER, END},
			"other than a file", SB_MISMATCH},
		{{{'x', "pax", "15 comment=hello\n", NULL}, FIRST(LISTED("5")), MEMBER, END}, "'",
			SB_MISMATCH},
		{{FIRST(LISTED("5")), {'x', "pax", "9 uid=0\n\n", NULL}, MEMBER, END}, "'",
			SB_MISMATCH},
		{{FIRST(LISTED("5")), {'L', "././@LongLink", "sha256/" HEX, NULL}, MEMBER, END},
			"'", SB_MISMATCH},
		{{FIRST(LISTED("5")), {'0', "sha256/" HEX, "hello", "77777777777"}, END}, "'",
			SB_MISMATCH},
		{{FIRST(LISTED("5")),
			 {'0', "sha256/" HEX, "hello", "\200\0\0\0\377\377\377\377\377\377\377"},
			 END},
			"'", SB_MISMATCH},
		{{FIRST(LISTED("5")),
			 {'0', "sha256/" HEX, "hello",
				 "\377\377\377\377\377\377\377\377\377\377\377"},
			 END},
			"'", SB_MISMATCH},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;

		if (open_entries(rows[i].entries, &err) != -1 || err.code != rows[i].code ||
			!strstr(err.text, rows[i].why) || !strstr(err.text, path))
			fail_msg("row %zu: code %d: %s", i, err.code, err.text);
	}
}

static void test_bundle_open__refuses_names_and_orders(void **state)
{
	static const char *const lists[] = {
		"{\"name\":\"\",\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":\"A\",\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":\"a b\",\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":\"a/b\",\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":\"a\\u0000b\",\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":5,\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":\"a\",\"sha256\":\"012\",\"size\":5}",
		"{\"name\":\"a\",\"sha256\":\"" HEX "\",\"size\":\"5\"}",
		"{\"name\":\"a\",\"sha256\":\"" HEX "\",\"size\":5},"
		"{\"name\":\"a\",\"sha256\":\"" HEX "\",\"size\":5}",
		"{\"name\":\"b\",\"sha256\":\"" HEX "\",\"size\":5},"
		"{\"name\":\"a\",\"sha256\":\"" HEX "\",\"size\":5}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lists); i++) {
		struct sb_err err = SB_ERR_INIT;
		char text[600];
		const struct entry entries[] = {FIRST(text), MEMBER, END};

		snprintf(text, sizeof(text), "{\"sbinject_bundle\":1,\"payloads\":[%s]}", lists[i]);
		assert_int_equal(open_entries(entries, &err), -1);
		assert_int_equal(err.code, SB_MISMATCH);
	}
}

static void test_bundle_open__tells_what_is_no_file(void **state)
{
	struct bundle bundle = BUNDLE_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(bundle_open("/nowhere/at/all", &bundle, &err), 1);
	assert_int_equal(bundle_open("/tmp", &bundle, &err), -1);
	assert_int_equal(err.code, SB_USAGE);
	assert_int_equal(bundle.fd, -1);
}

static void test_bundle__survives_a_lack_of_memory(void **state)
{
	(void)state;
	for (long fail = 0;; fail++) {
		struct sb_err err = SB_ERR_INIT;
		struct bundle bundle = BUNDLE_INIT;
		int failed;

		tripped = false;
		left = fail;
		armed = true;
		failed = write_three(false, one_sha256, &err) < 0 ||
			 bundle_open(path, &bundle, &err) < 0;
		armed = false;
		assert_int_equal(failed, err.code != SB_OK);
		bundle_release(&bundle);
		if (!tripped)
			break;
		assert_true(failed);
		assert_non_null(strstr(err.text, "out of memory"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bundle__comes_back),
		TEST(test_bundle_write__is_reproducible),
		TEST(test_bundle_write__refuses_what_has_changed),
		TEST(test_bundle_check__finds_a_changed_byte),
		TEST(test_bundle_open__refuses_every_cut),
		TEST(test_bundle_open__takes_what_is_listed),
		TEST(test_bundle_open__refuses_what_is_hostile),
		TEST(test_bundle_open__refuses_names_and_orders),
		TEST(test_bundle_open__tells_what_is_no_file),
		TEST(test_bundle__survives_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
