/* SPDX-License-Identifier: MIT */
/* From a request's text to a method of the table, and from its answer to the transport. */
#include "payloads/sandbox-tools/rpc/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "payloads/lib/frame.h"

#define ID_MAX 200 /* a longer one is not named where there is no memory */

const struct rpc_method *rpc_method_find(
	const struct rpc_method *table, const char *name, unsigned place)
{
	for (; name && table->name; table++)
		if ((table->flags & place) && strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static void deliver_no_memory(struct rpc_call *call)
{
	const char *id = call->req.id;
	char text[ID_MAX + 200];
	int len = snprintf(text, sizeof(text),
		"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": %d, \"message\": \"Internal error: reply "
		"does not fit into memory\"}, \"id\": %s}",
		RPC_INTERNAL_ERROR, id && strlen(id) <= ID_MAX ? id : "null");

	call->deliver(call, text, (size_t)len);
}

static void deliver(struct rpc_call *call, struct buf *out, int r)
{
	if (r < 0)
		deliver_no_memory(call);
	else
		call->deliver(call, out->data, out->len);
	buf_release(out);
}

int rpc_call_result(struct rpc_call *call, json_t *result)
{
	struct buf out = BUF_INIT(FRAME_REPLY_MAX);
	int r = 0;

	if (!result) {
		rpc_call_error(call, RPC_HANDLER_ERROR, "MemoryError()", NULL);
		return -ENOMEM;
	}
	if (call->req.id)
		r = rpc_write_result(&out, call->req.id, result);
	json_decref(result);
	deliver(call, &out, r);
	return r;
}

int rpc_call_result_text(
	struct rpc_call *call, int (*write)(struct buf *out, const void *arg), const void *arg)
{
	struct buf out = BUF_INIT(FRAME_REPLY_MAX);
	int r = 0;

	if (call->req.id) {
		r = buf_add_str(&out, "{\"jsonrpc\": \"2.0\", \"result\": ");
		if (r == 0)
			r = write(&out, arg);
		if (r == 0)
			r = buf_add_str(&out, ", \"id\": ");
		if (r == 0)
			r = buf_add_str(&out, call->req.id);
		if (r == 0)
			r = buf_add_str(&out, "}");
	}
	deliver(call, &out, r);
	return r;
}

void rpc_call_error(struct rpc_call *call, int code, const char *message, json_t *data)
{
	struct buf out = BUF_INIT(FRAME_REPLY_MAX);
	int r = 0;

	if (call->req.id)
		r = rpc_write_error(&out, call->req.id, code, message, data);
	json_decref(data);
	deliver(call, &out, r);
}

/* For a request that cannot be trusted to name its id: always answered, with id null. */
static void refuse(struct rpc_call *call, int code, const char *message, const char *data)
{
	struct buf out = BUF_INIT(FRAME_REPLY_MAX);
	json_t *text = json_string(data);
	int r = rpc_write_error(&out, NULL, code, message, text);

	json_decref(text);
	deliver(call, &out, r);
}

static void refuse_params(struct rpc_call *call)
{
	const char *name = json_object_iter_key(json_object_iter(call->req.params));

	if (json_is_array(call->req.params))
		rpc_call_error(call, RPC_INVALID_PARAMS, "Invalid params",
			json_string("too many positional arguments"));
	else
		rpc_call_error(call, RPC_INVALID_PARAMS, "Invalid params",
			json_sprintf("got an unexpected keyword argument '%s'", name ? name : ""));
}

/* Wherever the method runs, it is not asked. */
static void refuse_flaw(rpc_finder *find, struct rpc_call *call)
{
	const struct rpc_method *method = find(call->req.method, RPC_IN_PROCESS | RPC_IN_SERVER);
	bool is_tool = method && (method->flags & RPC_TOOL);

	rpc_call_error(call, is_tool ? RPC_TOOL_FAILURE : RPC_HANDLER_ERROR, call->req.flaw, NULL);
}

void rpc_dispatch(rpc_finder *find, unsigned place, struct rpc_call *call)
{
	const struct rpc_method *method;

	if (!rpc_request_is_valid(&call->req)) {
		refuse(call, RPC_INVALID_REQUEST, "Invalid request",
			"The request failed schema validation");
		return;
	}
	if (call->req.flaw) {
		refuse_flaw(find, call);
		return;
	}
	method = find(call->req.method, place);
	if (!method) {
		rpc_call_error(call, RPC_METHOD_NOT_FOUND, "Method not found",
			json_incref(json_object_get(call->req.doc, "method")));
		return;
	}
	if (json_array_size(call->req.params) > 0 ||
		((method->flags & RPC_NO_PARAMS) && json_object_size(call->req.params) > 0)) {
		refuse_params(call);
		return;
	}
	method->run(call);
}

void rpc_dispatch_text(
	rpc_finder *find, unsigned place, struct rpc_call *call, char *text, size_t len)
{
	struct fail fail = FAIL_INIT;

	if (rpc_request_read(&call->req, text, len, &fail) < 0)
		refuse(call, RPC_PARSE_ERROR, "Parse error", fail.text);
	else
		rpc_dispatch(find, place, call);
}
