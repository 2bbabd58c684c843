/* SPDX-License-Identifier: MIT */
/* exec_remote_*: from parameters to jobs, and from their reports to replies. */
#include "payloads/sandbox-tools/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/memory.h"
#include "payloads/lib/quote.h"
#include "payloads/sandbox-tools/exec_remote/controller.h"
#include "payloads/sandbox-tools/rpc/params.h"
#include "payloads/sandbox-tools/server/server.h"

/* A call that waits for a report. */
struct wait {
	struct job_waiter waiter; /* first, so that a waiter is its call */
	struct rpc_call *call;
	bool is_poll;
};

/* ---- the tool's state in the server ---- */

static void *open_state(struct server *server)
{
	return jobs_new(&server->loop, server->children, memory_limit());
}

static void stop_state(void *state)
{
	jobs_stop(state);
}

static void close_state(void *state)
{
	jobs_free(state);
}

static void fail_call(struct rpc_call *call, int error)
{
	char text[200];

	child_error_text(error, text, sizeof(text));
	rpc_call_error(call, RPC_HANDLER_ERROR, text, NULL);
}

/* ---- start ---- */

/* A string that can be an argument; NULL with '*ret_bad' set if it has U+0000 in it. */
static const char *plain(const json_t *value, bool *ret_bad)
{
	const char *text = json_string_value(value);

	if (text && strlen(text) != json_string_length(value)) {
		*ret_bad = true;
		return NULL;
	}
	return text;
}

/* The server's environment with the user's home and the order's changes: 0, -ENOMEM, -EINVAL with
   'ret_why'. */
static int make_env(const json_t *changes, const struct job_order *order, struct child_env *env,
	const char **ret_why)
{
	const char *name;
	json_t *value;
	int r = child_env_copy(env, environ);

	if (r == 0 && order->user)
		r = child_env_set(env, "HOME", order->user->home);
	json_object_foreach ((json_t *)changes, name, value) {
		bool bad = false;
		const char *text = plain(value, &bad);

		if (r < 0)
			return r;
		*ret_why = bad ? "ValueError('embedded null byte')"
			       : "ValueError('illegal environment variable name')";
		r = bad ? -EINVAL : child_env_set(env, name, text);
	}
	return r;
}

static void start_job(struct rpc_call *call, struct job_order *order, const json_t *changes)
{
	struct child_env env = CHILD_ENV_INIT;
	struct jobs *jobs = server_tool(call, &tool_exec_remote);
	const char *why = NULL;
	pid_t pid = 0;
	int r = 0;

	if (!jobs)
		return;
	if (json_object_size(changes) > 0 || order->user) {
		r = make_env(changes, order, &env, &why);
		order->env = env.vars;
		if (r == -EINVAL) {
			child_env_release(&env);
			rpc_call_error(call, RPC_HANDLER_ERROR, why, NULL);
			return;
		}
	}
	if (r == 0)
		r = jobs_start(jobs, order, &pid);
	child_env_release(&env);
	if (r < 0)
		fail_call(call, r);
	else
		rpc_call_result(call, json_pack("{s:I}", "pid", (json_int_t)pid));
}

static bool read_order(const json_t *params, struct job_order *order)
{
	const json_t *input = json_object_get(params, "input");
	bool bad = false;

	memset(order, 0, sizeof(*order));
	order->command = plain(json_object_get(params, "command"), &bad);
	order->cwd = plain(json_object_get(params, "cwd"), &bad);
	order->request_id = plain(json_object_get(params, "request_id"), &bad);
	order->input = json_string_value(input);
	order->input_len = json_string_length(input);
	order->stdin_open = json_is_true(json_object_get(params, "stdin_open"));
	return !bad;
}

