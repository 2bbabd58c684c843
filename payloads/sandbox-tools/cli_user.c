/* SPDX-License-Identifier: MIT */
/* Answering in-process methods as somebody else. */
#include "payloads/sandbox-tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/rpc/params.h"

#define CHILD_MS 60000 /* a child that takes longer has been stopped by its user's processes */

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

/* The member that says whom, and what it may be; NULL when there is none. */
static const struct param *find_member(const json_t *params)
{
	static const struct param members[][2] = {
		{{"_run_as", PARAM_USER, true}, {NULL, 0, false}},
		{{"_run_as_user", PARAM_STRING, true}, {NULL, 0, false}},
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const json_t *value = json_object_get(params, members[i]->name);

		if (value && !json_is_null(value))
			return members[i];
	}
	return NULL;
}

/* 0 or -1 with 'fail'. */
static int check_member(const json_t *params, const struct param *member, struct fail *fail)
{
	const json_t *value = json_object_get(params, member->name);
	bool is_name = member->type == PARAM_STRING;
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	int r;

	if (!json_is_string(value) && (is_name || !json_is_object(value)))
		return fail_code(fail, "params", "%s must be %s, got %s", member->name,
			is_name ? "a string" : "a username or an identity object",
			type_name(value));
	r = params_check(params, member, false, "", &errors);
	if (r < 0)
		fail_sys(fail, r, "cannot read %s", member->name);
	else if (errors.len > 0)
		r = fail_code(
			fail, "params", "Invalid parameters: %.*s", (int)errors.len, errors.data);
	buf_release(&errors);
	return r < 0 ? -1 : 0;
}

int cli_find_user(const struct rpc_request *req, struct user *ret, struct fail *fail)
{
	const struct param *member = find_member(req->params);
	int r;

	if (!member)
		return 0;
	if (check_member(req->params, member, fail) < 0)
		return -1;
	r = user_choose(json_object_get(req->params, member->name), ret, fail);
	if (r > 0 && ret->unknown)
		return fail_set(fail, "User %s not found in /etc/passwd", ret->shown);
	return r;
}

int cli_become_user(const struct user *user, struct fail *fail)
{
	if (user_become(user) < 0)
		return fail_set(fail,
			"Permission denied switching to user %s (process may lack "
			"CAP_SETUID/CAP_SETGID)",
			user->shown);
	if (setenv("HOME", user->home, 1) < 0)
		return fail_sys(fail, errno, "cannot set HOME");
	return 0;
}

static void refuse(const struct rpc_request *req, const struct fail *fail, struct buf *reply)
{
	if (req->id)
		rpc_write_error(reply, req->id, rpc_code_of(fail), fail->text, NULL);
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
	if (cli_become_user(user, &fail) < 0)
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
		r = io_read_all(ends[0], reply, io_in(CHILD_MS));
	if (r < 0 && child > 0)
		kill(child, SIGKILL);
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
	if (!rpc_request_is_valid(req) || req->flaw)
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
