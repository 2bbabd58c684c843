/* SPDX-License-Identifier: MIT */
/* A ring that grows until it is full. */
#include "payloads/sandbox-tools/run/tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 4096

/* Room for so many bytes, or for as many as are kept. It has not come round yet. */
static int grow(struct tail *tail, uint64_t wanted)
{
	size_t size = tail->size ? tail->size : LEAST;
	char *data;

	if (wanted > tail->limit)
		wanted = tail->limit;
	if (wanted <= tail->size)
		return 0;
	while (size < wanted)
		size *= 2;
	if (size > tail->limit)
		size = tail->limit;
	if (run_share_take(tail->share, size - tail->size) < 0)
		return -ENOMEM;
	data = realloc(tail->data, size);
	if (!data)
		return -ENOMEM;
	tail->data = data;
	tail->size = size;
	return 0;
}

int tail_add(struct tail *tail, const char *data, size_t len)
{
	if (tail->limit == 0) {
		tail->total += len;
		return 0;
	}
	if (grow(tail, tail->total + len) < 0)
		return -ENOMEM;
	if (len > tail->limit) {
		tail->total += len - tail->limit;
		data += len - tail->limit;
		len = tail->limit;
	}
	while (len > 0) {
		size_t at = (size_t)(tail->total % tail->limit), part = tail->limit - at;

		if (part > len)
			part = len;
		memcpy(tail->data + at, data, part);
		tail->total += part;
		data += part;
		len -= part;
	}
	return 0;
}

size_t tail_length(const struct tail *tail)
{
	return tail->total < tail->limit ? (size_t)tail->total : tail->limit;
}

void tail_copy(const struct tail *tail, size_t offset, char *to, size_t len)
{
	uint64_t number = tail->total - tail_length(tail) + offset;

	while (len > 0) {
		size_t at = (size_t)(number % tail->limit), part = tail->limit - at;

		if (part > len)
			part = len;
		memcpy(to, tail->data + at, part);
		number += part;
		to += part;
		len -= part;
	}
}

void tail_release(struct tail *tail)
{
	free(tail->data);
	tail->data = NULL;
	tail->size = 0;
}
