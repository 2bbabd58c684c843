/* SPDX-License-Identifier: MIT */
#include "engine/frames.h"

#include <string.h>

enum { STREAM_STDOUT = 1, STREAM_SYSTEM = 3 };

static int begin_frame(struct eng_frames *frames, struct sb_err *err)
{
	const unsigned char *h = frames->head;

	if (h[0] > STREAM_SYSTEM || h[1] || h[2] || h[3])
		return sb_err_set(err, SB_NO_ENGINE,
			"the engine's exec stream is garbled (frame header %02x%02x%02x%02x)", h[0],
			h[1], h[2], h[3]);
	frames->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
	return 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* As much as belongs to the head of a frame; its last byte begins the frame. */
static int take_head(struct eng_frames *frames, const char *data, size_t len, size_t *ret_taken,
	struct sb_err *err)
{
	*ret_taken = least(sizeof(frames->head) - frames->head_len, len);
	memcpy(frames->head + frames->head_len, data, *ret_taken);
	frames->head_len += *ret_taken;
	if (frames->head_len < sizeof(frames->head))
		return 0;
	frames->head_len = 0;
	return begin_frame(frames, err);
}

int eng_frames_feed(struct eng_frames *frames, const char *data, size_t len, eng_frames_sink sink,
	void *ctx, struct sb_err *err)
{
	while (len) {
		size_t n = least(frames->left, len);

		if (n == 0) {
			if (take_head(frames, data, len, &n, err) < 0)
				return -1;
		} else {
			if (sink(ctx, frames->head[0] <= STREAM_STDOUT ? 1 : 2, data, n) < 0)
				return -1;
			frames->left -= (uint32_t)n;
		}
		data += n;
		len -= n;
	}
	return 0;
}

bool eng_frames_is_whole(const struct eng_frames *frames)
{
	return frames->left == 0 && frames->head_len == 0;
}
