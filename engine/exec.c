/* SPDX-License-Identifier: MIT */
#include "engine/client.h"

#include "engine/clock.h"
#include "engine/frames.h"
#include "engine/log.h"
#include "engine/stream.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
	STATUS_WAIT_MS = 3000, /* the engine may learn of the end after the stream's end */
	STATUS_PAUSE_MS = 20,
	PAUSED_MS = 5000,
};

struct eng_exec {
	struct eng_client *client;
	struct eng_stream *stream;
	struct eng_frames frames;
	struct sb_buf stderr_text;
	char id[129];
	bool attached;	   /* `id` is a container's */
	char piece[65536]; /* of the stream; a small stack has no room for it */
};

/* What one read collects. */
struct intake {
	struct eng_exec *exec;
	struct sb_buf *out;
	struct sb_err err;
};

static char *create_body(enum eng_exec_user user, const char *const *argv)
{
	json_auto_t *words = json_array(), *body = NULL;

	for (; *argv; argv++)
		if (json_array_append_new(words, json_string(*argv)) < 0)
			return NULL;
	body = json_pack("{s:b, s:b, s:b, s:b, s:s*, s:s, s:O}", "AttachStdin", 1, "AttachStdout",
		1, "AttachStderr", 1, "Tty", 0, "User", user == ENG_AS_ROOT ? "0:0" : NULL,
		"WorkingDir", "/", "Cmd", words);
	return body ? json_dumps(body, JSON_COMPACT) : NULL;
}

static int keep_id(struct eng_exec *exec, const struct eng_http_reply *reply, struct sb_err *err)
{
	json_auto_t *doc = sb_json_parse(
		sb_buf_str(&reply->body), reply->body.len, "the engine's answer to an exec", err);
	const char *id = doc ? sb_json_str(doc, "Id") : NULL;

	if (!doc)
		return -1;
	if (!id || !*id || strlen(id) >= sizeof(exec->id) ||
		strspn(id, "0123456789abcdef") != strlen(id))
		return sb_err_set(err, SB_FAILED, "the engine created an exec, but reported no id");
	strcpy(exec->id, id);
	return 0;
}

static int fail_exec(const struct eng_exec *exec, const struct eng_http_reply *reply,
	const char *what, struct sb_err *err)
{
	return eng_refused(
		exec->client, reply, eng_reply_means(reply, ENG_AT_EXEC)->code, what, err);
}

/* 1: the container is paused. */
static int create(struct eng_exec *exec, const char *container, enum eng_exec_user user,
	const char *const *argv, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	sb_autofree char *body = create_body(user, argv);
	struct eng_http_req req = {.method = "POST", .type = "application/json", .body = body};

	if (!body)
		return sb_err_nomem(err);
	req.body_len = strlen(body);
	if (eng_path_begin(exec->client, &path, err) < 0 ||
		sb_buf_addf(&path, err, "/containers/%s/exec", container) < 0)
		return -1;
	req.path = path.data;
	if (eng_call(exec->client, &req, &reply, err) < 0)
		return -1;
	if (reply.status == 201)
		return keep_id(exec, &reply, err);
	(void)fail_exec(exec, &reply, "run a program in the container", err);
	return eng_reply_says(&reply, "is paused") ? 1 : -1;
}

/* A pause by another run (hold.h) is short. */
static int create_awake(struct eng_exec *exec, const char *container, enum eng_exec_user user,
	const char *const *argv, struct sb_err *err)
{
	int64_t until = sb_deadline(PAUSED_MS);
	bool exposed = false;
	int ret;

	while ((ret = create(exec, container, user, argv, err)) == 1) {
		struct sb_err ignored = SB_ERR_INIT;

		if (sb_left_ms(until, 1) == 0 ||
			eng_is_exposed(exec->client, container, &exposed, &ignored) < 0 || !exposed)
			return -1;
		sb_err_clear(err);
		sb_sleep_ms(STATUS_PAUSE_MS);
	}
	return ret;
}

