/* SPDX-License-Identifier: MIT */
/* Writing replies: ASCII only, so that they pass any provider unharmed. */
#include "payloads/sandbox-tools/rpc/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	if (fail->code && strcmp(fail->code, "params") == 0)
		return RPC_INVALID_PARAMS;
	if (fail->code && strcmp(fail->code, "tool") == 0)
		return RPC_TOOL_FAILURE;
	return RPC_HANDLER_ERROR;
}

int rpc_write_error(
	struct buf *out, const char *id, int code, const char *message, const json_t *data)
{
	size_t start = out->len;
	json_t *text = json_string(message);
	char head[64];
	int r;

	snprintf(head, sizeof(head), "{\"jsonrpc\": \"2.0\", \"error\": {\"code\": %d, ", code);
	r = buf_add_str(out, head);
	if (r == 0)
		r = buf_add_str(out, "\"message\": ");
	if (r == 0)
		r = text ? add_json(out, text) : buf_add_str(out, "\"unprintable message\"");
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
	json_decref(text);
	return r;
}
