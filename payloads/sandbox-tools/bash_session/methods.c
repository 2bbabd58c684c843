/* SPDX-License-Identifier: MIT */
/* From bash_session calls to sessions: unpacks and checks parameters, keeps the tool's state in the
   server. */
#include "payloads/sandbox-tools/tools.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/memory.h"
#include "payloads/sandbox-tools/bash_session/controller.h"
#include "payloads/sandbox-tools/bash_session/session.h"
#include "payloads/sandbox-tools/rpc/params.h"
#include "payloads/sandbox-tools/server/server.h"

/* ---- the tool's state in the server ---- */

static void *open_state(struct server *server)
{
	return bash_open(&server->loop, server->children, memory_limit());
}

static void stop_state(void *state)
{
	bash_stop(state);
}

static void close_state(void *state)
{
	bash_close(state);
}

/* ---- new session ---- */

static const struct param new_session_params[] = {
	{"user", PARAM_USER, PARAM_OPTIONAL},
	{NULL, 0, PARAM_REQUIRED},
};

static void new_session(struct rpc_call *call)
{
	const struct bash_session *session;
	struct fail fail = FAIL_INIT;
	struct user user;
	struct bash *bash;
	int r;

	if (!params_accept(call, new_session_params, true) ||
		!(bash = server_tool(call, &tool_bash_session)))
		return;
	r = user_choose(json_object_get(call->req.params, "user"), &user, &fail);
	if (r > 0 && user.unknown)
		r = fail_set(
			&fail, "RuntimeError(\"User %s not found in /etc/passwd\")", user.shown);
	session = r < 0 ? NULL : bash_new_session(bash, r > 0 ? &user : NULL, &fail);
	if (session)
		rpc_call_result(call, json_pack("{s:s}", "session_name", session->name));
	else
		rpc_call_error(call, rpc_code_of(&fail), fail.text, NULL);
}

/* ---- interact or restart ---- */

static const struct param interact_params[] = {
	{"session_name", PARAM_STRING, PARAM_REQUIRED},
	{"wait_for_output", PARAM_INTEGER, PARAM_REQUIRED},
	{"idle_timeout", PARAM_NUMBER, PARAM_REQUIRED},
	{"max_output_bytes", PARAM_INTEGER, PARAM_OPTIONAL},
	{"input", PARAM_STRING, PARAM_OPTIONAL},
	{NULL, 0, PARAM_REQUIRED},
};

static const struct param restart_params[] = {
	{"session_name", PARAM_STRING, PARAM_REQUIRED},
	{"restart", PARAM_TRUE, PARAM_REQUIRED},
	{NULL, 0, PARAM_REQUIRED},
};

/* Seconds to what a timer takes; not at all before now. */
static int milliseconds(double seconds)
{
	if (!(seconds > 0))
		return 0;
	return seconds >= INT_MAX / 1000 ? INT_MAX : (int)(seconds * 1000 + 0.5);
}

static void interact(struct rpc_call *call, struct bash_session *session)
{
	const json_t *params = call->req.params, *input = json_object_get(params, "input");
	json_int_t limit = json_integer_value(json_object_get(params, "max_output_bytes"));
	struct bash_request request = {
		.input = json_string_value(input),
		.input_len = json_string_length(input),
		.wait_ms =
			milliseconds(json_number_value(json_object_get(params, "wait_for_output"))),
		.idle_ms = milliseconds(json_number_value(json_object_get(params, "idle_timeout"))),
		.limit = OUTPUT_LIMIT_DEFAULT,
	};

	if (limit > 0)
		request.limit =
			limit < (json_int_t)OUTPUT_LIMIT_MAX ? (size_t)limit : OUTPUT_LIMIT_MAX;
	bash_session_interact(session, call, &request);
}

static void restart(struct rpc_call *call, struct bash_session *session)
{
	struct fail fail = FAIL_INIT;

	if (bash_session_restart(session, &fail) < 0)
		rpc_call_error(call, RPC_HANDLER_ERROR, fail.text, NULL);
	else
		rpc_call_result(call, json_string("shell restarted successfully"));
}

/* Which of the two shapes it has; NULL, and the call is answered, when it has neither. */
static void (*shape_of(struct rpc_call *call))(struct rpc_call *, struct bash_session *)
{
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	size_t first;
	int r = params_check(call->req.params, interact_params, true, "InteractParams.", &errors);

	first = errors.len;
	if (r == 0 && first == 0)
		return interact;
	if (r == 0)
		r = params_check(call->req.params, restart_params, true, "RestartParams.", &errors);
	if (r == 0 && errors.len == first) {
		buf_release(&errors);
		return restart;
	}
	params_settle(call, &errors, r);
	return NULL;
}

static void interact_or_restart(struct rpc_call *call)
{
	void (*run)(struct rpc_call *, struct bash_session *) = shape_of(call);
	struct bash_session *session;
	struct bash *bash;
	const char *name;
	char text[100];

	if (!run || !(bash = server_tool(call, &tool_bash_session)))
		return;
	name = json_string_value(json_object_get(call->req.params, "session_name"));
	session = bash_find(bash, name);
	if (session) {
		run(call, session);
		return;
	}
	snprintf(text, sizeof(text), "KeyError('%.80s')", name);
	rpc_call_error(call, RPC_HANDLER_ERROR, text, NULL);
}

static const struct rpc_method methods[] = {
	{"bash_session_new_session", RPC_IN_SERVER, new_session},
	{"bash_session", RPC_IN_SERVER, interact_or_restart},
	{NULL, 0, NULL},
};

const struct tool tool_bash_session = {
	.methods = methods,
	.open = open_state,
	.stop = stop_state,
	.close = close_state,
};
