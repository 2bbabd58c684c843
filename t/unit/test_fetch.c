/* SPDX-License-Identifier: MIT */
/* What fetching is made of: URLs, pages of an index, pip's files, and zip archives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/download.h"
#include "engine/file.h"
#include "engine/zip.h"
#include "payloads/index.h"

#include <fcntl.h>

static void test_eng_url_text__hides_who_asks(void **state)
{
	static const char *const rows[][2] = {
		{"https://host/a", "https://host/a"},
		{"https://user:word@host/a@b", "https://host/a@b"},
		{"https://user:w@rd@host/", "https://host/"},
		{"https://user@host", "https://host"},
		{"https://host?x=a@b", "https://host?x=a@b"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		char text[ENG_URL_TEXT_SIZE];

		assert_string_equal(eng_url_text(rows[i][0], text), rows[i][1]);
	}
}

static void test_eng_url_join__resolves_links(void **state)
{
	static const char *const rows[][3] = {
		{"http://h/simple/p/", "../../files/f.whl#sha256=0", "http://h/files/f.whl"},
		{"http://h/simple/p/", "f.whl?x=1", "http://h/simple/p/f.whl?x=1"},
		{"http://h/simple/p/", "/f", "http://h/f"},
		{"http://h/simple/p/", "https://other/f", "https://other/f"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf url = SB_BUF_INIT(SB_MAX_URL);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_url_join(rows[i][0], rows[i][1], &url, &err), 0);
		assert_string_equal(sb_buf_str(&url), rows[i][2]);
	}
}

/* ---- the index ---- */

static void test_index_parse__finds_the_file(void **state)
{
	static const struct {
		const char *page, *url; /* NULL: it is not there */
	} rows[] = {
		{"<a href=\"../../x/f-1.whl#sha256=12\">f-1.whl</a>", "http://h/x/f-1.whl"},
		{"<A data-x='1' HREF = '/x/f-1.whl?a=1&amp;b=2'>", "http://h/x/f-1.whl?a=1&b=2"},
		{"<a href=\"/x/ef-1.whl\"><a href=\"/x/f-1.whl\">", "http://h/x/f-1.whl"},
		{"<a href=\"f-1.whl\">", "http://h/simple/p/f-1.whl"},
		{" {\"files\":[{\"filename\":\"f-1.whl\",\"url\":\"https://o/f-1.whl\"}]}",
			"https://o/f-1.whl"},
		{"{\"files\":[1,{},{\"filename\":\"f-1.whl\"},{\"url\":\"f-1.whl\"}]}", NULL},
		{"{\"files\":0}", NULL},
		{"<a href=\"/x/f-1.whl.asc\"><a href=\"/x#f-1.whl\"><a href=\"/x?/f-1.whl\">",
			NULL},
		{"<a href=/x/f-1.whl>", NULL},
		{"<a href=\"", NULL},
		{"<a href", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf page = SB_BUF_INIT(1000), url = SB_BUF_INIT(SB_MAX_URL);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(sb_buf_adds(&page, rows[i].page, &err), 0);
		assert_int_equal(index_parse(&page, "http://h/simple/p/", "f-1.whl", &url, &err),
			rows[i].url ? 0 : 1);
		assert_string_equal(sb_buf_str(&url), rows[i].url ? rows[i].url : "");
	}
}

static void test_index_parse__refuses_broken_json(void **state)
{
	sb_autobuf struct sb_buf page = SB_BUF_INIT(1000), url = SB_BUF_INIT(SB_MAX_URL);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(sb_buf_adds(&page, "{\"files\":[", &err), 0);
	assert_int_equal(index_parse(&page, "http://u:w@h/", "f", &url, &err), -1);
	assert_non_null(strstr(err.text, "'http://h/' is not valid JSON"));
}

static char file[] = "/tmp/sbinject-unit-XXXXXX";

static void put(const void *data, size_t len)
{
	sb_autoclose int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(sb_file_put(fd, file, data, len, &err), 0);
}

static void test_index_url__reads_pips_files(void **state)
{
	static const char *const rows[][2] = {
		{"[global]\nindex-url = http://h/simple\n", "http://h/simple"},
		{"# x\n[install]\r\n  Index_URL: http://h/s \r\n", "http://h/s"},
		{"[global]\nextra-index-url = http://no\nindex-url=http://h", "http://h"},
		{"[global]\nindex-url =\n[download]\nindex-url = http://h\n", "http://h"},
		{"[list]\nindex-url = http://h\n", NULL},
		{"index-url = http://h\n", NULL},
		{"[global]\nindex-urls = http://h\nindex-url http://h\n#index-url = http://h",
			NULL},
		{"", NULL},
	};

	(void)state;
	unsetenv("PIP_INDEX_URL");
	unsetenv("VIRTUAL_ENV");
	setenv("HOME", "/nowhere", 1);
	setenv("XDG_CONFIG_HOME", "/nowhere", 1);
	setenv("PIP_CONFIG_FILE", file, 1);
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf url = SB_BUF_INIT(SB_MAX_URL);
		struct sb_err err = SB_ERR_INIT;

		put(rows[i][0], strlen(rows[i][0]));
		/* Where it is not there, this machine's own may be. */
		if (rows[i][1])
			assert_int_equal(index_url(NULL, &url, &err), 0);
		else if (index_url(NULL, &url, &err) < 0)
			assert_int_equal(err.code, SB_USAGE);
		if (rows[i][1])
			assert_string_equal(sb_buf_str(&url), rows[i][1]);
		else
			assert_null(strstr(sb_buf_str(&url), "http://h"));
	}
}

