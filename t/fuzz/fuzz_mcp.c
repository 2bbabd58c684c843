/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a line of an MCP server. What is taken for a reply is ASCII JSON on one
   line, still the same reply when it is read again, and agrees with jansson about what is JSON. */
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/mcp/encoding.h"
#include "payloads/sandbox-tools/mcp/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ascii(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->data[i] < ' ' || (unsigned char)text->data[i] > '~')
			abort();
}

/* Whatever jansson reads, we read; and our copy is the same value. */
static void check_value(const char *text, size_t size)
{
	json_t *theirs = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL), *ours;
	struct buf copy = BUF_INIT(1 << 24);
	struct jsontext value;
	bool ok = jsontext_read(text, size, &value);

	/* to jansson a NUL is the end */
	if (theirs && !ok && size < JSONTEXT_DEPTH_MAX && !memchr(text, '\0', size))
		abort();
	if (ok) {
		if (jsontext_copy(&value, &copy) < 0)
			abort();
		check_ascii(&copy);
	}
	if (theirs && ok) {
		ours = json_loadb(copy.data, copy.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		if (!ours || !json_equal(ours, theirs))
			abort();
		json_decref(ours);
	}
	json_decref(theirs);
	buf_release(&copy);
}

static void check_message(const char *text, size_t size)
{
	struct buf once = BUF_INIT(1 << 24), twice = BUF_INIT(1 << 24), key = BUF_INIT(1 << 20);
	struct message message, again;

	message_read(text, size, &message);
	if (message.kind != MESSAGE_OTHER) {
		if (message_add_key(&message.id, &key) < 0 ||
			message_add_reply(&message, &once) < 0)
			abort();
		check_ascii(&once);
		message_read(once.data, once.len, &again);
		if (again.kind != message.kind || message_add_reply(&again, &twice) < 0 ||
			once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
			abort();
		twice.len = 0;
		if (message_add_request(&message.whole, &twice) < 0)
			abort();
	}
	buf_release(&once);
	buf_release(&twice);
	buf_release(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf decoded = BUF_INIT(1 << 24);
	struct fail fail = FAIL_INIT;
	char *text = malloc(size > 0 ? size : 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	if (size > 0)
		check_value(text, size);
	check_message(text, size);
	if (encoding_decode(ENCODING_UTF8, ENCODING_REPLACE, text, size, &decoded, &fail) < 0 ||
		!encoding_is_plain(ENCODING_UTF8, decoded.data ? decoded.data : "", decoded.len))
		abort();
	if (encoding_is_plain(ENCODING_UTF8, text, size) &&
		(decoded.len != size || (size > 0 && memcmp(decoded.data, text, size) != 0)))
		abort();
	buf_release(&decoded);
	free(text);
	return 0;
}
