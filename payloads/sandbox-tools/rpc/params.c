/* SPDX-License-Identifier: MIT */
/* Named parameters against a table. The words are the ones models have been shown before. */
#include "payloads/sandbox-tools/rpc/params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_SHOWN 200 /* bytes of a name the caller invented */

static const char *const wrong_type[] = {
	[PARAM_STRING] = "Input should be a valid string",
	[PARAM_INTEGER] = "Input should be a valid integer",
	[PARAM_NUMBER] = "Input should be a valid number",
	[PARAM_BOOLEAN] = "Input should be a valid boolean",
	[PARAM_TRUE] = "Input should be True",
	[PARAM_VERSION] = "Input should be '2.0'",
	[PARAM_HANDLER] = "Input should be 'strict', 'ignore' or 'replace'",
	[PARAM_STRINGS] = "Input should be a valid list",
	[PARAM_INTEGERS] = "Input should be a valid list",
	[PARAM_STRING_MAP] = "Input should be a valid dictionary",
	[PARAM_OBJECT] = "Input should be a valid dictionary",
};

/* One table's errors on their way into the buffer. */
struct report {
	struct buf *errors;
	const char *prefix;
	int status; /* the first failure to write */
};

/* No more than NAME_SHOWN bytes, and no piece of a character. */
static int shown_length(const char *name)
{
	size_t len = strnlen(name, NAME_SHOWN + 1);

	if (len > NAME_SHOWN)
		while (--len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80)
			;
	return (int)len;
}

static void complain(struct report *report, const char *name, const char *sub, const char *text)
{
	char line[3 * NAME_SHOWN + 200];
	int n = snprintf(line, sizeof(line), "%s'%s%.*s%s%.*s' %s",
		report->errors->len > 0 ? "\n" : "", report->prefix, shown_length(name), name,
		sub ? "." : "", sub ? shown_length(sub) : 0, sub ? sub : "", text);
	int r = n < 0 || (size_t)n >= sizeof(line) ? -EMSGSIZE
						   : buf_add(report->errors, line, (size_t)n);

	if (report->status == 0)
		report->status = r;
}

static void check_items(
	struct report *report, const char *name, const json_t *list, enum param_type type)
{
	char index[24];

	for (size_t i = 0; i < json_array_size(list) && report->status == 0; i++) {
		const json_t *item = json_array_get(list, i);

		if (type == PARAM_STRING ? json_is_string(item) : json_is_integer(item))
			continue;
		snprintf(index, sizeof(index), "%zu", i);
		complain(report, name, index, wrong_type[type]);
	}
}

static void check_values(struct report *report, const char *name, json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach (map, key, value) {
		if (report->status == 0 && !json_is_string(value))
			complain(report, name, key, wrong_type[PARAM_STRING]);
	}
}

/* Is it a string, and one of these? */
static bool is_one_of(const json_t *value, const char *const *list)
{
	const char *text = json_string_value(value);

	for (; text && *list; list++)
		if (strcmp(text, *list) == 0)
			return strlen(text) == json_string_length(value);
	return false;
}

static bool has_type(const json_t *value, enum param_type type)
{
	static const char *const versions[] = {"2.0", NULL};
	static const char *const handlers[] = {"strict", "ignore", "replace", NULL};

	switch (type) {
	case PARAM_STRING:
		return json_is_string(value);
	case PARAM_INTEGER:
		return json_is_integer(value);
	case PARAM_NUMBER:
		return json_is_number(value);
	case PARAM_BOOLEAN:
		return json_is_boolean(value);
	case PARAM_TRUE:
		return json_is_true(value);
	case PARAM_STRINGS:
	case PARAM_INTEGERS:
		return json_is_array(value);
	case PARAM_STRING_MAP:
	case PARAM_OBJECT:
		return json_is_object(value);
	case PARAM_VERSION:
		return is_one_of(value, versions);
	case PARAM_HANDLER:
		return is_one_of(value, handlers);
	case PARAM_ID:
	case PARAM_USER:
		return true; /* check_id() and check_user() know more */
	}
	return false;
}

