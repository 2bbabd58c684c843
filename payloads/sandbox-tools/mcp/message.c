/* SPDX-License-Identifier: MIT */
/* MCP messages as text. */
#include "payloads/sandbox-tools/mcp/message.h"

#include <jansson.h>
#include <stdlib.h>

static bool is_id(const struct jsontext *id)
{
	return id->kind == JSONTEXT_INTEGER || id->kind == JSONTEXT_STRING;
}

static bool is_error(const struct jsontext *error)
{
	return jsontext_get(error, "code").kind == JSONTEXT_INTEGER &&
	       jsontext_get(error, "message").kind == JSONTEXT_STRING;
}

/* With a method it is a request or notification, whatever else it has. */
static bool is_request(const struct jsontext *method, const struct jsontext *params)
{
	return method->kind == JSONTEXT_STRING &&
	       (params->kind == JSONTEXT_ABSENT || params->kind == JSONTEXT_NULL ||
		       params->kind == JSONTEXT_OBJECT);
}

void message_read(const char *line, size_t len, struct message *ret)
{
	struct jsontext key, value, version = {.kind = JSONTEXT_ABSENT}, method = version,
				    params = version;
	const char *cursor = NULL;

	*ret = (struct message){.kind = MESSAGE_OTHER};
	if (!jsontext_read(line, len, &ret->whole) || ret->whole.kind != JSONTEXT_OBJECT)
		return;
	/* one walk, because a line may be long */
	while (jsontext_next(&ret->whole, &cursor, &key, &value)) {
		if (jsontext_is(&key, "jsonrpc"))
			version = value;
		else if (jsontext_is(&key, "id"))
			ret->id = value;
		else if (jsontext_is(&key, "result"))
			ret->result = value;
		else if (jsontext_is(&key, "error"))
			ret->error = value;
		else if (jsontext_is(&key, "method"))
			method = value;
		else if (jsontext_is(&key, "params"))
			params = value;
	}
	if (!jsontext_is(&version, "2.0") || !is_id(&ret->id) || is_request(&method, &params))
		return;
	if (ret->result.kind == JSONTEXT_OBJECT)
		ret->kind = MESSAGE_RESPONSE;
	else if (is_error(&ret->error))
		ret->kind = MESSAGE_ERROR;
}

int message_add_key(const struct jsontext *id, struct buf *key)
{
	static const struct jsontext zero = {"0", 1, JSONTEXT_INTEGER};

	if (id->kind == JSONTEXT_INTEGER && id->len == 2 && id->at[0] == '-' && id->at[1] == '0')
		id = &zero;
	return jsontext_copy(id, key);
}

/* ---- writing ---- */

/* The error object with its data, null when it has none. */
static int add_error(const struct jsontext *error, struct buf *out)
{
	int r = jsontext_copy(error, out);

	if (r < 0 || jsontext_get(error, "data").kind != JSONTEXT_ABSENT)
		return r;
	out->len--;
	return buf_add_str(out, ",\"data\":null}");
}

static int add_member(const struct jsontext *key, const struct jsontext *value,
	bool is_error_object, struct buf *out)
{
	int r = 0;

	if (out->data[out->len - 1] != '{')
		r = buf_add_str(out, ",");
	if (r == 0)
		r = jsontext_copy(key, out);
	if (r == 0)
		r = buf_add_str(out, ":");
	if (r == 0)
		r = is_error_object ? add_error(value, out) : jsontext_copy(value, out);
	return r;
}

int message_add_reply(const struct message *reply, struct buf *out)
{
	bool is_failure = reply->kind == MESSAGE_ERROR;
	const char *other = is_failure ? "result" : "error";
	bool empty = (is_failure ? &reply->result : &reply->error)->kind == JSONTEXT_NULL;
	struct jsontext key, value;
	const char *cursor = NULL;
	int r = buf_add_str(out, "{");

	while (r == 0 && jsontext_next(&reply->whole, &cursor, &key, &value)) {
		if (empty && jsontext_is(&key, other))
			continue;
		r = add_member(&key, &value, is_failure && value.at == reply->error.at, out);
	}
	return r < 0 ? r : buf_add_str(out, "}");
}

int message_add_failure(const char *id, const char *text, struct buf *out)
{
	json_t *string = json_string(text);
	char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
	int r = buf_add_str(out, "{\"jsonrpc\":\"2.0\",\"id\":");

	if (r == 0)
		r = buf_add_str(out, id);
	if (r == 0)
		r = buf_add_str(out, ",\"error\":{\"code\":666,\"message\":");
	if (r == 0)
		r = buf_add_str(out, quoted ? quoted : "\"\"");
	free(quoted);
	json_decref(string);
	return r < 0 ? r : buf_add_str(out, ",\"data\":null}}");
}

int message_add_request(const struct jsontext *request, struct buf *out)
{
	struct jsontext key, value;
	const char *cursor = NULL;
	size_t start = out->len;
	int r = buf_add_str(out, "{");

	while (r == 0 && jsontext_next(request, &cursor, &key, &value))
		if (value.kind != JSONTEXT_NULL)
			r = add_member(&key, &value, false, out);
	if (r == 0)
		r = buf_add_str(out, "}\n");
	if (r < 0)
		out->len = start;
	return r;
}
