/* SPDX-License-Identifier: MIT */
/* The frames of an exec's output, however they are cut, and what is not a frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/buf.h"
#include "engine/frames.h"

struct seen {
	struct sb_buf text[2]; /* of stream 1 and 2 */
	size_t pieces;
	size_t stop_after; /* pieces; 0: never */
};

#define SEEN_INIT                                                  \
	{                                                          \
		{SB_BUF_INIT(1 << 20), SB_BUF_INIT(1 << 20)}, 0, 0 \
	}

static void seen_release(struct seen *seen)
{
	sb_buf_release(&seen->text[0]);
	sb_buf_release(&seen->text[1]);
}

static int take(void *ctx, int stream, const char *data, size_t len)
{
	struct seen *seen = ctx;
	struct sb_err err = SB_ERR_INIT;

	assert_in_range(stream, 1, 2);
	assert_int_not_equal(len, 0);
	assert_int_equal(sb_buf_add(&seen->text[stream - 1], data, len, &err), 0);
	seen->pieces++;
	return seen->stop_after && seen->pieces >= seen->stop_after ? -1 : 0;
}

/* Feed from memory of exactly that size, so that the sanitizer sees a read beyond the end. */
static int feed(struct eng_frames *frames, const char *data, size_t len, struct seen *seen,
	struct sb_err *err)
{
	sb_autofree char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	return eng_frames_feed(frames, copy, len, take, seen, err);
}

static const char mixed[] = "\1\0\0\0\0\0\0\5hello"
			    "\2\0\0\0\0\0\0\3err"
			    "\1\0\0\0\0\0\0\0"
			    "\0\0\0\0\0\0\0\1,"
			    "\2\0\0\0\0\0\0\0"
			    "\3\0\0\0\0\0\0\4oops"
			    "\1\0\0\0\0\0\0\6 world";

static void assert_mixed(const struct seen *seen)
{
	assert_string_equal(sb_buf_str(&seen->text[0]), "hello, world");
	assert_string_equal(sb_buf_str(&seen->text[1]), "erroops");
}

static void test_eng_frames_feed__takes_a_split_at_every_position(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < sizeof(mixed); cut++) {
		sb_auto(seen_release) struct seen seen = SEEN_INIT;
		struct eng_frames frames = ENG_FRAMES_INIT;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(feed(&frames, mixed, cut, &seen, &err), 0);
		assert_int_equal(
			feed(&frames, mixed + cut, sizeof(mixed) - 1 - cut, &seen, &err), 0);
		assert_mixed(&seen);
		assert_int_equal(err.code, SB_OK);
	}
}

static void test_eng_frames_feed__takes_pieces_of_every_size(void **state)
{
	(void)state;
	for (size_t step = 1; step < sizeof(mixed); step++) {
		sb_auto(seen_release) struct seen seen = SEEN_INIT;
		struct eng_frames frames = ENG_FRAMES_INIT;
		struct sb_err err = SB_ERR_INIT;

		for (size_t at = 0; at < sizeof(mixed) - 1; at += step) {
			size_t left = sizeof(mixed) - 1 - at;

			assert_int_equal(
				feed(&frames, mixed + at, left < step ? left : step, &seen, &err),
				0);
		}
		assert_mixed(&seen);
	}
}

