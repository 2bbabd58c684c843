/* SPDX-License-Identifier: MIT */
/* The archives we write, byte for byte, and the first entry of archives from anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/tar.h"

#include <endian.h>

enum { BLOCK = 512, SIZE_AT = 124, SUM_AT = 148, TYPE_AT = 156, LINK_AT = 157, NAME_MAX_LEN = 100 };

static unsigned long octal(const char *field, size_t len)
{
	char text[16] = "";

	memcpy(text, field, len);
	return strtoul(text, NULL, 8);
}

static unsigned checksum(const char *head)
{
	unsigned sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : (unsigned char)head[i];
	return sum;
}

/* ---- writing ---- */

static const char long_name[] = "a-directory-with-a-name/of-some-length/so-that-all-of-it/"
				"does-not-fit-in-the-first-field/of-a-header/but-in-two/file";
static const char payload[1500] = "\177ELF payload";

static const struct eng_tar_member members[] = {
	{"home/", 0700, NULL, 0, NULL},
	{"home/empty", 0644, "", 0, NULL},
	{"home/block", 0600, payload, BLOCK, NULL},
	{"home/tools", 0755, payload, sizeof(payload), NULL},
	{"home/setuid", 04711, "x", 1, NULL},
	{long_name, 0640, "yz", 2, NULL},
	{"home/current", 0777, NULL, 0, "user/tools"},
	{"home/after", 0600, "z", 1, NULL},
};

static void write_members(struct sb_buf *out)
{
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(eng_tar_write(members, SB_ARRAY_SIZE(members), out, &err), 0);
	assert_int_equal(err.code, SB_OK);
}

static void assert_name(const char *head, const char *name)
{
	char whole[300] = "";

	if (head[345])
		snprintf(whole, sizeof(whole), "%.155s/", head + 345);
	snprintf(whole + strlen(whole), sizeof(whole) - strlen(whole), "%.100s", head);
	assert_string_equal(whole, name);
}

static void test_eng_tar_write__makes_plain_ustar(void **state)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(1 << 20);
	size_t at = 0;

	(void)state;
	write_members(&out);
	for (size_t i = 0; i < SB_ARRAY_SIZE(members); i++) {
		const char *head = out.data + at;
		bool is_dir = members[i].name[strlen(members[i].name) - 1] == '/';
		const char *link = members[i].link;

		assert_true(at + BLOCK <= out.len);
		assert_name(head, members[i].name);
		assert_int_equal(octal(head + 100, 8), members[i].mode);
		assert_int_equal(octal(head + 108, 8), 0);
		assert_int_equal(octal(head + 116, 8), 0);
		assert_int_equal(octal(head + SIZE_AT, 12), members[i].len);
		assert_int_equal(octal(head + 136, 12), 0);
		assert_int_equal(octal(head + SUM_AT, 8), checksum(head));
		assert_int_equal(head[TYPE_AT], is_dir ? '5' : link ? '2' : '0');
		assert_string_equal(head + LINK_AT, link ? link : "");
		assert_memory_equal(head + 257, "ustar\00000", 8);
		assert_string_equal(head + 265, "");
		assert_string_equal(head + 297, "");
		at += BLOCK;
		if (members[i].len)
			assert_memory_equal(out.data + at, members[i].data, members[i].len);
		at += (members[i].len + BLOCK - 1) / BLOCK * BLOCK;
	}
	assert_int_equal(out.len, at + 2 * BLOCK);
	for (; at < out.len; at++)
		assert_int_equal(out.data[at], 0);
}

static void test_eng_tar_write__is_deterministic(void **state)
{
	sb_autobuf struct sb_buf one = SB_BUF_INIT(1 << 20), two = SB_BUF_INIT(1 << 20);

	(void)state;
	write_members(&one);
	write_members(&two);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.data, two.data, one.len);
}

static void test_eng_tar_write_gzip__names_nothing_but_the_bytes(void **state)
{
	/* Deflate, no flags, no time, best compression, made on Unix. */
	static const char head[] = "\037\213\010\000\000\000\000\000\002\003";
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20), out = SB_BUF_INIT(1 << 20);
	struct sb_err err = SB_ERR_INIT;
	uint32_t size;

	(void)state;
	write_members(&tar);
	assert_int_equal(eng_tar_write_gzip(members, SB_ARRAY_SIZE(members), &out, &err), 0);
	assert_in_range(out.len, sizeof(head), tar.len / 2);
	assert_memory_equal(out.data, head, sizeof(head) - 1);
	memcpy(&size, out.data + out.len - sizeof(size), sizeof(size));
	assert_int_equal(le32toh(size), tar.len);
}

