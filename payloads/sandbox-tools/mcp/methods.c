/* SPDX-License-Identifier: MIT */
/* From mcp_* calls to sessions: unpacks and checks parameters, keeps the tool's state in the
 * server.
 */
#include "payloads/sandbox-tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/mcp/controller.h"
#include "payloads/sandbox-tools/mcp/launch.h"
#include "payloads/sandbox-tools/mcp/session.h"
#include "payloads/sandbox-tools/rpc/params.h"
#include "payloads/sandbox-tools/server/server.h"

/* ---- the tool's state in the server ---- */

static void *open_state(struct server *server)
{
	return mcp_open(&server->loop, server->children);
}

static void stop_state(void *state)
{
	mcp_stop(state);
}

static void close_state(void *state)
{
	mcp_close(state);
}

/* ---- parameters ---- */

/* Appends one message on a line of its own. */
static int complain(struct buf *errors, const char *text)
{
	int r = errors->len > 0 ? buf_add_str(errors, "\n") : 0;

	return r < 0 ? r : buf_add_str(errors, text);
}

/* The object 'name' of the params, its members checked against a table. 'type' is its name for
   messages. */
static int check_object(const json_t *params, const char *name, const char *type,
	const struct param *table, struct buf *errors)
{
	const json_t *object = json_object_get(params, name);
	char text[160];

	if (json_is_object(object)) {
		snprintf(text, sizeof(text), "%s.", name);
		return params_check(object, table, false, text, errors);
	}
	if (!object)
		snprintf(text, sizeof(text), "'%s' Field required", name);
	else
		snprintf(text, sizeof(text),
			"'%s' Input should be a valid dictionary or instance of %s", name, type);
	return complain(errors, text);
}

static const struct param session_params[] = {
	{"session_id", PARAM_INTEGER, PARAM_REQUIRED},
	{NULL, 0, PARAM_REQUIRED},
};

static const struct param request_params[] = {
	{"jsonrpc", PARAM_VERSION, PARAM_REQUIRED},
	{"id", PARAM_ID, PARAM_REQUIRED},
	{"method", PARAM_STRING, PARAM_REQUIRED},
	{"params", PARAM_OBJECT, PARAM_OPTIONAL},
	{NULL, 0, PARAM_REQUIRED},
};

static const struct param notification_params[] = {
	{"jsonrpc", PARAM_VERSION, PARAM_REQUIRED},
	{"method", PARAM_STRING, PARAM_REQUIRED},
	{"params", PARAM_OBJECT, PARAM_OPTIONAL},
	{NULL, 0, PARAM_REQUIRED},
};

/* Finds the session of a checked call; NULL, and the call is answered, when there is none. */
static struct mcp_session *session_of(struct rpc_call *call, struct mcp *mcp)
{
	json_int_t id = json_integer_value(json_object_get(call->req.params, "session_id"));
	struct mcp_session *session = mcp_find(mcp, id);
	char text[64];

	if (!session) {
		snprintf(text, sizeof(text), "KeyError(%lld)", (long long)id);
		rpc_call_error(call, RPC_HANDLER_ERROR, text, NULL);
	}
	return session;
}

/* ---- methods ---- */

/* Works out what to launch, launches it, and answers. */
static void launch(struct rpc_call *call, struct mcp *mcp)
{
	const json_t *params = json_object_get(call->req.params, "server_params");
	struct mcp_launch launch = {0};
	struct fail fail = FAIL_INIT;
	struct user user;
	char text[160];
	int64_t id;
	int r = user_choose(json_object_get(call->req.params, "user"), &user, &fail);

	if (r >= 0)
		r = mcp_launch_read(&launch, params, r > 0 ? &user : NULL, &fail);
	if (r < 0) {
		mcp_skip_id(mcp);
		rpc_call_error(call, rpc_code_of(&fail), fail.text, NULL);
	} else if ((r = mcp_launch(mcp, &launch, &id)) < 0) {
		child_error_text(-r, text, sizeof(text));
		rpc_call_error(call, RPC_HANDLER_ERROR, text, NULL);
	} else {
		rpc_call_result(call, json_integer(id));
	}
	mcp_launch_release(&launch);
}

