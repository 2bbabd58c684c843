/* SPDX-License-Identifier: MIT */
/* Reading requests: the JSON, the outline, and the id exactly as it was written. */
#include "payloads/sandbox-tools/rpc/rpc.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scan {
	const char *p, *end;
};

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end && memchr(" \t\r\n", *s->p, 4))
		s->p++;
}

/* Past a string whose opening quote is at s->p. */
static void skip_string(struct scan *s)
{
	for (s->p++; s->p < s->end && *s->p != '"'; s->p++)
		if (*s->p == '\\')
			s->p++;
	s->p = s->p < s->end ? s->p + 1 : s->end;
}

/* Past one value, nested or not. */
static void skip_value(struct scan *s)
{
	size_t depth = 0;

	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			skip_string(s);
			if (depth == 0)
				return;
			continue;
		}
		if (depth == 0 && memchr(",]} \t\r\n", c, 7))
			return;
		s->p++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return;
	}
}

/* Is the string token 'id', perhaps written with escapes? */
static bool is_id_key(const char *token, size_t len)
{
	json_t *key;
	bool is;

	if (len == 4 && memcmp(token, "\"id\"", 4) == 0)
		return true;
	if (len > 14 || len < 4 || !memchr(token, '\\', len))
		return false;
	key = json_loadb(token, len, JSON_DECODE_ANY, NULL);
	is = key && strcmp(json_string_value(key), "id") == 0;
	json_decref(key);
	return is;
}

/* Past digits: false if there are none. */
static bool skip_digits(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > start;
}

/* Past one character of the set, if there is one. */
static bool skip_one(struct scan *s, const char *set)
{
	if (s->p == s->end || !memchr(set, *s->p, strlen(set)))
		return false;
	s->p++;
	return true;
}

/* The strict grammar of a JSON number, over the whole token. */
static bool is_number(const char *p, const char *end)
{
	struct scan s = {p, end};
	const char *start;

	skip_one(&s, "-");
	start = s.p;
	if (!skip_digits(&s) || (*start == '0' && s.p - start > 1))
		return false;
	if (skip_one(&s, ".") && !skip_digits(&s))
		return false;
	if (skip_one(&s, "eE")) {
		skip_one(&s, "+-");
		if (!skip_digits(&s))
			return false;
	}
	return s.p == s.end;
}

/* Past `"name":` and the blanks around it, if there is that. */
static bool skip_name(struct scan *s, bool *ret_is_id)
{
	const char *name;

	skip_blanks(s);
	name = s->p;
	if (s->p == s->end || *s->p != '"')
		return false;
	skip_string(s);
	*ret_is_id = is_id_key(name, (size_t)(s->p - name));
	skip_blanks(s);
	if (!skip_one(s, ":"))
		return false;
	skip_blanks(s);
	return true;
}

ssize_t rpc_find_number_id(const char *text, size_t len, size_t *ret_len)
{
	struct scan s = {text, text + len};
	ssize_t found = -1;

	skip_blanks(&s);
	if (s.p == s.end || *s.p != '{')
		return -1;
	do {
		const char *value;
		bool is_id;

		s.p++;
		if (!skip_name(&s, &is_id))
			break;
		value = s.p;
		skip_value(&s);
		if (is_id) {
			found = is_number(value, s.p) ? value - text : -1;
			*ret_len = (size_t)(s.p - value);
		}
		skip_blanks(&s);
	} while (s.p < s.end && *s.p == ',');
	return found;
}

/* ---- what is JSON, but more than can be worked with ---- */

