/* SPDX-License-Identifier: MIT */
/* Reading HTTP requests line by line, and their bodies. */
#include "payloads/sandbox-tools/model_proxy/http.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "payloads/lib/base.h"
#include "payloads/lib/hex.h"
#include "payloads/sandbox-tools/model_proxy/target.h"

#define WORDS 3 /* of a request line */

void http_open(struct http *http)
{
	*http = (struct http){.line = BUF_INIT(HTTP_HEAD_MAX),
		.head = BUF_INIT(2 * HTTP_HEAD_MAX),
		.body = BUF_INIT(HTTP_BODY_MAX)};
}

void http_close(struct http *http)
{
	buf_release(&http->line);
	buf_release(&http->head);
	buf_release(&http->body);
	free(http->fields);
	http->fields = NULL;
	http->field_count = 0;
}

__attribute__((format(printf, 2, 3))) static int refuse(struct http *http, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(http->flaw, sizeof(http->flaw), format, ap);
	va_end(ap);
	http->state = HTTP_BAD;
	return 0;
}

/* ---- what has been read ---- */

static int keep(struct http *http, const char *data, size_t len, struct http_span *ret)
{
	*ret = (struct http_span){http->head.len, len};
	return buf_add(&http->head, data, len);
}

bool http_is(const struct http *http, struct http_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(http->head.data + span.at, text, span.len) == 0;
}

const struct http_field *http_find(const struct http *http, const char *name)
{
	for (size_t i = 0; i < http->field_count; i++)
		if (http_is(http, http->fields[i].name, name))
			return &http->fields[i];
	return NULL;
}

/* Has any field of that name a value with that word in it? */
static bool mentions(const struct http *http, const char *name, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < http->field_count; i++) {
		struct http_span value = http->fields[i].value;

		if (!http_is(http, http->fields[i].name, name))
			continue;
		for (size_t at = 0; at + len <= value.len; at++)
			if (strncasecmp(http->head.data + value.at + at, word, len) == 0)
				return true;
	}
	return false;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void trim(const char **text, size_t *len)
{
	while (*len > 0 && is_blank((*text)[*len - 1]))
		--*len;
	while (*len > 0 && is_blank(**text)) {
		++*text;
		--*len;
	}
}

/* The blank-separated words of a line: how many, WORDS + 1 for any more. */
static size_t split_words(
	const char *text, size_t len, const char *words[WORDS], size_t lens[WORDS])
{
	const char *end = text + len;
	size_t count = 0;

	for (;;) {
		while (text < end && is_blank(*text))
			text++;
		if (text == end || count == WORDS)
			return text == end ? count : WORDS + 1;
		words[count] = text;
		while (text < end && !is_blank(*text))
			text++;
		lens[count] = (size_t)(text - words[count]);
		count++;
	}
}

static int take_request_line(struct http *http, const char *line, size_t len)
{
	const char *words[WORDS];
	size_t lens[WORDS];
	int r;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] >= 0x80)
			return refuse(http,
				"'ascii' codec can't decode byte 0x%02x in position %zu: ordinal "
				"not in range(128)",
				(unsigned char)line[i], i);
	if (split_words(line, len, words, lens) != WORDS)
		return refuse(http, "Invalid request line");
	r = keep(http, words[0], lens[0], &http->method);
	http->path.at = http->head.len;
	if (r == 0)
		r = target_decode(words[1], lens[1], &http->head);
	http->path.len = http->head.len - http->path.at;
	http->state = HTTP_FIELD_LINE;
	return r;
}

static bool may_repeat(const struct http *http, struct http_span name)
{
	static const char *const single[] = {"content-length", "content-type", "host"};

	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (http_is(http, name, single[i]) && http_find(http, single[i]))
			return false;
	return true;
}

