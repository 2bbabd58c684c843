/* SPDX-License-Identifier: MIT */
/* A strict JSON scanner, and a copier that trusts what was scanned. */
#include "payloads/lib/jsontext.h"

#include <stdint.h>
#include <string.h>

#include "payloads/lib/hex.h"
#include "payloads/lib/quote.h"
#include "payloads/lib/utf8.h"

struct scan {
	const char *p, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
}

/* Four hex digits, -1 for anything else. */
static int32_t hex4(const char *p, const char *end)
{
	int32_t value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_value(p[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* ---- checking ---- */

static bool check_string(struct scan *s)
{
	for (s->p++; s->p < s->end; s->p++) {
		if (*s->p == '"') {
			s->p++;
			return true;
		}
		if ((unsigned char)*s->p < ' ')
			return false;
		if (*s->p != '\\')
			continue;
		if (++s->p == s->end || !memchr("\"\\/bfnrtu", *s->p, 9))
			return false;
		if (*s->p == 'u') {
			if (hex4(s->p + 1, s->end) < 0)
				return false;
			s->p += 4;
		}
	}
	return false;
}

static size_t skip_digits(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t)(s->p - start);
}

static bool check_word(struct scan *s, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
		return false;
	s->p += len;
	return true;
}

/* Past one character of the set, if there is one. */
static bool skip_one(struct scan *s, const char *set)
{
	if (s->p == s->end || !memchr(set, *s->p, strlen(set)))
		return false;
	s->p++;
	return true;
}

static bool check_number(struct scan *s, enum jsontext_kind *kind)
{
	const char *start;

	*kind = JSONTEXT_INTEGER;
	skip_one(s, "-");
	if (s->p < s->end && *s->p == 'I') {
		*kind = JSONTEXT_NULL;
		return check_word(s, "Infinity");
	}
	start = s->p;
	if (skip_digits(s) == 0 || (*start == '0' && s->p - start > 1))
		return false;
	if (skip_one(s, ".")) {
		*kind = JSONTEXT_REAL;
		if (skip_digits(s) == 0)
			return false;
	}
	if (!skip_one(s, "eE"))
		return true;
	*kind = JSONTEXT_REAL;
	skip_one(s, "+-");
	return skip_digits(s) > 0;
}

/* A value that contains no other. */
static bool check_scalar(struct scan *s, enum jsontext_kind *kind)
{
	switch (*s->p) {
	case '"':
		*kind = JSONTEXT_STRING;
		return check_string(s);
	case 't':
		*kind = JSONTEXT_BOOLEAN;
		return check_word(s, "true");
	case 'f':
		*kind = JSONTEXT_BOOLEAN;
		return check_word(s, "false");
	case 'n':
		*kind = JSONTEXT_NULL;
		return check_word(s, "null");
	case 'N':
		*kind = JSONTEXT_NULL;
		return check_word(s, "NaN");
	default:
		return check_number(s, kind);
	}
}

/* Past `"name":` and the blanks around it. */
static bool check_key(struct scan *s)
{
	if (s->p == s->end || *s->p != '"' || !check_string(s))
		return false;
	skip_blanks(s);
	if (s->p == s->end || *s->p++ != ':')
		return false;
	skip_blanks(s);
	return true;
}

struct nesting {
	size_t depth;
	char closer[JSONTEXT_DEPTH_MAX];
};

/* An opening bracket at s->p: true when it is empty and thereby a whole value. */
static bool open_bracket(struct scan *s, struct nesting *nesting, bool *ok)
{
	char closer = *s->p == '{' ? '}' : ']';

	s->p++;
	skip_blanks(s);
	if (s->p < s->end && *s->p == closer) {
		s->p++;
		return true;
	}
	*ok = nesting->depth < JSONTEXT_DEPTH_MAX;
	if (*ok)
		nesting->closer[nesting->depth++] = closer;
	if (*ok && closer == '}')
		*ok = check_key(s);
	return false;
}

/* After a value: past the brackets it ends and the comma; true when the outermost has ended. */
static bool close_brackets(struct scan *s, struct nesting *nesting, bool *ok)
{
	while (nesting->depth > 0) {
		char closer = nesting->closer[nesting->depth - 1];

		skip_blanks(s);
		*ok = s->p < s->end && (*s->p == ',' || *s->p == closer);
		if (!*ok)
			return false;
		if (*s->p++ == closer) {
			nesting->depth--;
			continue;
		}
		skip_blanks(s);
		if (closer == '}')
			*ok = check_key(s);
		return false;
	}
	return true;
}

static bool is_opening(char c)
{
	return c == '{' || c == '[';
}

static bool check_value(struct scan *s, enum jsontext_kind *kind)
{
	struct nesting nesting = {.depth = 0};
	enum jsontext_kind inner;
	bool ok = true;

	if (s->p == s->end)
		return false;
	if (!is_opening(*s->p))
		return check_scalar(s, kind);
	*kind = *s->p == '{' ? JSONTEXT_OBJECT : JSONTEXT_ARRAY;
	while (ok && s->p < s->end) {
		bool whole;

		if (is_opening(*s->p))
			whole = open_bracket(s, &nesting, &ok);
		else
			whole = ok = check_scalar(s, &inner);
		if (ok && whole && close_brackets(s, &nesting, &ok))
			return true;
	}
	return false;
}

bool jsontext_read(const char *text, size_t len, struct jsontext *ret)
{
	struct scan s = {text, text + len};

	*ret = (struct jsontext){NULL, 0, JSONTEXT_ABSENT};
	skip_blanks(&s);
	ret->at = s.p;
	if (!check_value(&s, &ret->kind))
		return false;
	ret->len = (size_t)(s.p - ret->at);
	skip_blanks(&s);
	return s.p == s.end;
}

/* ---- looking into what was checked ---- */

static void skip_string(struct scan *s)
{
	for (s->p++; *s->p != '"'; s->p++)
		if (*s->p == '\\')
			s->p++;
	s->p++;
}

static enum jsontext_kind scalar_kind(const char *p, size_t len)
{
	if (*p == 'n' || memchr(p, 'N', len) || memchr(p, 'I', len))
		return JSONTEXT_NULL;
	if (*p == 't' || *p == 'f')
		return JSONTEXT_BOOLEAN;
	for (size_t i = 0; i < len; i++)
		if (memchr(".eE", p[i], 3))
			return JSONTEXT_REAL;
	return JSONTEXT_INTEGER;
}

/* Past one checked value, which is stored. */
static void take_value(struct scan *s, struct jsontext *ret)
{
	size_t depth = 0;

	ret->at = s->p;
	ret->kind = *s->p == '{'   ? JSONTEXT_OBJECT
		    : *s->p == '[' ? JSONTEXT_ARRAY
				   : JSONTEXT_STRING;
	if (!memchr("{[\"", *s->p, 3)) {
		while (s->p < s->end && !memchr(",]}: \t\r\n", *s->p, 8))
			s->p++;
		ret->kind = scalar_kind(ret->at, (size_t)(s->p - ret->at));
	} else {
		do {
			if (*s->p == '"') {
				skip_string(s);
				continue;
			}
			depth += *s->p == '{' || *s->p == '[';
			depth -= *s->p == '}' || *s->p == ']';
			s->p++;
		} while (depth > 0);
	}
	ret->len = (size_t)(s->p - ret->at);
}

/* To the next thing inside of brackets, past the comma before it: false at the closing one. */
static bool begin_inside(const struct jsontext *brackets, const char *cursor, struct scan *s)
{
	s->p = cursor ? cursor : brackets->at + 1;
	s->end = brackets->at + brackets->len;
	skip_blanks(s);
	if (*s->p == ',')
		s->p++;
	skip_blanks(s);
	return *s->p != '}' && *s->p != ']';
}

bool jsontext_next(const struct jsontext *object, const char **cursor, struct jsontext *key,
	struct jsontext *value)
{
	struct scan s;

	if (object->kind != JSONTEXT_OBJECT || !begin_inside(object, *cursor, &s))
		return false;
	take_value(&s, key);
	skip_blanks(&s);
	s.p++;
	skip_blanks(&s);
	take_value(&s, value);
	*cursor = s.p;
	return true;
}

bool jsontext_item(const struct jsontext *array, const char **cursor, struct jsontext *value)
{
	struct scan s;

	if (array->kind != JSONTEXT_ARRAY || !begin_inside(array, *cursor, &s))
		return false;
	take_value(&s, value);
	*cursor = s.p;
	return true;
}

struct jsontext jsontext_get(const struct jsontext *object, const char *name)
{
	struct jsontext key, value, found = {NULL, 0, JSONTEXT_ABSENT};
	const char *cursor = NULL;

	while (jsontext_next(object, &cursor, &key, &value))
		if (jsontext_is(&key, name))
			found = value;
	return found;
}

/* Past a number, if there is one: how many digits it has as an integer, 0 for any other. */
static size_t skip_number(struct scan *s)
{
	const char *start = s->p;
	size_t len;

	while (s->p < s->end && memchr("0123456789+-.eE", *s->p, 15))
		s->p++;
	len = (size_t)(s->p - start);
	if (len == 0 || scalar_kind(start, len) != JSONTEXT_INTEGER)
		return 0;
	return len - (*start == '-');
}

size_t jsontext_digits(const struct jsontext *value)
{
	struct scan s = {value->at, value->at + value->len};
	size_t most = 0;

	while (s.p < s.end) {
		const char *start = s.p;
		size_t digits;

		if (*s.p == '"') {
			skip_string(&s);
			continue;
		}
		digits = skip_number(&s);
		most = digits > most ? digits : most;
		s.p += s.p == start;
	}
	return most;
}

/* ---- characters of a checked string ---- */

/* The character at 'p' as UTF-8, U+FFFD for what is none; its length in *used. */
static uint32_t decode_utf8(const unsigned char *p, const unsigned char *end, size_t *used)
{
	size_t len = utf8_length(*p);
	uint32_t c = *p & (len > 1 ? 0x7fu >> len : 0x7f);

	*used = 1;
	if (len == 0 || (size_t)(end - p) < len)
		return 0xfffd;
	for (size_t i = 1; i < len; i++) {
		if (!utf8_may_follow(*p, i, p[i]))
			return 0xfffd;
		c = c << 6 | (p[i] & 0x3f);
	}
	*used = len;
	return c;
}

/* The character of a \u escape ('p' is after the u): takes the other half of a pair with it. */
static uint32_t decode_escape(const char *p, const char *end, size_t *used)
{
	uint32_t c = (uint32_t)hex4(p, end), low;

	*used = 4;
	if (!utf8_is_half(c) || c > 0xdbff || end - p < 10 || p[4] != '\\' || p[5] != 'u')
		return c;
	low = (uint32_t)hex4(p + 6, end);
	if (low < 0xdc00 || low > 0xdfff)
		return c;
	*used = 10;
	return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

uint32_t jsontext_char(const char **at, const char *end)
{
	static const char names[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *p = *at, *name;
	size_t used = 1;
	uint32_t c;

	if (*p != '\\') {
		c = decode_utf8((const unsigned char *)p, (const unsigned char *)end, &used);
	} else if (*++p == 'u') {
		c = decode_escape(++p, end, &used);
	} else {
		name = memchr(names, *p, sizeof(names) - 1);
		c = name ? (unsigned char)meant[name - names] : (unsigned char)*p;
	}
	*at = p + used;
	return c;
}

bool jsontext_is(const struct jsontext *value, const char *content)
{
	struct scan s;

	if (value->kind != JSONTEXT_STRING)
		return false;
	s = (struct scan){value->at + 1, value->at + value->len - 1};
	while (s.p < s.end && *content)
		if (jsontext_char(&s.p, s.end) != (unsigned char)*content++)
			return false;
	return s.p == s.end && !*content;
}

/* ---- copying ---- */

/* DEL is a character like any other to JSON, but not to a terminal. */
static int add_char(struct buf *out, uint32_t c)
{
	return c == 0x7f ? buf_add_str(out, "\\u007F")
			 : quote_add_char(out, utf8_is_half(c) ? 0xfffd : c);
}

/* Characters that are copied as they are come in long runs. */
static size_t plain_run(const struct scan *s)
{
	const char *p = s->p;

	while (p < s->end && (unsigned char)*p >= ' ' && (unsigned char)*p < 0x7f && *p != '\\')
		p++;
	return (size_t)(p - s->p);
}

/* Decoded and written anew, so that two spellings of one string become the same. */
static int copy_string(struct scan *s, struct buf *out)
{
	const char *start = s->p;
	struct scan inner;
	int r = buf_add(out, "\"", 1);

	skip_string(s);
	inner = (struct scan){start + 1, s->p - 1};
	while (r == 0 && inner.p < inner.end) {
		size_t run = plain_run(&inner);

		r = buf_add(out, inner.p, run);
		inner.p += run;
		if (r == 0 && inner.p < inner.end)
			r = add_char(out, jsontext_char(&inner.p, inner.end));
	}
	return r < 0 ? r : buf_add(out, "\"", 1);
}

static bool is_no_json(const struct scan *s)
{
	return s->p < s->end && (*s->p == 'N' || *s->p == 'I');
}

/* To the next string or blank; null takes the place of NaN, and of Infinity with its sign. */
static int copy_plain(struct scan *s, struct buf *out)
{
	const char *start = s->p;
	size_t len;
	int r;

	while (s->p < s->end && *s->p != '"' && !is_blank(*s->p) && !is_no_json(s))
		s->p++;
	len = (size_t)(s->p - start);
	if (len > 0 && is_no_json(s) && start[len - 1] == '-')
		len--;
	r = buf_add(out, start, len);
	if (r < 0 || !is_no_json(s))
		return r;
	s->p += *s->p == 'N' ? strlen("NaN") : strlen("Infinity");
	return buf_add_str(out, "null");
}

int jsontext_copy(const struct jsontext *value, struct buf *out)
{
	struct scan s = {value->at, value->at + value->len};
	int r = 0;

	while (r == 0 && s.p < s.end) {
		r = *s.p == '"' ? copy_string(&s, out) : copy_plain(&s, out);
		skip_blanks(&s);
	}
	return r;
}