/* The four hex digits of an escape, -1 if there are none; 'p' is at the backslash. */
static long escaped_unit(const char *p, const char *end)
{
	char digits[5] = "";

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	memcpy(digits, p + 2, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

/* Is it the first half of a surrogate pair, with the second one at 'p'? */
static bool is_pair(long unit, const char *p, const char *end)
{
	long next = unit >= 0xd800 && unit < 0xdc00 ? escaped_unit(p, end) : -1;

	return next >= 0xdc00 && next < 0xe000;
}

static const char *flaw_of(long unit, bool is_name)
{
	if (unit >= 0xd800 && unit < 0xe000)
		return "a string in the parameters contains half of a surrogate pair";
	return unit == 0 && is_name ? "a name in the parameters contains U+0000" : NULL;
}

static const char *mend_string(char *p, const char *end, bool is_name)
{
	const char *flaw = NULL;

	for (; p < end; p++) {
		long unit = escaped_unit(p, end);
		const char *found = flaw_of(unit, is_name);

		if (*p == '\\')
			p += unit < 0 ? 1 : 5;
		if (is_pair(unit, p + 1, end)) {
			p += 6;
		} else if (found) {
			flaw = found;
			memcpy(p - 3, "FFFD", 4);
		}
	}
	return flaw;
}

/* A number beyond what can be held becomes the last one that can, or nearly, in its own room. No
   method knows a difference between the two: what it hands on, it takes as it was written. */
static void mend_number(char *p, const char *end)
{
	bool is_integer = strspn(p, "-0123456789") >= (size_t)(end - p);
	char *digits = p + (*p == '-');
	const char *last = "1e308";

	if (!is_number(p, end))
		return;
	errno = 0;
	if (is_integer)
		strtoll(p, NULL, 10);
	else if (!isinf(strtod(p, NULL)))
		errno = 0;
	if (errno != ERANGE)
		return;
	if (is_integer)
		last = *p == '-' ? "9223372036854775808" : "9223372036854775807";
	memset(digits, ' ', (size_t)(end - digits));
	memcpy(digits, last, strlen(last));
}

/* Past the next string, number or other character. The two former are mended within the members of
   an object; tells what was wrong with a string. */
static const char *mend_next(struct scan *s, char *start, size_t *depth)
{
	if (*start == '"') {
		const char *end;

		skip_string(s);
		end = s->p;
		skip_blanks(s);
		return *depth > 1 ? mend_string(start, end, s->p < s->end && *s->p == ':') : NULL;
	}
	if (*start == '-' || (*start >= '0' && *start <= '9')) {
		skip_value(s);
		if (*depth > 1 && s->p < s->end)
			mend_number(start, s->p);
		return NULL;
	}
	*depth += *start == '{' || *start == '[';
	*depth -= *depth > 0 && (*start == '}' || *start == ']');
	s->p++;
	return NULL;
}

/* Replaces what is within the members of an object and cannot be loaded by what can be: tells what
   was wrong with its strings, NULL if it was nothing. */
static const char *mend(char *text, size_t len)
{
	struct scan s = {text, text + len};
	const char *flaw = NULL;
	size_t depth = 0;

	while (s.p < s.end) {
		const char *found = mend_next(&s, text + (s.p - text), &depth);

		flaw = flaw ? flaw : found;
	}
	return flaw;
}

static json_t *load_mended(struct rpc_request *req, const char *text, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);
	json_t *doc;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	req->flaw = mend(copy, len);
	doc = json_loadb(copy, len, JSON_ALLOW_NUL, NULL);
	free(copy);
	return doc;
}

static json_t *load(struct rpc_request *req, const char *text, size_t len, struct fail *fail)
{
	json_error_t error;
	json_t *doc = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);

	if (!doc)
		doc = load_mended(req, text, len);
	if (!doc)
		fail_set(fail, "request is not valid JSON: %s (line %d, column %d)", error.text,
			error.line, error.column);
	return doc;
}

int rpc_request_read(struct rpc_request *req, char *text, size_t len, struct fail *fail)
{
	size_t id_len = 0;
	ssize_t at = rpc_find_number_id(text, len, &id_len);
	json_t *method, *id;

	*req = (struct rpc_request)RPC_REQUEST_INIT;
	if (at >= 0) {
		req->id = strndup(text + at, id_len);
		if (!req->id)
			return fail_set(fail, "out of memory");
		memset(text + at, ' ', id_len);
		text[at] = '0';
	}
	req->doc = load(req, text, len, fail);
	if (at >= 0)
		memcpy(text + at, req->id, id_len);
	if (!req->doc) {
		rpc_request_release(req);
		return -1;
	}
	req->text = text;
	req->len = len;
	method = json_object_get(req->doc, "method");
	if (json_is_string(method) &&
		strlen(json_string_value(method)) == json_string_length(method))
		req->method = json_string_value(method);
	req->params = json_object_get(req->doc, "params");
	id = json_object_get(req->doc, "id");
	if (id && !json_is_number(id)) {
		req->id = json_dumps(id, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
		if (!req->id) {
			rpc_request_release(req);
			return fail_set(fail, "out of memory");
		}
	}
	return 0;
}

static bool has_version(const json_t *doc)
{
	const char *version = json_string_value(json_object_get(doc, "jsonrpc"));

	return version && strcmp(version, "2.0") == 0 &&
	       json_string_length(json_object_get(doc, "jsonrpc")) == 3;
}

int rpc_request_check_outline(const struct rpc_request *req, struct fail *fail)
{
	const json_t *p = req->params;

	if (!json_is_object(req->doc))
		return fail_set(fail, "request is not a JSON object");
	if (!has_version(req->doc))
		return fail_set(fail, "'jsonrpc' is not \"2.0\"");
	if (!json_is_string(json_object_get(req->doc, "method")))
		return fail_set(fail, "'method' is not a string");
	if (p && !json_is_null(p) && !json_is_array(p) && !json_is_object(p))
		return fail_set(fail, "'params' is neither an object nor an array");
	return 0;
}

bool rpc_request_is_valid(const struct rpc_request *req)
{
	const json_t *id = json_object_get(req->doc, "id");
	struct fail ignored;
	size_t known = 2;

	if (rpc_request_check_outline(req, &ignored) < 0 || json_is_null(req->params))
		return false;
	if (id && !json_is_string(id) && !json_is_number(id) && !json_is_null(id))
		return false;
	known += id ? 1 : 0;
	known += req->params ? 1 : 0;
	return json_object_size(req->doc) == known;
}

void rpc_request_release(struct rpc_request *req)
{
	json_decref(req->doc);
	free(req->id);
	*req = (struct rpc_request)RPC_REQUEST_INIT;
}
