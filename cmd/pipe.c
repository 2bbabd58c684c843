/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/service.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 65536, PENDING_MAX = 1 << 20, TAKES_MAX = 16 };

struct relay {
	struct visit *visit;
	struct sb_buf pending; /* from stdin, not yet taken by the engine */
	struct sb_buf first;   /* what came before the first line end: maybe not our program */
	bool input_ended, closed, answered;
	bool more; /* of the output may be there already, where poll does not see it */
};

static int take_input(struct relay *relay, struct sb_err *err)
{
	/* A small stack has no room for it. */
	static char chunk[CHUNK];
	ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return sb_err_set(err, SB_FAILED, "cannot read stdin: %s", strerror(errno));
	relay->input_ended = n == 0;
	return sb_buf_add(&relay->pending, chunk, (size_t)n, err);
}

/* 1: the program is gone; what it still said will be read. */
static int pass_input(struct relay *relay, struct sb_err *err)
{
	size_t sent = 0;
	int ret = 0;

	if (relay->pending.len)
		ret = eng_exec_send(relay->visit->talk.exec, relay->pending.data,
			relay->pending.len, &sent, err);
	if (ret < 0)
		return -1;
	sb_buf_consume(&relay->pending, ret ? relay->pending.len : sent);
	if (!relay->input_ended || relay->pending.len || relay->closed)
		return 0;
	relay->closed = true;
	return eng_exec_close_stdin(relay->visit->talk.exec, err);
}

/*
 * Pass on what came. Until the first line is complete it may be an engine's word that the program
 * could not be started, which is for stderr.
 */
static int pass_output(struct relay *relay, const struct sb_buf *out, struct sb_err *err)
{
	if (relay->answered)
		return out->len ? out_foreign(out->data, out->len, err) : 0;
	if (out->len && sb_buf_add(&relay->first, out->data, out->len, err) < 0)
		return -1;
	if (!relay->first.len || relay->first.data[0] != '{')
		return 0;
	relay->answered = true;
	return out_foreign(relay->first.data, relay->first.len, err);
}

/* Until nothing comes, or the input has waited long enough. */
static int take_output(struct relay *relay, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_JSON_REPLY);
	int ret = 0;

	relay->more = true;
	for (int i = 0; i < TAKES_MAX && ret == 0 && relay->more; i++) {
		sb_buf_reset(&out);
		ret = eng_exec_take(relay->visit->talk.exec, &out, &relay->more, err);
		if (ret < 0 || pass_output(relay, &out, err) < 0)
			return -1;
	}
	if (ret == 1 && !relay->answered &&
		(relay->first.len || eng_exec_stderr(relay->visit->talk.exec)->len ||
			!relay->closed))
		return talk_explain(&relay->visit->talk, sb_buf_str(&relay->first), err);
	return ret;
}

/* Wait until there is something to do. 1: stdin has something. */
static int wait_for_either(const struct relay *relay, struct sb_err *err)
{
	bool full = relay->pending.len > PENDING_MAX || relay->input_ended;
	struct pollfd slots[] = {
		{.fd = full ? -1 : STDIN_FILENO, .events = POLLIN},
		{.fd = eng_exec_fd(relay->visit->talk.exec),
			.events = (short)(POLLIN | (relay->pending.len ? POLLOUT : 0))},
	};

	if (poll(slots, SB_ARRAY_SIZE(slots), relay->more ? 0 : 1000) < 0 && errno != EINTR)
		return sb_err_set(err, SB_FAILED, "cannot wait for input: %s", strerror(errno));
	return slots[0].revents ? 1 : 0;
}

static int relay_all(struct relay *relay, struct sb_err *err)
{
	int ret = 0;

	while (ret == 0) {
		int ready = wait_for_either(relay, err);

		if (ready < 0 || (ready && take_input(relay, err) < 0) ||
			pass_input(relay, err) < 0)
			return -1;
		ret = take_output(relay, err);
	}
	return ret < 0 ? -1 : 0;
}

/* A program that was killed leaves an end like any other's. */
static int check_end(const struct cmd_env *env, struct relay *relay, struct sb_err *err)
{
	int status;

	eng_begin_work(relay->visit->talk.plan->client, cmd_timeout_ms(env));
	if (eng_exec_status(relay->visit->talk.exec, &status, err) < 0)
		return -1;
	if (status == 0)
		return 0;
	if (relay->answered)
		sb_buf_reset(&relay->first);
	return talk_explain(&relay->visit->talk, sb_buf_str(&relay->first), err);
}

static int pipe_through(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(cmd_channel_close) struct cmd_channel channel = CMD_CHANNEL_INIT;
	struct relay relay = {.visit = &channel.visit,
		.pending = SB_BUF_INIT(PENDING_MAX + 2 * CHUNK),
		.first = SB_BUF_INIT(SB_MAX_JSON_REPLY)};
	int ret;

	if (cmd_channel_open(env, &channel, err) < 0)
		return -1;
	/* --timeout is for opening; the channel lives as long as its two ends want. */
	eng_begin_work(channel.session.client, 0);
	ret = relay_all(&relay, err);
	if (ret == 0)
		ret = check_end(env, &relay, err);
	sb_buf_release(&relay.pending);
	sb_buf_release(&relay.first);
	return ret;
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (pipe_through(env, &err) < 0)
		out_error(env->args[0], &err);
	return err.code;
}

const struct cmd cmd_pipe = {
	.name = "pipe",
	.args = "CONTAINER",
	.summary = "exchange JSON-RPC with the service, by lines on stdin and stdout",
	.help = "Each line of stdin is a request, each line of stdout a reply. Many requests\n"
		"can be in progress; replies come as they complete. One process in the\n"
		"container serves them all, so a call costs a fraction of a millisecond. Ends\n"
		"when stdin has ended and the last reply is out, or when the service goes\n"
		"away. With --exec, it also answers 'run', which runs a command just as an exec\n"
		"by the engine would; see sbinject(1). What still runs when stdin ends is\n"
		"ended then.\n",
	.opts = OPTS_DELIVER | OPT(EXEC),
	.min_args = 1,
	.max_args = 1,
	.default_timeout_s = 60,
	.run = run,
};
