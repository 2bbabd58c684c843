/* SPDX-License-Identifier: MIT */
/* Writing replies: ASCII only, so that they pass any provider unharmed. */
#include "payloads/sandbox-tools/rpc/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "payloads/lib/quote.h"
#include "payloads/lib/utf8.h"

#define STYLE (JSON_ENCODE_ANY | JSON_ENSURE_ASCII)

static int add_piece(const char *data, size_t len, void *out)
{
	return buf_add(out, data, len) < 0 ? -1 : 0;
}

/* -EMSGSIZE cannot be told from -ENOMEM through jansson's callback; both mean "cannot be sent". */
static int add_json(struct buf *out, const json_t *value)
{
	return json_dump_callback(value, add_piece, out, STYLE) < 0 ? -ENOMEM : 0;
}

static int add_id(struct buf *out, const char *id)
{
	int r = buf_add_str(out, ", \"id\": ");

	if (r == 0)
		r = buf_add_str(out, id ? id : "null");
	return r < 0 ? r : buf_add_str(out, "}");
}

int rpc_write_result(struct buf *out, const char *id, const json_t *result)
{
	size_t start = out->len;
	int r = buf_add_str(out, "{\"jsonrpc\": \"2.0\", \"result\": ");

	if (r == 0)
		r = add_json(out, result);
	if (r == 0)
		r = add_id(out, id);
	if (r < 0)
		out->len = start;
	return r;
}

int rpc_code_of(const struct fail *fail)
{
	if (fail->code == FAIL_PARAMS)
		return RPC_INVALID_PARAMS;
	if (fail->code == FAIL_TOOL)
		return RPC_TOOL_FAILURE;
	return RPC_HANDLER_ERROR;
}

/* What is no UTF-8 in it is cut off from something else, and no reason to say nothing. */
static int add_message(struct buf *out, const char *message)
{
	size_t len = strlen(message);
	struct buf text = BUF_INIT(3 * len);
	struct utf8 utf8 = {.len = 0};
	int r = utf8_decode(&utf8, message, len, true, &text);

	if (r == 0)
		r = quote_add(out, text.data, text.len);
	buf_release(&text);
	return r;
}

int rpc_write_error(
	struct buf *out, const char *id, int code, const char *message, const json_t *data)
{
	size_t start = out->len;
	char head[64];
	int r;

	snprintf(head, sizeof(head), "{\"jsonrpc\": \"2.0\", \"error\": {\"code\": %d, ", code);
	r = buf_add_str(out, head);
	if (r == 0)
		r = buf_add_str(out, "\"message\": ");
	if (r == 0)
		r = add_message(out, message);
	if (r == 0 && data) {
		r = buf_add_str(out, ", \"data\": ");
		if (r == 0)
			r = add_json(out, data);
	}
	if (r == 0)
		r = buf_add_str(out, "}");
	if (r == 0)
		r = add_id(out, id);
	if (r < 0)
		out->len = start;
	return r;
}
