/* SPDX-License-Identifier: MIT */
/*
 * Output of a shell that nobody has read yet: valid UTF-8, only its last bytes, and how many are
 * missing before them. When the output of all shells together is too much, a shell that writes more
 * keeps little of it. Pure.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_OUTPUT_H
#define PAYLOADS_SANDBOX_TOOLS_BASH_SESSION_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/memory.h"
#include "payloads/lib/utf8.h"

#define OUTPUT_LIMIT_DEFAULT ((size_t)10 << 20)
#define OUTPUT_LIMIT_MAX ((size_t)64 << 20) /* more is not kept, whatever is asked for */
#define OUTPUT_BURST 4096		    /* a reader gets so much at once */
#define OUTPUT_LEAST ((size_t)64 << 10)	    /* what each may keep when all together use too much */

struct output {
	struct buf bytes;	  /* may hold more than the limit; only its end counts then */
	struct memory_share *all; /* memory; borrowed */
	size_t counted;		  /* in there */
	size_t limit;
	uint64_t dropped;
	struct utf8 utf8;
};

/* What 'all' has used begins at 0. */
void output_init(struct output *output, struct memory_share *all);
void output_release(struct output *output);
/* What there is beyond the last 'limit' bytes is dropped, now and from now on. */
void output_set_limit(struct output *output, size_t limit);
/* Takes bytes from the terminal. What there is no memory for counts as dropped. */
void output_add(struct output *output, const char *data, size_t len);
bool output_is_empty(const struct output *output);
/* Is it so much that a reader should have it at once? */
bool output_is_burst(const struct output *output);
/* Appends all as a reader with that limit gets it: the text, or a notice and the tail of it, in
   'limit' bytes at most. 0 or -ENOMEM. */
int output_show(struct output *output, size_t limit, struct buf *out);
/* What was shown has been passed on. */
void output_forget(struct output *output);

#endif
