/* SPDX-License-Identifier: MIT */
/* "_run_as_user": answering in-process methods as somebody else. */
#include "payloads/sandbox-tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

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

static const json_t *get_user(const struct rpc_request *req)
{
	return json_object_get(req->params, "_run_as_user");
}

int cli_find_user(const struct rpc_request *req, struct user *ret, struct fail *fail)
{
	const json_t *user = get_user(req);
	const char *name = json_string_value(user);
	int r = 1;

	if (!user || json_is_null(user))
		return 0;
	if (!name)
		return fail_code(
			fail, "params", "_run_as_user must be a string, got %s", type_name(user));
	if (strlen(name) == json_string_length(user))
		r = user_find(name, ret);
	if (r < 0)
		return fail_sys(fail, r, "cannot look up user '%s'", name);
	return r > 0 ? fail_set(fail, "User '%s' not found in /etc/passwd", name) : 1;
}

int cli_become_user(const struct rpc_request *req, const struct user *user, struct fail *fail)
{
	if (user_become(user) < 0)
		return fail_set(fail,
			"Permission denied switching to user '%s' (process may lack "
			"CAP_SETUID/CAP_SETGID)",
			json_string_value(get_user(req)));
	if (setenv("HOME", user->home, 1) < 0)
		return fail_sys(fail, errno, "cannot set HOME");
	return 0;
}

static void refuse(const struct rpc_request *req, const struct fail *fail, struct buf *reply)
{
	bool is_params = fail->code != NULL;

	if (req->id)
		rpc_write_error(reply, req->id, is_params ? RPC_INVALID_PARAMS : RPC_HANDLER_ERROR,
			fail->text, NULL);
}

/* In the child: the reply to the parent, and the end. */
static _Noreturn void answer_as(
	const struct rpc_request *req, const struct user *user, char *text, size_t len, int out)
{
	struct buf reply = BUF_INIT(FRAME_REPLY_MAX);
	struct fail fail = FAIL_INIT;
	int null = sys_null(false);

	if (null >= 0)
		dup2(null, 0);
	if (null >= 0)
		dup2(null, 1);
	sys_close_from(3, out);
	if (cli_become_user(req, user, &fail) < 0)
		refuse(req, &fail, &reply);
	else if (cli_answer(text, len, &reply) < 0)
		_exit(1);
	_exit(io_write_full(out, reply.data, reply.len, IO_NEVER) < 0 ? 1 : 0);
}

static int ask_child(const struct rpc_request *req, const struct user *user, char *text, size_t len,
	struct buf *reply)
{
	int ends[2], status = 0, r;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		answer_as(req, user, text, len, ends[1]);
	r = child < 0 ? -errno : 0;
	close(ends[1]);
	if (r == 0)
		r = io_read_all(ends[0], reply, IO_NEVER);
	close(ends[0]);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return r == 0 && status != 0 ? -ECHILD : r;
}

int cli_answer_apart(const struct rpc_request *req, char *text, size_t len, struct buf *reply)
{
	struct fail fail = FAIL_INIT;
	struct user user;
	int r;

	/* what the dispatcher will refuse needs no user */
	if (!rpc_request_is_valid(req))
		return cli_answer(text, len, reply);
	r = cli_find_user(req, &user, &fail);
	if (r == 0)
		return cli_answer(text, len, reply);
	if (r > 0) {
		r = ask_child(req, &user, text, len, reply);
		if (r < 0)
			fail_sys(&fail, r, "cannot answer as another user");
	}
	if (r < 0) {
		reply->len = 0;
		refuse(req, &fail, reply);
	}
	return 0;
}
