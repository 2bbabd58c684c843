/* SPDX-License-Identifier: MIT */
/* A list of blocks of bytes. */
#include "payloads/sandbox-tools/exec_remote/queue.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 4096 /* most commands say little */
#define BLOCK_SIZE 65536

struct queue_block {
	struct queue_block *next;
	size_t start, end, size;
	char data[];
};

static struct queue_block *new_block(size_t size)
{
	struct queue_block *block = malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	block->next = NULL;
	block->start = block->end = 0;
	block->size = size;
	return block;
}

struct queue_block *queue_block(const void *data, size_t len)
{
	struct queue_block *block = new_block(len);

	if (!block)
		return NULL;
	memcpy(block->data, data, len);
	block->end = len;
	return block;
}

void queue_put(struct queue *queue, struct queue_block *block)
{
	if (queue->tail)
		queue->tail->next = block;
	else
		queue->head = block;
	queue->tail = block;
	queue->len += block->end;
}

char *queue_room(struct queue *queue, size_t *ret_size)
{
	struct queue_block *block = queue->tail;

	if (!block || block->end == block->size) {
		block = new_block(block ? BLOCK_SIZE : FIRST_SIZE);
		if (!block)
			return NULL;
		queue_put(queue, block);
	}
	*ret_size = block->size - block->end;
	return block->data + block->end;
}

void queue_added(struct queue *queue, size_t len)
{
	queue->tail->end += len;
	queue->len += len;
}

const char *queue_front(const struct queue *queue, size_t *ret_len)
{
	const struct queue_block *block = queue->head;

	while (block && block->start == block->end)
		block = block->next;
	*ret_len = block ? block->end - block->start : 0;
	return block ? block->data + block->start : NULL;
}

void queue_drop(struct queue *queue, size_t len)
{
	queue->len -= len;
	while (queue->head) {
		struct queue_block *block = queue->head;
		size_t n = block->end - block->start;

		if (n > len) {
			block->start += len;
			return;
		}
		/* used up, but perhaps with room: worth keeping only while there is more to come,
		   which nobody knows */
		len -= n;
		queue->head = block->next;
		if (!queue->head)
			queue->tail = NULL;
		free(block);
	}
}

void queue_release(struct queue *queue)
{
	queue_drop(queue, queue->len);
}
