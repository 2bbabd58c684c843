/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a request to the real methods of the tools, which do nothing here: what
   they are asked for after all checks is noted. One reply each; no text a C function reads has a
   U+0000 in it; numbers are within what was agreed upon. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/bash_session/controller.h"
#include "payloads/sandbox-tools/bash_session/session.h"
#include "payloads/sandbox-tools/exec_remote/controller.h"
#include "payloads/sandbox-tools/mcp/controller.h"
#include "payloads/sandbox-tools/mcp/message.h"
#include "payloads/sandbox-tools/mcp/session.h"
#include "payloads/sandbox-tools/server/server.h"
#include "payloads/sandbox-tools/text_editor/chars.h"
#include "payloads/sandbox-tools/text_editor/controller.h"
#include "payloads/sandbox-tools/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct server server;
static int replies;
static char thing; /* stands for any state of a controller */

static void need(bool truth)
{
	if (!truth)
		abort();
}

static void check_text(const char *text, size_t len)
{
	struct chars chars = {0, 0, 0};

	for (size_t i = 0; i < len; i++)
		need(chars_step(&chars, (unsigned char)text[i]) >= 0);
	need(chars.need == 0);
}

static void check_env(char *const *env)
{
	for (; env && *env; env++) {
		need(strchr(*env, '=') != NULL && **env != '=');
		check_text(*env, strlen(*env));
	}
}

/* ---- the server ---- */

static void answer_nothing(struct rpc_call *call)
{
	rpc_call_result(call, json_null());
}

const struct rpc_method server_methods[] = {
	{"remote_version", RPC_IN_SERVER, answer_nothing},
	{"sandbox_tools_shutdown", RPC_IN_SERVER | RPC_NO_PARAMS, answer_nothing},
	{"sandbox_tools_describe", RPC_IN_SERVER, answer_nothing},
	{NULL, 0, NULL},
};

/* ---- exec_remote ---- */

struct jobs *jobs_new(struct loop *loop, struct children *children, size_t memory)
{
	(void)memory;
	(void)loop;
	(void)children;
	return (struct jobs *)&thing;
}

void jobs_stop(struct jobs *jobs)
{
	(void)jobs;
}

void jobs_free(struct jobs *jobs)
{
	(void)jobs;
}

int jobs_start(struct jobs *jobs, const struct job_order *order, pid_t *ret_pid)
{
	(void)jobs;
	check_text(order->command, strlen(order->command));
	if (order->input)
		check_text(order->input, order->input_len);
	if (order->user)
		check_text(order->user->shown, strlen(order->user->shown));
	check_env(order->env);
	*ret_pid = 1;
	return order->cwd ? -2 : 0;
}

struct job *jobs_find(struct jobs *jobs, int64_t pid)
{
	return pid > 0 && pid < INT_MAX ? (struct job *)jobs : NULL;
}

static void report(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	const struct job_report done = {JOB_COMPLETED, -9, 1, {"out\xc3\xa9", "\0err"}, {5, 4}};

	need(job != NULL && waiter->is_wanted(waiter));
	waiter->answer(waiter, ack == 7 ? NULL : &done, 0);
}

void job_poll(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	report(job, ack, waiter);
}

void job_kill(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	report(job, ack, waiter);
}

void job_tell(struct job *job, int64_t ack, struct job_waiter *waiter)
{
	report(job, ack, waiter);
}

enum job_input job_input_state(const struct job *job)
{
	(void)job;
	return JOB_INPUT_OPEN;
}

int job_write(struct job *job, const char *data, size_t len, int64_t ack, struct job_waiter *waiter)
{
	check_text(data, len);
	if (len == 3)
		return -EMSGSIZE;
	report(job, ack, waiter);
	return 0;
}

void job_close_input(struct job *job)
{
	need(job != NULL);
}

/* ---- bash_session ---- */

static struct bash_session session = {.name = "BashSession"};

struct bash *bash_open(struct loop *loop, struct children *children, size_t memory)
{
	(void)memory;
	(void)loop;
	(void)children;
	return (struct bash *)&thing;
}

const struct bash_session *bash_new_session(
	struct bash *bash, const struct user *user, struct fail *fail)
{
	need(bash);
	fail_set(fail, "no terminal");
	return user ? NULL : &session;
}

