/* SPDX-License-Identifier: MIT */
/* The error value: the first cause stays, texts are clean, and nothing is too long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/err.h"

static void test_sb_err_set__formats_and_returns_failure(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(sb_err_set(&err, SB_NO_ENGINE, "cannot open '%s': %d", "/x", 5), -1);
	assert_int_equal(err.code, SB_NO_ENGINE);
	assert_string_equal(err.text, "cannot open '/x': 5");
}

static void test_sb_err_set__keeps_the_first_cause(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	sb_err_set(&err, SB_MISMATCH, "first");
	assert_int_equal(sb_err_set(&err, SB_FAILED, "second"), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_string_equal(err.text, "first");
	sb_err_clear(&err);
	assert_int_equal(err.code, SB_OK);
	assert_string_equal(err.text, "");
	assert_int_equal(sb_err_nomem(&err), -1);
	assert_int_equal(err.code, SB_FAILED);
	assert_string_equal(err.text, "out of memory");
}

static void test_sb_err_set__escapes_foreign_bytes(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	sb_err_set(&err, SB_FAILED, "'%s' is odd", "a\033[2Jb\n\377");
	assert_string_equal(err.text, "'a\\x1b[2Jb\\x0a\\xff' is odd");
}

static void test_sb_err_set__cuts_what_is_too_long(void **state)
{
	char text[4096];

	(void)state;
	for (size_t len = 700; len < sizeof(text); len += 13) {
		struct sb_err err = SB_ERR_INIT;

		memset(text, 'a', len);
		text[len] = '\0';
		sb_err_set(&err, SB_FAILED, "%s", text);
		assert_int_equal(
			strlen(err.text), len < sizeof(err.text) ? len : sizeof(err.text) - 1);
		if (len >= sizeof(err.text))
			assert_string_equal(err.text + sizeof(err.text) - 4, "...");
	}
}

static void test_sb_err_wrap__puts_context_in_front(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	sb_err_set(&err, SB_UNSUPPORTED, "no '%s'", "b\n");
	assert_int_equal(sb_err_wrap(&err, "container '%s'", "a\r"), -1);
	assert_int_equal(err.code, SB_UNSUPPORTED);
	assert_string_equal(err.text, "container 'a\\x0d': no 'b\\x0a'");
	sb_err_wrap(&err, "outer");
	assert_string_equal(err.text, "outer: container 'a\\x0d': no 'b\\x0a'");
}

static void test_sb_err_wrap__stays_within_the_text(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	char text[4096];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sb_err_set(&err, SB_FAILED, "%s", text);
	for (int i = 0; i < 10; i++) {
		sb_err_wrap(&err, "prefix");
		assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
		assert_memory_equal(err.text, "prefix: ", 8);
		assert_string_equal(err.text + sizeof(err.text) - 4, "...");
	}
	sb_err_wrap(&err, "%s", text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void test_sb_code_name__has_a_word_for_each(void **state)
{
	static const struct {
		enum sb_code code;
		const char *name;
	} rows[] = {
		{SB_OK, "ok"},
		{SB_FAILED, "failed"},
		{SB_USAGE, "usage"},
		{SB_NO_ENGINE, "no-engine"},
		{SB_NO_CONTAINER, "no-container"},
		{SB_UNSUPPORTED, "unsupported"},
		{SB_MISMATCH, "mismatch"},
		{SB_NO_SERVICE, "no-service"},
		{SB_SOME_FAILED, "some-failed"},
		{SB_INTERRUPTED, "interrupted"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		assert_string_equal(sb_code_name(rows[i].code), rows[i].name);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sb_err_set__formats_and_returns_failure),
		cmocka_unit_test(test_sb_err_set__keeps_the_first_cause),
		cmocka_unit_test(test_sb_err_set__escapes_foreign_bytes),
		cmocka_unit_test(test_sb_err_set__cuts_what_is_too_long),
		cmocka_unit_test(test_sb_err_wrap__puts_context_in_front),
		cmocka_unit_test(test_sb_err_wrap__stays_within_the_text),
		cmocka_unit_test(test_sb_code_name__has_a_word_for_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
