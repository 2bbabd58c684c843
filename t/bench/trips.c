/* SPDX-License-Identifier: MIT */
/*
 * trips RUNS CONTAINER|- CHANNEL…: how long one request takes, over several ways in turn, so that a
 * busy machine is busy for all. Prints "NAME WALL" in milliseconds per trip, and of a process per
 * call also the processor time it took: "NAME WALL CPU". A CHANNEL is
 *
 *   NAME METHOD KIND PROGRAM [ARG…]
 *
 * with "--" before the next. KIND exec: PROGRAM was started in CONTAINER through the engine, and
 * stays. here: it was started on this machine, and stays. call: it is started on this machine for
 * each request. It takes a line of JSON-RPC that calls METHOD, and answers with a line.
 */
#include "engine/engine.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHANNELS_MAX = 8, WAIT_MS = 60 * 1000 };

enum kind { EXEC, HERE, CALL };
static const char *const kinds[] = {"exec", "here", "call"};

struct channel {
	const char *name, *method;
	enum kind kind;
	char **argv;
	struct eng_exec *exec;
	pid_t pid;
	int to, from;
	double cpu_ms; /* of the last call */
};

struct bench {
	struct eng_endpoint endpoint;
	struct eng_container container;
	struct channel channels[CHANNELS_MAX];
	struct eng_client *clients[CHANNELS_MAX];
	size_t count;
};

extern char **environ;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static int start_here(struct channel *channel, struct sb_err *err)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2], failed;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return sb_err_set(err, SB_FAILED, "no pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	failed = posix_spawn(
		&channel->pid, channel->argv[0], &actions, NULL, channel->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	channel->to = in[1];
	channel->from = out[0];
	return failed ? sb_err_set(err, SB_FAILED, "%s: %s", channel->argv[0], strerror(failed))
		      : 0;
}

static int end_here(struct channel *channel, struct sb_err *err)
{
	struct rusage usage;
	int status;

	close(channel->from);
	if (wait4(channel->pid, &status, 0, &usage) < 0 || status)
		return sb_err_set(err, SB_FAILED, "%s failed", channel->argv[0]);
	channel->cpu_ms = ms(usage.ru_utime) + ms(usage.ru_stime);
	return 0;
}

static int write_here(struct channel *channel, const struct sb_buf *line, struct sb_err *err)
{
	return write(channel->to, line->data, line->len) == (ssize_t)line->len
		       ? 0
		       : sb_err_set(err, SB_FAILED, "%s: cannot write", channel->name);
}

static int read_here(struct channel *channel, struct sb_buf *reply, struct sb_err *err)
{
	struct pollfd slot = {.fd = channel->from, .events = POLLIN};
	char chunk[4096];
	ssize_t n = poll(&slot, 1, WAIT_MS) == 1 ? read(channel->from, chunk, sizeof(chunk)) : -1;

	if (n <= 0)
		return sb_err_set(err, SB_FAILED, "%s: no reply", channel->name);
	return sb_buf_add(reply, chunk, (size_t)n, err);
}

static int read_exec(struct channel *channel, struct sb_buf *reply, struct sb_err *err)
{
	int ret = eng_exec_read(channel->exec, WAIT_MS, reply, err);

	return ret <= 0 ? ret : sb_err_set(err, SB_FAILED, "%s: it has ended", channel->name);
}

static int trip(struct channel *channel, const struct sb_buf *line, struct sb_err *err)
{
	sb_autobuf struct sb_buf reply = SB_BUF_INIT(65536);

	if (channel->kind == CALL && start_here(channel, err) < 0)
		return -1;
	if (channel->kind == EXEC ? eng_exec_write(channel->exec, line->data, line->len, err) != 0
				  : write_here(channel, line, err) < 0)
		return -1;
	if (channel->kind == CALL)
		close(channel->to);
	while (!reply.len || reply.data[reply.len - 1] != '\n')
		if ((channel->kind == EXEC ? read_exec : read_here)(channel, &reply, err) < 0)
			return -1;
	if (!memmem(reply.data, reply.len, "\"jsonrpc\"", 9) ||
		memmem(reply.data, reply.len, "\"error\"", 7))
		return sb_err_set(
			err, SB_FAILED, "%s: answered %s", channel->name, sb_buf_str(&reply));
	return channel->kind == CALL ? end_here(channel, err) : 0;
}