static void test_eng_frames_feed__maps_stream_ids(void **state)
{
	(void)state;
	for (int id = 0; id < 256; id++) {
		sb_auto(seen_release) struct seen seen = SEEN_INIT;
		struct eng_frames frames = ENG_FRAMES_INIT;
		struct sb_err err = SB_ERR_INIT;
		char frame[] = "\0\0\0\0\0\0\0\1x";
		int rc;

		frame[0] = (char)id;
		rc = feed(&frames, frame, sizeof(frame) - 1, &seen, &err);
		if (id > 3) {
			assert_int_equal(rc, -1);
			assert_int_equal(err.code, SB_NO_ENGINE);
			assert_int_equal(seen.pieces, 0);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_string_equal(sb_buf_str(&seen.text[id > 1]), "x");
		assert_string_equal(sb_buf_str(&seen.text[id <= 1]), "");
	}
}

static void test_eng_frames_feed__refuses_padding_that_is_not_zero(void **state)
{
	(void)state;
	for (size_t at = 1; at < 4; at++)
		for (unsigned value = 1; value < 256; value += 127) {
			sb_auto(seen_release) struct seen seen = SEEN_INIT;
			struct eng_frames frames = ENG_FRAMES_INIT;
			struct sb_err err = SB_ERR_INIT;
			char frame[] = "\1\0\0\0\0\0\0\1x";

			frame[at] = (char)value;
			assert_int_equal(feed(&frames, frame, sizeof(frame) - 1, &seen, &err), -1);
			assert_int_equal(err.code, SB_NO_ENGINE);
			assert_non_null(strstr(err.text, "garbled"));
			assert_int_equal(seen.pieces, 0);
		}
}

/* What the engine sends instead of frames: a text of its own, or the start of a next HTTP reply. */
static void test_eng_frames_feed__refuses_plain_text(void **state)
{
	static const char *const texts[] = {"OCI runtime exec failed: ...", "HTTP/1.1 200 OK\r\n",
		"{\"message\":\"x\"}", "\377\377\377\377\377\377\377\377"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		sb_auto(seen_release) struct seen seen = SEEN_INIT;
		struct eng_frames frames = ENG_FRAMES_INIT;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(feed(&frames, texts[i], 7, &seen, &err), 0);
		assert_int_equal(feed(&frames, texts[i] + 7, 1, &seen, &err), -1);
		assert_int_equal(err.code, SB_NO_ENGINE);
	}
}

static void test_eng_frames_feed__passes_what_comes_of_a_huge_frame(void **state)
{
	sb_auto(seen_release) struct seen seen = SEEN_INIT;
	struct eng_frames frames = ENG_FRAMES_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(feed(&frames, "\1\0\0\0\377\377\377\377abc", 11, &seen, &err), 0);
	assert_string_equal(sb_buf_str(&seen.text[0]), "abc");
	assert_int_equal(frames.left, UINT32_MAX - 3);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(feed(&frames, "\7\7\7\7\7\7\7\7", 8, &seen, &err), 0);
	assert_int_equal(frames.left, UINT32_MAX - 3 - 8000);
	assert_int_equal(seen.text[0].len, 8003);
}

static void test_eng_frames_feed__stops_when_the_sink_says_so(void **state)
{
	sb_auto(seen_release) struct seen seen = SEEN_INIT;
	struct eng_frames frames = ENG_FRAMES_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	seen.stop_after = 2;
	assert_int_equal(feed(&frames, mixed, sizeof(mixed) - 1, &seen, &err), -1);
	assert_int_equal(seen.pieces, 2);
	assert_string_equal(sb_buf_str(&seen.text[0]), "hello");
	assert_string_equal(sb_buf_str(&seen.text[1]), "err");
}

static void test_eng_frames_feed__takes_nothing(void **state)
{
	struct eng_frames frames = ENG_FRAMES_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(eng_frames_feed(&frames, "", 0, take, NULL, &err), 0);
	assert_int_equal(frames.head_len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_frames_feed__takes_a_split_at_every_position),
		cmocka_unit_test(test_eng_frames_feed__takes_pieces_of_every_size),
		cmocka_unit_test(test_eng_frames_feed__maps_stream_ids),
		cmocka_unit_test(test_eng_frames_feed__refuses_padding_that_is_not_zero),
		cmocka_unit_test(test_eng_frames_feed__refuses_plain_text),
		cmocka_unit_test(test_eng_frames_feed__passes_what_comes_of_a_huge_frame),
		cmocka_unit_test(test_eng_frames_feed__stops_when_the_sink_says_so),
		cmocka_unit_test(test_eng_frames_feed__takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
