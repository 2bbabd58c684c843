/* SPDX-License-Identifier: MIT */
/* Whom an in-process method is answered as. */
#include "payloads/sandbox-tools/cli.h"

#include <errno.h>
#include <stdlib.h>

#include "payloads/lib/base.h"
#include "payloads/sandbox-tools/rpc/params.h"

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
		{{"_run_as", PARAM_USER, PARAM_OPTIONAL}, {NULL, 0, PARAM_REQUIRED}},
		{{"_run_as_user", PARAM_STRING, PARAM_OPTIONAL}, {NULL, 0, PARAM_REQUIRED}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
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
		return fail_code(fail, FAIL_PARAMS, "%s must be %s, got %s", member->name,
			is_name ? "a string" : "a username or an identity object",
			type_name(value));
	r = params_check(params, member, false, "", &errors);
	if (r < 0)
		fail_sys(fail, r, "cannot read %s", member->name);
	else if (errors.len > 0)
		r = fail_code(fail, FAIL_PARAMS, "Invalid parameters: %.*s", (int)errors.len,
			errors.data);
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
