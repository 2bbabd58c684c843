/* SPDX-License-Identifier: MIT */
/* exec: one JSON-RPC request in, one reply out. */
#include "payloads/sandbox-tools/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/chunk/chunk.h"
#include "payloads/sandbox-tools/cli_apart.h"
#include "payloads/sandbox-tools/tools.h"

/* A process that became another user cannot delete what it had reserved; its parent does. */
static struct chunk chunk;

static void release(void)
{
	chunk_release(&chunk);
}

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

/* As cli_find_user(), with a file for the reply if there is somebody to become. */
static int find_user(const struct rpc_request *req, struct user *ret, struct fail *fail)
{
	int r = cli_find_user(req, ret, fail);

	if (r > 0)
		chunk_reserve(&chunk, req->id);
	return r;
}

static int ask_server(
	const struct cli *cli, const struct rpc_request *req, struct buf *reply, struct fail *fail)
{
	int fd = cli_connect(cli, fail), r;

	if (fd < 0)
		return -1;
	r = service_call(fd, req->text, req->len, reply, IO_NEVER, fail);
	close(fd);
	return r;
}

/* In this process, or, as the user the request names, in one that is that user's for good. */
static int answer_here(const struct rpc_request *req, struct buf *reply, struct fail *fail)
{
	struct user user;
	int r = req->flaw ? 0 : find_user(req, &user, fail);

	if (r < 0 || (r > 0 && (apart_leave(fail) < 0 || cli_become_user(&user, fail) < 0)))
		return -1;
	r = cli_answer(req, reply);
	return r < 0 ? fail_sys(fail, r, "cannot make the reply") : 0;
}

static int answer(
	const struct cli *cli, const struct rpc_request *req, struct buf *reply, struct fail *fail)
{
	if (rpc_request_check_outline(req, fail) < 0)
		return -1;
	if (req->flaw)
		return answer_here(req, reply, fail);
	if (req->method && strcmp(req->method, CHUNK_METHOD) == 0) {
		if (chunk_continue(&chunk, req, reply) < 0)
			return fail_sys(fail, ENOMEM, "cannot write the reply");
		return 0;
	}
	if (tools_find_method(req->method, RPC_IN_PROCESS))
		return answer_here(req, reply, fail);
	return ask_server(cli, req, reply, fail);
}

/* The reply, or the first piece of it. Exit status. */
static int print(const struct rpc_request *req, const struct buf *reply)
{
	struct buf piece = BUF_INIT(FRAME_REPLY_MAX);
	struct fail fail = FAIL_INIT;
	int r;

	if (!chunk_is_needed(&chunk, req->id, reply->data, reply->len))
		return cli_print_reply(reply->data, reply->len);
	r = chunk_first(&chunk, req->id, reply->data, reply->len, &piece, &fail);
	r = r < 0 ? cli_complain(&fail) : cli_print_reply(piece.data, piece.len);
	buf_release(&piece);
	return r;
}

static int run(const struct cli *cli)
{
	struct buf text = BUF_INIT(FRAME_REQUEST_MAX), reply = BUF_INIT(FRAME_REPLY_MAX);
	struct rpc_request req = RPC_REQUEST_INIT;
	struct fail fail = FAIL_INIT;
	struct place place = {.fd = -1};
	int r = read_request(cli, &text, &fail);

	if (r == 0)
		r = rpc_request_read(&req, text.data, text.len, &fail);
	/* most requests need none */
	if (r == 0 && cli_place(&place, &fail) < 0)
		fail = (struct fail)FAIL_INIT;
	chunk_init(&chunk, &place);
	atexit(release);
	if (r == 0)
		r = answer(cli, &req, &reply, &fail);
	r = r < 0 ? cli_complain(&fail) : print(&req, &reply);
	rpc_request_release(&req);
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
