/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes, in pieces, as UTF-8 and as frames. What is decoded is UTF-8, the same
   however it was cut, and nothing has changed when there is no room; in quotes it is what jansson
   makes of it; what is found in a stream of frames is what was put there. First byte: size of the
   pieces; second: room. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/quote.h"
#include "payloads/lib/utf8.h"
#include "payloads/sandbox-tools/text_editor/chars.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int truth)
{
	if (!truth)
		abort();
}

/* In memory of its own, so that one byte too far is noticed. */
static char *copy_of(const uint8_t *data, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	need(copy != NULL);
	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}

/* ---- quoting ---- */

/* Valid text in quotes is ASCII, and jansson's own spelling of the same text. */
static void check_quote(const struct buf *text, size_t room)
{
	json_t *value = json_stringn(text->len > 0 ? text->data : "", text->len);
	char *wanted = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	struct buf out = BUF_INIT(1 << 24), small = BUF_INIT(room);
	int r;

	need(value && wanted && quote_add(&out, text->data, text->len) == 0);
	need(out.len == strlen(wanted) && memcmp(out.data, wanted, out.len) == 0);
	json_decref(value);
	value = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	need(json_string_length(value) == text->len &&
		memcmp(json_string_value(value), text->data, text->len) == 0);
	r = quote_add(&small, text->data, text->len);
	need((r == 0) == (out.len <= room) && (r == 0 || small.len == 0));
	json_decref(value);
	free(wanted);
	buf_release(&out);
	buf_release(&small);
}

/* ---- UTF-8 ---- */

static struct buf decoded(const uint8_t *data, size_t size, size_t piece)
{
	struct buf out = BUF_INIT(1 << 24);
	struct utf8 utf8 = {.len = 0};

	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		char *copy = copy_of(data + at, len);

		need(utf8_decode(&utf8, copy, len, at + len == size, &out) == 0);
		free(copy);
	}
	return out;
}

static bool is_utf8(const char *data, size_t len)
{
	struct chars chars = {0, 0, 0};
	int r = 0;

	for (size_t i = 0; i < len && r >= 0; i++)
		r = chars_step(&chars, (unsigned char)data[i]);
	return r >= 0 && chars.need == 0;
}

static void check_room(const uint8_t *data, size_t size, size_t room, size_t wanted)
{
	struct buf out = BUF_INIT(room);
	struct utf8 utf8 = {.len = 0}, before = utf8;
	char *copy = copy_of(data, size);
	int r = utf8_decode(&utf8, copy, size, true, &out);

	need((r == 0) == (wanted <= room));
	need(r == 0 || (out.len == 0 && memcmp(&utf8, &before, sizeof(utf8)) == 0));
	free(copy);
	buf_release(&out);
}

static void check_utf8(const uint8_t *data, size_t size, size_t piece, size_t room)
{
	struct buf whole = decoded(data, size, size), pieces = decoded(data, size, piece);

	need(is_utf8(whole.data, whole.len));
	need(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
	need(is_utf8((const char *)data, size) ==
		(whole.len == size && memcmp(whole.data, data, size) == 0));
	check_room(data, size, room, whole.len);
	check_quote(&whole, room);
	buf_release(&whole);
	buf_release(&pieces);
}

/* ---- frames ---- */

static void check_frames(const uint8_t *data, size_t size, size_t piece, size_t max)
{
	struct buf in = BUF_INIT(1 << 24), again = BUF_INIT(1 << 24);
	struct frame frame;
	int r = 0;

	for (size_t at = 0; at < size && r >= 0; at += piece) {
		need(buf_add(&in, data + at, size - at < piece ? size - at : piece) == 0);
		while ((r = frame_find(&in, max, &frame)) > 0) {
			need(frame.len <= max && frame.len + FRAME_HEAD_SIZE <= in.len);
			need(frame_add(&again, frame.tag, frame.data, frame.len) == 0);
			buf_drop(&in, FRAME_HEAD_SIZE + frame.len);
		}
	}
	need(again.len <= size && (again.len == 0 || memcmp(again.data, data, again.len) == 0));
	need(r < 0 || again.len + in.len == size);
	buf_release(&in);
	buf_release(&again);
}

static void check_hello(const uint8_t *data, size_t size)
{
	uint8_t hello[FRAME_HELLO_SIZE];
	uint32_t pid;

	if (size < sizeof(hello) || frame_check_hello(data, &pid) < 0)
		return;
	frame_put_hello(hello, pid);
	need(memcmp(hello, data, sizeof(hello)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece, room;

	if (size < 3)
		return 0;
	piece = data[0] + 1u;
	room = data[1];
	check_utf8(data + 2, size - 2, piece, room);
	check_frames(data + 2, size - 2, piece, room);
	check_hello(data + 2, size - 2);
	return 0;
}