static void launch_server(struct rpc_call *call)
{
	static const struct param outer[] = {
		{"server_params", PARAM_OBJECT, PARAM_REQUIRED},
		{"user", PARAM_USER, PARAM_OPTIONAL},
		{NULL, 0, PARAM_REQUIRED},
	};
	static const struct param table[] = {
		{"command", PARAM_STRING, PARAM_REQUIRED},
		{"args", PARAM_STRINGS, PARAM_DEFAULTED},
		{"env", PARAM_STRING_MAP, PARAM_OPTIONAL},
		{"cwd", PARAM_STRING, PARAM_OPTIONAL},
		{"encoding", PARAM_STRING, PARAM_DEFAULTED},
		{"encoding_error_handler", PARAM_HANDLER, PARAM_DEFAULTED},
		{NULL, 0, PARAM_REQUIRED},
	};
	const json_t *params = json_object_get(call->req.params, "server_params");
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	struct mcp *mcp;
	int r = params_check(call->req.params, outer, true, "", &errors);

	if (r == 0 && json_is_object(params))
		r = params_check(params, table, false, "server_params.", &errors);
	if (params_settle(call, &errors, r) && (mcp = server_tool(call, &tool_mcp)))
		launch(call, mcp);
}

/* The member of params as it was written. */
static bool find_text(const struct rpc_call *call, const char *name, struct jsontext *ret)
{
	struct jsontext whole, params;

	if (!jsontext_read(call->req.text, call->req.len, &whole))
		return false;
	params = jsontext_get(&whole, "params");
	*ret = jsontext_get(&params, name);
	return ret->kind == JSONTEXT_OBJECT;
}

static void pass_on(struct rpc_call *call, const char *name, const char *type,
	const struct param *table,
	void (*pass)(struct mcp_session *, struct rpc_call *, const struct jsontext *))
{
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	struct mcp_session *session;
	struct jsontext text;
	struct mcp *mcp;
	int r = params_check(call->req.params, session_params, false, "", &errors);

	if (r == 0)
		r = check_object(call->req.params, name, type, table, &errors);
	if (!params_settle(call, &errors, r) || !(mcp = server_tool(call, &tool_mcp)) ||
		!(session = session_of(call, mcp)))
		return;
	if (find_text(call, name, &text))
		pass(session, call, &text);
	else
		rpc_call_error(call, RPC_INVALID_PARAMS,
			"Invalid parameters: the message is nested too deeply", NULL);
}

static void send_request(struct rpc_call *call)
{
	pass_on(call, "request", "JSONRPCRequest", request_params, mcp_session_request);
}

static void send_notification(struct rpc_call *call)
{
	pass_on(call, "notification", "JSONRPCNotification", notification_params,
		mcp_session_notify);
}

static void kill_server(struct rpc_call *call)
{
	struct mcp_session *session;
	struct mcp *mcp;

	if (!params_accept(call, session_params, false) || !(mcp = server_tool(call, &tool_mcp)) ||
		!(session = session_of(call, mcp)))
		return;
	mcp_kill(mcp, session, call);
}

static const struct rpc_method methods[] = {
	{"mcp_launch_server", RPC_IN_SERVER, launch_server},
	{"mcp_send_request", RPC_IN_SERVER, send_request},
	{"mcp_send_notification", RPC_IN_SERVER, send_notification},
	{"mcp_kill_server", RPC_IN_SERVER, kill_server},
	{NULL, 0, NULL},
};

const struct tool tool_mcp = {
	.methods = methods,
	.open = open_state,
	.stop = stop_state,
	.close = close_state,
};
