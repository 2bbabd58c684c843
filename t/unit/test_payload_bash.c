/* SPDX-License-Identifier: MIT */
/* The pure half of shell sessions: what is stripped, what is kept, how it is presented. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/bash_session/output.h"
#include "payloads/sandbox-tools/bash_session/terminal.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NOTICE(size, n)                                                                         \
	"\n[inspect_sandbox_tools: bash_session output exceeded " size "; showing the tail; " n \
	" bytes omitted]\n"

/* ---- terminal ---- */

static void test_terminal_strip__removes_what_the_protocol_names(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"a\tb\r\033[31mred\033[0m\a \033]0;title\a end\n", "a\tb\rred 0;title end\n"},
		{"plain", "plain"},
		{"\033", ""},
		{"x\033", "x"},
		{"\033[", "["},
		{"\033[1;2", "[1;2"},
		{"\033[?25l", "[?25l"},
		{"\033[3~", "[3~"},
		{"\033[6n>", ">"},
		{"\033[m", ""},
		{"\033[1;31mx\033[K", "x"},
		{"\033M\033D\033@\033_\033^\033\\\033]", ""},
		{"\033Zx\033ax", "xax"},
		{"\033(Bx\033(Ax\033(0x\033(1x\033(2x", "xxxxx"},
		{"\033(C\033(", "(C("},
		{"\033)0", ")0"},
		{"\033\033[31mx", "x"},
		{"\033\033[31[2mm", "[31[2mm"},
		{"\001\002\003\004\005\006\007\010\013\014\016\037\177|", "|"},
		{"\t\n\r", "\t\n\r"},
		{"\xc3\xa9\xe2\x82\xac\033[1m\xf0\x9f\x98\x80",
			"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].from);
		char *text = malloc(len + 1);

		assert_non_null(text);
		memcpy(text, cases[i].from, len);
		text[terminal_strip(text, len)] = '\0';
		assert_string_equal(text, cases[i].to);
		free(text);
	}
}

static void test_terminal_strip__removes_nul(void **state)
{
	char text[] = {'a', '\0', 'b', '\033', '\0', 'c'};

	(void)state;
	assert_int_equal(terminal_strip(text, sizeof(text)), 3);
	assert_memory_equal(text, "abc", 3);
	assert_int_equal(terminal_strip(text, 0), 0);
}

/* ---- output ---- */

static struct memory_share all = {0, (size_t)256 << 20}; /* memory of all outputs there are */

static void take(struct output *output, size_t limit, const char *wanted)
{
	struct buf text = BUF_INIT(1 << 24);

	assert_int_equal(output_show(output, limit, &text), 0);
	output_forget(output);
	assert_true(text.len <= limit);
	assert_int_equal(text.len, strlen(wanted));
	if (text.len > 0)
		assert_memory_equal(text.data, wanted, text.len);
	buf_release(&text);
	assert_true(output_is_empty(output));
}

static void test_output_show__gives_everything_once(void **state)
{
	struct output output;

	(void)state;
	output_init(&output, &all);
	take(&output, 10, "");
	output_add(&output, "ab", 2);
	output_add(&output, "cd", 2);
	take(&output, 4, "abcd");
	take(&output, 4, "");
	output_release(&output);
}

static void test_output_add__decodes_across_pieces(void **state)
{
	struct output output;

	(void)state;
	output_init(&output, &all);
	output_add(&output, "\xe2\x82", 2);
	assert_true(output_is_empty(&output));
	output_add(&output, "\xac\xff\xc3", 3);
	take(&output, 100, "\xe2\x82\xac\xef\xbf\xbd");
	output_add(&output, "(", 1);
	take(&output, 100, "\xef\xbf\xbd(");
	output_release(&output);
}

/* 'count' times the text, seen with a limit. */
static struct buf flood(const char *text, size_t count, size_t limit)
{
	struct buf out = BUF_INIT(1 << 27);
	struct output output;

