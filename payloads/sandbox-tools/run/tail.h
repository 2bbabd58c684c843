/* SPDX-License-Identifier: MIT */
/* The last bytes of a stream, and how many there were in all. */
#ifndef PAYLOADS_SANDBOX_TOOLS_RUN_TAIL_H
#define PAYLOADS_SANDBOX_TOOLS_RUN_TAIL_H

#include <stdint.h>

#include "payloads/sandbox-tools/run/memory.h"

struct tail {
	size_t limit; /* how many are kept */
	uint64_t total;
	/* private */
	const struct run_share *share;
	char *data; /* byte number n is at n % limit */
	size_t size;
};

/* 0 or -ENOMEM, and then nothing more is kept. */
int tail_add(struct tail *tail, const char *data, size_t len);
/* How many there are. */
size_t tail_length(const struct tail *tail);
/* Copies 'len' of them, from the one that 'offset' others come before. */
void tail_copy(const struct tail *tail, size_t offset, char *to, size_t len);
/* Its memory stays counted. */
void tail_release(struct tail *tail);

#endif
