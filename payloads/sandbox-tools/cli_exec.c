/* SPDX-License-Identifier: MIT */
/* exec: one JSON-RPC request in, one reply out. */
#include "payloads/sandbox-tools/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/methods.h"

static int read_request(const struct cli *cli, struct buf *text, struct fail *fail)
{
	int r = 0;

	if (cli->argc > 0 && cli->argv[0][0])
		r = buf_add_str(text, cli->argv[0]);
	else
		r = io_read_all(0, text, IO_NEVER);
	if (r < 0)
		return fail_sys(fail, r, "cannot read the request");
	while (text->len > 0 && memchr(" \t\r\n\v\f", text->data[text->len - 1], 6))
		text->len--;
	return text->len == 0 ? fail_set(fail, "the request is empty") : 0;
}

static const char *type_name(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "dict",
		[JSON_ARRAY] = "list",
		[JSON_STRING] = "str",
		[JSON_INTEGER] = "int",
		[JSON_REAL] = "float",
		[JSON_TRUE] = "bool",
		[JSON_FALSE] = "bool",
		[JSON_NULL] = "NoneType",
	};

	return names[json_typeof(value)];
}

/* The user a request asks an in-process method to become. */
static int check_user(const struct rpc_request *req, struct fail *fail)
{
	const json_t *user = json_object_get(req->params, "_run_as_user");

	if (!user || json_is_null(user))
		return 0;
	if (!json_is_string(user))
		return fail_set(fail, "_run_as_user must be a string, got %s", type_name(user));
	/* switching comes with the first method that acts on files */
	return fail_set(fail, "this build cannot switch users");
}

static int ask_server(
	const struct cli *cli, const struct buf *text, struct buf *reply, struct fail *fail)
{
	int fd = cli_connect(cli, fail), r;

	if (fd < 0)
		return -1;
	r = service_call(fd, text->data, text->len, reply, IO_NEVER, fail);
	close(fd);
	return r;
}

static int answer(const struct cli *cli, struct buf *text, struct buf *reply, struct fail *fail)
{
	struct rpc_request req;
	bool here;
	int r;

	if (rpc_request_read(&req, text->data, text->len, fail) < 0)
		return -1;
	here = rpc_method_find(sandbox_methods, req.method, RPC_IN_PROCESS) != NULL;
	r = rpc_request_check_outline(&req, fail);
	if (r == 0 && here)
		r = check_user(&req, fail);
	rpc_request_release(&req);
	if (r < 0)
		return r;
	if (!here)
		return ask_server(cli, text, reply, fail);
	r = cli_answer(text->data, text->len, reply);
	return r < 0 ? fail_sys(fail, r, "cannot answer") : 0;
}

static int run(const struct cli *cli)
{
	struct buf text = BUF_INIT(FRAME_REQUEST_MAX), reply = BUF_INIT(FRAME_REPLY_MAX);
	struct fail fail = FAIL_INIT;
	int r = read_request(cli, &text, &fail);

	if (r == 0)
		r = answer(cli, &text, &reply, &fail);
	r = r < 0 ? cli_complain(&fail) : cli_print_reply(reply.data, reply.len);
	buf_release(&text);
	buf_release(&reply);
	return r;
}

const struct cli_command cli_exec = {
	"exec",
	"[REQUEST]",
	"answer one JSON-RPC request, from the argument or stdin",
	1,
	run,
};