static void test_index_url__takes_what_is_given_first(void **state)
{
	sb_autobuf struct sb_buf first = SB_BUF_INIT(100), second = SB_BUF_INIT(100);
	sb_autobuf struct sb_buf none = SB_BUF_INIT(100);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	setenv("PIP_INDEX_URL", "http://variable", 1);
	assert_int_equal(index_url("http://given", &first, &err), 0);
	assert_string_equal(first.data, "http://given");
	assert_int_equal(index_url(NULL, &second, &err), 0);
	assert_string_equal(second.data, "http://variable");
	unsetenv("PIP_INDEX_URL");
	setenv("PIP_CONFIG_FILE", "/dev/null", 1);
	assert_int_equal(index_url(NULL, &none, &err), -1);
	assert_int_equal(err.code, SB_USAGE);
}

/* ---- zip ---- */

/* Two members that are stored, "a" with "hello" and "b" with "world!", and a comment. */
static const unsigned char zip[] =
	"PK\3\4\12\0\0\0\0\0\0\0\41\0\206\246\20\66\5\0\0\0\5\0\0\0\1\0\0\0"
	"ahello"
	"PK\3\4\12\0\0\0\0\0\0\0\41\0\350\230\204\161\6\0\0\0\6\0\0\0\1\0\0\0"
	"bworld!"
	"PK\1\2\12\0\12\0\0\0\0\0\0\0\41\0\206\246\20\66\5\0\0\0\5\0\0\0\1\0"
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	"a"
	"PK\1\2\12\0\12\0\0\0\0\0\0\0\41\0\350\230\204\161\6\0\0\0\6\0\0\0\1\0"
	"\0\0\0\0\0\0\0\0\0\0\0\0\44\0\0\0"
	"b"
	"PK\5\6\0\0\0\0\2\0\2\0\136\0\0\0\111\0\0\0\2\0"
	"hi";
enum { ZIP_SIZE = sizeof(zip) - 1, DIRECTORY = 73, DIRECTORY_SIZE = 94, SECOND = 36 };

static void test_eng_zip_find__finds_a_member(void **state)
{
	struct eng_zip_span span;

	(void)state;
	for (size_t from = 0; from <= DIRECTORY + DIRECTORY_SIZE; from += 20) {
		assert_int_equal(
			eng_zip_find_directory(zip + from, ZIP_SIZE - from, ZIP_SIZE, &span), 0);
		assert_int_equal(span.from, DIRECTORY);
		assert_int_equal(span.size, DIRECTORY_SIZE);
	}
	assert_int_equal(
		eng_zip_find_member(zip + DIRECTORY, DIRECTORY_SIZE, DIRECTORY, "a", &span), 0);
	assert_int_equal(span.from, 0);
	assert_int_equal(span.size, SECOND);
	assert_int_equal(
		eng_zip_find_member(zip + DIRECTORY, DIRECTORY_SIZE, DIRECTORY, "b", &span), 0);
	assert_int_equal(span.from, SECOND);
	assert_int_equal(span.size, DIRECTORY - SECOND);
	assert_int_equal(
		eng_zip_find_member(zip + DIRECTORY, DIRECTORY_SIZE, DIRECTORY, "c", &span), 1);
}