/* A container's own streams come without a body to ask for them. */
static int open_streams(struct eng_exec *exec, struct sb_err *err)
{
	static const char body[] = "{\"Detach\":false,\"Tty\":false}";
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	struct eng_http_req req = {.method = "POST",
		.type = "application/json",
		.body = body,
		.body_len = exec->attached ? 0 : sizeof(body) - 1};

	if (eng_path_begin(exec->client, &path, err) < 0 ||
		sb_buf_addf(&path, err,
			exec->attached ? "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1"
				       : "/exec/%s/start",
			exec->id) < 0)
		return -1;
	req.path = path.data;
	if (eng_limit_time(exec->client, &req, err) < 0 ||
		eng_stream_open(exec->client->http, &req, &exec->stream, &reply, err) < 0)
		return -1;
	if (!exec->stream)
		return fail_exec(exec, &reply, "start a program in the container", err);
	return 0;
}

static struct eng_exec *new_exec(struct eng_client *client, struct sb_err *err)
{
	struct eng_exec *exec = calloc(1, sizeof(*exec));

	if (!exec) {
		sb_err_nomem(err);
		return NULL;
	}
	exec->client = client;
	exec->stderr_text.max = SB_MAX_FRAME_TEXT;
	return exec;
}

int eng_exec_start(struct eng_client *client, const char *id, enum eng_exec_user user,
	const char *const *argv, struct eng_exec **ret, struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = new_exec(client, err);

	if (!exec)
		return -1;
	sb_log(SB_TRACE_EXEC, "%s %s in %.12s", argv[0], argv[1] ? argv[1] : "", id);
	if (create_awake(exec, id, user, argv, err) < 0 || open_streams(exec, err) < 0)
		return -1;
	*ret = sb_steal(exec);
	return 0;
}

int eng_exec_attach(
	struct eng_client *client, const char *id, struct eng_exec **ret, struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = new_exec(client, err);

	if (!exec)
		return -1;
	exec->attached = true;
	snprintf(exec->id, sizeof(exec->id), "%s", id);
	if (open_streams(exec, err) < 0)
		return -1;
	*ret = sb_steal(exec);
	return 0;
}

void eng_exec_close(struct eng_exec *exec)
{
	if (!exec)
		return;
	eng_stream_close(exec->stream);
	sb_buf_release(&exec->stderr_text);
	free(exec);
}

void eng_exec_closep(struct eng_exec **exec)
{
	eng_exec_close(*exec);
}

int eng_exec_send(
	struct eng_exec *exec, const void *data, size_t len, size_t *ret_len, struct sb_err *err)
{
	return eng_stream_send(exec->stream, data, len, ret_len, err);
}

static int check_time_to_send(const struct eng_exec *exec, struct sb_err *err)
{
	if (sb_left_ms(exec->client->deadline, 1) > 0)
		return 0;
	return sb_err_set(err, SB_NO_ENGINE,
		"out of time while sending input to the program; --timeout allows more");
}

int eng_exec_write(struct eng_exec *exec, const void *data, size_t len, struct sb_err *err)
{
	const char *from = data;

	while (len) {
		size_t sent;
		int ret = eng_exec_send(exec, from, len, &sent, err);

		if (ret)
			return ret;
		from += sent;
		len -= sent;
		if (sent)
			continue;
		if (check_time_to_send(exec, err) < 0)
			return -1;
		eng_stream_wait(exec->stream, POLLOUT, sb_left_ms(exec->client->deadline, 200));
	}
	return 0;
}

int eng_exec_close_stdin(struct eng_exec *exec, struct sb_err *err)
{
	return eng_stream_half_close(exec->stream, err);
}

/* Of more diagnostics than are kept, the last are the ones that tell. */
static int keep_stderr(struct sb_buf *text, const char *data, size_t len, struct sb_err *err)
{
	if (len > text->max) {
		data += len - text->max;
		len = text->max;
	}
	if (text->len > text->max - len)
		sb_buf_consume(text, text->len - (text->max - len));
	return sb_buf_add(text, data, len, err);
}

static int take_piece(void *ctx, int stream, const char *data, size_t len)
{
	struct intake *intake = ctx;

	if (stream == 1)
		return sb_buf_add(intake->out, data, len, &intake->err);
	return keep_stderr(&intake->exec->stderr_text, data, len, &intake->err);
}

/* A program that never pauses must not hold us. */
static int check_time(const struct eng_exec *exec, struct sb_err *err)
{
	if (eng_is_interrupted(exec->client))
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	if (sb_left_ms(exec->client->deadline, 1) == 0)
		return sb_err_set(
			err, SB_NO_SERVICE, "the program in the container did not answer in time");
	return 0;
}

