/* SPDX-License-Identifier: MIT */
/* Numbered replies and their acknowledgement. */
#include "payloads/sandbox-tools/exec_remote/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the text of one reply ends. Empty replies need none. */
struct held_mark {
	int64_t seq;
	size_t end[2];
};

int held_prepare(struct held *held)
{
	size_t size = held->size ? 2 * held->size : 4;
	struct held_mark *marks;

	if (held->count < held->size)
		return 0;
	marks = realloc(held->marks, size * sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	held->marks = marks;
	held->size = size;
	return 0;
}

void held_count(struct held *held)
{
	struct held_mark mark = {++held->seq, {held->text[0].len, held->text[1].len}};
	const struct held_mark *last = held->count ? &held->marks[held->count - 1] : NULL;

	if (mark.end[0] > (last ? last->end[0] : 0) || mark.end[1] > (last ? last->end[1] : 0))
		held->marks[held->count++] = mark;
}

void held_acknowledge(struct held *held, int64_t seq)
{
	size_t n = 0, end[2];

	while (n < held->count && held->marks[n].seq <= seq)
		n++;
	if (n == 0)
		return;
	memcpy(end, held->marks[n - 1].end, sizeof(end));
	held->count -= n;
	memmove(held->marks, held->marks + n, held->count * sizeof(*held->marks));
	for (size_t i = 0; i < held->count; i++)
		for (int k = 0; k < 2; k++)
			held->marks[i].end[k] -= end[k];
	for (int k = 0; k < 2; k++)
		buf_drop(&held->text[k], end[k]);
}

void held_release(struct held *held)
{
	free(held->marks);
	buf_release(&held->text[0]);
	buf_release(&held->text[1]);
	held->marks = NULL;
	held->count = held->size = 0;
}