static void start(struct rpc_call *call)
{
	static const struct param table[] = {
		{"command", PARAM_STRING, PARAM_REQUIRED},
		{"input", PARAM_STRING, PARAM_OPTIONAL},
		{"stdin_open", PARAM_BOOLEAN, PARAM_DEFAULTED},
		{"env", PARAM_STRING_MAP, PARAM_OPTIONAL},
		{"cwd", PARAM_STRING, PARAM_OPTIONAL},
		{"user", PARAM_USER, PARAM_OPTIONAL},
		{"request_id", PARAM_STRING, PARAM_OPTIONAL},
		{NULL, 0, PARAM_REQUIRED},
	};
	const json_t *params = call->req.params;
	struct fail fail = FAIL_INIT;
	struct job_order order;
	struct user user;
	int r;

	if (!params_accept(call, table, true))
		return;
	if (!read_order(params, &order)) {
		rpc_call_error(call, RPC_HANDLER_ERROR, "ValueError('embedded null byte')", NULL);
		return;
	}
	r = user_choose(json_object_get(params, "user"), &user, &fail);
	if (r < 0) {
		rpc_call_error(call, rpc_code_of(&fail), fail.text, NULL);
		return;
	}
	order.user = r > 0 ? &user : NULL;
	start_job(call, &order, json_object_get(params, "env"));
}

/* ---- the others ---- */

/* A report on its way into the reply. */
struct told {
	const struct job_report *report;
	bool is_poll;
};

static int write_output(struct buf *out, const struct job_report *report)
{
	char text[60];
	int r;

	snprintf(text, sizeof(text), "{\"seq\": %lld, \"stdout\": ", (long long)report->seq);
	r = buf_add_str(out, text);
	if (r == 0)
		r = quote_add(out, report->text[0], report->len[0]);
	if (r == 0)
		r = buf_add_str(out, ", \"stderr\": ");
	return r < 0 ? r : quote_add(out, report->text[1], report->len[1]);
}

static int write_state(struct buf *out, const struct job_report *report)
{
	static const char *const states[] = {
		[JOB_RUNNING] = "running",
		[JOB_COMPLETED] = "completed",
		[JOB_KILLED] = "killed",
	};
	char code[16] = "null", text[80];

	if (report->state == JOB_COMPLETED)
		snprintf(code, sizeof(code), "%d", report->code);
	snprintf(text, sizeof(text), ", \"state\": \"%s\", \"exit_code\": %s",
		states[report->state], code);
	return buf_add_str(out, text);
}

static int write_report(struct buf *out, const void *arg)
{
	const struct told *told = arg;
	int r = write_output(out, told->report);

	if (r == 0 && told->is_poll)
		r = write_state(out, told->report);
	return r < 0 ? r : buf_add_str(out, "}");
}

static bool answer(struct job_waiter *waiter, const struct job_report *report, int error)
{
	struct wait *wait = (struct wait *)waiter;
	struct rpc_call *call = wait->call;
	struct told told = {report, wait->is_poll};

	free(wait);
	if (report)
		return rpc_call_result_text(call, write_report, &told) == 0;
	fail_call(call, error ? error : ECANCELED);
	return false;
}

static bool is_wanted(const struct job_waiter *waiter)
{
	return !((const struct wait *)waiter)->call->abandoned;
}

static const struct param job_table[] = {
	{"pid", PARAM_INTEGER, PARAM_REQUIRED},
	{"ack_seq", PARAM_INTEGER, PARAM_OPTIONAL},
	{"request_id", PARAM_STRING, PARAM_OPTIONAL},
	{NULL, 0, PARAM_REQUIRED},
};

/* What every method about a job begins with. NULL: the call has been answered. */
static struct job *begin(struct rpc_call *call, const struct param *table, int64_t *ret_ack)
{
	const json_t *ack = json_object_get(call->req.params, "ack_seq");
	struct jobs *jobs;
	struct job *job;
	json_int_t pid;
	char text[80];

	if (!params_accept(call, table, true) || !(jobs = server_tool(call, &tool_exec_remote)))
		return NULL;
	pid = json_integer_value(json_object_get(call->req.params, "pid"));
	*ret_ack = json_is_integer(ack) ? json_integer_value(ack) : JOB_ACK_ALL;
	job = jobs_find(jobs, pid);
	if (job)
		return job;
	snprintf(text, sizeof(text), "No job found with pid %lld", (long long)pid);
	rpc_call_error(call, RPC_TOOL_FAILURE, text, NULL);
	return NULL;
}

