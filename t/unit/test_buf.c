/* SPDX-License-Identifier: MIT */
/* The bounded buffer: growth up to the limit and not a byte further, and reading files into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/buf.h"

static void test_sb_buf_add__grows_to_the_limit(void **state)
{
	static const size_t limits[] = {0, 1, 2, 255, 256, 257, 511, 512, 513, 1000};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(limits); i++) {
		sb_autobuf struct sb_buf buf = SB_BUF_INIT(limits[i]);
		struct sb_err err = SB_ERR_INIT;

		for (size_t n = 0; n < limits[i]; n++) {
			assert_int_equal(sb_buf_add(&buf, &"abc"[n % 3], 1, &err), 0);
			assert_int_equal(buf.len, n + 1);
			assert_int_equal(strlen(sb_buf_str(&buf)), n + 1);
		}
		assert_int_equal(sb_buf_add(&buf, "", 0, &err), 0);
		assert_int_equal(err.code, SB_OK);
		assert_int_equal(sb_buf_add(&buf, "x", 1, &err), -1);
		assert_int_equal(err.code, SB_FAILED);
		assert_int_equal(buf.len, limits[i]);
		assert_int_equal(strlen(sb_buf_str(&buf)), limits[i]);
		assert_true(buf.cap <= limits[i] + 1);
	}
}

static void test_sb_buf_add__refuses_past_the_limit_and_changes_nothing(void **state)
{
	sb_autobuf struct sb_buf buf = SB_BUF_INIT(8);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(sb_buf_adds(&buf, "12345", &err), 0);
	assert_int_equal(sb_buf_adds(&buf, "6789", &err), -1);
	assert_string_equal(sb_buf_str(&buf), "12345");
	sb_err_clear(&err);
	assert_int_equal(sb_buf_add(&buf, "", SIZE_MAX, &err), -1);
	sb_err_clear(&err);
	assert_int_equal(sb_buf_addf(&buf, &err, "%d", 6789), -1);
	assert_string_equal(sb_buf_str(&buf), "12345");
	sb_err_clear(&err);
	assert_int_equal(sb_buf_addf(&buf, &err, "%d", 678), 0);
	assert_string_equal(sb_buf_str(&buf), "12345678");
}

static void test_sb_buf_add__takes_any_bytes(void **state)
{
	sb_autobuf struct sb_buf buf = SB_BUF_INIT(100);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_string_equal(sb_buf_str(&buf), "");
	assert_int_equal(sb_buf_add(&buf, NULL, 0, &err), 0);
	assert_int_equal(sb_buf_add(&buf, "a\0b", 3, &err), 0);
	assert_int_equal(buf.len, 3);
	assert_memory_equal(buf.data, "a\0b", 4);
}

static void test_sb_buf_addf__formats_long_text(void **state)
{
	sb_autobuf struct sb_buf buf = SB_BUF_INIT(10000);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(sb_buf_addf(&buf, &err, "%s", ""), 0);
	assert_int_equal(sb_buf_addf(&buf, &err, "<%0*d>", 5000, 7), 0);
	assert_int_equal(buf.len, 5002);
	assert_int_equal(buf.data[5001], '>');
	assert_int_equal(sb_buf_addf(&buf, &err, "%s-%d", "x", 1), 0);
	assert_string_equal(buf.data + 5002, "x-1");
}

static void test_sb_buf_consume__drops_from_the_front(void **state)
{
	sb_autobuf struct sb_buf buf = SB_BUF_INIT(100);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	sb_buf_consume(&buf, 0);
	assert_int_equal(sb_buf_adds(&buf, "hello world", &err), 0);
	sb_buf_consume(&buf, 0);
	sb_buf_consume(&buf, 6);
	assert_string_equal(sb_buf_str(&buf), "world");
	assert_int_equal(sb_buf_adds(&buf, "!", &err), 0);
	assert_string_equal(sb_buf_str(&buf), "world!");
	sb_buf_consume(&buf, 6);
	assert_int_equal(buf.len, 0);
	assert_string_equal(sb_buf_str(&buf), "");
}

static void test_sb_buf_release__leaves_a_usable_buffer(void **state)
{
	sb_autobuf struct sb_buf buf = SB_BUF_INIT(4);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	sb_buf_reset(&buf);
	sb_buf_release(&buf);
	assert_int_equal(sb_buf_adds(&buf, "abcd", &err), 0);
	sb_buf_reset(&buf);
	assert_string_equal(sb_buf_str(&buf), "");
	assert_int_equal(sb_buf_adds(&buf, "efgh", &err), 0);
	sb_buf_release(&buf);
	assert_string_equal(sb_buf_str(&buf), "");
	assert_int_equal(sb_buf_adds(&buf, "ijkl", &err), 0);
	assert_string_equal(sb_buf_str(&buf), "ijkl");
	assert_int_equal(sb_buf_adds(&buf, "m", &err), -1);
}

static void test_sb_buf_read_file__takes_a_whole_file_or_none(void **state)
{
	char path[] = "/tmp/test_buf.XXXXXX", missing[64];
	int fd = mkstemp(path);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_true(fd >= 0);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(write(fd, "xy", 2), 2);
	close(fd);
	for (size_t limit = 39999; limit <= 40001; limit++) {
		sb_autobuf struct sb_buf buf = SB_BUF_INIT(limit);

		sb_err_clear(&err);
		assert_int_equal(sb_buf_read_file(&buf, path, &err), limit < 40000 ? -1 : 0);
		if (limit < 40000)
			assert_non_null(strstr(err.text, path));
		else
			assert_int_equal(buf.len, 40000);
	}
	snprintf(missing, sizeof(missing), "%s/x", path);
	for (int i = 0; i < 2; i++) {
		sb_autobuf struct sb_buf buf = SB_BUF_INIT(10);

		sb_err_clear(&err);
		assert_int_equal(sb_buf_read_file(&buf, missing, &err), 1);
		assert_int_equal(err.code, SB_OK);
		unlink(path);
		snprintf(missing, sizeof(missing), "%s", path);
	}
}

static void test_sb_buf_read_file__reports_what_it_cannot_read(void **state)
{
	sb_autobuf struct sb_buf buf = SB_BUF_INIT(10);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(sb_buf_read_file(&buf, "/", &err), -1);
	assert_int_equal(err.code, SB_USAGE);
	assert_string_equal(err.text, "'/' is not a regular file");
	sb_err_clear(&err);
	assert_int_equal(sb_buf_read_fd(&buf, -1, &err), -1);
	assert_int_equal(err.code, SB_FAILED);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sb_buf_add__grows_to_the_limit),
		cmocka_unit_test(test_sb_buf_add__refuses_past_the_limit_and_changes_nothing),
		cmocka_unit_test(test_sb_buf_add__takes_any_bytes),
		cmocka_unit_test(test_sb_buf_addf__formats_long_text),
		cmocka_unit_test(test_sb_buf_consume__drops_from_the_front),
		cmocka_unit_test(test_sb_buf_release__leaves_a_usable_buffer),
		cmocka_unit_test(test_sb_buf_read_file__takes_a_whole_file_or_none),
		cmocka_unit_test(test_sb_buf_read_file__reports_what_it_cannot_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
