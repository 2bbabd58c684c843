/* SPDX-License-Identifier: MIT */
/*
 * pipe: newline-delimited JSON-RPC over stdin and stdout. Many requests may be under way;
 * replies come as they complete. In-process methods are answered here, or as another user in a
 * child; the rest goes over one connection. If it is told of its container, it also runs commands.
 */
#include "payloads/sandbox-tools/cli.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/cli_apart.h"
#include "payloads/sandbox-tools/cli_runs.h"
#include "payloads/sandbox-tools/tools.h"

#define READ_SIZE 65536
#define OWN_FDS 3
#define ALL_FDS (OWN_FDS + APART_FDS + RUNS_MAX)
#define WAITING_MAX 4096	     /* requests under way; more are left in the pipe */
#define UNSENT_MAX ((size_t)8 << 20) /* nothing more is read while this much waits to go out */

/* A request the server has: what to say should the server die. */
struct waiting {
	uint32_t tag;
	char *id; /* NULL for a notification */
	struct waiting *next;
};

struct pipe {
	const struct cli *cli;
	struct buf line; /* stdin, up to an unfinished line */
	bool skipping;	 /* inside a line that is too long */
	bool ended;	 /* stdin has ended */
	struct buf out;	 /* to stdout */
	int server;	 /* connection or -1 */
	struct buf to_server, from_server;
	struct waiting *waiting;
	unsigned waiting_count;
	uint32_t last_tag;
	struct aparts aparts; /* requests of other users */
	struct runs runs;     /* commands */
	int broken;	      /* -errno: stdout is gone, or memory is */
};

static void print_line(struct pipe *pipe, const char *text, size_t len)
{
	if (len == 0)
		return;
	if (buf_add(&pipe->out, text, len) < 0 || buf_add(&pipe->out, "\n", 1) < 0)
		pipe->broken = -ENOMEM;
}

static void print_error(
	struct pipe *pipe, const char *id, int code, const char *message, const char *why)
{
	json_t *data = why ? json_string(why) : NULL;

	if (rpc_write_error(&pipe->out, id, code, message, data) < 0 ||
		buf_add(&pipe->out, "\n", 1) < 0)
		pipe->broken = -ENOMEM;
	json_decref(data);
}

/* ---- the server ---- */

static void free_waiting(struct waiting *waiting)
{
	free(waiting->id);
	free(waiting);
}

static void lose_server(struct pipe *pipe)
{
	io_close(&pipe->server);
	pipe->to_server.len = 0;
	pipe->from_server.len = 0;
	while (pipe->waiting) {
		struct waiting *w = pipe->waiting;

		pipe->waiting = w->next;
		if (w->id)
			print_error(pipe, w->id, RPC_SERVER_ERROR, "Server error",
				"the server closed the connection");
		free_waiting(w);
	}
	pipe->waiting_count = 0;
}

static int open_server(struct pipe *pipe, struct fail *fail)
{
	if (pipe->server < 0)
		pipe->server = cli_connect(pipe->cli, fail);
	return pipe->server < 0 ? -1 : 0;
}

/* Queues a request for the server. */
static void forward(struct pipe *pipe, struct rpc_request *req)
{
	struct fail fail = FAIL_INIT;
	struct waiting *w;

	if (open_server(pipe, &fail) < 0) {
		if (req->id)
			print_error(pipe, req->id, RPC_SERVER_ERROR, "Server error", fail.text);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w || frame_add(&pipe->to_server, pipe->last_tag + 1, req->text, req->len) < 0) {
		free(w);
		print_error(pipe, req->id, RPC_SERVER_ERROR, "Server error", "out of memory");
		return;
	}
	w->tag = ++pipe->last_tag;
	w->id = req->id;
	req->id = NULL;
	w->next = pipe->waiting;
	pipe->waiting = w;
	pipe->waiting_count++;
}

