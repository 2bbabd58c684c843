/* SPDX-License-Identifier: MIT */
/* From the start of one command to the reply. */
#include "payloads/sandbox-tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/base64.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/rpc/rpc.h"
#include "payloads/sandbox-tools/run/tail.h"

#define READ_SIZE 65536
#define LAST_MAX ((size_t)8 << 20) /* no pipe holds more */
#define END_MS 5000		   /* for the kernel to end what was killed */
#define PIECE 49152		   /* of a reply; whole groups of base64 */
#define KILLED 137

struct run;

struct output {
	struct loop_watch watch; /* first, so that a watch is its output; fd -1: ended */
	struct run *run;
	struct tail tail;
};

struct run {
	const struct run_order *order;
	struct command command;
	struct loop loop;
	struct children *children;
	struct child child;
	struct loop_watch signals, caller, input;
	struct output outputs[2];
	size_t fed; /* of the input */
	struct loop_timer settle;
	bool killed, starved;
	bool for_nobody; /* the reply is out */
};

/* ---- the end ---- */

static void on_all_ended(void *cookie)
{
	struct run *run = cookie;

	loop_stop(&run->loop);
}

static void end_all(struct run *run)
{
	if (!run->killed && !run->starved)
		children_end_all(run->children, 0, END_MS, on_all_ended, run);
}

static bool has_ended(const struct run *run)
{
	return run->outputs[0].watch.fd < 0 && run->outputs[1].watch.fd < 0;
}

static void on_settled(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, settle);

	loop_stop(&run->loop);
}

static void on_exited(struct child *child)
{
	struct run *run = container_of(child, struct run, child);

	if (run->killed || run->starved)
		return;
	loop_set_timer(&run->loop, &run->settle, has_ended(run) ? 0 : run->order->world->settle_ms);
}

static void on_signal(struct loop_watch *watch, uint32_t events)
{
	struct run *run = container_of(watch, struct run, signals);
	struct signalfd_siginfo info;

	(void)events;
	if (io_read(watch->fd, &info, sizeof(info)) > 0)
		children_reap(run->children);
}

static void on_caller(struct loop_watch *watch, uint32_t events)
{
	struct run *run = container_of(watch, struct run, caller);

	(void)events;
	loop_unwatch(&run->loop, watch);
	end_all(run);
	run->killed = true;
}

/* ---- its streams ---- */

static void end_watch(struct loop *loop, struct loop_watch *watch)
{
	if (watch->fd < 0)
		return;
	loop_unwatch(loop, watch);
	io_close(&watch->fd);
}

/* How much came; 0 when there is no more now, or ever. */
static size_t hear(struct output *output)
{
	static char bytes[READ_SIZE];
	struct run *run = output->run;
	ssize_t n = io_read(output->watch.fd, bytes, sizeof(bytes));

	if (n == -EAGAIN)
		return 0;
	if (n <= 0) {
		end_watch(&run->loop, &output->watch);
		if (has_ended(run) && !run->child.running && !run->killed && !run->starved)
			loop_stop(&run->loop);
		return 0;
	}
	if (!run->for_nobody && !run->starved && tail_add(&output->tail, bytes, (size_t)n) < 0) {
		end_all(run);
		run->starved = true;
	}
	return (size_t)n;
}

static void on_output(struct loop_watch *watch, uint32_t events)
{
	(void)events;
	hear((struct output *)watch);
}

/* What was written before the end is not lost, but who goes on writing has had its time. */
static void hear_last(struct output *output)
{
	size_t sum = 0, n = 1;

	while (output->watch.fd >= 0 && n > 0 && sum < LAST_MAX)
		sum += n = hear(output);
}

static void on_input(struct loop_watch *watch, uint32_t events)
{
	struct run *run = container_of(watch, struct run, input);
	const struct command *command = &run->command;
	ssize_t n = io_write(watch->fd, command->input + run->fed, command->input_len - run->fed);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n > 0)
		run->fed += (size_t)n;
	if (n <= 0 || run->fed == command->input_len)
		end_watch(&run->loop, watch);
}

