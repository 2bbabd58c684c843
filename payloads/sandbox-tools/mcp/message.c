/* SPDX-License-Identifier: MIT */
/* MCP messages as text. */
#include "payloads/sandbox-tools/mcp/message.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 40 /* characters of one that is written in another way */

/* ---- errors of careless servers ---- */

static struct jsontext integer(char *room, long long value)
{
	snprintf(room, MESSAGE_ROOM, "%lld", value);
	return (struct jsontext){room, strlen(room), JSONTEXT_INTEGER};
}

static struct jsontext absent(void)
{
	return (struct jsontext){NULL, 0, JSONTEXT_ABSENT};
}

/* "7.0" as 7. */
static struct jsontext read_real(const char *text, char *room)
{
	double value = strtod(text, NULL);

	return fabs(value) < 9e18 && value == rint(value) ? integer(room, (long long)value)
							  : absent();
}

/* What is within the quotes: " -5 " and "5.0", too. */
static struct jsontext read_quoted(const char *text, char *room)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || errno)
		return absent();
	if (*end == '.')
		end += 1 + strspn(end + 1, "0");
	return end[strspn(end, " ")] ? absent() : integer(room, value);
}

/* The integer that is meant, in 'room' if it has to be written anew; ABSENT if none is. */
static struct jsontext meant_integer(const struct jsontext *value, char *room)
{
	char text[NUMBER_MAX + 1];
	bool quoted = value->kind == JSONTEXT_STRING;

	if (value->kind == JSONTEXT_INTEGER)
		return *value;
	if (value->kind == JSONTEXT_BOOLEAN)
		return integer(room, *value->at == 't');
	if ((value->kind != JSONTEXT_REAL && !quoted) || value->len > NUMBER_MAX)
		return absent();
	snprintf(text, sizeof(text), "%.*s", (int)value->len - 2 * quoted, value->at + quoted);
	return quoted ? read_quoted(text, room) : read_real(text, room);
}

static bool is_id(const struct jsontext *id)
{
	return id->kind == JSONTEXT_INTEGER || id->kind == JSONTEXT_STRING;
}

/* Of an error, id and code may be written otherwise than as they are meant. */
static bool take_error(struct message *message)
{
	struct jsontext code = jsontext_get(&message->error, "code");
	struct jsontext id = message->id;

	if (id.kind != JSONTEXT_STRING)
		id = meant_integer(&id, message->id_room);
	message->code = meant_integer(&code, message->code_room);
	if (!is_id(&id) || message->code.kind != JSONTEXT_INTEGER ||
		jsontext_get(&message->error, "message").kind != JSONTEXT_STRING)
		return false;
	message->id = id;
	return true;
}

/* ---- reading ---- */

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
	if (!jsontext_is(&version, "2.0") || is_request(&method, &params))
		return;
	if (is_id(&ret->id) && ret->result.kind == JSONTEXT_OBJECT)
		ret->kind = MESSAGE_RESPONSE;
	else if (take_error(ret))
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

/* The name of the next member, and what stands before its value. */
static int add_name(const struct jsontext *key, struct buf *out)
{
	int r = 0;

	if (out->data[out->len - 1] != '{')
		r = buf_add_str(out, ",");
	if (r == 0)
		r = jsontext_copy(key, out);
	return r < 0 ? r : buf_add_str(out, ":");
}

static int add_member(const struct jsontext *key, const struct jsontext *value, struct buf *out)
{
	int r = add_name(key, out);

	return r < 0 ? r : jsontext_copy(value, out);
}

/* The error object with its code as it is meant, and its data, null when it has none. */
static int add_error(const struct message *reply, struct buf *out)
{
	struct jsontext key, value;
	const char *cursor = NULL;
	int r = buf_add_str(out, "{");

	while (r == 0 && jsontext_next(&reply->error, &cursor, &key, &value))
		r = add_member(&key, jsontext_is(&key, "code") ? &reply->code : &value, out);
	if (r == 0 && jsontext_get(&reply->error, "data").kind == JSONTEXT_ABSENT)
		r = buf_add_str(out, ",\"data\":null");
	return r < 0 ? r : buf_add_str(out, "}");
}

static int add_error_member(const struct message *reply, const struct jsontext *key,
	const struct jsontext *value, struct buf *out)
{
	int r;

	if (value->at != reply->error.at)
		return add_member(key, jsontext_is(key, "id") ? &reply->id : value, out);
	r = add_name(key, out);
	return r < 0 ? r : add_error(reply, out);
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
		r = is_failure ? add_error_member(reply, &key, &value, out)
			       : add_member(&key, &value, out);
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
			r = add_member(&key, &value, out);
	if (r == 0)
		r = buf_add_str(out, "}\n");
	if (r < 0)
		out->len = start;
	return r;
}