/* Neither of two things: the messages are about both. */
static void check_id(struct report *report, const char *name, const json_t *value)
{
	if (json_is_integer(value) || json_is_string(value))
		return;
	complain(report, name, "int", wrong_type[PARAM_INTEGER]);
	complain(report, name, "str", wrong_type[PARAM_STRING]);
}

/* The same. */
static void check_user(struct report *report, const char *name, const json_t *value)
{
	static const struct param identity[] = {
		{"uid", PARAM_INTEGER, PARAM_REQUIRED},
		{"gid", PARAM_INTEGER, PARAM_REQUIRED},
		{"groups", PARAM_INTEGERS, PARAM_REQUIRED},
		{"home", PARAM_STRING, PARAM_OPTIONAL},
		{NULL, 0, PARAM_REQUIRED},
	};
	size_t before = report->errors->len, head;
	char prefix[2 * NAME_SHOWN];

	if (json_is_string(value))
		return;
	complain(report, name, "str", wrong_type[PARAM_STRING]);
	if (!json_is_object(value)) {
		complain(report, name, "RunAs",
			"Input should be a valid dictionary or instance of RunAs");
		return;
	}
	head = report->errors->len;
	snprintf(prefix, sizeof(prefix), "%s%s.RunAs.", report->prefix, name);
	if (report->status == 0)
		report->status = params_check(value, identity, true, prefix, report->errors);
	if (report->status == 0 && report->errors->len == head)
		report->errors->len = before;
}

static void check_one(struct report *report, const json_t *params, const struct param *param)
{
	json_t *value = json_object_get(params, param->name);

	if ((param->presence == PARAM_OPTIONAL && json_is_null(value)) ||
		(param->presence != PARAM_REQUIRED && !value))
		return;
	if (!value)
		complain(report, param->name, NULL, "Field required");
	else if (!has_type(value, param->type))
		complain(report, param->name, NULL, wrong_type[param->type]);
	else if (param->type == PARAM_STRINGS)
		check_items(report, param->name, value, PARAM_STRING);
	else if (param->type == PARAM_INTEGERS)
		check_items(report, param->name, value, PARAM_INTEGER);
	else if (param->type == PARAM_STRING_MAP)
		check_values(report, param->name, value);
	else if (param->type == PARAM_ID)
		check_id(report, param->name, value);
	else if (param->type == PARAM_USER)
		check_user(report, param->name, value);
}

static bool is_known(const struct param *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return true;
	return false;
}

int params_check(const json_t *params, const struct param *table, bool strict, const char *prefix,
	struct buf *errors)
{
	struct report report = {errors, prefix, 0};
	const char *name;
	json_t *value;

	for (const struct param *p = table; p->name && report.status == 0; p++)
		check_one(&report, params, p);
	if (strict && json_is_object(params)) {
		json_object_foreach ((json_t *)params, name, value) {
			if (report.status == 0 && !is_known(table, name))
				complain(&report, name, NULL, "Extra inputs are not permitted");
		}
	}
	/* a list cut short still says that something is wrong */
	if (report.status == -EMSGSIZE && errors->len > 0)
		return 0;
	return report.status < 0 ? -ENOMEM : 0;
}

bool params_settle(struct rpc_call *call, struct buf *errors, int r)
{
	static const char head[] = "Invalid parameters: ";
	struct buf message = BUF_INIT(errors->limit + sizeof(head));
	bool fine = r == 0 && errors->len == 0;

	if (r == 0 && !fine) {
		r = buf_add_str(&message, head);
		if (r == 0)
			r = buf_add(&message, errors->data, errors->len);
		if (r == 0)
			r = buf_add(&message, "", 1);
	}
	if (r < 0)
		rpc_call_error(call, RPC_HANDLER_ERROR, "MemoryError()", NULL);
	else if (!fine)
		rpc_call_error(call, RPC_INVALID_PARAMS, message.data, NULL);
	buf_release(errors);
	buf_release(&message);
	return fine;
}

bool params_accept(struct rpc_call *call, const struct param *table, bool strict)
{
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	int r = params_check(call->req.params, table, strict, "", &errors);

	return params_settle(call, &errors, r);
}
