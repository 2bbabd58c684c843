/* SPDX-License-Identifier: MIT */
#include "engine/guard.h"

#include "engine/client.h"
#include "engine/clock.h"
#include "engine/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	READY_MS = 20 * 1000,	/* to be started, and to find the engine */
	UNPAUSE_MS = 60 * 1000, /* for all tries together: an engine may be starting again */
	TRY_MS = 10 * 1000,
	UNSURE_MS = 5 * 1000, /* a pause may be on its way still */
	PAUSE_MS = 100,
	SLICE_MS = 200,
};

extern char **environ;

/* ---- our side ---- */

static json_t *describe(const struct eng_endpoint *e, const char *id)
{
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*, s:b, s:b}", "id", id,
		"url", e->url, "why", e->why, "socket", e->socket, "host", e->host, "prefix",
		e->prefix, "ca", e->ca, "cert", e->cert, "key", e->key, "tls", (int)e->tls,
		"tls_verify", (int)e->tls_verify);
}

static int say(int fd, const char *text, size_t len, struct sb_err *err)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sb_err_set(
				err, SB_FAILED, "the process that guards the pause has ended");
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int tell(const struct eng_client *client, const char *id, const struct eng_guard *guard,
	struct sb_err *err)
{
	json_auto_t *doc = describe(client->endpoint, id);
	sb_autofree char *line = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	if (!line)
		return sb_err_nomem(err);
	return say(guard->fd, line, strlen(line), err) < 0 ? -1 : say(guard->fd, "\n", 1, err);
}

/* stdin is the line to us; what the guard has to say is said by its exit status. */
static int spawn(struct eng_guard *guard, int end, struct sb_err *err)
{
	static char name[] = "sbinject", word[] = ENG_GUARD_WORD;
	char *argv[] = {name, word, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int code;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&files, end, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	code = posix_spawn(&guard->pid, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	if (code)
		guard->pid = 0;
	return code ? sb_err_set(err, SB_FAILED,
			      "cannot start the process that guards the pause: %s", strerror(code))
		    : 0;
}

static int await_ready(
	const struct eng_client *client, const struct eng_guard *guard, struct sb_err *err)
{
	int64_t until = sb_deadline(READY_MS);
	struct pollfd slot = {.fd = guard->fd, .events = POLLIN};
	char word;

	while (poll(&slot, 1, eng_time_left(client, SLICE_MS)) <= 0) {
		if (eng_is_interrupted(client))
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		if (sb_left_ms(until, eng_time_left(client, 1)) == 0)
			return sb_err_set(err, SB_NO_ENGINE,
				"the process that guards the pause was not ready in time");
	}
	if (recv(guard->fd, &word, 1, 0) != 1)
		return sb_err_set(err, SB_FAILED,
			"the process that guards the pause cannot reach the engine");
	return 0;
}

int eng_guard_start(
	struct eng_client *client, const char *id, struct eng_guard *ret, struct sb_err *err)
{
	int ends[2], code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return sb_err_set(err, SB_FAILED, "cannot make a socket: %s", strerror(errno));
	*ret = (struct eng_guard){.fd = ends[0]};
	code = spawn(ret, ends[1], err);
	close(ends[1]);
	if (code == 0 && tell(client, id, ret, err) == 0 && await_ready(client, ret, err) == 0)
		return 0;
	(void)eng_guard_end(ret, true);
	return -1;
}

int eng_guard_arm(const struct eng_guard *guard, struct sb_err *err)
{
	return say(guard->fd, "p", 1, err);
}

bool eng_guard_end(struct eng_guard *guard, bool done)
{
	struct sb_err ignored = SB_ERR_INIT;
	int status = -1;

	if (done)
		(void)say(guard->fd, "d", 1, &ignored);
	close(guard->fd);
	while (guard->pid && waitpid(guard->pid, &status, 0) < 0 && errno == EINTR)
		;
	*guard = (struct eng_guard){.pid = 0};
	return status == 0;
}

/* ---- its side ---- */

static char *copy(const json_t *doc, const char *key)
{
	const char *text = sb_json_str(doc, key);

	return text ? strdup(text) : NULL;
}

static int read_order(struct eng_endpoint *ret, char id[65], struct sb_err *err)
{
	sb_autobuf struct sb_buf line = SB_BUF_INIT(SB_MAX_HEADERS);
	json_auto_t *doc = NULL;
	const char *text;
	char byte;

	while (recv(0, &byte, 1, 0) == 1 && byte != '\n')
		if (sb_buf_add(&line, &byte, 1, err) < 0)
			return -1;
	doc = sb_json_parse(sb_buf_str(&line), line.len, "an order", err);
	text = doc ? sb_json_str(doc, "id") : NULL;
	if (!text || strlen(text) != 64)
		return sb_err_set(err, SB_USAGE, "no order");
	strcpy(id, text);
	*ret = (struct eng_endpoint){.socket = copy(doc, "socket"),
		.host = copy(doc, "host"),
		.prefix = copy(doc, "prefix"),
		.url = copy(doc, "url"),
		.why = copy(doc, "why"),
		.ca = copy(doc, "ca"),
		.cert = copy(doc, "cert"),
		.key = copy(doc, "key"),
		.tls = sb_json_bool(doc, "tls"),
		.tls_verify = sb_json_bool(doc, "tls_verify")};
	return 0;
}

/* Whether it has fallen to us to unpause. */
static bool keep_watch(void)
{
	int64_t until = sb_deadline(ENG_GUARD_MS);
	struct pollfd slot = {.fd = 0, .events = POLLIN};
	bool armed = false;
	char word;

	for (;;) {
		if (poll(&slot, 1, sb_left_ms(until, ENG_GUARD_MS)) <= 0)
			return armed;
		if (recv(0, &word, 1, 0) != 1)
			return armed;
		if (word == 'd')
			return false;
		armed = true;
	}
}

static int unpause(struct eng_client *client, const char *id)
{
	int64_t until = sb_deadline(UNPAUSE_MS), unsure = sb_deadline(UNSURE_MS);

	while (sb_left_ms(until, 1)) {
		struct sb_err err = SB_ERR_INIT;
		int ret;

		eng_begin_work(client, TRY_MS);
		ret = eng_unpause(client, id, &err);
		if (ret == 0 || (ret < 0 && err.code == SB_NO_CONTAINER) ||
			(ret == 1 && sb_left_ms(unsure, 1) == 0))
			return 0;
		sb_sleep_ms(PAUSE_MS);
	}
	return 1;
}

int eng_guard_main(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	sb_auto(eng_endpoint_release) struct eng_endpoint endpoint = ENG_ENDPOINT_INIT;
	sb_auto(eng_closep) struct eng_client *client = NULL;
	struct sb_err err = SB_ERR_INIT;
	char id[65];

	for (size_t i = 0; i < SB_ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	syscall(SYS_close_range, 3, ~0u, 0); /* musl has no function for it */
	if (read_order(&endpoint, id, &err) < 0 || eng_global_init(&err) < 0 ||
		eng_open(&endpoint, READY_MS, &client, &err) < 0 || say(0, "r", 1, &err) < 0)
		return 1;
	return keep_watch() ? unpause(client, id) : 0;
}
