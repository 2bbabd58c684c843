/* SPDX-License-Identifier: MIT */
/* The two streams of an MCP server and the requests between them. */
#include "payloads/sandbox-tools/mcp/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/mcp/message.h"
#include "payloads/sandbox-tools/mcp/stderr.h"

#define READ_SIZE 65536
#define READS_AT_ONCE 16 /* then others have their turn */
#define KEY_MAX 65536	 /* length of an id as JSON text */

#define NO_READER                                                           \
	"RuntimeError('MCP server stdout reader is no longer running; the " \
	"server connection is closed and cannot service requests.')"
#define TERMINATED "MCP server session terminated with requests pending."

/* ---- answers ---- */

static int write_reply(struct buf *out, const void *reply)
{
	return message_add_reply(reply, out);
}

struct failure {
	const char *key, *text;
};

static int write_failure(struct buf *out, const void *arg)
{
	const struct failure *failure = arg;

	return message_add_failure(failure->key, failure->text, out);
}

static void fail_pending(struct mcp_session *session, const char *text)
{
	struct mcp_pending *pending;

	while ((pending = session->pending)) {
		struct failure failure = {pending->key, text};

		session->pending = pending->next;
		rpc_call_result_text(pending->call, write_failure, &failure);
		free(pending);
	}
}

static void fail_call(struct rpc_call *call, int error)
{
	char text[160];

	child_error_text(error < 0 ? -error : error, text, sizeof(text));
	rpc_call_error(call, RPC_HANDLER_ERROR, text, NULL);
}

static struct mcp_pending **find_pending(struct mcp_session *session, const char *key)
{
	struct mcp_pending **link = &session->pending;

	while (*link && strcmp((*link)->key, key) != 0)
		link = &(*link)->next;
	return link;
}

/* ---- from the server ---- */

static void close_watch(struct mcp_session *session, struct loop_watch *watch)
{
	if (watch->fd < 0)
		return;
	loop_unwatch(session->host->loop, watch);
	io_close(&watch->fd);
}

/* Nothing will be read any more. */
static void end_reading(struct mcp_session *session, const char *text)
{
	close_watch(session, &session->from);
	buf_release(&session->line);
	fail_pending(session, text);
}

/* 0, or -1 when the stream has been given up. */
static int take_reply(struct mcp_session *session, const char *line, size_t len)
{
	struct buf key = BUF_INIT(KEY_MAX);
	struct mcp_pending **link, *pending;
	struct message reply;
	int r;

	message_read(line, len, &reply);
	if (reply.kind == MESSAGE_OTHER)
		return 0;
	r = message_add_key(&reply.id, &key);
	if (r == 0)
		r = buf_add(&key, "", 1);
	if (r < 0) {
		buf_release(&key);
		if (r != -ENOMEM)
			return 0; /* longer than any id we have asked with */
		end_reading(session, "out of memory");
		return -1;
	}
	link = find_pending(session, key.data);
	pending = *link;
	buf_release(&key);
	if (!pending)
		return 0;
	*link = pending->next;
	rpc_call_result_text(pending->call, write_reply, &reply);
	free(pending);
	return 0;
}

/* 0, or -1 when the stream cannot be read on. */
static int take_line(struct mcp_session *session, const char *line, size_t len)
{
	struct buf decoded = BUF_INIT(3 * session->host->line_max);
	struct fail fail = FAIL_INIT;
	int r = 0;

	if (encoding_is_plain(session->encoding, line, len))
		return take_reply(session, line, len);
	r = encoding_decode(session->encoding, session->errors, line, len, &decoded, &fail);
	if (r == 0)
		r = take_reply(session, decoded.data, decoded.len);
	else
		end_reading(session, r == -EILSEQ ? fail.text : "out of memory");
	buf_release(&decoded);
	return r;
}

static int refuse_line(struct mcp_session *session)
{
	char text[200];

	snprintf(text, sizeof(text),
		"MCP server response line exceeded the read limit of %zu bytes. "
		"Set " MCP_LINE_VARIABLE " higher if responses are legitimately larger than this.",
		session->host->line_max);
	end_reading(session, text);
	return -1;
}