static void test_eng_zip_find__takes_any_bytes(void **state)
{
	struct eng_zip_span span;

	(void)state;
	for (size_t len = 0; len < ZIP_SIZE - 2; len++)
		assert_int_equal(eng_zip_find_directory(zip, len, len, &span), 1);
	for (size_t i = DIRECTORY; i < ZIP_SIZE; i++)
		for (unsigned value = 0; value < 256; value += 51) {
			unsigned char other[ZIP_SIZE];

			memcpy(other, zip, ZIP_SIZE);
			other[i] = (unsigned char)value;
			if (eng_zip_find_directory(other, ZIP_SIZE, ZIP_SIZE, &span) == 0)
				assert_true(span.from + span.size <= ZIP_SIZE);
			if (eng_zip_find_member(
				    other + DIRECTORY, DIRECTORY_SIZE, DIRECTORY, "b", &span) == 0)
				assert_true(span.from + span.size <= DIRECTORY);
		}
}

struct text {
	char data[100];
	size_t len;
};

static int add(void *ctx, const void *data, size_t len, struct sb_err *err)
{
	struct text *text = ctx;

	(void)err;
	memcpy(text->data + text->len, data, len);
	text->len += len;
	return 0;
}

static int extract(
	const char *name, bool alone, uint64_t max, struct text *text, struct sb_err *err)
{
	sb_autoclose int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct eng_zip_member member = {fd, file, name, alone, max, add, text};

	return eng_zip_extract(&member, err);
}

static void test_eng_zip_extract__gives_the_member(void **state)
{
	struct text whole = {"", 0}, alone = {"", 0}, none = {"", 0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	put(zip, ZIP_SIZE);
	if (extract("b", false, 6, &whole, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(whole.data, "world!");
	assert_int_equal(extract("c", false, 6, &none, &err), 1);
	put(zip + SECOND, DIRECTORY - SECOND);
	if (extract("b", true, 6, &alone, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(alone.data, "world!");
	assert_int_equal(extract("a", true, 6, &none, &err), 1);
	assert_int_equal(none.len, 0);
}

static void test_eng_zip_extract__refuses_what_is_damaged(void **state)
{
	unsigned char other[ZIP_SIZE];
	struct text text = {"", 0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	put(zip, ZIP_SIZE);
	assert_int_equal(extract("b", false, 5, &text, &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_non_null(strstr(err.text, "larger than the expected 5 bytes"));
	memcpy(other, zip, ZIP_SIZE);
	other[SECOND + 32] ^= 1;
	put(other, ZIP_SIZE);
	sb_err_clear(&err);
	assert_int_equal(extract("b", false, 6, &text, &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_non_null(strstr(err.text, file));
	put("no zip at all", 13);
	sb_err_clear(&err);
	assert_int_equal(extract("b", false, 6, &text, &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
}

static int make_file(void **state)
{
	int fd = mkstemp(file);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int delete_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_url_text__hides_who_asks),
		cmocka_unit_test(test_eng_url_join__resolves_links),
		cmocka_unit_test(test_index_parse__finds_the_file),
		cmocka_unit_test(test_index_parse__refuses_broken_json),
		cmocka_unit_test(test_index_url__reads_pips_files),
		cmocka_unit_test(test_index_url__takes_what_is_given_first),
		cmocka_unit_test(test_eng_zip_find__finds_a_member),
		cmocka_unit_test(test_eng_zip_find__takes_any_bytes),
		cmocka_unit_test(test_eng_zip_extract__gives_the_member),
		cmocka_unit_test(test_eng_zip_extract__refuses_what_is_damaged),
	};

	return cmocka_run_group_tests(tests, make_file, delete_file);
}