static void test_eng_tar_write_gzip__fails_over_the_limit(void **state)
{
	(void)state;
	for (size_t limit = 0; limit < 300; limit += 20) {
		sb_autobuf struct sb_buf out = SB_BUF_INIT(limit);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(
			eng_tar_write_gzip(members, SB_ARRAY_SIZE(members), &out, &err), -1);
		assert_int_equal(err.code, SB_FAILED);
		assert_non_null(strstr(err.text, "more than the permitted"));
	}
}

static void test_eng_tar_write__takes_no_members(void **state)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(1 << 20), data = SB_BUF_INIT(16);
	struct sb_err err = SB_ERR_INIT;
	enum eng_type type;

	(void)state;
	assert_int_equal(eng_tar_write(NULL, 0, &out, &err), 0);
	assert_int_equal(out.len, 2 * BLOCK);
	assert_int_equal(eng_tar_first(out.data, out.len, 16, &type, &data, &err), 1);
}

static void test_eng_tar_write__fails_over_the_limit(void **state)
{
	(void)state;
	for (size_t limit = 0; limit < 6000; limit += 250) {
		sb_autobuf struct sb_buf out = SB_BUF_INIT(limit);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_tar_write(members, SB_ARRAY_SIZE(members), &out, &err), -1);
		assert_int_equal(err.code, SB_FAILED);
		assert_non_null(strstr(err.text, "more than the permitted"));
	}
}

static void test_eng_tar_write__refuses_names_that_ustar_cannot_hold(void **state)
{
	char name[400];
	const struct eng_tar_member member = {name, 0644, "x", 1, NULL};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(1 << 20);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(eng_tar_write(&member, 1, &out, &err), -1);
	assert_int_equal(err.code, SB_FAILED);
}

/* ---- reading ---- */

struct entry {
	char type;
	const char *name, *link, *data;
	unsigned long long size; /* as announced */
};

/* Add a header and what there is of data, as an engine would or would not. */
static void add(struct sb_buf *tar, const struct entry *entry)
{
	struct sb_err err = SB_ERR_INIT;
	char head[BLOCK] = "", zero[BLOCK] = "";
	size_t len = entry->data ? strlen(entry->data) : 0;

	strncpy(head, entry->name, NAME_MAX_LEN);
	memcpy(head + 100, "0000644", 8);
	memcpy(head + 108, "0000000", 8);
	memcpy(head + 116, "0000000", 8);
	snprintf(head + SIZE_AT, 12, "%011llo", entry->size & 077777777777);
	memcpy(head + 136, "00000000000", 12);
	head[TYPE_AT] = entry->type;
	if (entry->link)
		strncpy(head + LINK_AT, entry->link, NAME_MAX_LEN);
	memcpy(head + 257, "ustar\00000", 8);
	snprintf(head + SUM_AT, 8, "%06o", checksum(head));
	head[SUM_AT + 7] = ' ';
	assert_int_equal(sb_buf_add(tar, head, BLOCK, &err), 0);
	assert_int_equal(sb_buf_add(tar, entry->data, len, &err), 0);
	assert_int_equal(sb_buf_add(tar, zero, (BLOCK - len % BLOCK) % BLOCK, &err), 0);
}

/* From memory of exactly that size, so that the sanitizer sees a read beyond the end. */
static int first(const char *tar, size_t len, size_t max, enum eng_type *type, struct sb_buf *out,
	struct sb_err *err)
{
	sb_autofree char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	if (len)
		memcpy(copy, tar, len);
	return eng_tar_first(copy, len, max, type, out, err);
}

static void test_eng_tar_first__tells_the_type(void **state)
{
	static const struct {
		struct entry entry;
		enum eng_type type;
	} rows[] = {
		{{'0', "f", NULL, "hello", 5}, ENG_FILE},
		{{'\0', "f", NULL, "hello", 5}, ENG_FILE},
		{{'7', "f", NULL, "hello", 5}, ENG_FILE},
		{{'0', "empty", NULL, "", 0}, ENG_FILE},
		{{'5', "d/", NULL, NULL, 0}, ENG_DIR},
		{{'2', "l", "/etc/passwd", NULL, 0}, ENG_LINK},
		{{'1', "h", "other", NULL, 0}, ENG_SPECIAL},
		{{'1', "h", "other", "hello", 5}, ENG_SPECIAL},
		{{'3', "c", NULL, NULL, 0}, ENG_SPECIAL},
		{{'4', "b", NULL, NULL, 0}, ENG_SPECIAL},
		{{'6', "p", NULL, NULL, 0}, ENG_SPECIAL},
		{{'0', "\033[2J\n", NULL, "hello", 5}, ENG_FILE},
		{{'0', "\377\376", NULL, "hello", 5}, ENG_FILE},
		{{'2', "l", "\377\376", NULL, 0}, ENG_LINK},
		{{'1', "h", "\377\376", NULL, 0}, ENG_SPECIAL},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20), out = SB_BUF_INIT(100);
		struct sb_err err = SB_ERR_INIT;
		enum eng_type type;

		add(&tar, &rows[i].entry);
		add(&tar, &(struct entry){'0', "second", NULL, "second", 6});
		assert_int_equal(first(tar.data, tar.len, 100, &type, &out, &err), 0);
		assert_int_equal(type, rows[i].type);
		assert_string_equal(
			sb_buf_str(&out), rows[i].type == ENG_FILE ? rows[i].entry.data : "");
	}
}