/* Takes all complete lines: 0, or -1 when the stream has been given up. */
static int take_lines(struct mcp_session *session)
{
	struct buf *buf = &session->line;
	const char *newline;

	while (buf->len > session->searched && (newline = memchr(buf->data + session->searched,
							'\n', buf->len - session->searched))) {
		size_t len = (size_t)(newline - buf->data);

		if (len > session->host->line_max)
			return refuse_line(session);
		if (take_line(session, buf->data, len) < 0)
			return -1;
		buf_drop(buf, len + 1);
		session->searched = 0;
	}
	session->searched = buf->len;
	return buf->len > session->host->line_max ? refuse_line(session) : 0;
}

/* Reads once: more than 0 to go on, 0 for later, -1 when the stream is given up. */
static int read_some(struct mcp_session *session)
{
	char waste[4096];
	ssize_t n;

	if (session->killed) {
		n = io_read(session->from.fd, waste, sizeof(waste));
	} else if (buf_reserve(&session->line, READ_SIZE) < 0) {
		end_reading(session, "out of memory");
		return -1;
	} else {
		n = io_read(session->from.fd, session->line.data + session->line.len, READ_SIZE);
	}
	if (n == -EAGAIN)
		return 0;
	if (n <= 0) {
		end_reading(session, "MCP server closed its stdout (EOF) with requests pending.");
		return -1;
	}
	if (session->killed)
		return 1;
	session->line.len += (size_t)n;
	return take_lines(session) < 0 ? -1 : 1;
}

static void on_output(struct loop_watch *watch, uint32_t events)
{
	struct mcp_session *session = container_of(watch, struct mcp_session, from);

	(void)events;
	for (int i = 0; i < READS_AT_ONCE && read_some(session) > 0; i++)
		;
}

/* ---- to the server ---- */

