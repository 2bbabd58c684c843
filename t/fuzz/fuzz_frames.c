/* SPDX-License-Identifier: MIT */
/* Any bytes as an exec's output, fed whole and cut in pieces: both must give the same. */
#include "engine/buf.h"
#include "engine/frames.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct sb_buf text[2];
};

static int take(void *ctx, int stream, const char *data, size_t len)
{
	struct seen *seen = ctx;
	struct sb_err err = SB_ERR_INIT;

	if ((stream != 1 && stream != 2) || len == 0)
		abort();
	return sb_buf_add(&seen->text[stream - 1], data, len, &err);
}

static int feed(const char *data, size_t len, size_t step, struct seen *seen)
{
	struct eng_frames frames = ENG_FRAMES_INIT;
	struct sb_err err = SB_ERR_INIT;

	for (size_t at = 0; at < len; at += step) {
		size_t n = len - at < step ? len - at : step;

		if (eng_frames_feed(&frames, data + at, n, take, seen, &err) < 0) {
			if (err.code != SB_NO_ENGINE || !err.text[0])
				abort();
			return -1;
		}
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = {{SB_BUF_INIT(1 << 20), SB_BUF_INIT(1 << 20)}};
	struct seen cut = {{SB_BUF_INIT(1 << 20), SB_BUF_INIT(1 << 20)}};

	/* The first byte says how large the pieces are. */
	if (size > 1) {
		size_t step = data[0] % 64 + 1;
		const char *bytes = (const char *)data + 1;

		if (feed(bytes, size - 1, size, &whole) != feed(bytes, size - 1, step, &cut))
			abort();
		for (int i = 0; i < 2; i++)
			if (whole.text[i].len != cut.text[i].len ||
				memcmp(sb_buf_str(&whole.text[i]), sb_buf_str(&cut.text[i]),
					cut.text[i].len) != 0)
				abort();
	}
	for (int i = 0; i < 2; i++) {
		sb_buf_release(&whole.text[i]);
		sb_buf_release(&cut.text[i]);
	}
	return 0;
}