static void take_reply(struct pipe *pipe, const struct frame *frame)
{
	struct waiting **link = &pipe->waiting, *w;

	while (*link && (*link)->tag != frame->tag)
		link = &(*link)->next;
	w = *link;
	if (!w)
		return;
	*link = w->next;
	pipe->waiting_count--;
	free_waiting(w);
	print_line(pipe, frame->data, frame->len);
}

static void take_replies(struct pipe *pipe)
{
	struct buf rest = pipe->from_server;
	struct frame frame;
	int r;

	while ((r = frame_find(&rest, FRAME_REPLY_MAX, &frame)) > 0) {
		take_reply(pipe, &frame);
		rest.data += FRAME_HEAD_SIZE + frame.len;
		rest.len -= FRAME_HEAD_SIZE + frame.len;
	}
	buf_drop(&pipe->from_server, pipe->from_server.len - rest.len);
	if (r < 0)
		lose_server(pipe);
}

static void read_server(struct pipe *pipe)
{
	ssize_t n = -ENOMEM;

	if (buf_reserve(&pipe->from_server, READ_SIZE) == 0)
		n = io_read(
			pipe->server, pipe->from_server.data + pipe->from_server.len, READ_SIZE);
	if (n <= 0) {
		lose_server(pipe);
		return;
	}
	pipe->from_server.len += (size_t)n;
	take_replies(pipe);
}

static void write_server(struct pipe *pipe)
{
	ssize_t n = send(pipe->server, pipe->to_server.data, pipe->to_server.len,
		MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0)
		buf_drop(&pipe->to_server, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR)
		lose_server(pipe);
}

/* ---- lines ---- */

static bool is_blank(const char *text, size_t len)
{
	while (len > 0 && memchr(" \t\r", text[len - 1], 3))
		len--;
	return len == 0;
}

/* Here, or in a child; a failure to do either is an error reply. */
static void answer(struct pipe *pipe, struct rpc_request *req)
{
	struct buf reply = BUF_INIT(FRAME_REPLY_MAX);
	struct fail fail = FAIL_INIT;
	struct user user;
	/* what the dispatcher will refuse needs no user */
	int r = !rpc_request_is_valid(req) || req->flaw ? 0 : cli_find_user(req, &user, &fail);

	if (r > 0) {
		r = aparts_add(&pipe->aparts, req, &user);
		if (r < 0)
			fail_sys(&fail, r, APART_FAILED);
	} else if (r == 0 && cli_answer(req, &reply) == 0) {
		print_line(pipe, reply.data, reply.len);
	} else if (r == 0 && req->id) {
		print_error(pipe, req->id, RPC_SERVER_ERROR, "Server error", "out of memory");
	}
	if (r < 0 && req->id)
		print_error(pipe, req->id, rpc_code_of(&fail), fail.text, NULL);
	buf_release(&reply);
}

static void release_buffers(struct pipe *pipe)
{
	buf_release(&pipe->line);
	buf_release(&pipe->out);
	buf_release(&pipe->to_server);
	buf_release(&pipe->from_server);
}

static void run_command(struct pipe *pipe, struct rpc_request *req)
{
	struct fail fail = FAIL_INIT;
	int r = runs_start(&pipe->runs, req, &fail);

	if (r > 0) {
		release_buffers(pipe);
		runs_serve(&pipe->runs, req);
	}
	if (r < 0 && req->id)
		print_error(pipe, req->id,
			fail.code == RPC_NOT_STARTED ? RPC_NOT_STARTED : rpc_code_of(&fail),
			fail.text, NULL);
}

static void kill_command(struct pipe *pipe, const struct rpc_request *req)
{
	struct fail fail = FAIL_INIT;
	int n = runs_kill(&pipe->runs, req, &fail);
	json_t *result = json_boolean(n > 0);

	if (n < 0 && req->id)
		print_error(pipe, req->id, rpc_code_of(&fail), fail.text, NULL);
	else if (req->id && (rpc_write_result(&pipe->out, req->id, result) < 0 ||
				    buf_add(&pipe->out, "\n", 1) < 0))
		pipe->broken = -ENOMEM;
	json_decref(result);
}

