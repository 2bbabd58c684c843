/* SPDX-License-Identifier: MIT */
/* Deadlines on the monotonic clock, in milliseconds. */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

enum { SB_NEVER = -1 };

static inline int64_t sb_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The moment `timeout_ms` from now; SB_NEVER for 0 or less. */
static inline int64_t sb_deadline(int timeout_ms)
{
	return timeout_ms > 0 ? sb_now_ms() + timeout_ms : SB_NEVER;
}

/* What is left until the deadline, at most `cap` (>= 0): 0 when it has passed. */
static inline int sb_left_ms(int64_t deadline, int cap)
{
	int64_t left;

	if (deadline == SB_NEVER)
		return cap;
	left = deadline - sb_now_ms();
	return left <= 0 ? 0 : left > cap ? cap : (int)left;
}

static inline void sb_sleep_ms(int ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&pause, NULL);
}

#endif
