/* SPDX-License-Identifier: MIT */
#include "recon/osrel.h"

#include "engine/text.h"

#include <stdbool.h>
#include <string.h>

enum kind { IDENTIFIER, IDENTIFIERS, FREE_TEXT };

struct key {
	const char *name;
	enum kind kind;
	size_t offset, size;
};

#define FIELD(name) offsetof(struct osrel, name), sizeof(((struct osrel *)NULL)->name)

static const struct key keys[] = {
	{"ID", IDENTIFIER, FIELD(id)},
	{"ID_LIKE", IDENTIFIERS, FIELD(id_like)},
	{"VERSION_ID", IDENTIFIER, FIELD(version_id)},
	{"PRETTY_NAME", FREE_TEXT, FIELD(pretty_name)},
};

struct span {
	const char *at;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_identifier(const char *s, size_t len)
{
	return len > 0 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-") >= len;
}

static struct span trim(struct span text)
{
	while (text.len > 0 && is_blank(text.at[0]))
		text.at++, text.len--;
	while (text.len > 0 && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

/* Inside double quotes a backslash is one unless it hides one of these. */
static bool is_escaped(char quote, char next)
{
	return quote == 0 || (quote == '"' && strchr("\"\\$`", next));
}

/* A value that is being read. */
struct reading {
	struct span value;
	size_t at;
	char quote; /* the one that is open, or 0 */
};

static bool begins_comment(const struct reading *r)
{
	return r->quote == 0 && r->value.at[r->at] == '#' && r->at > 0 &&
	       is_blank(r->value.at[r->at - 1]);
}

/* Pass over a quote that opens or closes. */
static bool take_quote(struct reading *r)
{
	char c = r->value.at[r->at];

	if (r->quote ? c != r->quote : c != '"' && c != '\'')
		return false;
	r->quote = r->quote ? 0 : c;
	r->at++;
	return true;
}

/* The next character, a backslash before it undone; '\0' where there can be none. */
static char take_char(struct reading *r)
{
	char c = r->value.at[r->at++];

	if (c != '\\' || r->quote == '\'')
		return c;
	if (r->at == r->value.len || r->value.at[r->at] == '\0')
		return '\0';
	return is_escaped(r->quote, r->value.at[r->at]) ? r->value.at[r->at++] : c;
}

/*
 * Undo the quoting of a value into dst. Blanks in the middle of an unquoted value are kept, as
 * systemd does it. False for a quote without end, a NUL, and a value that does not fit.
 */
static bool unquote(struct span value, char *dst, size_t size)
{
	struct reading r = {value, 0, 0};
	size_t out = 0;

	while (r.at < value.len) {
		if (out + 1 >= size)
			return false;
		if (begins_comment(&r))
			break;
		if (take_quote(&r))
			continue;
		dst[out] = take_char(&r);
		if (dst[out++] == '\0')
			return false;
	}
	while (r.at < value.len && out > 0 && is_blank(dst[out - 1]))
		out--;
	dst[out] = '\0';
	return r.quote == 0;
}

static void set_identifiers(char *dst, size_t size, const char *list)
{
	size_t out = 0;

	for (list += strspn(list, " \t"); *list; list += strspn(list, " \t")) {
		size_t len = strcspn(list, " \t");

		if (is_identifier(list, len)) {
			if (out + len + 2 > size) {
				dst[0] = '\0';
				return;
			}
			if (out > 0)
				dst[out++] = ' ';
			memcpy(dst + out, list, len);
			out += len;
			dst[out] = '\0';
		}
		list += len;
	}
}

static void assign(struct osrel *ret, const struct key *key, struct span raw)
{
	char *dst = (char *)ret + key->offset;
	char value[1024];

	dst[0] = '\0';
	if (!unquote(raw, value, sizeof(value)))
		return;
	if (key->kind == FREE_TEXT) {
		sb_text_clean(dst, key->size, value, strlen(value));
	} else if (key->kind == IDENTIFIERS) {
		set_identifiers(dst, key->size, value);
	} else if (strlen(value) < key->size && is_identifier(value, strlen(value))) {
		memcpy(dst, value, strlen(value) + 1);
	}
}

static void parse_line(struct span line, struct osrel *ret)
{
	const char *equals;
	size_t name;

	line = trim(line);
	if (line.len == 0 || line.at[0] == '#')
		return;
	equals = memchr(line.at, '=', line.len);
	if (!equals)
		return;
	name = (size_t)(equals - line.at);
	for (size_t i = 0; i < SB_ARRAY_SIZE(keys); i++) {
		if (strlen(keys[i].name) == name && !memcmp(keys[i].name, line.at, name)) {
			struct span value = {equals + 1, line.len - name - 1};

			assign(ret, &keys[i], value);
			return;
		}
	}
}

void osrel_parse(const void *data, size_t len, struct osrel *ret)
{
	struct span rest = {data, len};

	*ret = (struct osrel){0};
	while (rest.len > 0) {
		const char *end = memchr(rest.at, '\n', rest.len);
		size_t line = end ? (size_t)(end - rest.at) : rest.len;

		parse_line((struct span){rest.at, line}, ret);
		line += end != NULL;
		rest.at += line;
		rest.len -= line;
	}
}
