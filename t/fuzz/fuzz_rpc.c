/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a request; one reply each, ASCII, and the request text is given back
   unchanged. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/rpc/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replies;

static void echo(struct rpc_call *call)
{
	rpc_call_result(call, call->req.params ? json_incref(call->req.params) : json_null());
}

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	json_t *doc;

	replies++;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '\177')
			abort();
	/* an id may be a number too large for the parser, everything else must parse */
	doc = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	if (!doc && len > 0 && rpc_find_number_id(text, len, &len) < 0)
		abort();
	json_decref(doc);
	rpc_request_release(&call->req);
}

static const struct rpc_method *find(const char *name, unsigned place)
{
	static const struct rpc_method methods[] = {
		{"m", RPC_IN_SERVER, echo},
		{"n", RPC_IN_SERVER | RPC_NO_PARAMS, echo},
		{NULL, 0, NULL},
	};

	return rpc_method_find(methods, name, place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_call call = {.deliver = deliver};
	char *text = malloc(size > 0 ? size : 1);

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	replies = 0;
	rpc_dispatch_text(find, RPC_IN_SERVER, &call, text, size);
	if (replies != 1 || (size > 0 && memcmp(text, data, size) != 0))
		abort();
	free(text);
	return 0;
}
