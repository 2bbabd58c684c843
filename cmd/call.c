/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/service.h"

#include <stdio.h>
#include <string.h>

/* The request as one line, and whether a reply will come. */
struct request {
	struct sb_buf line;
	bool is_notification;
};

static int build_request(
	const char *method, const char *params_text, struct sb_buf *line, struct sb_err *err)
{
	json_auto_t *method_text = json_string(method), *params = NULL, *request = NULL;
	sb_autofree char *text = NULL;
	json_error_t why;

	if (params_text) {
		params = json_loads(params_text, JSON_ALLOW_NUL, &why);
		if (!params)
			return sb_err_set(err, SB_USAGE, "PARAMS is not valid JSON: %s", why.text);
		if (!json_is_object(params))
			return sb_err_set(err, SB_USAGE, "PARAMS must be a JSON object");
	}
	if (!method_text)
		return sb_err_set(err, SB_USAGE, "METHOD is not valid UTF-8");
	request = json_pack("{s:s, s:O, s:i, s:O*}", "jsonrpc", "2.0", "method", method_text, "id",
		1, "params", params);
	text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	return text ? sb_buf_adds(line, text, err) : sb_err_nomem(err);
}

/* A line break can stand in JSON only where a blank can. */
static int read_request(struct request *request, struct sb_err *err)
{
	struct sb_buf *line = &request->line;
	json_auto_t *doc = NULL;

	if (sb_buf_read_fd(line, STDIN_FILENO, err) < 0)
		return sb_err_wrap(err, "the request on stdin");
	for (size_t i = 0; i < line->len; i++)
		if (line->data[i] == '\n' || line->data[i] == '\r')
			line->data[i] = ' ';
	/* The other side passes blank lines over, and there would be no reply to wait for. */
	if (strspn(sb_buf_str(line), " \t") == line->len)
		return sb_err_set(err, SB_USAGE,
			"no request: give METHOD [PARAMS], or a JSON-RPC request on stdin");
	doc = json_loadb(line->data, line->len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	request->is_notification = json_is_object(doc) && !json_object_get(doc, "id");
	return 0;
}

static int make_request(const struct cmd_env *env, struct request *request, struct sb_err *err)
{
	if (env->arg_count == 1)
		return read_request(request, err);
	return build_request(
		env->args[1], env->arg_count > 2 ? env->args[2] : NULL, &request->line, err);
}

static int take_reply(struct visit *visit, struct sb_buf *out, struct sb_err *err)
{
	size_t seen = 0;

	for (;;) {
		const char *end = out->len ? memchr(out->data + seen, '\n', out->len - seen) : NULL;
		int ret;

		/* A line that is no JSON is an engine's word on why nothing was started. */
		if (end && out->data[0] == '{') {
			out->len = (size_t)(end - out->data) + 1;
			return 0;
		}
		seen = out->len;
		ret = eng_exec_read(visit->talk.exec, -1, out, err);
		if (ret)
			return ret < 0 ? -1 : talk_explain(&visit->talk, sb_buf_str(out), err);
	}
}

static int await_end(struct visit *visit, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_FRAME_TEXT);
	int ret;

	if (eng_exec_close_stdin(visit->talk.exec, err) < 0)
		return -1;
	while ((ret = eng_exec_read(visit->talk.exec, -1, &out, err)) == 0)
		;
	if (ret < 0)
		return -1;
	if (out.len || eng_exec_stderr(visit->talk.exec)->len)
		return talk_explain(&visit->talk, sb_buf_str(&out), err);
	return 0;
}

/* The service may be at work still: that it does not answer at all is not known. */
static int explain_silence(
	const struct cmd_env *env, const struct cmd_channel *channel, struct sb_err *err)
{
	if (err->code != SB_NO_SERVICE || eng_time_left(channel->session.client, 1) > 0)
		return -1;
	sb_err_clear(err);
	return sb_err_set(err, SB_NO_SERVICE,
		"no reply within %d s; --timeout allows more (the request may still be running)",
		cmd_timeout_ms(env) / 1000);
}

static int exchange(const struct cmd_env *env, const struct request *request, struct sb_buf *reply,
	struct sb_err *err)
{
	sb_auto(cmd_channel_close) struct cmd_channel channel = CMD_CHANNEL_INIT;
	struct visit *visit = &channel.visit;
	int ret;

	if (cmd_channel_open(env, &channel, err) < 0)
		return channel.session.client ? explain_silence(env, &channel, err) : -1;
	if (eng_exec_write(visit->talk.exec, request->line.data, request->line.len, err) < 0 ||
		eng_exec_write(visit->talk.exec, "\n", 1, err) < 0)
		return -1;
	ret = request->is_notification ? await_end(visit, err) : take_reply(visit, reply, err);
	return ret < 0 ? explain_silence(env, &channel, err) : ret;
}

/* The end of a JSON string that begins at `at` (its quote), or `end`. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

/*
 * Whether a top-level member of the reply is called "error". Not by parsing: a reply is as large as
 * a container likes, and a document of it many times larger.
 */
static bool is_error_reply(const struct sb_buf *reply)
{
	const char *end = reply->data + reply->len;
	int depth = 0;

	for (const char *at = reply->data; at < end;) {
		const char *next = *at == '"' ? skip_string(at, end) : at + 1;

		depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
		if (depth == 1 && next - at == 7 && !memcmp(at, "\"error\"", 7) && next < end &&
			next[strspn(next, " \t")] == ':')
			return true;
		at = next;
	}
	return false;
}

static enum sb_code call(const struct cmd_env *env, struct sb_err *err)
{
	struct request request = {SB_BUF_INIT(SB_MAX_PAYLOAD), false};
	sb_autobuf struct sb_buf reply = SB_BUF_INIT(SB_MAX_RPC);
	int ret = make_request(env, &request, err);

	if (ret == 0)
		ret = exchange(env, &request, &reply, err);
	sb_buf_release(&request.line);
	if (ret < 0 || request.is_notification)
		return err->code;
	if (out_foreign(reply.data, reply.len, err) < 0)
		return err->code;
	return is_error_reply(&reply) ? SB_FAILED : SB_OK;
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	enum sb_code code = call(env, &err);

	if (err.code != SB_OK)
		out_error(env->args[0], &err);
	return code;
}

const struct cmd cmd_call = {
	.name = "call",
	.args = "CONTAINER [METHOD [PARAMS]]",
	.summary = "send one JSON-RPC request to the service, print the reply",
	.help = "PARAMS is a JSON object. Without METHOD, the whole request is read from\n"
		"stdin. Exit code 0: the reply is a result. 1: the reply is an error; it is\n"
		"printed, too. 7: the service is not there, or did not answer within\n"
		"--timeout.\n"
		"\n"
		"  sbinject call web version\n"
		"  sbinject call web text_editor '{\"command\": \"view\", \"path\": \"/etc/passwd\"}'\n",
	.opts = OPTS_DELIVER,
	.min_args = 1,
	.max_args = 3,
	.default_timeout_s = 600,
	.run = run,
};