static void send_unsent(struct mcp_session *session)
{
	struct buf *buf = &session->unsent;
	size_t sent = 0;

	while (sent < buf->len) {
		ssize_t n = io_write(session->to.fd, buf->data + sent, buf->len - sent);

		if (n < 0 && n != -EAGAIN) {
			close_watch(session, &session->to);
			buf_release(buf);
			return;
		}
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	buf_drop(buf, sent);
	loop_change(session->host->loop, &session->to, buf->len > 0 ? EPOLLOUT : 0);
}

static void on_input(struct loop_watch *watch, uint32_t events)
{
	struct mcp_session *session = container_of(watch, struct mcp_session, to);

	if (events & EPOLLERR) {
		close_watch(session, watch);
		buf_release(&session->unsent);
	} else {
		send_unsent(session);
	}
}

/* Queues a message: true, or false and the call is answered. */
static bool send_message(
	struct mcp_session *session, struct rpc_call *call, const struct jsontext *message)
{
	int r;

	if (session->from.fd < 0) {
		rpc_call_error(call, RPC_HANDLER_ERROR, NO_READER, NULL);
		return false;
	}
	r = session->to.fd < 0 ? -EPIPE : message_add_request(message, &session->unsent);
	if (r == -EMSGSIZE)
		rpc_call_error(call, RPC_HANDLER_ERROR,
			"RuntimeError('MCP server does not read its input; too much is waiting.')",
			NULL);
	else if (r < 0)
		fail_call(call, r);
	return r == 0;
}

static struct mcp_pending *new_pending(const struct jsontext *request)
{
	const struct jsontext id = jsontext_get(request, "id");
	struct buf key = BUF_INIT(KEY_MAX);
	struct mcp_pending *pending = NULL;

	if (message_add_key(&id, &key) == 0 && (pending = malloc(sizeof(*pending) + key.len + 1))) {
		memcpy(pending->key, key.data, key.len);
		pending->key[key.len] = '\0';
		pending->next = NULL;
	}
	buf_release(&key);
	return pending;
}

void mcp_session_request(
	struct mcp_session *session, struct rpc_call *call, const struct jsontext *request)
{
	struct mcp_pending *pending = new_pending(request), **link;

	if (!pending) {
		fail_call(call, ENOMEM);
		return;
	}
	link = find_pending(session, pending->key);
	if (*link) {
		rpc_call_error(call, RPC_HANDLER_ERROR,
			"ValueError('A request with this id is already pending')", NULL);
		free(pending);
		return;
	}
	if (!send_message(session, call, request)) {
		free(pending);
		return;
	}
	pending->call = call;
	*link = pending;
	send_unsent(session);
}

void mcp_session_notify(
	struct mcp_session *session, struct rpc_call *call, const struct jsontext *notification)
{
	if (!send_message(session, call, notification))
		return;
	send_unsent(session);
	rpc_call_result(call, json_null());
}

/* ---- start ---- */

/* A pipe whose end 'ours' (0 or 1) does not block. */
static int open_pipe(int ret[2], int ours)
{
	if (pipe2(ret, O_CLOEXEC) < 0) {
		ret[0] = ret[1] = -1;
		return -errno;
	}
	fcntl(ret[ours], F_SETFL, O_NONBLOCK);
	return 0;
}

static int open_pipes(int in[2], int out[2])
{
	int r = open_pipe(in, 1);

	return r < 0 ? r : open_pipe(out, 0);
}

static int watch_pipes(struct mcp_session *session)
{
	int r;

	session->from.ready = on_output;
	session->to.ready = on_input;
	r = loop_watch(session->host->loop, &session->from, EPOLLIN);
	return r < 0 ? r : loop_watch(session->host->loop, &session->to, 0);
}

int mcp_session_start(struct mcp_session *session, const struct mcp_launch *launch)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err, r;
	struct child_options options = {.group = "mcp",
		.file = launch->command,
		.argv = launch->argv,
		.env = launch->env,
		.cwd = launch->cwd,
		.user = launch->user,
		.oom_first = true};

	session->line.limit = session->host->line_max + 1 + READ_SIZE;
	session->unsent.limit = MCP_UNSENT_MAX;
	session->encoding = launch->encoding;
	session->errors = launch->errors;
	session->from.fd = session->to.fd = -1;
	err = mcp_stderr_open(session->host->loop);
	r = err < 0 ? err : open_pipes(in, out);
	session->to.fd = in[1];
	session->from.fd = out[0];
	if (r == 0) {
		options.fds[0] = in[0];
		options.fds[1] = out[1];
		options.fds[2] = err;
		r = watch_pipes(session);
	}
	if (r == 0)
		r = child_start(session->host->children, &session->child, &options);
	io_close(&in[0]);
	io_close(&out[1]);
	mcp_stderr_close(err);
	if (r < 0) {
		close_watch(session, &session->from);
		close_watch(session, &session->to);
	}
	return r;
}

/* ---- end ---- */

static void answer_killer(struct mcp_session *session)
{
	struct rpc_call *killer = session->killer;

	loop_clear_timer(session->host->loop, &session->patience);
	session->killer = NULL;
	if (killer)
		rpc_call_result(killer, json_null());
}

static void on_patience(struct loop_timer *timer)
{
	answer_killer(container_of(timer, struct mcp_session, patience));
}

void mcp_session_kill(
	struct mcp_session *session, struct rpc_call *call, void (*ended)(void *session))
{
	session->killed = true;
	session->killer = call;
	session->patience.due = on_patience;
	loop_set_timer(session->host->loop, &session->patience, MCP_KILL_ANSWER_MS);
	fail_pending(session, TERMINATED);
	buf_release(&session->line);
	buf_release(&session->unsent);
	/* before its input ends: what it has started is known by it only as long as it lives;
	   stdout stays open, so that whatever it still says does not kill it before its time */
	child_end(&session->child, MCP_GRACE_MS, ended, session);
	close_watch(session, &session->to);
}

void mcp_session_stop(struct mcp_session *session)
{
	fail_pending(session, TERMINATED);
	answer_killer(session);
	close_watch(session, &session->to);
}

void mcp_session_close(struct mcp_session *session)
{
	mcp_session_stop(session);
	close_watch(session, &session->from);
	close_watch(session, &session->to);
	buf_release(&session->line);
	buf_release(&session->unsent);
	child_forget(&session->child);
}
