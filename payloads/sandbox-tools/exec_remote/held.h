/* SPDX-License-Identifier: MIT */
/*
 * Text that was handed out but not acknowledged yet. Every reply has a number; it carries all text
 * of replies the client does not know, so that a lost reply is repaired by the next one.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_HELD_H
#define PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_HELD_H

#include <stdint.h>

#include "payloads/lib/buf.h"

struct held {
	int64_t seq;	    /* of the last reply */
	struct buf text[2]; /* stdout and stderr; new text is appended here, then counted */
	struct held_mark *marks;
	size_t count, size;
};

/* Makes room for one more reply, so that held_count cannot fail: 0 or -ENOMEM. */
int held_prepare(struct held *held);
/* What was appended to the texts since the last one is a reply now. */
void held_count(struct held *held);
/* The client knows all replies up to 'seq'. */
void held_acknowledge(struct held *held, int64_t seq);
void held_release(struct held *held);

#endif
