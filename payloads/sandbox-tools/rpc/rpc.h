/* SPDX-License-Identifier: MIT */
/*
 * JSON-RPC 2.0: requests in, replies out, and the table of methods between them. Knows no tool, no
 * socket and no process: a transport hands text in and gets text back through a function.
 *
 * Limits: JSON nesting 1000; numbers outside jansson's range are errors except in 'id', which is
 * echoed as it was written, whatever its size, and in what a method only hands on. Strings may
 * contain U+0000, names of members not.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_RPC_RPC_H
#define PAYLOADS_SANDBOX_TOOLS_RPC_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_SERVER_ERROR = -32000,
	RPC_NOT_STARTED = -32011,  /* of a command: nothing was done, as it would not be the same */
	RPC_TOOL_FAILURE = -32099, /* expected, shown to the model */
	RPC_HANDLER_ERROR = -32098, /* anything else that went wrong in a handler */
};

/* ---- requests ---- */

struct rpc_request {
	json_t *doc;	    /* owned; the others borrow from it */
	const char *method; /* NULL unless it is a string without U+0000 */
	json_t *params;	    /* NULL when absent */
	char *id;	    /* owned JSON token to echo; NULL for a notification */
	/* The request as it was written, for methods that pass a part of it on. Borrowed from who
	   had it read: in a method, valid only until that returns. */
	const char *text;
	size_t len;
	/* What in 'params' is JSON but cannot be used; NULL if all is well. It has been replaced
	   there, so the request may only be answered, not carried out. A number that is too large
	   is no flaw: it is the largest that can be held. */
	const char *flaw;
};

#define RPC_REQUEST_INIT                              \
	{                                             \
		NULL, NULL, NULL, NULL, NULL, 0, NULL \
	}

/* Reads one JSON document. 'text' is written to during the call and restored. 0, or -1 with 'fail':
   not JSON, or out of memory. Checks nothing else; fields of the wrong type are left NULL. */
int rpc_request_read(struct rpc_request *req, char *text, size_t len, struct fail *fail);
/* What a command checks before it passes a request on: an object, "2.0", a method name, params
   absent, null, array or object. 0, or -1 with 'fail'. */
int rpc_request_check_outline(const struct rpc_request *req, struct fail *fail);
/* What a dispatcher demands: no other members, no null params, id a string, number or null. */
bool rpc_request_is_valid(const struct rpc_request *req);
/* Frees everything inside; the request is then empty. */
void rpc_request_release(struct rpc_request *req);

/* Offset of the last top-level "id" value in 'text' if that value is a number (its length in
 *ret_len), else -1. Safe on any bytes. */
ssize_t rpc_find_number_id(const char *text, size_t len, size_t *ret_len);

/* ---- replies: ASCII JSON in one line, without the newline; 0 or -ENOMEM/-EMSGSIZE ---- */

/* 'id' is a JSON token, NULL for null; 'result' and 'data' are borrowed, 'data' may be NULL. */
int rpc_write_result(struct buf *out, const char *id, const json_t *result);
int rpc_write_error(
	struct buf *out, const char *id, int code, const char *message, const json_t *data);

/* ---- methods ---- */

/* One request being worked on. The transport allocates it and embeds it where it likes; the method
   answers exactly once with one of rpc_call_*, now or from a later event. */
struct rpc_call {
	struct rpc_request req;
	void *host;	/* what the process offers its methods: the server, or NULL in a command */
	bool abandoned; /* set by the transport: nobody waits for the answer any more */
	/* The transport's half: called exactly once; 'text' is empty for a notification. The
	   call is the transport's to free from then on. */
	void (*deliver)(struct rpc_call *call, const char *text, size_t len);
};

enum rpc_method_flags {
	RPC_IN_PROCESS = 1 << 0, /* answered by the command itself */
	RPC_IN_SERVER = 1 << 1,	 /* answered by the server */
	RPC_NO_PARAMS = 1 << 2,	 /* named parameters are refused; otherwise the method decides */
	RPC_TOOL = 1 << 3,	 /* a flaw in its parameters is a failure of the tool */
};

struct rpc_method {
	const char *name; /* NULL ends a table */
	unsigned flags;
	void (*run)(struct rpc_call *call);
};

/* The entry of 'name' that runs at 'place' (RPC_IN_PROCESS or RPC_IN_SERVER), or NULL. */
const struct rpc_method *rpc_method_find(
	const struct rpc_method *table, const char *name, unsigned place);
/* The same over all that there are; the caller's. */
typedef const struct rpc_method *rpc_finder(const char *name, unsigned place);
/* Checks and runs the request of a call, which has host and deliver set, too. */
void rpc_dispatch(rpc_finder *find, unsigned place, struct rpc_call *call);
/* The same for one that has to be read first. */
void rpc_dispatch_text(
	rpc_finder *find, unsigned place, struct rpc_call *call, char *text, size_t len);
/* Answers. 'result' and 'data' are stolen, NULL 'result' means out of memory. Less than 0: there
   was no memory for the result, and the answer was an error. */
int rpc_call_result(struct rpc_call *call, json_t *result);
/* The same with a result that is text already: 'write' appends ASCII JSON without newlines, and
   returns 0 or -errno. Not called for a notification. */
int rpc_call_result_text(
	struct rpc_call *call, int (*write)(struct buf *out, const void *arg), const void *arg);
void rpc_call_error(struct rpc_call *call, int code, const char *message, json_t *data);
/* The code that goes with a failure: RPC_INVALID_PARAMS for FAIL_PARAMS,
   RPC_TOOL_FAILURE for FAIL_TOOL, RPC_HANDLER_ERROR for any other and none. */
int rpc_code_of(const struct fail *fail);

#endif
