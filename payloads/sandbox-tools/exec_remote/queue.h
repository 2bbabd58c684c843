/* SPDX-License-Identifier: MIT */
/*
 * Bytes on their way, first in, first out. A list of blocks, so that memory follows the content:
 * 100 MiB can go in and out without one big allocation, and what is taken out is free again.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_QUEUE_H
#define PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_QUEUE_H

#include <stddef.h>

struct queue_block;

struct queue {
	struct queue_block *head, *tail;
	size_t len;
};

/* Room at the end, at least one byte, NULL without memory; the caller writes there and says how
   much it was with queue_added. */
char *queue_room(struct queue *queue, size_t *ret_size);
void queue_added(struct queue *queue, size_t len);
/* A copy of 'data' for queue_put, or for free(); NULL without memory. */
struct queue_block *queue_block(const void *data, size_t len);
void queue_put(struct queue *queue, struct queue_block *block);
/* The first bytes, as many as lie together; NULL when there are none. */
const char *queue_front(const struct queue *queue, size_t *ret_len);
void queue_drop(struct queue *queue, size_t len);
void queue_release(struct queue *queue);

#endif
