/* SPDX-License-Identifier: MIT */
/* Foreign text for terminals: what is escaped, what stays, and how it is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/text.h"

static size_t char_at(const char *text)
{
	/* Without a NUL behind it, so that the sanitizer sees a read beyond the end. */
	char *copy = malloc(strlen(text) ? strlen(text) : 1);
	size_t n;

	assert_non_null(copy);
	memcpy(copy, text, strlen(text));
	n = sb_text_char(copy, strlen(text));
	free(copy);
	return n;
}

static void test_sb_text_char__measures_valid_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{"a", 1},
		{"~", 1},
		{" ", 1},
		{"\\", 1},
		{"\302\240", 2},
		{"\303\266", 2},
		{"\337\277", 2},
		{"\340\240\200", 3},
		{"\342\202\254", 3},
		{"\355\237\277", 3},
		{"\356\200\200", 3},
		{"\360\220\200\200", 4},
		{"\360\237\230\200", 4},
		{"\364\217\277\277", 4},
		{"ab", 1},
		{"\303\266x", 2},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		assert_int_equal(char_at(rows[i].text), rows[i].len);
}

static void test_sb_text_char__refuses_the_rest(void **state)
{
	static const char *const bad[] = {
		"", "\n", "\t", "\033", "\177", "\001",			/* controls */
		"\302\200", "\302\205", "\302\233", "\302\237",		/* C1 */
		"\200", "\277", "\300\200", "\301\277", "\376", "\377", /* never a first byte */
		"\302", "\342\202", "\360\237\230", "\303a", "\342\202a", "\342a\254",
		"\340\200\200", "\340\237\277", "\360\200\200\200",
		"\360\217\277\277",				/* overlong */
		"\355\240\200", "\355\277\277",			/* surrogates */
		"\364\220\200\200", "\365\200\200\200",		/* beyond U+10FFFF */
		"\342\200\213", "\342\200\216", "\342\200\217", /* zero width, LRM, RLM */
		"\342\200\250", "\342\200\251", "\342\200\252",
		"\342\200\256",			/* separators, bidi */
		"\342\201\246", "\342\201\251", /* isolates */
		"\357\273\277",			/* byte order mark */
		"\363\240\200\201",		/* tags */
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(bad); i++)
		assert_int_equal(char_at(bad[i]), 0);
	assert_int_equal(sb_text_char("\0", 1), 0);
}

static void test_sb_text_clean__escapes_byte_by_byte(void **state)
{
	static const struct {
		const char *src, *expected;
	} rows[] = {
		{"", ""},
		{"plain text", "plain text"},
		{"a\nb", "a\\x0ab"},
		{"\033[31m", "\\x1b[31m"},
		{"G\303\266del", "G\303\266del"},
		{"\377", "\\xff"},
		{"\342\200\256x", "\\xe2\\x80\\xaex"},
		{"\303", "\\xc3"},
		{"\303x", "\\xc3x"},
		{"\302\233", "\\xc2\\x9b"},
		{"%s%n", "%s%n"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		size_t n = sb_text_clean(out, sizeof(out), rows[i].src, strlen(rows[i].src));

		assert_string_equal(out, rows[i].expected);
		assert_int_equal(n, strlen(rows[i].expected));
	}
	assert_int_equal(sb_text_clean(out, sizeof(out), "a\0b", 3), 6);
	assert_string_equal(out, "a\\x00b");
}

static void test_sb_text_clean__cuts_between_characters(void **state)
{
	static const struct {
		const char *src;
		size_t size;
		const char *expected;
	} rows[] = {
		{"abcdef", 7, "abcdef"},
		{"abcdefg", 7, "abc..."},
		{"abcdef", 6, "ab..."},
		{"abc", 4, "abc"},
		{"abcd", 4, "..."},
		{"abcd", 3, ".."},
		{"abcd", 2, "."},
		{"abcd", 1, ""},
		{"", 1, ""},
		{"a", 1, ""},
		{"a", 2, "a"},
		{"ab", 3, "ab"},
		{"\303\266\303\266\303\266\303\266", 8, "\303\266\303\266..."},
		{"\303\266\303\266\303\266\303\266", 9, "\303\266\303\266\303\266\303\266"},
		{"\n\n", 9, "\\x0a\\x0a"},
		{"\n\n", 8, "\\x0a..."},
		{"\n\n", 7, "..."},
		{"ab\n", 6, "ab..."},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		size_t n;

		memset(out, 'x', sizeof(out));
		n = sb_text_clean(out, rows[i].size, rows[i].src, strlen(rows[i].src));
		assert_string_equal(out, rows[i].expected);
		assert_int_equal(n, strlen(rows[i].expected));
		for (size_t k = rows[i].size; k < sizeof(out); k++)
			assert_int_equal(out[k], 'x');
	}
	out[0] = 'x';
	assert_int_equal(sb_text_clean(out, 0, "abc", 3), 0);
	assert_int_equal(out[0], 'x');
}

/* What came out is clean and terminated, whatever goes in; and stays as it is a second time. */
static void test_sb_text_clean__is_clean_for_any_bytes(void **state)
{
	uint32_t seed = 1;
	char src[48], again[256];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len, size, n;
		char *out;

		for (size_t i = 0; i < sizeof(src); i++) {
			seed = seed * 1664525 + 1013904223;
			src[i] = (char)(seed >> 24);
			/* Often enough bytes that begin or go on with a character. */
			if ((seed & 0x300) == 0)
				src[i] = "\342\200\256\303\266\360\237a"[seed >> 16 & 7];
		}
		len = seed >> 8 & 31;
		size = 1 + (seed >> 16 & 63);
		out = malloc(size);
		assert_non_null(out);
		n = sb_text_clean(out, size, src, len);
		assert_true(n < size);
		assert_int_equal(strlen(out), n);
		for (size_t i = 0; i < n;) {
			size_t step = sb_text_char(out + i, n - i);

			assert_true(step > 0);
			i += step;
		}
		assert_int_equal(sb_text_clean(again, sizeof(again), out, n), n);
		assert_string_equal(again, out);
		free(out);
	}
}

static void test_sb_is_hex64__wants_64_lower_case_digits(void **state)
{
	static const char good[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	char text[66];

	(void)state;
	assert_true(sb_is_hex64(good));
	assert_false(sb_is_hex64(good + 1));
	assert_false(sb_is_hex64(""));
	snprintf(text, sizeof(text), "%s0", good);
	assert_false(sb_is_hex64(text));
	strcpy(text, good);
	text[63] = 'F';
	assert_false(sb_is_hex64(text));
	text[63] = 'g';
	assert_false(sb_is_hex64(text));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sb_text_char__measures_valid_utf8),
		cmocka_unit_test(test_sb_text_char__refuses_the_rest),
		cmocka_unit_test(test_sb_text_clean__escapes_byte_by_byte),
		cmocka_unit_test(test_sb_text_clean__cuts_between_characters),
		cmocka_unit_test(test_sb_text_clean__is_clean_for_any_bytes),
		cmocka_unit_test(test_sb_is_hex64__wants_64_lower_case_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