static int feed(
	struct eng_exec *exec, const char *data, size_t len, struct sb_buf *out, struct sb_err *err)
{
	struct intake intake = {exec, out, SB_ERR_INIT};

	if (eng_frames_feed(&exec->frames, data, len, take_piece, &intake, err) == 0)
		return 0;
	if (intake.err.code != SB_OK)
		*err = intake.err;
	return sb_err_wrap(err, "output of the program in the container");
}

/* One piece of whatever there is: *ret_len bytes, of which `out` need not have got any. */
static int take_in(struct eng_exec *exec, int timeout_ms, struct sb_buf *out, size_t *ret_len,
	struct sb_err *err)
{
	int left = sb_left_ms(exec->client->deadline, timeout_ms), ret;

	if (check_time(exec, err) < 0)
		return -1;
	ret = eng_stream_recv(exec->stream, exec->piece, sizeof(exec->piece), left, ret_len, err);
	if (ret == 1 && !eng_frames_is_whole(&exec->frames))
		return sb_err_set(err, SB_NO_ENGINE,
			"the engine closed the connection in the middle of the program's output");
	return ret ? ret : feed(exec, exec->piece, *ret_len, out, err);
}

int eng_exec_read(struct eng_exec *exec, int timeout_ms, struct sb_buf *out, struct sb_err *err)
{
	int64_t until = timeout_ms < 0 ? SB_NEVER : sb_now_ms() + timeout_ms;
	size_t before = out->len, len;

	do {
		int ret = take_in(exec, sb_left_ms(until, INT_MAX), out, &len, err);

		if (ret)
			return ret;
	} while (out->len == before && sb_left_ms(until, 1));
	return 0;
}

int eng_exec_take(struct eng_exec *exec, struct sb_buf *out, bool *ret_came, struct sb_err *err)
{
	size_t len = 0;
	int ret = take_in(exec, 0, out, &len, err);

	*ret_came = len > 0;
	return ret;
}

int eng_exec_write_until(
	struct eng_exec *exec, const void *data, size_t len, struct sb_buf *out, struct sb_err *err)
{
	const char *from = data;

	while (len) {
		size_t came, sent;
		int ret = check_time_to_send(exec, err);

		if (ret == 0)
			ret = take_in(exec, 0, out, &came, err);
		if (ret || out->len)
			return ret < 0 ? -1 : 1;
		ret = eng_exec_send(exec, from, len, &sent, err);
		if (ret)
			return ret;
		from += sent;
		len -= sent;
		if (!sent && !came)
			eng_stream_wait(exec->stream, POLLIN | POLLOUT,
				sb_left_ms(exec->client->deadline, 200));
	}
	return 0;
}

struct sb_buf *eng_exec_stderr(struct eng_exec *exec)
{
	return &exec->stderr_text;
}

int eng_exec_fd(const struct eng_exec *exec)
{
	return eng_stream_fd(exec->stream);
}

static int get_status(
	struct eng_exec *exec, const char *path, bool *running, int *ret, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	json_auto_t *doc = NULL;
	const json_t *state;

	if (eng_get_json(exec->client, path, &doc, &reply, err) < 0)
		return -1;
	if (!doc)
		return fail_exec(exec, &reply, "report a program's exit status", err);
	state = exec->attached ? sb_json_at(doc, "State") : doc;
	*running =
		sb_json_bool(state, "Running") || !json_is_integer(sb_json_at(state, "ExitCode"));
	*ret = (int)sb_json_int(state, "ExitCode", -1);
	return 0;
}

int eng_exec_status(struct eng_exec *exec, int *ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	int64_t until = sb_deadline(STATUS_WAIT_MS);
	bool running = true;

	if (eng_path_begin(exec->client, &path, err) < 0 ||
		sb_buf_addf(&path, err, "/%s/%s/json", exec->attached ? "containers" : "exec",
			exec->id) < 0)
		return -1;
	for (;;) {
		if (get_status(exec, path.data, &running, ret, err) < 0)
			return -1;
		if (!running)
			return 0;
		if (sb_left_ms(until, 1) == 0)
			return sb_err_set(err, SB_FAILED,
				"the engine did not report the program's exit status");
		sb_sleep_ms(STATUS_PAUSE_MS);
	}
}