	output_init(&output, &all);
	output_set_limit(&output, limit);
	for (size_t i = 0; i < count; i++)
		output_add(&output, text, strlen(text));
	assert_int_equal(output_show(&output, limit, &out), 0);
	output_release(&output);
	assert_true(out.len <= limit);
	return out;
}

static void test_output_show__shows_notice_and_tail(void **state)
{
	static const struct {
		size_t count, limit;
		const char *notice;
		size_t tail;
	} cases[] = {
		/* ten bytes each; the notice counts, and so does the length of its number */
		{1000, 2048, NOTICE("2 KiB", "8048"), 0},
		{1000, 3000, NOTICE("3000 bytes", "7106"), 0},
		{1000, 9999, NOTICE("9999 bytes", "107"), 0},
		{200000, 1 << 20, NOTICE("1 MiB", "951526"), 0},
		{120, 1100, NOTICE("1100 bytes", "205"), 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = flood("0123456789", cases[i].count, cases[i].limit);
		const char *mark = memchr(out.data + 1, '\n', out.len - 1);
		unsigned long long omitted;
		size_t tail;

		assert_non_null(mark);
		tail = out.len - (size_t)(mark + 1 - out.data);
		assert_int_equal(out.len, cases[i].limit);
		assert_memory_equal(mark + 1 + tail - 10, "0123456789", 10);
		assert_non_null(memmem(out.data, out.len, "showing the tail; ", 18));
		omitted = strtoull((char *)memmem(out.data, out.len, "tail; ", 6) + 6, NULL, 10);
		assert_int_equal(omitted + tail, cases[i].count * 10);
		assert_memory_equal(out.data, cases[i].notice, strcspn(cases[i].notice, ";"));
		buf_release(&out);
	}
}

static void test_output_show__names_sizes(void **state)
{
	static const struct {
		size_t limit;
		const char *size;
	} cases[] = {
		{4096, " 4 KiB;"},
		{4097, " 4097 bytes;"},
		{10 << 20, " 10 MiB;"},
		{(1 << 20) + 1024, " 1025 KiB;"},
		{300, " 300 bytes;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = flood("0123456789abcdef", cases[i].limit / 16 + 2, cases[i].limit);

		assert_non_null(memmem(out.data, out.len, cases[i].size, strlen(cases[i].size)));
		buf_release(&out);
	}
}

static void test_output_show__cuts_no_characters(void **state)
{
	(void)state;
	for (size_t limit = 150; limit < 170; limit++) {
		struct buf out = flood("\xf0\x9f\x98\x80", 100, limit);
		const char *mark = memchr(out.data + 1, '\n', out.len - 1);
		size_t tail = out.len - (size_t)(mark + 1 - out.data);

		assert_int_equal(tail % 4, 0);
		if (tail > 0)
			assert_memory_equal(mark + 1, "\xf0\x9f\x98\x80", 4);
		buf_release(&out);
	}
}

static void test_output_show__bears_tiny_limits(void **state)
{
	static const struct {
		size_t limit;
		const char *text;
	} cases[] = {
		{1, "!"},
		{18, "!!!!!!!!!!!!!!!!!!"},
		{19, "[output truncated]\n"},
		{20, "[output truncated]\n"},
		{21, "[1000 bytes omitted]\n"},
		{60, "[1000 bytes omitted]\n"},
		{98, "[1000 bytes omitted]\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = flood("0123456789", 100, cases[i].limit);

		assert_int_equal(out.len, strlen(cases[i].text));
		assert_memory_equal(out.data, cases[i].text, out.len);
		buf_release(&out);
	}
}

static void test_output_set_limit__drops_what_is_beyond(void **state)
{
	struct output output;

	(void)state;
	output_init(&output, &all);
	for (int i = 0; i < 100; i++)
		output_add(&output, "0123456789", 10);
	output_set_limit(&output, 1000);
	assert_false(output_is_burst(&output));
	output_set_limit(&output, 500);
	assert_true(output_is_burst(&output));
	assert_int_equal(output.dropped, 500);
	output_set_limit(&output, 2000);
	take(&output, 21, "[1000 bytes omitted]\n");
	output_release(&output);
}

static void test_output_is_burst__from_4096_bytes_on(void **state)
{
	struct output output;
	char data[4095];

	(void)state;
	memset(data, 'x', sizeof(data));
	output_init(&output, &all);
	output_add(&output, data, sizeof(data));
	assert_false(output_is_burst(&output));
	output_add(&output, "y", 1);
	assert_true(output_is_burst(&output));
	output_release(&output);
}

static void test_output_add__keeps_memory_bounded(void **state)
{
	struct output output;
	char data[4096];

	(void)state;
	memset(data, '\xff', sizeof(data));
	output_init(&output, &all);
	output_set_limit(&output, 100000);
	for (int i = 0; i < 10000; i++) {
		output_add(&output, data, sizeof(data));
		assert_true(output.bytes.size + output.bytes.dropped < 400000);
	}
	assert_int_equal(output.dropped + output.bytes.len, 3ull * 4096 * 10000);
	output_release(&output);
}

static void test_output_add__has_to_do_with_little_when_others_have_much(void **state)
{
	struct output outputs[30];
	uint64_t said = 30ull * 12 << 20, kept = 0;
	char data[65536];

	(void)state;
	memset(data, 'x', sizeof(data));
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		output_init(&outputs[i], &all);
		for (int k = 0; k < 192; k++)
			output_add(&outputs[i], data, sizeof(data));
		assert_true(all.used <= all.max + i * 2 * OUTPUT_LEAST);
		assert_true(outputs[i].bytes.len >= OUTPUT_LEAST);
	}
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		kept += outputs[i].bytes.len + outputs[i].dropped;
		output_forget(&outputs[i]);
	}
	assert_int_equal(kept, said);
	/* what the others gave back is there for one who needs it */
	for (int k = 0; k < 64; k++)
		output_add(&outputs[29], data, sizeof(data));
	assert_int_equal(outputs[29].bytes.len, 4 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
		output_release(&outputs[i]);
	assert_int_equal(all.used, 0);
}

/* "Exceeded" is what was kept, not what would have been with more memory. */
static void test_output_show__tells_the_limit_that_there_was(void **state)
{
	struct memory_share few = {0, 128 << 10};
	struct buf text = BUF_INIT(1 << 20);
	struct output output;
	char data[65536];

	(void)state;
	memset(data, 'x', sizeof(data));
	output_init(&output, &few);
	for (int k = 0; k < 3; k++)
		output_add(&output, data, sizeof(data));
	assert_int_equal(output_show(&output, OUTPUT_LIMIT_DEFAULT, &text), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	assert_non_null(strstr(text.data, " output exceeded 64 KiB; "));
	text.len = 0;
	assert_int_equal(output_show(&output, 4096, &text), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	assert_non_null(strstr(text.data, " output exceeded 4 KiB; "));
	output_forget(&output);
	output_set_limit(&output, 4096);
	output_add(&output, data, 5000);
	text.len = 0;
	assert_int_equal(output_show(&output, OUTPUT_LIMIT_DEFAULT, &text), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	assert_null(strstr(text.data, " 64 KiB; "));
	output_release(&output);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal_strip__removes_what_the_protocol_names),
		cmocka_unit_test(test_terminal_strip__removes_nul),
		cmocka_unit_test(test_output_show__gives_everything_once),
		cmocka_unit_test(test_output_add__decodes_across_pieces),
		cmocka_unit_test(test_output_show__shows_notice_and_tail),
		cmocka_unit_test(test_output_show__names_sizes),
		cmocka_unit_test(test_output_show__cuts_no_characters),
		cmocka_unit_test(test_output_show__bears_tiny_limits),
		cmocka_unit_test(test_output_set_limit__drops_what_is_beyond),
		cmocka_unit_test(test_output_is_burst__from_4096_bytes_on),
		cmocka_unit_test(test_output_add__keeps_memory_bounded),
		cmocka_unit_test(test_output_add__has_to_do_with_little_when_others_have_much),
		cmocka_unit_test(test_output_show__tells_the_limit_that_there_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
