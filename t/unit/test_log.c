/* SPDX-License-Identifier: MIT */
/* The talk on stderr: which topics are on, and one clean line each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/log.h"

/* What one sb_log() writes to stderr. */
static char *said(enum sb_topic topic, const char *text)
{
	static char line[8192];
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t len;

	assert_non_null(file);
	assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	sb_log(topic, "%s", text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	len = fread(line, 1, sizeof(line) - 1, file);
	line[len] = '\0';
	fclose(file);
	return line;
}

/* First, while everything is off: topics cannot be turned off again. */
static void test_sb_log__is_silent_at_first(void **state)
{
	(void)state;
	for (unsigned topic = SB_NOTE; topic <= SB_TRACE_EXEC; topic <<= 1) {
		assert_string_equal(said(topic, "hidden"), "");
	}
}

static void test_sb_log_enable_list__refuses_unknown_topics(void **state)
{
	static const char *const lists[] = {
		"x", "htt", "https", "al", "ALL", " tar", "note;tar", "http tar", "\033[31m"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lists); i++) {
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(sb_log_enable_list(lists[i], &err), -1);
		assert_int_equal(err.code, SB_USAGE);
		assert_non_null(strstr(err.text, "SBINJECT_TRACE"));
		assert_null(strchr(err.text, '\033'));
	}
	assert_string_equal(said(SB_TRACE_HTTP, "x"), "");
}

static void test_sb_log_enable_list__turns_topics_on(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(sb_log_enable_list(NULL, &err), 0);
	assert_int_equal(sb_log_enable_list("", &err), 0);
	assert_int_equal(sb_log_enable_list(",", &err), 0);
	assert_string_equal(said(SB_TRACE_TAR, "x"), "");
	assert_int_equal(sb_log_enable_list(",tar,,", &err), 0);
	assert_string_not_equal(said(SB_TRACE_TAR, "x"), "");
	assert_string_equal(said(SB_TRACE_HTTP, "x"), "");
	assert_int_equal(sb_log_enable_list("http,exec", &err), 0);
	assert_string_not_equal(said(SB_TRACE_HTTP, "x"), "");
	assert_string_not_equal(said(SB_TRACE_EXEC, "x"), "");
	assert_string_equal(said(SB_NOTE, "x"), "");
	sb_log_enable(SB_NOTE);
	assert_string_not_equal(said(SB_NOTE, "x"), "");
	assert_int_equal(sb_log_enable_list("all", &err), 0);
	assert_int_equal(err.code, SB_OK);
}

static void test_sb_log__writes_one_clean_line(void **state)
{
	(void)state;
	assert_string_equal(said(SB_TRACE_HTTP, "GET /x"), "sbinject: http: GET /x\n");
	assert_string_equal(
		said(SB_TRACE_EXEC, "a\nb\033[2J"), "sbinject: exec: a\\x0ab\\x1b[2J\n");
	assert_string_equal(said(SB_NOTE, ""), "sbinject: note: \n");
}

static void test_sb_log__bounds_a_line(void **state)
{
	char text[6000];
	const char *line;

	(void)state;
	memset(text, '\001', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	line = said(SB_TRACE_TAR, text);
	assert_in_range(strlen(line), 1000, 4200);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_null(strchr(line, '\001'));
}

static char sunk[256];

static void sink(const char *line)
{
	snprintf(sunk, sizeof(sunk), "%s", line);
}

/* Last: the sink stays. */
static void test_sb_log_to__takes_the_lines(void **state)
{
	(void)state;
	sb_log_to(sink);
	assert_string_equal(said(SB_NOTE, "a\nb"), "");
	assert_string_equal(sunk, "sbinject: note: a\\x0ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sb_log__is_silent_at_first),
		cmocka_unit_test(test_sb_log_enable_list__refuses_unknown_topics),
		cmocka_unit_test(test_sb_log_enable_list__turns_topics_on),
		cmocka_unit_test(test_sb_log__writes_one_clean_line),
		cmocka_unit_test(test_sb_log__bounds_a_line),
		cmocka_unit_test(test_sb_log_to__takes_the_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
