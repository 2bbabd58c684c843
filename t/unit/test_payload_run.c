/* SPDX-License-Identifier: MIT */
/* Commands over a pipe: what is counted, kept, encoded, and asked for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/base64.h"
#include "payloads/sandbox-tools/run/command.h"
#include "payloads/sandbox-tools/run/tail.h"

static void test_base64_decode__takes_what_base64_encode_writes(void **state)
{
	char bytes[259], text[400], back[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		base64_encode(text, bytes, len);
		assert_int_equal(base64_decode(back, text, base64_size(len)), len);
		assert_memory_equal(back, bytes, len);
		assert_int_equal(base64_decode(text, text, base64_size(len)), len);
		assert_memory_equal(text, bytes, len);
	}
}

static void test_base64_decode__refuses_all_else(void **state)
{
	static const char *const rows[] = {"A", "AA", "AAA", "AAAAA", "A===", "====", "=AAA",
		"AA=A", "AB==", "AAB=", "AA==AAAA", "AA =", "AAA\n", "AA-A", "AA_A", "AAA\xc3",
		"AAAA===="};
	char out[16];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(base64_decode(out, rows[i], strlen(rows[i])), -EINVAL);
}

/* Pieces of all lengths, against the same text in one. */
static void test_tail_add__keeps_the_last_bytes(void **state)
{
	static const size_t limits[] = {0, 1, 5, 4096, 5000, 100000};
	struct run_memory *memory = run_memory_open();
	char text[20000], got[20000];

	(void)state;
	assert_non_null(memory);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 31 + i / 256);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const struct run_share share = {memory, &memory->held[i]};
		struct tail tail = {.limit = limits[i], .share = &share};
		size_t at = 0, kept;

		for (size_t n = 0; at + n <= sizeof(text); at += n, n += 7) {
			assert_int_equal(tail_add(&tail, text + at, n), 0);
			assert_int_equal(tail.total, at + n);
			kept = tail_length(&tail);
			assert_int_equal(kept, at + n < limits[i] ? at + n : limits[i]);
			tail_copy(&tail, 0, got, kept);
			assert_memory_equal(got, text + at + n - kept, kept);
			tail_copy(&tail, kept / 2, got, kept - kept / 2);
			assert_memory_equal(got, text + at + n - kept + kept / 2, kept - kept / 2);
		}
		assert_true(memory->held[i] <= 2 * limits[i]);
		tail_release(&tail);
		run_share_give(&share);
	}
	assert_int_equal(memory->used, 0);
	run_memory_close(memory);
}

static void test_tail_add__takes_no_more_than_there_is(void **state)
{
	struct run_memory *memory = run_memory_open();
	const struct run_share shares[] = {{memory, &memory->held[0]}, {memory, &memory->held[1]}};
	struct tail tails[] = {
		{.limit = 1 << 20, .share = &shares[0]}, {.limit = 1 << 20, .share = &shares[1]}};
	static const char text[70000];

	(void)state;
	memory->max = 150000;
	assert_int_equal(tail_add(&tails[0], text, sizeof(text)), 0);
	assert_int_equal(tail_add(&tails[1], text, sizeof(text)), -ENOMEM);
	tail_release(&tails[0]);
	run_share_give(&shares[0]);
	assert_int_equal(tail_add(&tails[1], text, sizeof(text)), 0);
	tail_release(&tails[1]);
	run_share_give(&shares[1]);
	assert_int_equal(memory->used, 0);
	run_memory_close(memory);
}

static bool is_fine(const char *text)
{
	struct buf errors = BUF_INIT(4096);
	json_t *params = json_loads(text, 0, NULL);
	bool fine;

	assert_int_equal(command_check(params, &errors), 0);
	fine = errors.len == 0;
	buf_release(&errors);
	json_decref(params);
	return fine;
}

static void test_command_check__is_strict(void **state)
{
	(void)state;
	assert_true(is_fine("{\"argv\": [\"a\", \"\"]}"));
	assert_true(is_fine("{\"argv\": [\"a\"], \"cwd\": null, \"env\": null, \"user\": null, "
			    "\"input\": null, \"keep\": null}"));
	assert_true(is_fine("{\"argv\": [\"a\"], \"cwd\": \"/\", \"env\": {\"a\": \"b\"}, "
			    "\"user\": \"x\", \"input\": \"\", \"keep\": 16777216}"));
	assert_false(is_fine("{}"));
	assert_false(is_fine("{\"argv\": []}"));
	assert_false(is_fine("{\"argv\": [\"a\"], \"keep\": 16777217}"));
	assert_false(is_fine("{\"argv\": [\"a\"], \"keep\": 1.5}"));
	assert_false(is_fine("{\"argv\": [\"a\"], \"timeout\": 1}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64_decode__takes_what_base64_encode_writes),
		cmocka_unit_test(test_base64_decode__refuses_all_else),
		cmocka_unit_test(test_tail_add__keeps_the_last_bytes),
		cmocka_unit_test(test_tail_add__takes_no_more_than_there_is),
		cmocka_unit_test(test_command_check__is_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
