/* SPDX-License-Identifier: MIT */
/* text_editor: its parameters in, its answer out. */
#include "payloads/sandbox-tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/sandbox-tools/rpc/params.h"
#include "payloads/sandbox-tools/text_editor/controller.h"
#include "payloads/sandbox-tools/text_editor/history.h"

#define REPLY_MAX ((size_t)256 << 20)
#define NAME_SHOWN 200 /* bytes of a command nobody knows */

static const struct param view_params[] = {
	{"path", PARAM_STRING, PARAM_REQUIRED},
	{"view_range", PARAM_INTEGERS, PARAM_OPTIONAL},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};
static const struct param create_params[] = {
	{"path", PARAM_STRING, PARAM_REQUIRED},
	{"file_text", PARAM_STRING, PARAM_REQUIRED},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};
static const struct param replace_params[] = {
	{"path", PARAM_STRING, PARAM_REQUIRED},
	{"old_str", PARAM_STRING, PARAM_REQUIRED},
	{"new_str", PARAM_STRING, PARAM_OPTIONAL},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};
static const struct param insert_params[] = {
	{"path", PARAM_STRING, PARAM_REQUIRED},
	{"insert_line", PARAM_INTEGER, PARAM_REQUIRED},
	{"new_str", PARAM_STRING, PARAM_REQUIRED},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};
static const struct param undo_params[] = {
	{"path", PARAM_STRING, PARAM_REQUIRED},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};

static const struct variant {
	const char *name, *prefix;
	const struct param *params;
} variants[] = {
	[EDITOR_VIEW] = {"view", "view.", view_params},
	[EDITOR_CREATE] = {"create", "create.", create_params},
	[EDITOR_STR_REPLACE] = {"str_replace", "str_replace.", replace_params},
	[EDITOR_INSERT] = {"insert", "insert.", insert_params},
	[EDITOR_UNDO_EDIT] = {"undo_edit", "undo_edit.", undo_params},
};

/* Appends what is wrong with the parameters' choice of a command, or sets it. */
static int choose(const json_t *params, struct editor_request *req, struct buf *errors)
{
	const json_t *command = json_object_get(params, "command");
	const char *name = json_string_value(command);
	char *text;
	size_t len;
	int r;

	if (!command || json_is_null(command))
		return buf_add_str(errors, "Unable to extract tag using discriminator 'command'");
	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		if (name && strcmp(variants[i].name, name) == 0) {
			req->command = (enum editor_command)i;
			return 0;
		}
	text = name ? NULL : json_dumps(command, JSON_ENCODE_ANY);
	name = name ? name : text ? text : "";
	len = strnlen(name, NAME_SHOWN + 1);
	if (len > NAME_SHOWN)
		for (len = NAME_SHOWN; ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
	r = buf_add_str(errors, "Input tag '");
	if (r == 0)
		r = buf_add(errors, name, len);
	if (r == 0)
		r = buf_add_str(errors,
			"' found using 'command' does not match any of the expected tags: 'view', "
			"'create', 'str_replace', 'insert', 'undo_edit'");
	free(text);
	return r;
}

static struct text get_text(const json_t *params, const char *name)
{
	const json_t *value = json_object_get(params, name);

	if (!json_is_string(value))
		return (struct text){"", 0};
	return (struct text){json_string_value(value), json_string_length(value)};
}

static void unpack(const json_t *params, struct editor_request *req)
{
	const json_t *range = json_object_get(params, "view_range");

	req->path = get_text(params, "path");
	req->file_text = get_text(params, "file_text");
	req->old_str = get_text(params, "old_str");
	req->new_str = get_text(params, "new_str");
	req->insert_line = json_integer_value(json_object_get(params, "insert_line"));
	req->range_len = json_array_size(range);
	for (size_t i = 0; i < 2 && i < req->range_len; i++)
		req->range[i] = json_integer_value(json_array_get(range, i));
}

/* True: they are unpacked; otherwise the call has been answered. */
static bool accept(struct rpc_call *call, struct editor_request *req)
{
	const json_t *params = call->req.params;
	struct buf errors = BUF_INIT(PARAMS_ERRORS_MAX);
	int r = choose(params, req, &errors);

	if (r == 0 && errors.len == 0)
		r = params_check(params, variants[req->command].params, false,
			variants[req->command].prefix, &errors);
	if (!params_settle(call, &errors, r))
		return false;
	unpack(params, req);
	return true;
}

static void answer(struct rpc_call *call, struct editor_reply *reply)
{
	if (reply->error == 0 && reply->failed)
		reply_add_text(reply, "", 1);
	if (reply->error < 0)
		rpc_call_error(call, RPC_HANDLER_ERROR, "MemoryError()", NULL);
	else if (reply->failed)
		rpc_call_error(call, RPC_TOOL_FAILURE, reply->text.data, NULL);
	else
		rpc_call_result(call, json_stringn(reply->text.data, reply->text.len));
}

static void text_editor(struct rpc_call *call)
{
	struct editor_reply reply = {.text = BUF_INIT(REPLY_MAX)};
	struct editor_request req = {0};

	if (!accept(call, &req))
		return;
	editor_run(&req, &reply);
	answer(call, &reply);
	buf_release(&reply.text);
}

static int erase(const struct tool_traces *where)
{
	return where->tmpdir ? history_erase(where->tmpdir) : 0;
}

static const struct rpc_method methods[] = {
	{"text_editor", RPC_IN_PROCESS | RPC_TOOL, text_editor},
	{NULL, 0, NULL},
};

const struct tool tool_text_editor = {
	.methods = methods,
	.erase = erase,
};
