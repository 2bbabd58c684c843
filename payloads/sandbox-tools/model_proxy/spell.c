/* SPDX-License-Identifier: MIT */
/* JSON in Python's spelling. */
#include "payloads/sandbox-tools/model_proxy/spell.h"

#include <stdio.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/utf8.h"

#define SPELLED_MAX 12 /* bytes that one character becomes at most */

/* ---- characters ---- */

static size_t put_unit(char *to, uint32_t unit)
{
	static const char digits[] = "0123456789abcdef";

	memcpy(to, "\\u", 2);
	for (int i = 0; i < 4; i++)
		to[2 + i] = digits[unit >> (12 - 4 * i) & 15];
	return 6;
}

static size_t put_utf8(char *to, uint32_t c)
{
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (len == 1) {
		*to = (char)c;
		return 1;
	}
	for (size_t i = len - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	*to = (char)(0xf00u >> len | c);
	return len;
}

/* Of what cannot stand for itself, and is no control character with a letter of its own. */
static size_t put_escape(char *to, uint32_t c)
{
	if (c < 0x10000)
		return put_unit(to, c);
	put_unit(to, 0xd800 + ((c - 0x10000) >> 10));
	put_unit(to + 6, 0xdc00 + ((c - 0x10000) & 0x3ff));
	return 12;
}

static size_t put_char(char *to, enum spelling spelling, uint32_t c)
{
	static const char letters[] = "btn?fr";

	if (c == '"' || c == '\\') {
		to[0] = '\\';
		to[1] = (char)c;
		return 2;
	}
	if (c >= '\b' && c <= '\r' && c != '\v') {
		to[0] = '\\';
		to[1] = letters[c - '\b'];
		return 2;
	}
	if (c < ' ' || utf8_is_half(c) || (c >= 0x7f && spelling == SPELL_ASCII))
		return put_escape(to, c);
	return put_utf8(to, c);
}

int spell_char(struct buf *out, enum spelling spelling, uint32_t c)
{
	char text[SPELLED_MAX];

	return buf_add(out, text, put_char(text, spelling, c));
}

/* Those that stand for themselves come in long runs. */
static size_t plain_run(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && (unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f && *p != '\\' &&
		*p != '"')
		p++;
	return (size_t)(p - start);
}

/* ---- ranges ---- */

/* Inside of quotes, to the closing one at most. */
static int spell_quoted(struct spell *spell, struct buf *out, size_t enough)
{
	int r = 0;

	while (r == 0 && spell->at < spell->end && *spell->at != '"' && out->len < enough) {
		size_t run = plain_run(spell->at, spell->end);

		if (run > enough - out->len)
			run = enough - out->len;
		r = buf_add(out, spell->at, run);
		spell->at += run;
		if (r == 0 && run == 0)
			r = spell_char(out, spell->spelling, jsontext_char(&spell->at, spell->end));
	}
	return r;
}

/* Outside of them, to the opening one or a blank. A number can be as long as a whole body. */
static int spell_tokens(struct spell *spell, struct buf *out, size_t enough)
{
	const char *start = spell->at, *end = spell->end;
	int r;

	if ((size_t)(end - start) > enough - out->len)
		end = start + (enough - out->len);
	while (spell->at < end && !memchr("\" \t\r\n,:", *spell->at, 7))
		spell->at++;
	r = buf_add(out, start, (size_t)(spell->at - start));
	while (r == 0 && spell->at < spell->end && memchr(" \t\r\n,:", *spell->at, 6)) {
		if (*spell->at == ',' || *spell->at == ':')
			r = buf_add(out, (char[]){*spell->at, ' '}, 2);
		spell->at++;
	}
	return r;
}

int spell_some(struct spell *spell, struct buf *out, size_t enough)
{
	int r = 0;

	while (r == 0 && spell->at < spell->end && out->len < enough) {
		if (*spell->at == '"') {
			r = buf_add(out, "\"", 1);
			spell->at++;
			spell->quoted = !spell->quoted;
		} else if (spell->quoted) {
			r = spell_quoted(spell, out, enough);
		} else {
			r = spell_tokens(spell, out, enough);
		}
	}
	return r;
}

static int spell_range(struct buf *out, enum spelling spelling, const char *at, const char *end)
{
	struct spell spell = {at, end, spelling, false};

	return spell_some(&spell, out, SIZE_MAX);
}

int spell_value(struct buf *out, enum spelling spelling, const struct jsontext *value)
{
	if (value->kind == JSONTEXT_ABSENT)
		return buf_add_str(out, "null");
	return spell_range(out, spelling, value->at, value->at + value->len);
}

/* ---- strings ---- */

int spell_text(struct buf *out, enum spelling spelling, const char *text, size_t len)
{
	struct buf valid = BUF_INIT(3 * len);
	struct utf8 utf8 = {.len = 0};
	const char *at, *end;
	int r = utf8_decode(&utf8, len > 0 ? text : "", len, true, &valid);

	if (r == 0)
		r = buf_add(out, "\"", 1);
	at = valid.len > 0 ? valid.data : "";
	end = at + valid.len;
	while (r == 0 && at < end) {
		size_t run = plain_run(at, end);

		r = buf_add(out, at, run);
		at += run;
		if (r == 0 && at < end && *at == '\\') {
			r = buf_add_str(out, "\\\\");
			at++;
		} else if (r == 0 && at < end) {
			r = spell_char(out, spelling, jsontext_char(&at, end));
		}
	}
	buf_release(&valid);
	return r < 0 ? r : buf_add(out, "\"", 1);
}

int spell_latin1(struct buf *out, const char *text, size_t len)
{
	int r = buf_add(out, "\"", 1);

	for (size_t i = 0; r == 0 && i < len; i++)
		r = spell_char(out, SPELL_ASCII, (unsigned char)text[i]);
	return r < 0 ? r : buf_add(out, "\"", 1);
}

struct spell_pieces spell_pieces(const struct jsontext *string, size_t count)
{
	if (string->kind != JSONTEXT_STRING)
		return (struct spell_pieces){NULL, NULL, count};
	return (struct spell_pieces){string->at + 1, string->at + string->len - 1, count};
}

int spell_piece(struct buf *out, enum spelling spelling, struct spell_pieces *pieces)
{
	int r = buf_add(out, "\"", 1);

	for (size_t i = 0; r == 0 && i < pieces->count && pieces->at < pieces->end; i++)
		r = spell_char(out, spelling, jsontext_char(&pieces->at, pieces->end));
	return r < 0 ? r : buf_add(out, "\"", 1);
}

int spell_content(struct buf *out, const struct jsontext *string)
{
	const char *at, *end;
	int r = 0;

	if (string->kind != JSONTEXT_STRING)
		return 0;
	at = string->at + 1;
	end = string->at + string->len - 1;
	while (r == 0 && at < end) {
		size_t run = plain_run(at, end);
		char text[SPELLED_MAX];
		uint32_t c;

		r = buf_add(out, at, run);
		at += run;
		if (r < 0 || at == end)
			break;
		c = jsontext_char(&at, end);
		r = buf_add(out, text, put_utf8(text, utf8_is_half(c) ? 0xfffd : c));
	}
	return r;
}

/* ---- objects with another member ---- */

struct spell_split spell_split(const struct jsontext *object, const char *name)
{
	struct jsontext old = jsontext_get(object, name), key, value;
	const char *end = object->at + object->len, *cursor = NULL;
	struct spell_split split = {object->at, end - 1, end - 1, end, NULL};

	if (old.kind != JSONTEXT_ABSENT) {
		split.before_end = old.at;
		split.after = old.at + old.len;
	} else {
		split.comma = jsontext_next(object, &cursor, &key, &value) ? ", " : "";
	}
	return split;
}

int spell_with(struct buf *out, enum spelling spelling, const struct jsontext *object,
	const char *name, const char *value, bool add)
{
	struct spell_split split = spell_split(object, name);
	int r;

	if (split.comma && !add)
		return spell_value(out, spelling, object);
	r = spell_range(out, spelling, split.before, split.before_end);
	if (r == 0 && split.comma) {
		r = buf_add_str(out, split.comma);
		if (r == 0)
			r = spell_text(out, spelling, name, strlen(name));
		if (r == 0)
			r = buf_add_str(out, ": ");
	}
	if (r == 0)
		r = buf_add_str(out, value);
	return r < 0 ? r : spell_range(out, spelling, split.after, split.after_end);
}

/* ---- Python's view of values ---- */

/* Has the number a digit other than 0 before its exponent? */
static bool is_not_zero(const struct jsontext *number)
{
	for (size_t i = 0; i < number->len && (number->at[i] | ' ') != 'e'; i++)
		if (number->at[i] >= '1' && number->at[i] <= '9')
			return true;
	return false;
}

bool spell_is_true(const struct jsontext *value)
{
	const char *cursor = NULL;
	struct jsontext first, second;

	switch (value->kind) {
	case JSONTEXT_OBJECT:
		return jsontext_next(value, &cursor, &first, &second);
	case JSONTEXT_ARRAY:
		return jsontext_item(value, &cursor, &first);
	case JSONTEXT_STRING:
		return value->len > 2;
	case JSONTEXT_INTEGER:
	case JSONTEXT_REAL:
		return is_not_zero(value);
	case JSONTEXT_BOOLEAN:
		return *value->at == 't';
	default: /* NaN and Infinity are numbers that are not 0 */
		return value->kind == JSONTEXT_NULL && *value->at != 'n';
	}
}

/* What str.strip() takes away. */
static bool is_blank(uint32_t c)
{
	static const uint16_t ranges[][2] = {{0x09, 0x0d}, {0x1c, 0x20}, {0x85, 0x85}, {0xa0, 0xa0},
		{0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
		{0x205f, 0x205f}, {0x3000, 0x3000}};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

bool spell_is_word(const struct jsontext *value)
{
	const char *at, *end;

	if (value->kind != JSONTEXT_STRING)
		return false;
	at = value->at + 1;
	end = value->at + value->len - 1;
	while (at < end)
		if (!is_blank(jsontext_char(&at, end)))
			return true;
	return false;
}
