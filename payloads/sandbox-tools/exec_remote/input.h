/* SPDX-License-Identifier: MIT */
/*
 * A job's standard input: what it shall read waits here until it does. A reader that goes away is
 * no error; one that is slow when there are no means to wait for it finds an early end. Knows no
 * job.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_INPUT_H
#define PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_INPUT_H

#include "payloads/lib/loop.h"
#include "payloads/sandbox-tools/exec_remote/queue.h"

#define INPUT_MAX ((size_t)64 << 20) /* bytes that wait */

struct input {
	struct loop_watch watch; /* first, so that a watch is its input; fd -1 when closed */
	struct loop *loop;	 /* NULL: there never was a pipe */
	struct queue queue;
	bool watched;
	bool finished; /* no more will be added */
};

/* Takes over the writing end 'fd'. */
void input_open(struct input *input, struct loop *loop, int fd);
/* Can more be added? */
bool input_is_open(const struct input *input);
/* Makes ready what is to be added to an open input, by input_put, which cannot fail, or free(): 0,
   -ENOMEM, or -EMSGSIZE when too much waits already. */
int input_prepare(
	const struct input *input, const char *data, size_t len, struct queue_block **ret);
void input_put(struct input *input, struct queue_block *block);
/* Both at once. */
int input_add(struct input *input, const char *data, size_t len);
/* The end comes after what waits. */
void input_finish(struct input *input);
/* Closes it now. */
void input_close(struct input *input);

#endif
