/* SPDX-License-Identifier: MIT */
/* Envelopes: they never exceed the limit, waste none of it, and put together are the reply. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/chunk/chunk.h"

#define HANDLE "0123456789abcdef0123456789abcdef"

static size_t decode(const char *text, unsigned char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;

	assert_int_equal(strlen(text) % 4, 0);
	for (; *text; text += 4) {
		unsigned bits = 0;

		for (int i = 0; i < 4; i++) {
			const char *d = text[i] == '=' ? digits : strchr(digits, text[i]);

			assert_non_null(d);
			bits = bits << 6 | (unsigned)(d - digits);
		}
		out[n++] = (unsigned char)(bits >> 16);
		if (text[2] != '=')
			out[n++] = (unsigned char)(bits >> 8);
		if (text[3] != '=')
			out[n++] = (unsigned char)bits;
	}
	return n;
}

/* Writes one envelope and checks everything in it; the bytes it carries. */
static size_t check_one(
	const struct envelope *e, size_t limit, const unsigned char *text, struct buf *out)
{
	size_t room = envelope_room(e, limit), n;
	json_t *doc, *chunk;
	unsigned char *got;

	if (room == 0)
		return 0;
	out->len = 0;
	assert_int_equal(envelope_write(out, e, text + e->offset, room), 0);
	assert_true(out->len + 1 <= limit);
	assert_true(room <= ENVELOPE_BYTES_MAX && room <= e->total - e->offset);
	doc = json_loadb(out->data, out->len, 0, NULL);
	assert_non_null(doc);
	chunk = json_object_get(doc, CHUNK_METHOD);
	assert_int_equal(json_integer_value(json_object_get(chunk, "version")), 1);
	assert_string_equal(json_string_value(json_object_get(chunk, "handle")), HANDLE);
	assert_int_equal(json_integer_value(json_object_get(chunk, "offset")), e->offset);
	assert_int_equal(
		json_integer_value(json_object_get(chunk, "next_offset")), e->offset + room);
	assert_int_equal(json_integer_value(json_object_get(chunk, "total_size")), e->total);
	assert_int_equal(
		json_is_true(json_object_get(chunk, "done")), e->offset + room == e->total);
	got = malloc(room + 3);
	assert_non_null(got);
	n = decode(json_string_value(json_object_get(chunk, "chunk")), got);
	assert_int_equal(n, room);
	assert_memory_equal(got, text + e->offset, n);
	free(got);
	json_decref(doc);
	/* one more byte would not have fitted */
	if (room < ENVELOPE_BYTES_MAX && room < e->total - e->offset) {
		out->len = 0;
		assert_int_equal(envelope_write(out, e, text + e->offset, room + 1), 0);
		assert_true(out->len + 1 > limit);
	}
	return room;
}

static void test_envelope__reassembles_within_every_limit(void **state)
{
	enum { TOTAL = 3000 };
	static unsigned char text[TOTAL];
	struct buf out = BUF_INIT(1 << 20);

	(void)state;
	for (size_t i = 0; i < TOTAL; i++)
		text[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t limit = 0; limit < 700; limit++) {
		struct envelope e = {"\"id\"", HANDLE, 0, TOTAL};

		while (e.offset < e.total) {
			size_t n = check_one(&e, limit, text, &out);

			if (n == 0) {
				assert_true(limit < 230);
				break;
			}
			e.offset += n;
		}
	}
	buf_release(&out);
}

static void test_envelope__carries_no_more_than_its_maximum(void **state)
{
	size_t total = 2 * ENVELOPE_BYTES_MAX + 5;
	unsigned char *text = calloc(1, total);
	struct envelope e = {"1", HANDLE, 0, total};
	struct buf out = BUF_INIT(1 << 22);

	(void)state;
	assert_non_null(text);
	assert_int_equal(check_one(&e, 10485760, text, &out), ENVELOPE_BYTES_MAX);
	e.offset = 2 * ENVELOPE_BYTES_MAX;
	assert_int_equal(check_one(&e, 10485760, text, &out), 5);
	free(text);
	buf_release(&out);
}

static void test_envelope_parse_limit__is_lenient(void **state)
{
	static const struct {
		const char *text;
		size_t want;
	} rows[] = {
		{"512", 512},
		{" 512\n", 512},
		{"+5", 5},
		{"1_000", 1000},
		{"007", 7},
		{"", 9},
		{" ", 9},
		{"0", 9},
		{"-5", 9},
		{"x", 9},
		{"5x", 9},
		{"1__0", 9},
		{"_1", 9},
		{"1_", 9},
		{"1.5", 9},
		{"1 0", 9},
		{"99999999999999999999999", SIZE_MAX / 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(envelope_parse_limit(rows[i].text, 9), rows[i].want);
}

static void test_chunk_is_needed__leaves_small_and_anonymous_replies_alone(void **state)
{
	static const char text[] =
		"{\"jsonrpc\": \"2.0\", \"result\": \"xxxxxxxxxxxx\", \"id\": 7}";
	struct chunk chunk = {.limit = sizeof(text) - 1, .wanted = true};

	(void)state;
	assert_true(chunk_is_needed(&chunk, "7", text, sizeof(text) - 1));
	assert_false(chunk_is_needed(&chunk, NULL, text, sizeof(text) - 1));
	assert_false(chunk_is_needed(&chunk, "null", text, sizeof(text) - 1));
	assert_false(chunk_is_needed(&chunk, "8", text, sizeof(text) - 1));
	assert_false(chunk_is_needed(&chunk, "17", text, sizeof(text) - 1));
	chunk.limit++;
	assert_false(chunk_is_needed(&chunk, "7", text, sizeof(text) - 1));
	chunk = (struct chunk){.limit = 1};
	assert_false(chunk_is_needed(&chunk, "7", text, sizeof(text) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_envelope__reassembles_within_every_limit),
		cmocka_unit_test(test_envelope__carries_no_more_than_its_maximum),
		cmocka_unit_test(test_envelope_parse_limit__is_lenient),
		cmocka_unit_test(test_chunk_is_needed__leaves_small_and_anonymous_replies_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