/* An extended header with one record, then the entry. */
static void add_pax(struct sb_buf *tar, const char *key, const char *value, char type)
{
	struct sb_err err = SB_ERR_INIT;
	sb_autobuf struct sb_buf record = SB_BUF_INIT(4 << 20);
	size_t len = strlen(key) + strlen(value) + 3, digits = 1;

	for (size_t n = 10; len + digits >= n; n *= 10)
		digits++;
	assert_int_equal(sb_buf_addf(&record, &err, "%zu %s=%s\n", len + digits, key, value), 0);
	add(tar, &(struct entry){'x', "pax", NULL, record.data, record.len});
	add(tar, &(struct entry){type, "f", type == '0' ? NULL : "x", type == '0' ? "hello" : NULL,
			 type == '0' ? 5 : 0});
}

static void test_eng_tar_first__looks_behind_extended_headers(void **state)
{
	static const struct {
		const char *key, *value;
		char type;
		enum eng_type want;
	} rows[] = {
		{"path", "some/\303\266/name", '0', ENG_FILE},
		{"mtime", "1234.5678", '0', ENG_FILE},
		{"SCHILY.xattr.user.x", "y", '0', ENG_FILE},
		{"linkpath", "\303\266", '2', ENG_LINK},
		{"linkpath", "\303\266", '1', ENG_SPECIAL},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20), out = SB_BUF_INIT(100);
		struct sb_err err = SB_ERR_INIT;
		enum eng_type type;

		add_pax(&tar, rows[i].key, rows[i].value, rows[i].type);
		assert_int_equal(first(tar.data, tar.len, 100, &type, &out, &err), 0);
		assert_int_equal(type, rows[i].want);
		assert_string_equal(sb_buf_str(&out), type == ENG_FILE ? "hello" : "");
	}
}

static void test_eng_tar_first__survives_bombs_of_names(void **state)
{
	static const char types[] = {'x', 'g', 'L', 'K'};
	static const unsigned long long sizes[] = {1 << 20, 1ULL << 32, 077777777777};
	enum { LONG = 2 << 20 };
	sb_autofree char *text = malloc(LONG + 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'n', LONG);
	text[LONG] = '\0';
	for (size_t i = 0; i < SB_ARRAY_SIZE(types) * SB_ARRAY_SIZE(sizes) + 2; i++) {
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(8 << 20), out = SB_BUF_INIT(100);
		struct sb_err err = SB_ERR_INIT;
		enum eng_type type;
		int rc;

		if (i < 2)
			add_pax(&tar, i ? "linkpath" : "path", text, '0');
		else
			add(&tar, &(struct entry){types[(i - 2) % 4], "n", NULL, "short",
					  sizes[(i - 2) / 4]});
		add(&tar, &(struct entry){'0', "f", NULL, "hello", 5});
		rc = first(tar.data, tar.len, 100, &type, &out, &err);
		assert_int_equal(rc < 0, err.code != SB_OK);
		assert_in_range(strlen(err.text), 0, sizeof(err.text) - 1);
	}
}

static void test_eng_tar_first__stops_at_max_bytes(void **state)
{
	static const unsigned long long sizes[] = {5, 100000, 1ULL << 32, 077777777777};
	static const size_t caps[] = {0, 1, 5, 511, 512, 8192, 8193};
	char data[10001];

	(void)state;
	memset(data, 'd', sizeof(data) - 1);
	data[sizeof(data) - 1] = '\0';
	for (size_t i = 0; i < SB_ARRAY_SIZE(sizes) * SB_ARRAY_SIZE(caps); i++) {
		size_t cap = caps[i % SB_ARRAY_SIZE(caps)];
		unsigned long long size = sizes[i / SB_ARRAY_SIZE(caps)];
		sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20), out = SB_BUF_INIT(cap);
		struct sb_err err = SB_ERR_INIT;
		enum eng_type type;

		add(&tar, &(struct entry){'0', "f", NULL, data, size});
		assert_int_equal(first(tar.data, tar.len, cap, &type, &out, &err), 0);
		assert_int_equal(type, ENG_FILE);
		assert_int_equal(out.len, size < cap ? size : cap);
	}
}