struct bash_session *bash_find(struct bash *bash, const char *name)
{
	need(bash && name);
	return strcmp(name, session.name) == 0 ? &session : NULL;
}

void bash_stop(struct bash *bash)
{
	(void)bash;
}

void bash_close(struct bash *bash)
{
	(void)bash;
}

void bash_session_interact(
	struct bash_session *s, struct rpc_call *call, const struct bash_request *request)
{
	need(s == &session && request->wait_ms >= 0 && request->idle_ms >= 0);
	need(request->limit > 0 && request->limit <= OUTPUT_LIMIT_MAX);
	if (request->input)
		check_text(request->input, request->input_len);
	rpc_call_result(call, json_string(""));
}

int bash_session_restart(struct bash_session *s, struct fail *fail)
{
	need(s == &session);
	return fail_set(fail, "no");
}

/* ---- mcp ---- */

struct mcp *mcp_open(struct loop *loop, struct children *children)
{
	(void)loop;
	(void)children;
	return (struct mcp *)&thing;
}

int mcp_launch(struct mcp *mcp, const struct mcp_launch *launch, int64_t *ret_id)
{
	need(mcp && launch->command && launch->argv[0]);
	for (char **arg = launch->argv; *arg; arg++)
		check_text(*arg, strlen(*arg));
	check_env(launch->env);
	*ret_id = 0;
	return launch->cwd ? -2 : 0;
}

void mcp_skip_id(struct mcp *mcp)
{
	need(mcp != NULL);
}

struct mcp_session *mcp_find(struct mcp *mcp, int64_t id)
{
	return id == 0 ? (struct mcp_session *)mcp : NULL;
}

void mcp_kill(struct mcp *mcp, struct mcp_session *s, struct rpc_call *call)
{
	need((void *)mcp == (void *)s);
	answer_nothing(call);
}

void mcp_stop(struct mcp *mcp)
{
	(void)mcp;
}

void mcp_close(struct mcp *mcp)
{
	(void)mcp;
}

/* A message on its way to a server is one line that says what it did before. */
static void check_message(const struct jsontext *text)
{
	struct buf line = BUF_INIT(1 << 24);
	struct jsontext again;

	need(message_add_request(text, &line) == 0 && line.len > 0);
	need(memchr(line.data, '\n', line.len) == line.data + line.len - 1);
	need(jsontext_read(line.data, line.len - 1, &again) && again.kind == JSONTEXT_OBJECT);
	buf_release(&line);
}

void mcp_session_request(
	struct mcp_session *s, struct rpc_call *call, const struct jsontext *request)
{
	struct buf key = BUF_INIT(1 << 24);
	struct jsontext id = jsontext_get(request, "id");

	need(s != NULL);
	check_message(request);
	need(message_add_key(&id, &key) == 0);
	buf_release(&key);
	answer_nothing(call);
}

void mcp_session_notify(
	struct mcp_session *s, struct rpc_call *call, const struct jsontext *notification)
{
	need(s != NULL);
	check_message(notification);
	answer_nothing(call);
}

/* ---- text_editor ---- */

void editor_run(const struct editor_request *req, struct editor_reply *reply)
{
	const struct text texts[] = {req->path, req->file_text, req->old_str, req->new_str};

	need(req->command <= EDITOR_UNDO_EDIT);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_text(texts[i].data, texts[i].len);
	if (req->insert_line == 3)
		reply_fail(reply, "no ");
	reply_add_quoted(reply, req->path);
	reply_add_escaped(reply, req->new_str);
}

/* ---- the run ---- */

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	json_t *doc;

	replies++;
	for (size_t i = 0; i < len; i++)
		need((unsigned char)text[i] >= ' ' && (unsigned char)text[i] <= '\177');
	doc = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	need(doc || len == 0 || rpc_find_number_id(text, len, &len) >= 0);
	json_decref(doc);
	rpc_request_release(&call->req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned places[] = {RPC_IN_SERVER, RPC_IN_PROCESS};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct rpc_call call = {.deliver = deliver, .host = &server};
		char *text = malloc(size > 0 ? size : 1);

		need(text != NULL);
		if (size > 0)
			memcpy(text, data, size);
		replies = 0;
		rpc_dispatch_text(tools_find_method, places[i], &call, text, size);
		need(replies == 1);
		free(text);
	}
	return 0;
}