static int take_field(struct http *http, const char *line, size_t len)
{
	const char *colon = len > 0 ? memchr(line, ':', len) : NULL, *value;
	struct http_field field, *fields;
	size_t name_len, value_len;
	int r;

	if (!colon)
		return 0;
	if (http->field_count == HTTP_FIELDS_MAX)
		return refuse(http, "Header section too large");
	value = colon + 1;
	name_len = (size_t)(colon - line);
	value_len = len - name_len - 1;
	trim(&line, &name_len);
	trim(&value, &value_len);
	fields = realloc(http->fields, (http->field_count + 1) * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	http->fields = fields;
	r = keep(http, line, name_len, &field.name);
	if (r == 0)
		r = keep(http, value, value_len, &field.value);
	if (r < 0)
		return r;
	for (char *p = http->head.data + field.name.at; name_len > 0; name_len--, p++)
		*p |= *p >= 'A' && *p <= 'Z' ? 'a' - 'A' : 0;
	if (!may_repeat(http, field.name))
		return refuse(http, "Repeated %.*s header", (int)field.name.len,
			http->head.data + field.name.at);
	http->fields[http->field_count++] = field;
	return 0;
}

/* ---- how long the body is ---- */

static int begin_sized(struct http *http, const struct http_field *length)
{
	const char *text = http->head.data + length->value.at;
	size_t len = length->value.len, digits = 0, size = 0;
	bool negative = len > 0 && *text == '-';

	if (len > 0 && (*text == '-' || *text == '+')) {
		text++;
		len--;
	}
	while (digits < len && text[digits] >= '0' && text[digits] <= '9')
		if (size <= HTTP_BODY_MAX)
			size = size * 10 + (size_t)(text[digits++] - '0');
		else
			digits++;
	if (digits == 0 || digits < len)
		return refuse(http, "invalid literal for int() with base 10: '%.*s'",
			(int)(length->value.len < 40 ? length->value.len : 40),
			http->head.data + length->value.at);
	if (negative)
		size = 0;
	if (size > HTTP_BODY_MAX)
		return refuse(http, "Body too large");
	http->left = size;
	http->state = size > 0 ? HTTP_BODY : HTTP_DONE;
	return 0;
}

static int begin_body(struct http *http)
{
	const struct http_field *length = http_find(http, "content-length");

	http->expects = mentions(http, "expect", "100-continue");
	http->state = HTTP_DONE;
	if (mentions(http, "transfer-encoding", "chunked"))
		http->state = HTTP_CHUNK_SIZE;
	else if (length)
		return begin_sized(http, length);
	return 0;
}

static int take_chunk_size(struct http *http, const char *line, size_t len)
{
	const char *extension = len > 0 ? memchr(line, ';', len) : NULL;
	size_t size = 0;

	if (extension)
		len = (size_t)(extension - line);
	trim(&line, &len);
	if (len == 0)
		return refuse(http, "Invalid chunk size");
	for (size_t i = 0; i < len; i++) {
		int digit = hex_value(line[i]);

		if (digit < 0)
			return refuse(http, "Invalid chunk size");
		if (size <= HTTP_BODY_MAX)
			size = size * 16 + (size_t)digit;
	}
	if (size > HTTP_BODY_MAX - http->body.len)
		return refuse(http, "Body too large");
	http->left = size;
	http->state = size > 0 ? HTTP_CHUNK : HTTP_TRAILER;
	return 0;
}

/* ---- steps ---- */

/* A line without its end; 'first' is whether it is the request line. */
static int take_line(struct http *http, const char *line, size_t len)
{
	switch (http->state) {
	case HTTP_REQUEST_LINE:
		return take_request_line(http, line, len);
	case HTTP_FIELD_LINE:
		return len == 0 ? begin_body(http) : take_field(http, line, len);
	case HTTP_CHUNK_SIZE:
		return take_chunk_size(http, line, len);
	case HTTP_CHUNK_END:
		if (len > 0)
			return refuse(http, "Malformed chunk terminator");
		http->state = HTTP_CHUNK_SIZE;
		return 0;
	default: /* HTTP_TRAILER */
		if (len == 0)
			http->state = HTTP_DONE;
		return 0;
	}
}

static bool is_in_head(const struct http *http)
{
	return http->state == HTTP_REQUEST_LINE || http->state == HTTP_FIELD_LINE;
}

/* Ends the line that was coming. */
static int end_line(struct http *http)
{
	size_t len = http->line.len;
	int r;

	if (len > 0 && http->line.data[len - 1] == '\r')
		len--;
	r = take_line(http, len > 0 ? http->line.data : "", len);
	http->line.len = 0;
	return r;
}

/* How much of 'data' was used goes to 'ret_used'. */
static int feed_line(struct http *http, const char *data, size_t len, size_t *ret_used)
{
	const char *newline = memchr(data, '\n', len);
	size_t used = newline ? (size_t)(newline - data) : len;
	int r;

	*ret_used = newline ? used + 1 : used;
	if (is_in_head(http) || http->state == HTTP_TRAILER)
		http->lines_size += *ret_used;
	if (http->lines_size > HTTP_HEAD_MAX)
		return refuse(http, "Header section too large");
	r = buf_add(&http->line, data, used);
	if (r == -EMSGSIZE)
		return refuse(http, "Separator is not found, and chunk exceed the limit");
	return r == 0 && newline ? end_line(http) : r;
}

static int feed_body(struct http *http, const char *data, size_t len, size_t *ret_used)
{
	size_t used = len < http->left ? len : http->left;
	int r = buf_add(&http->body, data, used);

	*ret_used = used;
	if (r < 0)
		return r;
	http->left -= used;
	if (http->left == 0)
		http->state = http->state == HTTP_BODY ? HTTP_DONE : HTTP_CHUNK_END;
	return 0;
}

int http_feed(struct http *http, const char *data, size_t len)
{
	int r = 0;

	while (r == 0 && len > 0 && http->state < HTTP_DONE) {
		size_t used;

		if (http->state == HTTP_BODY || http->state == HTTP_CHUNK)
			r = feed_body(http, data, len, &used);
		else
			r = feed_line(http, data, len, &used);
		data += used;
		len -= used;
	}
	return r;
}

int http_end(struct http *http)
{
	int r = 0;

	if (http->state == HTTP_REQUEST_LINE && http->line.len == 0)
		return refuse(http, "Empty request");
	if (is_in_head(http) && http->line.len > 0)
		r = end_line(http);
	if (r == 0 && http->state == HTTP_FIELD_LINE)
		r = begin_body(http);
	if (r == 0 && http->state == HTTP_BODY)
		return refuse(http, "%zu bytes read on a total of %zu expected bytes",
			http->body.len, http->body.len + http->left);
	if (r == 0 && http->state < HTTP_DONE)
		return refuse(http, "Malformed chunked encoding");
	return r;
}
