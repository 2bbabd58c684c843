/* SPDX-License-Identifier: MIT */
/* Envelopes: their size, their text. */
#include "payloads/sandbox-tools/chunk/envelope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "payloads/lib/base64.h"

#define HEAD                                                                                 \
	",\"__inspect_json_rpc_response_chunk__\":{"                                         \
	"\"version\":1,\"handle\":\"%.32s\",\"offset\":%" PRIu64 ",\"next_offset\":%" PRIu64 \
	",\"total_size\":%" PRIu64 ",\"done\":%s,\"chunk\":\""
#define START "{\"jsonrpc\":\"2.0\",\"id\":"
#define TAIL "\"}}"
#define HEAD_MAX 256

static int write_head(char text[HEAD_MAX], const struct envelope *e, size_t len)
{
	uint64_t next = e->offset + len;

	return snprintf(text, HEAD_MAX, HEAD, e->handle, e->offset, next, e->total,
		next == e->total ? "true" : "false");
}

/* Does the envelope with 'len' bytes, and a newline, fit? */
static bool fits(const struct envelope *e, size_t len, size_t limit)
{
	char head[HEAD_MAX];
	size_t fixed = strlen(START) + strlen(e->id) + strlen(TAIL) + 1;

	fixed += (size_t)write_head(head, e, len);
	return fixed <= limit && base64_size(len) <= limit - fixed;
}

size_t envelope_room(const struct envelope *e, size_t limit)
{
	uint64_t left = e->total - e->offset;
	size_t low = 0, high = left < ENVELOPE_BYTES_MAX ? (size_t)left : ENVELOPE_BYTES_MAX;

	/* "true" is shorter than "false", so the last piece can be one that fits where a
	   shorter one does not; below it, size only grows with length */
	if (fits(e, high, limit))
		return high;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (fits(e, middle, limit))
			low = middle;
		else
			high = middle;
	}
	return low;
}

int envelope_write(struct buf *out, const struct envelope *e, const void *data, size_t len)
{
	size_t start = out->len, size = base64_size(len);
	char head[HEAD_MAX];
	int r = buf_add_str(out, START);

	write_head(head, e, len);
	if (r == 0)
		r = buf_add_str(out, e->id);
	if (r == 0)
		r = buf_add_str(out, head);
	if (r == 0)
		r = buf_reserve(out, size);
	if (r == 0) {
		base64_encode(out->data + out->len, data, len);
		out->len += size;
		r = buf_add_str(out, TAIL);
	}
	if (r < 0)
		out->len = start;
	return r;
}

size_t envelope_parse_limit(const char *text, size_t otherwise)
{
	const size_t most = SIZE_MAX / 2;
	size_t value = 0;
	bool digit = false; /* the last character was one */

	text += strspn(text, " \t\n\r\v\f");
	if (*text == '+')
		text++;
	for (; (*text >= '0' && *text <= '9') || (*text == '_' && digit); text++) {
		digit = *text != '_';
		if (digit)
			value = value > most / 10 - 1 ? most : value * 10 + (size_t)(*text - '0');
	}
	text += strspn(text, " \t\n\r\v\f");
	return !digit || *text || value == 0 ? otherwise : value;
}