/* Is it about a command? Then that is done. */
static bool take_command(struct pipe *pipe, struct rpc_request *req)
{
	if (!pipe->runs.allowed || !req->method || !rpc_request_is_valid(req))
		return false;
	if (strcmp(req->method, RUNS_METHOD) == 0)
		run_command(pipe, req);
	else if (strcmp(req->method, RUNS_KILL_METHOD) == 0)
		kill_command(pipe, req);
	else
		return false;
	return true;
}

static void take_line(struct pipe *pipe, char *text, size_t len)
{
	struct fail fail = FAIL_INIT;
	struct rpc_request req;

	if (is_blank(text, len))
		return;
	if (rpc_request_read(&req, text, len, &fail) < 0) {
		print_error(pipe, NULL, RPC_PARSE_ERROR, "Parse error", fail.text);
		return;
	}
	if (take_command(pipe, &req))
		;
	else if (!rpc_request_is_valid(&req) || req.flaw ||
		 tools_find_method(req.method, RPC_IN_PROCESS))
		answer(pipe, &req);
	else
		forward(pipe, &req);
	rpc_request_release(&req);
}

static void take_lines(struct pipe *pipe, size_t fresh)
{
	char *start = pipe->line.data, *end = start + pipe->line.len;
	char *search = end - fresh, *newline;

	while ((newline = memchr(search, '\n', (size_t)(end - search)))) {
		if (!pipe->skipping)
			take_line(pipe, start, (size_t)(newline - start));
		pipe->skipping = false;
		start = search = newline + 1;
	}
	buf_drop(&pipe->line, (size_t)(start - pipe->line.data));
	if (pipe->line.len > FRAME_REQUEST_MAX) {
		print_error(
			pipe, NULL, RPC_INVALID_REQUEST, "Invalid request", "the line is too long");
		pipe->skipping = true;
	}
	if (pipe->skipping)
		buf_release(&pipe->line);
}

static void read_input(struct pipe *pipe)
{
	ssize_t n;

	if (buf_reserve(&pipe->line, READ_SIZE) < 0) {
		pipe->broken = -ENOMEM;
		return;
	}
	n = io_read(0, pipe->line.data + pipe->line.len, READ_SIZE);
	if (n == -EAGAIN)
		return;
	if (n > 0) {
		pipe->line.len += (size_t)n;
		take_lines(pipe, (size_t)n);
		return;
	}
	pipe->ended = true;
	if (pipe->line.len > 0 && !pipe->skipping)
		take_line(pipe, pipe->line.data, pipe->line.len);
	buf_release(&pipe->line);
	runs_end(&pipe->runs);
}

static void write_output(struct pipe *pipe)
{
	/* stdout may be shared, so it stays blocking; this much never blocks after POLLOUT */
	size_t len = pipe->out.len < PIPE_BUF ? pipe->out.len : PIPE_BUF;
	ssize_t n = io_write(1, pipe->out.data, len);

	if (n < 0 && n != -EAGAIN)
		pipe->broken = (int)n;
	if (n > 0)
		buf_drop(&pipe->out, (size_t)n);
}

/* ---- the loop ---- */

static bool is_done(const struct pipe *pipe)
{
	return pipe->broken < 0 || (pipe->ended && !pipe->waiting && pipe->aparts.count == 0 &&
					   pipe->runs.busy == 0 && pipe->out.len == 0);
}

static bool has_room(const struct pipe *pipe)
{
	return pipe->out.len < UNSENT_MAX && pipe->to_server.len < UNSENT_MAX &&
	       pipe->aparts.bytes < UNSENT_MAX &&
	       pipe->waiting_count + pipe->aparts.count < WAITING_MAX;
}