/* Our end of a new pipe, the other one in 'ret': or -errno. */
static int open_pipe(bool for_output, mode_t mode, int *ret)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fchmod(ends[0], mode);
	*ret = ends[for_output ? 1 : 0];
	fcntl(ends[for_output ? 0 : 1], F_SETFL, O_NONBLOCK);
	return ends[for_output ? 0 : 1];
}

/* ---- the start ---- */

static int watch_all(struct run *run)
{
	int r = loop_watch(&run->loop, &run->signals, EPOLLIN);

	if (r == 0)
		r = loop_watch(&run->loop, &run->caller, EPOLLIN);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(run->outputs); i++)
		r = loop_watch(&run->loop, &run->outputs[i].watch, EPOLLIN);
	if (r == 0)
		r = loop_watch(&run->loop, &run->input, EPOLLOUT);
	if (r == 0 && run->command.input_len == 0)
		end_watch(&run->loop, &run->input);
	return r;
}

static int open_all(struct run *run, int fds[3])
{
	mode_t mode = run->order->world->stream_mode;
	sigset_t set;
	int r = loop_open(&run->loop);

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run->children = children_new(&run->loop, run->order->world->mask);
	if (r < 0 || !run->children)
		return r < 0 ? r : -ENOMEM;
	run->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	run->input.fd = open_pipe(false, mode, &fds[0]);
	run->outputs[0].watch.fd = open_pipe(true, mode, &fds[1]);
	run->outputs[1].watch.fd = open_pipe(true, mode, &fds[2]);
	if (run->signals.fd < 0 || run->input.fd < 0 || run->outputs[0].watch.fd < 0 ||
		run->outputs[1].watch.fd < 0)
		return -EMFILE;
	return watch_all(run);
}

static int start(struct run *run, struct fail *fail)
{
	struct command *command = &run->command;
	int fds[3] = {-1, -1, -1};
	struct child_options options = {.group = "run",
		.argv = (char *const *)command->argv,
		.file = command->file,
		.env = command->env.vars,
		.cwd = command->cwd,
		.user = command->switches ? &command->user : NULL,
		.as_engine = true};
	int r = run_share_take(&run->order->share, command->input_len);

	if (r < 0)
		return fail_set(fail, "the commands under way have too much input and output");
	r = open_all(run, fds);
	memcpy(options.fds, fds, sizeof(fds));
	if (r == 0)
		r = child_start(run->children, &run->child, &options);
	for (int i = 0; i < 3; i++)
		io_close(&fds[i]);
	return r < 0 ? fail_sys(fail, r, "'%.200s'", command->argv[0]) : 0;
}

/* ---- the reply ---- */

static int send_text(int fd, const char *text, size_t len)
{
	return io_write_full(fd, text, len, IO_NEVER);
}

/* The length, before the text. */
static int send_length(int fd, uint64_t len)
{
	char head[RUN_HEAD];

	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = (char)(len >> 8 * (sizeof(head) - 1 - i));
	return send_text(fd, head, sizeof(head));
}

static int send_whole(int fd, const struct buf *text)
{
	int r = send_length(fd, text->len);

	return r < 0 ? r : send_text(fd, text->data, text->len);
}

static int send_tail(int fd, const struct tail *tail)
{
	static char bytes[PIECE], digits[PIECE / 3 * 4];
	size_t len = tail_length(tail), n;
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += n) {
		n = len - at < sizeof(bytes) ? len - at : sizeof(bytes);
		tail_copy(tail, at, bytes, n);
		base64_encode(digits, bytes, n);
		r = send_text(fd, digits, base64_size(n));
	}
	return r;
}

static int send_error(const struct run_order *order, int code, const char *message, const char *why)
{
	struct buf text = BUF_INIT(65536);
	json_t *data = why ? json_string(why) : NULL;
	int r = order->id ? rpc_write_error(&text, order->id, code, message, data) : 0;

	if (r == 0)
		r = send_whole(order->fd, &text);
	json_decref(data);
	buf_release(&text);
	return r;
}