static int measure(struct channel *channel, long i, struct sb_err *err)
{
	sb_autobuf struct sb_buf line = SB_BUF_INIT(4096);
	double start;

	if (sb_buf_addf(&line, err, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"id\":%ld}\n",
		    channel->method, i) < 0)
		return -1;
	start = now_ms();
	if (trip(channel, &line, err) < 0)
		return -1;
	printf("%s %.4f", channel->name, now_ms() - start);
	if (channel->kind == CALL)
		printf(" %.3f", channel->cpu_ms);
	putchar('\n');
	return 0;
}

static int open_channel(struct bench *bench, size_t i, struct sb_err *err)
{
	struct channel *channel = &bench->channels[i];

	if (channel->kind == CALL)
		return 0;
	if (channel->kind == HERE)
		return start_here(channel, err);
	if (eng_open(&bench->endpoint, 0, &bench->clients[i], err) < 0)
		return -1;
	return eng_exec_start(bench->clients[i], bench->container.id, ENG_AS_ROOT,
		(const char *const *)channel->argv, &channel->exec, err);
}

static void close_channel(struct bench *bench, size_t i)
{
	struct channel *channel = &bench->channels[i];
	struct sb_err err = SB_ERR_INIT;

	eng_exec_close(channel->exec);
	eng_close(bench->clients[i]);
	if (channel->kind == HERE && channel->pid) {
		close(channel->to);
		(void)end_here(channel, &err);
	}
}

/* Each "--" becomes the NULL that ends an argv. */
static int parse(struct bench *bench, char **words)
{
	for (;;) {
		struct channel *channel = &bench->channels[bench->count++];
		char **word = words;

		while (*word && strcmp(*word, "--") != 0)
			word++;
		if (word - words < 4 || bench->count == CHANNELS_MAX)
			return -1;
		channel->name = words[0];
		channel->method = words[1];
		while (strcmp(words[2], kinds[channel->kind]) != 0)
			if (++channel->kind > CALL)
				return -1;
		channel->argv = words + 3;
		if (!*word)
			return 0;
		*word = NULL;
		words = word + 1;
	}
}

static int run(struct bench *bench, long runs, struct sb_err *err)
{
	for (size_t i = 0; i < bench->count; i++)
		if (open_channel(bench, i, err) < 0)
			return -1;
	for (long n = 1; n <= runs; n++)
		for (size_t i = 0; i < bench->count; i++)
			if (measure(&bench->channels[i], n, err) < 0)
				return -1;
	return 0;
}

static int find_container(struct bench *bench, const char *ref, struct sb_err *err)
{
	sb_auto(eng_closep) struct eng_client *client = NULL;

	if (eng_endpoint_find(NULL, &bench->endpoint, err) < 0 ||
		eng_open(&bench->endpoint, WAIT_MS, &client, err) < 0)
		return -1;
	return eng_container_inspect(client, ref, &bench->container, err);
}

int main(int argc, char **argv)
{
	static struct bench bench = {
		.endpoint = ENG_ENDPOINT_INIT, .container = ENG_CONTAINER_INIT};
	struct sb_err err = SB_ERR_INIT;
	int failed;

	if (argc < 7 || parse(&bench, argv + 3) < 0) {
		fprintf(stderr, "trips: usage: see t/bench/trips.c\n");
		return 2;
	}
	failed = eng_global_init(&err) < 0 ||
		 (argv[2][0] != '-' && find_container(&bench, argv[2], &err) < 0) ||
		 run(&bench, strtol(argv[1], NULL, 10), &err) < 0;
	for (size_t i = 0; i < bench.count; i++)
		close_channel(&bench, i);
	eng_container_release(&bench.container);
	eng_endpoint_release(&bench.endpoint);
	if (failed)
		fprintf(stderr, "trips: %s\n", err.text);
	return failed ? 1 : 0;
}
