/* SPDX-License-Identifier: MIT */
/* Memory that processes use together. It is theirs by fork(2), and one that was killed gives its
   part back by its parent. */
#ifndef PAYLOADS_SANDBOX_TOOLS_RUN_MEMORY_H
#define PAYLOADS_SANDBOX_TOOLS_RUN_MEMORY_H

#include <stddef.h>

#define RUNS_MAX 256	     /* commands at once */
#define RUNS_KEEPERS_MAX 512 /* processes that keep one, or hear what one has left behind */
#define RUNS_MEMORY_MAX ((size_t)256 << 20)

struct run_memory {
	size_t used, max;
	size_t held[RUNS_KEEPERS_MAX]; /* of 'used', by each */
};

/* One's own part. */
struct run_share {
	struct run_memory *all;
	size_t *held;
};

/* NULL: there is none to be had. */
struct run_memory *run_memory_open(void);
void run_memory_close(struct run_memory *memory);
/* 0, or -ENOMEM: all together would use too much. */
int run_share_take(const struct run_share *share, size_t size);
void run_share_give(const struct run_share *share);

#endif