static int send_result(const struct run *run)
{
	static const char between[] = "\", \"stderr\": \"";
	const struct tail *out = &run->outputs[0].tail, *err = &run->outputs[1].tail;
	int code = run->child.code, fd = run->order->fd, r;
	const char *id = run->order->id;
	char head[200], *rest = NULL;
	uint64_t len;

	if (!id)
		return send_length(fd, 0);
	snprintf(head, sizeof(head),
		"{\"jsonrpc\": \"2.0\", \"result\": {\"status\": %d, \"stdout_bytes\": %" PRIu64
		", \"stderr_bytes\": %" PRIu64 ", \"stdout\": \"",
		run->killed ? KILLED
		: code < 0  ? 128 - code
			    : code,
		out->total, err->total);
	if (asprintf(&rest, "\"}, \"id\": %s}", id) < 0)
		return -ENOMEM;
	len = strlen(head) + base64_size(tail_length(out)) + strlen(between) +
	      base64_size(tail_length(err)) + strlen(rest);
	r = send_length(fd, len);
	if (r == 0)
		r = send_text(fd, head, strlen(head));
	if (r == 0)
		r = send_tail(fd, out);
	if (r == 0)
		r = send_text(fd, between, strlen(between));
	if (r == 0)
		r = send_tail(fd, err);
	if (r == 0)
		r = send_text(fd, rest, strlen(rest));
	free(rest);
	return r;
}

static void refuse(const struct run_order *order, const struct fail *fail)
{
	char text[sizeof(fail->text) + 16];

	snprintf(text, sizeof(text), "not started: %s", fail->text);
	if (fail->code == FAIL_PARAMS)
		send_error(order, RPC_INVALID_PARAMS, fail->text, NULL);
	else
		send_error(order, RPC_NOT_STARTED, text, NULL);
}

static void reply(const struct run *run)
{
	if (run->starved)
		send_error(run->order, RPC_SERVER_ERROR, "Server error",
			"the command was ended, because the output of all commands under way is "
			"more than is kept; ask for less by 'keep', or for fewer at once");
	else
		send_result(run);
}

/* ---- all of it ---- */

/* So that who still writes neither fails nor hangs. */
static void hear_for_nobody(struct run *run)
{
	const struct run_order *order = run->order;

	end_watch(&run->loop, &run->input);
	if (!run->killed)
		loop_unwatch(&run->loop, &run->caller);
	close(order->fd);
	for (size_t i = 0; i < ARRAY_SIZE(run->outputs); i++)
		tail_release(&run->outputs[i].tail);
	command_release(&run->command);
	run_share_give(&order->share);
	run->for_nobody = true;
	run->loop.stopped = false;
	if (!has_ended(run))
		loop_run(&run->loop);
}

static void keep(struct run *run)
{
	if (loop_run(&run->loop) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(run->outputs); i++)
		hear_last(&run->outputs[i]);
	reply(run);
	if (!run->killed && !run->starved && run->order->world->settle_ms > 0)
		hear_for_nobody(run);
}

void run_keep(const struct run_order *order)
{
	struct run run = {.order = order,
		.child.exited = on_exited,
		.settle.due = on_settled,
		.signals = {-1, on_signal, 0},
		.caller = {order->fd, on_caller, 0},
		.input = {-1, on_input, 0}};
	struct fail fail = FAIL_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(run.outputs); i++)
		run.outputs[i].watch = (struct loop_watch){-1, on_output, 0};
	for (size_t i = 0; i < ARRAY_SIZE(run.outputs); i++)
		run.outputs[i].run = &run;
	if (command_make(&run.command, order->params, order->world, &fail) < 0) {
		refuse(order, &fail);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(run.outputs); i++)
		run.outputs[i].tail =
			(struct tail){.limit = run.command.keep, .share = &order->share};
	if (start(&run, &fail) < 0)
		refuse(order, &fail);
	else
		keep(&run);
}
