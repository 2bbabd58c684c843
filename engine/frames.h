/* SPDX-License-Identifier: MIT */
/*
 * The frames in which an engine mixes an exec's stdout and stderr. Pure: bytes in, pieces out,
 * however they are split. Never allocates the length that a frame announces.
 */
#ifndef ENGINE_FRAMES_H
#define ENGINE_FRAMES_H

#include "engine/err.h"

#include <stdbool.h>
#include <stdint.h>

struct eng_frames {
	unsigned char head[8];
	size_t head_len;
	uint32_t left; /* of the current frame's payload */
};

#define ENG_FRAMES_INIT   \
	{                 \
		{0}, 0, 0 \
	}

/* A piece of stream 1 (stdout) or 2 (stderr and the engine's own messages). Return < 0 to stop. */
typedef int (*eng_frames_sink)(void *ctx, int stream, const char *data, size_t len);

/* A header that no engine writes is an SB_NO_ENGINE error. */
int eng_frames_feed(struct eng_frames *frames, const char *data, size_t len, eng_frames_sink sink,
	void *ctx, struct sb_err *err) sb_must_check;

/* Whether what was fed ends between two frames; a stream that ends elsewhere was cut off. */
bool eng_frames_is_whole(const struct eng_frames *frames);

#endif
