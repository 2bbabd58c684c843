/* SPDX-License-Identifier: MIT */
/*
 * Strict checking of named parameters against a table: no coercion, errors worded and collected as
 * protocol requires ("Invalid parameters: 'pid' Field required\n…").
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_RPC_PARAMS_H
#define PAYLOADS_SANDBOX_TOOLS_RPC_PARAMS_H

#include "payloads/sandbox-tools/rpc/rpc.h"

enum param_type {
	PARAM_STRING,
	PARAM_INTEGER,
	PARAM_NUMBER, /* an integer is one, too */
	PARAM_BOOLEAN,
	PARAM_TRUE,	  /* the literal true */
	PARAM_VERSION,	  /* the literal "2.0" */
	PARAM_HANDLER,	  /* "strict", "ignore" or "replace" */
	PARAM_ID,	  /* integer or string */
	PARAM_STRINGS,	  /* list of strings */
	PARAM_INTEGERS,	  /* list of integers */
	PARAM_STRING_MAP, /* object whose values are strings */
	PARAM_OBJECT,
	PARAM_USER, /* a name, or an identity: uid, gid, groups and maybe home; see user_choose() */
};

#define PARAMS_ERRORS_MAX 65536 /* errors beyond this are not reported */

enum param_presence {
	PARAM_REQUIRED,
	PARAM_OPTIONAL,	 /* absent or null are fine, and are the same */
	PARAM_DEFAULTED, /* absent is fine, null is not */
};

struct param {
	const char *name;
	enum param_type type;
	enum param_presence presence;
};

/*
 * Checks 'params' (NULL is the empty object) against a table ended by a NULL name. With 'strict'
 * unknown members are errors. `prefix` ("view." or "") stands before names in the messages. Appends
 * the messages, joined by newlines, to 'errors' (empty: all is well). 0 or -ENOMEM.
 */
int params_check(const json_t *params, const struct param *table, bool strict, const char *prefix,
	struct buf *errors);

/* After one or more checks, 'r' being what the last one returned: answers the call with -32602 when
   there are errors, or says that there was no memory. Releases 'errors'. True: go on. */
bool params_settle(struct rpc_call *call, struct buf *errors, int r);

/* params_check and params_settle for methods that need no more. */
bool params_accept(struct rpc_call *call, const struct param *table, bool strict);

#endif
