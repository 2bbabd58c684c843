/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes from a terminal, in pieces and under any limit; what comes out is short
   enough, UTF-8 without control characters, and the same however it was cut. First two bytes:
   limit; third: size of the pieces. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/bash_session/output.h"
#include "payloads/sandbox-tools/bash_session/terminal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct buf shown(const uint8_t *data, size_t size, size_t limit, size_t piece)
{
	struct buf out = BUF_INIT(1 << 24);
	struct output output;
	struct memory_share all = {0, 256 << 20};

	output_init(&output, &all);
	output_set_limit(&output, limit);
	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		char *copy = malloc(len);

		if (!copy)
			abort();
		memcpy(copy, data + at, len);
		output_add(&output, copy, len);
		free(copy);
	}
	if (output_show(&output, limit, &out) < 0 || out.len > limit)
		abort();
	output_release(&output);
	out.len = out.len > 0 ? terminal_strip(out.data, out.len) : 0;
	return out;
}

static void check(const struct buf *text)
{
	struct buf again = BUF_INIT(1 << 24);
	struct utf8 utf8 = {.len = 0};

	for (size_t i = 0; i < text->len; i++)
		if (((unsigned char)text->data[i] < ' ' && !memchr("\t\n\r", text->data[i], 3)) ||
			text->data[i] == '\177')
			abort();
	if (text->len > 0 &&
		(utf8_decode(&utf8, text->data, text->len, true, &again) < 0 ||
			again.len != text->len || memcmp(again.data, text->data, text->len) != 0))
		abort();
	buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf a, b;
	size_t limit;

	if (size < 3)
		return 0;
	limit = 1 + data[0] + 256u * (data[1] & 15);
	a = shown(data + 3, size - 3, limit, 1 + data[2]);
	b = shown(data + 3, size - 3, limit, size);
	check(&a);
	if (a.len != b.len || (a.len > 0 && memcmp(a.data, b.data, a.len) != 0))
		abort();
	buf_release(&a);
	buf_release(&b);
	return 0;
}