static void test_eng_tar_first__fails_over_the_buffers_limit(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20), out = SB_BUF_INIT(3);
	struct sb_err err = SB_ERR_INIT;
	enum eng_type type;

	(void)state;
	add(&tar, &(struct entry){'0', "f", NULL, "hello", 5});
	assert_int_equal(first(tar.data, tar.len, 100, &type, &out, &err), -1);
	assert_int_equal(err.code, SB_FAILED);
}

static void test_eng_tar_first__takes_a_cut_anywhere(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20);
	size_t whole;

	(void)state;
	write_members(&tar);
	whole = tar.len;
	for (size_t skip = 0; skip < 4 * BLOCK; skip += BLOCK)
		for (size_t len = 0; len <= whole - skip; len += 64) {
			sb_autobuf struct sb_buf out = SB_BUF_INIT(4096);
			struct sb_err err = SB_ERR_INIT;
			enum eng_type type = ENG_SPECIAL;
			int rc = first(tar.data + skip, len, 4096, &type, &out, &err);

			assert_int_equal(rc < 0, err.code != SB_OK);
			if (len >= BLOCK && skip == 0)
				assert_int_equal(type, ENG_DIR);
			if (len == 0)
				assert_int_equal(rc, 1);
			else if (len < BLOCK)
				assert_int_equal(rc, -1);
		}
}

static void test_eng_tar_first__tells_of_an_empty_archive(void **state)
{
	static const char zeros[20 * BLOCK];
	static const size_t lens[] = {0, BLOCK, 2 * BLOCK, 20 * BLOCK};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lens); i++) {
		sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
		struct sb_err err = SB_ERR_INIT;
		enum eng_type type;

		assert_int_equal(first(zeros, lens[i], 100, &type, &out, &err), 1);
		assert_int_equal(err.code, SB_OK);
	}
}

static void test_eng_tar_first__refuses_garbage(void **state)
{
	static const char *const starts[] = {"{\"message\":\"no\"}", "\037\213\010", "BZh9",
		"\3757zXZ", "\050\265\057\375", "PK\003\004", "!<arch>\n", "#!/bin/sh\n", "<html>"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(starts); i++)
		for (size_t len = 64; len <= 4096; len *= 8) {
			sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
			struct sb_err err = SB_ERR_INIT;
			char data[4096];
			enum eng_type type;

			memset(data, 'g', sizeof(data));
			memcpy(data, starts[i], strlen(starts[i]));
			assert_int_equal(first(data, len, 100, &type, &out, &err), -1);
			assert_int_equal(err.code, SB_FAILED);
			assert_non_null(strstr(err.text, "the engine's archive cannot be read"));
			assert_int_equal(out.len, 0);
		}
}

static void test_eng_tar_first__refuses_a_wrong_checksum(void **state)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20), out = SB_BUF_INIT(100);
	struct sb_err err = SB_ERR_INIT;
	enum eng_type type;

	(void)state;
	add(&tar, &(struct entry){'0', "f", NULL, "hello", 5});
	tar.data[0] ^= 1;
	assert_int_equal(first(tar.data, tar.len, 100, &type, &out, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_tar_write__makes_plain_ustar),
		cmocka_unit_test(test_eng_tar_write__is_deterministic),
		cmocka_unit_test(test_eng_tar_write_gzip__names_nothing_but_the_bytes),
		cmocka_unit_test(test_eng_tar_write_gzip__fails_over_the_limit),
		cmocka_unit_test(test_eng_tar_write__takes_no_members),
		cmocka_unit_test(test_eng_tar_write__fails_over_the_limit),
		cmocka_unit_test(test_eng_tar_write__refuses_names_that_ustar_cannot_hold),
		cmocka_unit_test(test_eng_tar_first__tells_the_type),
		cmocka_unit_test(test_eng_tar_first__looks_behind_extended_headers),
		cmocka_unit_test(test_eng_tar_first__survives_bombs_of_names),
		cmocka_unit_test(test_eng_tar_first__stops_at_max_bytes),
		cmocka_unit_test(test_eng_tar_first__fails_over_the_buffers_limit),
		cmocka_unit_test(test_eng_tar_first__takes_a_cut_anywhere),
		cmocka_unit_test(test_eng_tar_first__tells_of_an_empty_archive),
		cmocka_unit_test(test_eng_tar_first__refuses_garbage),
		cmocka_unit_test(test_eng_tar_first__refuses_a_wrong_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