/* NULL: the call has been answered. */
static struct wait *new_wait(struct rpc_call *call, bool is_poll)
{
	struct wait *wait = calloc(1, sizeof(*wait));

	if (!wait) {
		fail_call(call, ENOMEM);
		return NULL;
	}
	wait->waiter.answer = answer;
	wait->waiter.is_wanted = is_wanted;
	wait->call = call;
	wait->is_poll = is_poll;
	return wait;
}

/* Hands the call over to one of job_poll, job_kill and job_tell. */
static void ask(struct rpc_call *call, struct job *job, int64_t ack,
	void (*how)(struct job *job, int64_t ack, struct job_waiter *waiter))
{
	struct wait *wait = new_wait(call, how == job_poll);

	if (wait)
		how(job, ack, &wait->waiter);
}

static void poll_job(struct rpc_call *call)
{
	int64_t ack;
	struct job *job = begin(call, job_table, &ack);

	if (job)
		ask(call, job, ack, job_poll);
}

static void kill_job(struct rpc_call *call)
{
	int64_t ack;
	struct job *job = begin(call, job_table, &ack);

	if (job)
		ask(call, job, ack, job_kill);
}

/* Is there a stdin to speak of? Otherwise answers the call. */
static bool has_input(struct rpc_call *call, const struct job *job)
{
	if (job_input_state(job) != JOB_INPUT_NONE)
		return true;
	rpc_call_error(call, RPC_TOOL_FAILURE,
		"stdin is not available (process started without stdin_open=True)", NULL);
	return false;
}

static void write_stdin(struct rpc_call *call)
{
	static const struct param table[] = {
		{"pid", PARAM_INTEGER, PARAM_REQUIRED},
		{"data", PARAM_STRING, PARAM_REQUIRED},
		{"ack_seq", PARAM_INTEGER, PARAM_OPTIONAL},
		{"request_id", PARAM_STRING, PARAM_OPTIONAL},
		{NULL, 0, PARAM_REQUIRED},
	};
	int64_t ack;
	struct job *job = begin(call, table, &ack);
	struct wait *wait;
	const json_t *data;
	int r;

	if (!job || !has_input(call, job))
		return;
	if (job_input_state(job) == JOB_INPUT_CLOSED) {
		rpc_call_error(call, RPC_TOOL_FAILURE, "stdin is already closed", NULL);
		return;
	}
	wait = new_wait(call, false);
	if (!wait)
		return;
	data = json_object_get(call->req.params, "data");
	r = job_write(job, json_string_value(data), json_string_length(data), ack, &wait->waiter);
	if (r == 0)
		return;
	free(wait);
	if (r == -EMSGSIZE)
		rpc_call_error(call, RPC_TOOL_FAILURE,
			"Cannot write to stdin: the process has not read the 64 MiB written before",
			NULL);
	else
		fail_call(call, r);
}

static void close_stdin(struct rpc_call *call)
{
	int64_t ack;
	struct job *job = begin(call, job_table, &ack);

	if (!job || !has_input(call, job))
		return;
	job_close_input(job);
	ask(call, job, ack, job_tell);
}

static const struct rpc_method methods[] = {
	{"exec_remote_start", RPC_IN_SERVER, start},
	{"exec_remote_poll", RPC_IN_SERVER, poll_job},
	{"exec_remote_kill", RPC_IN_SERVER, kill_job},
	{"exec_remote_write_stdin", RPC_IN_SERVER, write_stdin},
	{"exec_remote_close_stdin", RPC_IN_SERVER, close_stdin},
	{NULL, 0, NULL},
};

const struct tool tool_exec_remote = {
	.methods = methods,
	.open = open_state,
	.stop = stop_state,
	.close = close_state,
};
