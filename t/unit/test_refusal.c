/* SPDX-License-Identifier: MIT */
/* What refusals mean, each where it can come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/refusal.h"

#include <errno.h>

struct row {
	enum eng_situation situation;
	int number;
	const char *text;
	enum sb_code code;
	const char *cause; /* a part of it; NULL: there is none */
};

static void assert_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct eng_refusal *found =
			eng_refusal_find(rows[i].situation, rows[i].number, rows[i].text);

		assert_int_equal(found->code, rows[i].code);
		assert_int_equal(found->cause != NULL, rows[i].cause != NULL);
		if (found->cause)
			assert_non_null(strstr(found->cause, rows[i].cause));
	}
}

static void test_eng_refusal_find__knows_numbers(void **state)
{
	static const struct row rows[] = {
		{ENG_AT_CONNECT, ENOENT, "", SB_NO_ENGINE, "no such socket"},
		{ENG_AT_CONNECT, ECONNREFUSED, "", SB_NO_ENGINE, "nothing is listening"},
		{ENG_AT_CONNECT, EACCES, "", SB_NO_ENGINE, "permission denied"},
		{ENG_AT_CONNECT, EPERM, "", SB_NO_ENGINE, "permission denied"},
		{ENG_AT_CONNECT, EIO, "", SB_NO_ENGINE, NULL},
		{ENG_AT_CONNECT, 0, "", SB_NO_ENGINE, NULL},
		{ENG_AT_INSPECT, 404, "?", SB_NO_CONTAINER, NULL},
		{ENG_AT_PUT, 404, "?", SB_NO_CONTAINER, NULL},
		{ENG_AT_PAUSE, 404, "?", SB_NO_CONTAINER, NULL},
		{ENG_AT_UNPAUSE, 404, "?", SB_NO_CONTAINER, NULL},
		{ENG_AT_EXEC, 404, "?", SB_NO_CONTAINER, NULL},
		{ENG_AT_EXEC, 409, "?", SB_NO_CONTAINER, NULL},
	};

	(void)state;
	assert_rows(rows, SB_ARRAY_SIZE(rows));
}

static void test_eng_refusal_find__knows_words_in_capitals_or_not(void **state)
{
	static const struct row rows[] = {
		{ENG_AT_INSPECT, 400, "x is AMBIGUOUS", SB_NO_CONTAINER, "more than one id"},
		{ENG_AT_INSPECT, 500, "Multiple ids found", SB_NO_CONTAINER, "more than one id"},
		{ENG_AT_INSPECT, 500, "No such container: x", SB_NO_CONTAINER, NULL},
		{ENG_AT_PUT, 500, "marked Read-Only", SB_UNSUPPORTED, "read-only"},
		{ENG_AT_PUT, 500, "No space left on device", SB_UNSUPPORTED, "space left"},
		{ENG_AT_PUT, 500, "Disk quota exceeded", SB_UNSUPPORTED, "quota"},
		{ENG_AT_PUT, 500, "No such container: x", SB_NO_CONTAINER, "no longer exists"},
		{ENG_AT_PAUSE, 500, "Container x is not running", SB_NO_CONTAINER, NULL},
		{ENG_AT_UNPAUSE, 500, "Container x is not running", SB_NO_CONTAINER, NULL},
		{ENG_AT_EXEC, 500, "can only exec on running containers", SB_NO_CONTAINER, NULL},
		{ENG_AT_EXEC, 500, "unable to find user x", SB_UNSUPPORTED, NULL},
		{ENG_AT_RUN, 0, "exec /x: Exec format error", SB_UNSUPPORTED, "architecture"},
		{ENG_AT_RUN, 0, "exec: Permission denied", SB_UNSUPPORTED, "not permitted"},
		{ENG_AT_RUN, 0, "container x is not running", SB_NO_CONTAINER, "stopped"},
		{ENG_AT_RUN, 0, "procready not received", SB_UNSUPPORTED, "limit"},
		{ENG_AT_RUN, 0, "Read init-p: connection reset by peer", SB_UNSUPPORTED, "limit"},
	};

	(void)state;
	assert_rows(rows, SB_ARRAY_SIZE(rows));
}

static void test_eng_refusal_find__takes_words_before_a_status(void **state)
{
	static const struct row rows[] = {
		{ENG_AT_INSPECT, 404, "multiple IDs found", SB_NO_CONTAINER, "more than one id"},
		{ENG_AT_PUT, 404, "could not find the file / in x", SB_FAILED, "its root"},
		{ENG_AT_PUT, 404, "not a directory", SB_UNSUPPORTED, "part of the path"},
	};

	(void)state;
	assert_rows(rows, SB_ARRAY_SIZE(rows));
}

static void test_eng_refusal_find__has_a_code_for_what_nobody_knows(void **state)
{
	static const struct row rows[] = {
		{ENG_AT_INSPECT, 500, "", SB_FAILED, NULL},
		{ENG_AT_PUT, 500, "oh no", SB_FAILED, NULL},
		{ENG_AT_PAUSE, 500, "oh no", SB_UNSUPPORTED, NULL},
		{ENG_AT_UNPAUSE, 500, "oh no", SB_FAILED, NULL},
		{ENG_AT_EXEC, 500, "oh no", SB_FAILED, NULL},
		{ENG_AT_RUN, 0, "", SB_NO_SERVICE, NULL},
	};

	(void)state;
	assert_rows(rows, SB_ARRAY_SIZE(rows));
}

static void test_eng_refusal_is_passing__knows_what_comes_of_others(void **state)
{
	(void)state;
	assert_true(eng_refusal_is_passing("stat /x: No such file or directory"));
	assert_true(eng_refusal_is_passing("cannot exec in a paused container"));
	assert_true(eng_refusal_is_passing("Could not find the file / in container x"));
	assert_true(eng_refusal_is_passing("Error: read unixpacket @->/x: read: connection reset"));
	assert_false(eng_refusal_is_passing("permission denied"));
	assert_false(eng_refusal_is_passing(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_refusal_find__knows_numbers),
		cmocka_unit_test(test_eng_refusal_find__knows_words_in_capitals_or_not),
		cmocka_unit_test(test_eng_refusal_find__takes_words_before_a_status),
		cmocka_unit_test(test_eng_refusal_find__has_a_code_for_what_nobody_knows),
		cmocka_unit_test(test_eng_refusal_is_passing__knows_what_comes_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