static void let_apart(struct pipe *pipe)
{
	struct buf reply;

	aparts_run(&pipe->aparts);
	while (pipe->out.len < UNSENT_MAX && aparts_take(&pipe->aparts, &reply)) {
		print_line(pipe, reply.data, reply.len);
		buf_release(&reply);
	}
}

static void let_run(struct pipe *pipe)
{
	runs_reap(&pipe->runs);
	while (pipe->out.len < UNSENT_MAX && runs_take(&pipe->runs))
		print_line(pipe, pipe->runs.reply.data, pipe->runs.reply.len);
}

/* Waits until there is something to do: 0, or -errno. */
static int await(const struct pipe *pipe, struct pollfd fds[ALL_FDS])
{
	size_t count;
	int ms;

	fds[0] = (struct pollfd){.fd = !pipe->ended && has_room(pipe) ? 0 : -1, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = 1, .events = pipe->out.len > 0 ? POLLOUT : 0};
	fds[2] = (struct pollfd){.fd = pipe->server};
	if (pipe->out.len < UNSENT_MAX)
		fds[2].events |= POLLIN;
	if (pipe->to_server.len > 0)
		fds[2].events |= POLLOUT;
	count = OWN_FDS + aparts_poll(&pipe->aparts, fds + OWN_FDS, &ms);
	if (pipe->out.len < UNSENT_MAX)
		count += runs_poll(&pipe->runs, fds + count);
	return poll(fds, count, ms) < 0 ? -errno : 0;
}

static void turn(struct pipe *pipe)
{
	struct pollfd fds[ALL_FDS];
	int r = await(pipe, fds);

	if (r < 0) {
		pipe->broken = r == -EINTR ? 0 : r;
		return;
	}
	/* the reader of our replies has gone */
	if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
		pipe->broken = -EPIPE;
	if (fds[1].revents & POLLOUT)
		write_output(pipe);
	if (fds[2].revents & POLLOUT)
		write_server(pipe);
	if (pipe->server >= 0 && fds[2].revents & (POLLIN | POLLHUP | POLLERR))
		read_server(pipe);
	let_apart(pipe);
	if (pipe->runs.allowed)
		let_run(pipe);
	if (fds[0].revents)
		read_input(pipe);
}

static int allow_commands(struct pipe *pipe, const char *text, struct fail *fail)
{
	int r;

	if (runs_open(&pipe->runs, text, fail) < 0)
		return -1;
	r = aparts_listen(&pipe->aparts);
	return r < 0 ? fail_sys(fail, r, "cannot hear of the ends of processes") : 0;
}

static int run(const struct cli *cli)
{
	struct pipe pipe = {.cli = cli,
		.line = BUF_INIT(FRAME_REQUEST_MAX + 2 * READ_SIZE),
		.out = BUF_INIT(2 * FRAME_REPLY_MAX),
		.server = -1,
		.to_server = BUF_INIT(2 * FRAME_REQUEST_MAX),
		.from_server = BUF_INIT(2 * FRAME_REPLY_MAX),
		.aparts = APARTS_INIT};
	struct fail fail = FAIL_INIT;
	int r = cli->argc > 0 ? allow_commands(&pipe, cli->argv[0], &fail) : 0;

	while (r == 0 && !is_done(&pipe))
		turn(&pipe);
	lose_server(&pipe);
	aparts_close(&pipe.aparts);
	runs_close(&pipe.runs);
	release_buffers(&pipe);
	if (r == 0 && pipe.broken == 0)
		return 0;
	if (r == 0)
		fail_sys(&fail, pipe.broken, "cannot write the replies");
	return cli_complain(&fail);
}

const struct cli_command cli_pipe = {
	"pipe",
	"[CONTAINER]",
	"answer newline-delimited JSON-RPC requests until stdin ends",
	1,
	run,
};
