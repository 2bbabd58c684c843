/* SPDX-License-Identifier: MIT */
/* Decoding what MCP servers write. */
#include "payloads/sandbox-tools/mcp/encoding.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/utf8.h"
#include "payloads/sandbox-tools/mcp/codepages.inc"

#define NAME_MAX_LEN 40 /* of the names that are known */

static const char *const names[] = {
	[ENCODING_UTF8] = "utf_8 cp65001 u8 utf utf8 utf8_ucs2 utf8_ucs4",
	[ENCODING_UTF8_SIG] = "utf_8_sig",
	[ENCODING_ASCII] =
		"ascii 646 ansi_x3.4_1968 ansi_x3_4_1968 ansi_x3.4_1986 cp367 csascii ibm367 "
		"iso646_us iso_646.irv_1991 iso_ir_6 us us_ascii",
	[ENCODING_LATIN1] = "latin_1 8859 cp819 csisolatin1 ibm819 iso8859 iso8859_1 iso_8859_1 "
			    "iso_8859_1_1987 iso_ir_100 l1 latin latin1",
};

/* In lower case, with one '_' for whatever stands between letters, digits and dots. */
static bool simplify(const char *name, char ret[NAME_MAX_LEN])
{
	size_t len = 0;

	for (; *name && len < NAME_MAX_LEN - 2; name++) {
		unsigned char c = (unsigned char)*name;

		if (c >= 0x80)
			return false;
		if (isalnum(c) || c == '.')
			ret[len++] = (char)tolower(c);
		else if (len > 0 && ret[len - 1] != '_')
			ret[len++] = '_';
	}
	if (len > 0 && ret[len - 1] == '_')
		len--;
	ret[len] = '\0';
	return len > 0 && !*name;
}

static bool is_among(const char *name, const char *list)
{
	size_t len = strlen(name);

	for (; *list; list += strspn(list, " ")) {
		size_t word = strcspn(list, " ");

		if (word == len && memcmp(list, name, len) == 0)
			return true;
		list += word;
	}
	return false;
}

bool encoding_find(const char *name, enum encoding *ret)
{
	char simple[NAME_MAX_LEN];

	if (!simplify(name, simple))
		return false;
	for (size_t i = 0; i < ENCODING_PAGES + ARRAY_SIZE(codepages); i++) {
		const char *known =
			i < ENCODING_PAGES ? names[i] : codepages[i - ENCODING_PAGES].names;

		if (!is_among(simple, known))
			continue;
		*ret = (enum encoding)i;
		return true;
	}
	return false;
}

bool encoding_find_errors(const char *name, enum encoding_errors *ret)
{
	static const char *const handlers[] = {"strict", "ignore", "replace"};

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		if (strcmp(name, handlers[i]) != 0)
			continue;
		*ret = (enum encoding_errors)i;
		return true;
	}
	return false;
}

/* ---- one character ---- */

struct step {
	size_t len;	 /* of the character, or of what is replaced as one */
	const char *why; /* NULL when it is well-formed */
};

static struct step utf8_step(const unsigned char *p, size_t left)
{
	size_t len = utf8_length(*p), i = 1;

	if (len == 0)
		return (struct step){1, "invalid start byte"};
	while (i < len && i < left && utf8_may_follow(p[0], i, p[i]))
		i++;
	if (i == len)
		return (struct step){len, NULL};
	return (struct step){i, i == left ? "unexpected end of data" : "invalid continuation byte"};
}

static size_t ascii_run(const char *text, size_t len)
{
	size_t i = 0;
	uint64_t word;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		if (word & 0x8080808080808080u)
			break;
	}
	while (i < len && (unsigned char)text[i] < 0x80)
		i++;
	return i;
}

static bool is_utf8(enum encoding encoding)
{
	return encoding == ENCODING_UTF8 || encoding == ENCODING_UTF8_SIG;
}

/* Of the byte order mark that does not count. */
static size_t mark_length(enum encoding encoding, const char *text, size_t len)
{
	return encoding == ENCODING_UTF8_SIG && len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0
		       ? 3
		       : 0;
}

bool encoding_is_plain(enum encoding encoding, const char *text, size_t len)
{
	size_t i = ascii_run(text, len);

	if (mark_length(encoding, text, len) > 0)
		return false;
	while (is_utf8(encoding) && i < len) {
		struct step step = utf8_step((const unsigned char *)text + i, len - i);

		if (step.why)
			return false;
		i += step.len;
		i += ascii_run(text + i, len - i);
	}
	return i == len;
}

/* What a byte above ASCII stands for, where each is a character; U+FFFD for nothing. */
static unsigned meaning(enum encoding encoding, unsigned char c)
{
	return encoding < ENCODING_PAGES ? c : codepages[encoding - ENCODING_PAGES].upper[c - 0x80];
}

static struct step next_step(enum encoding encoding, const unsigned char *p, size_t left)
{
	if (is_utf8(encoding))
		return utf8_step(p, left);
	if (encoding == ENCODING_ASCII)
		return (struct step){1, "ordinal not in range(128)"};
	return (struct step){
		1, meaning(encoding, *p) == 0xfffd ? "character maps to <undefined>" : NULL};
}

/* A character from U+0080 to U+FFFF. */
static int add_char(struct buf *out, unsigned c)
{
	unsigned char bytes[] = {(unsigned char)(0xe0 | c >> 12),
		(unsigned char)(0x80 | (c >> 6 & 0x3f)), (unsigned char)(0x80 | (c & 0x3f))};

	if (c >= 0x800)
		return buf_add(out, bytes, sizeof(bytes));
	bytes[1] = (unsigned char)(0xc0 | c >> 6);
	return buf_add(out, bytes + 1, 2);
}

static int refuse(enum encoding encoding, const unsigned char *p, size_t at,
	const struct step *step, struct fail *fail)
{
	const char *codec = is_utf8(encoding)		 ? "utf-8"
			    : encoding == ENCODING_ASCII ? "ascii"
							 : "charmap";

	if (step->len == 1)
		fail_set(fail, "'%s' codec can't decode byte 0x%02x in position %zu: %s", codec, *p,
			at, step->why);
	else
		fail_set(fail, "'%s' codec can't decode bytes in position %zu-%zu: %s", codec, at,
			at + step->len - 1, step->why);
	return -EILSEQ;
}

int encoding_decode(enum encoding encoding, enum encoding_errors errors, const char *text,
	size_t len, struct buf *out, struct fail *fail)
{
	size_t mark = mark_length(encoding, text, len), i, run;
	int r;

	text += mark; /* and positions are counted from there */
	len -= mark;
	run = ascii_run(text, len);
	r = buf_add(out, text, run);
	for (i = run; r == 0 && i < len; i += run) {
		const unsigned char *p = (const unsigned char *)text + i;
		struct step step = next_step(encoding, p, len - i);

		if (!step.why)
			r = is_utf8(encoding) ? buf_add(out, p, step.len)
					      : add_char(out, meaning(encoding, *p));
		else if (errors == ENCODING_REPLACE)
			r = add_char(out, 0xfffd);
		else if (errors == ENCODING_STRICT)
			r = refuse(encoding, p, i, &step, fail);
		if (r < 0)
			break;
		i += step.len;
		run = ascii_run(text + i, len - i);
		r = buf_add(out, text + i, run);
	}
	return r;
}
