/* SPDX-License-Identifier: MIT */
/* libFuzzer: any reply under any limit comes out whole, in envelopes within the limit; any number
   in the environment is a limit above zero. */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/chunk/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HANDLE "0123456789abcdef0123456789abcdef"

static void need(int truth)
{
	if (!truth)
		abort();
}

static size_t decode(const char *text, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, have = 0;
	size_t n = 0;

	for (; *text && *text != '='; text++) {
		const char *digit = strchr(digits, *text);

		need(digit != NULL);
		bits = bits << 6 | (unsigned)(digit - digits);
		have += 6;
		if (have >= 8)
			out[n++] = (char)(bits >> (have -= 8));
	}
	return n;
}

/* The bytes one envelope carries, checked; 0 if the limit leaves no room. */
static size_t take_one(const struct envelope *e, size_t limit, const char *text, char *got)
{
	struct buf out = BUF_INIT(1 << 20);
	size_t room = envelope_room(e, limit);
	json_t *doc, *chunk;

	if (room == 0)
		return 0;
	need(room <= e->total - e->offset && room <= ENVELOPE_BYTES_MAX);
	need(envelope_write(&out, e, text + e->offset, room) == 0);
	need(out.len < limit);
	doc = json_loadb(out.data, out.len, 0, NULL);
	need(doc != NULL);
	chunk = json_object_get(doc, "__inspect_json_rpc_response_chunk__");
	need(json_object_size(chunk) == 7);
	need(decode(json_string_value(json_object_get(chunk, "chunk")), got) == room);
	need(memcmp(got, text + e->offset, room) == 0);
	json_decref(doc);
	buf_release(&out);
	return room;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct envelope e = {"7", HANDLE, 0, 0};
	char number[32] = "", *text, *got;
	size_t limit;

	if (size < 3)
		return 0;
	memcpy(number, data + 2, size - 2 < 31 ? size - 2 : 31);
	need(envelope_parse_limit(number, 65536) > 0);
	limit = (size_t)data[0] << 8 | data[1];
	e.total = size - 2;
	text = malloc(size);
	got = malloc(size + 3);
	need(text && got);
	memcpy(text, data + 2, size - 2);
	while (e.offset < e.total) {
		size_t n = take_one(&e, limit, text, got);

		/* no room is only an answer at small limits */
		need(n > 0 || limit < 300);
		if (n == 0)
			break;
		e.offset += n;
	}
	free(text);
	free(got);
	return 0;
}
