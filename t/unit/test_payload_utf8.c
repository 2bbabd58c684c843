/* SPDX-License-Identifier: MIT */
/* Incremental decoding: whatever the pieces, the same text. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/utf8.h"

#define R "\xef\xbf\xbd"

/* Decodes in pieces of 'step' bytes. */
static void decode(const char *in, size_t len, size_t step, struct buf *out)
{
	struct utf8 utf8 = {{0}, 0};

	for (size_t at = 0; at < len; at += step)
		assert_int_equal(
			utf8_decode(&utf8, in + at, len - at < step ? len - at : step, false, out),
			0);
	assert_int_equal(utf8_decode(&utf8, "", 0, true, out), 0);
	assert_int_equal(utf8.len, 0);
}

static void test_utf8_decode__gives_the_same_for_any_pieces(void **state)
{
	/* expectations: Python 3, bytes.decode("utf-8", "replace") */
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"", ""},
		{"plain\n", "plain\n"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"},
		{"\xff", R},
		{"a\x80\x80z", "a" R R "z"},
		{"\xc0\xaf", R R},
		{"\xc3", R},
		{"\xc3(", R "("},
		{"\xe2\x82", R},
		{"\xe2\x82z", R "z"},
		{"\xe2\x82\xe2\x82\xac", R "\xe2\x82\xac"},
		{"\xe0\x80\x80", R R R},
		{"\xed\xa0\x80", R R R},
		{"\xed\x9f\xbf", "\xed\x9f\xbf"},
		{"\xf0\x9f\x98", R},
		{"\xf0\x9f\x98z", R "z"},
		{"\xf0\x80\x80\x80", R R R R},
		{"\xf4\x90\x80\x80", R R R R},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf5\x80", R R},
		{"\xf0\x9f\xf0\x9f\x98\x80", R "\xf0\x9f\x98\x80"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t step = 1; step < 6; step++) {
			struct buf out = BUF_INIT(1000);

			decode(cases[i].in, strlen(cases[i].in), step, &out);
			assert_int_equal(out.len, strlen(cases[i].out));
			assert_memory_equal(out.data ? out.data : "", cases[i].out, out.len);
			buf_release(&out);
		}
}

static void test_utf8_decode__keeps_nul(void **state)
{
	struct buf out = BUF_INIT(1000);

	(void)state;
	decode("a\0b", 3, 2, &out);
	assert_int_equal(out.len, 3);
	assert_memory_equal(out.data, "a\0b", 3);
	buf_release(&out);
}

static void test_utf8_decode__changes_nothing_when_it_fails(void **state)
{
	struct utf8 utf8 = {{0}, 0};
	struct buf out = BUF_INIT(8);

	(void)state;
	assert_int_equal(utf8_decode(&utf8, "abc\xe2", 4, false, &out), 0);
	assert_int_equal(utf8_decode(&utf8, "\x82\xac 1234567", 10, false, &out), -EMSGSIZE);
	assert_int_equal(utf8.len, 1);
	assert_int_equal(out.len, 3);
	assert_int_equal(utf8_decode(&utf8, "\x82\xac", 2, false, &out), 0);
	assert_memory_equal(out.data, "abc\xe2\x82\xac", 6);
	buf_release(&out);
}

/* Is it what a strict decoder accepts? */
static bool is_valid(const char *data, size_t len)
{
	struct utf8 utf8 = {{0}, 0};
	struct buf out = BUF_INIT(1000);
	bool same;

	utf8_decode(&utf8, data, len, true, &out);
	same = out.len == len && memcmp(out.data ? out.data : "", data, len) == 0;
	buf_release(&out);
	return same;
}

static void test_utf8_decode__makes_valid_text_of_anything(void **state)
{
	static const char bytes[] =
		"\x00\x41\x80\x8f\x90\x9f\xa0\xbf\xc0\xc2\xe0\xe2\xed\xf0\xf4\xf5";
	unsigned seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct buf out = BUF_INIT(1000), whole = BUF_INIT(1000);
		char in[12];

		for (size_t k = 0; k < sizeof(in); k++)
			in[k] = bytes[rand_r(&seed) % (sizeof(bytes) - 1)];
		decode(in, sizeof(in), 1 + (size_t)i % 5, &out);
		decode(in, sizeof(in), sizeof(in), &whole);
		assert_true(is_valid(out.data, out.len));
		assert_int_equal(out.len, whole.len);
		assert_memory_equal(out.data, whole.data, out.len);
		buf_release(&out);
		buf_release(&whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8_decode__gives_the_same_for_any_pieces),
		cmocka_unit_test(test_utf8_decode__keeps_nul),
		cmocka_unit_test(test_utf8_decode__changes_nothing_when_it_fails),
		cmocka_unit_test(test_utf8_decode__makes_valid_text_of_anything),
	};

	return cmocka_run_group_tests_name("payload_utf8", tests, NULL, NULL);
}
