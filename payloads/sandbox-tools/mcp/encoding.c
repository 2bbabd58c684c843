/* SPDX-License-Identifier: MIT */
/* Decoding what MCP servers write. */
#include "payloads/sandbox-tools/mcp/encoding.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "payloads/lib/base.h"
#include "payloads/lib/utf8.h"

static const struct {
	const char *name; /* lower case, with '-' for '_' */
	enum encoding encoding;
} encodings[] = {
	{"utf-8", ENCODING_UTF8},
	{"utf8", ENCODING_UTF8},
	{"u8", ENCODING_UTF8},
	{"ascii", ENCODING_ASCII},
	{"us-ascii", ENCODING_ASCII},
	{"latin-1", ENCODING_LATIN1},
	{"latin1", ENCODING_LATIN1},
	{"iso-8859-1", ENCODING_LATIN1},
	{"iso8859-1", ENCODING_LATIN1},
	{"l1", ENCODING_LATIN1},
};

static bool is_name(const char *name, const char *wanted)
{
	for (; *name && *wanted; name++, wanted++)
		if ((*name == '_' ? '-' : tolower((unsigned char)*name)) != *wanted)
			return false;
	return !*name && !*wanted;
}

bool encoding_find(const char *name, enum encoding *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++) {
		if (!is_name(name, encodings[i].name))
			continue;
		*ret = encodings[i].encoding;
		return true;
	}
	return false;
}

bool encoding_find_errors(const char *name, enum encoding_errors *ret)
{
	static const char *const names[] = {"strict", "ignore", "replace"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) != 0)
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

bool encoding_is_plain(enum encoding encoding, const char *text, size_t len)
{
	size_t i = ascii_run(text, len);

	while (encoding == ENCODING_UTF8 && i < len) {
		struct step step = utf8_step((const unsigned char *)text + i, len - i);

		if (step.why)
			return false;
		i += step.len;
		i += ascii_run(text + i, len - i);
	}
	return i == len;
}

static int add_latin1(struct buf *out, unsigned char c)
{
	unsigned char pair[] = {(unsigned char)(0xc0 | c >> 6), (unsigned char)(0x80 | (c & 0x3f))};

	return buf_add(out, pair, sizeof(pair));
}

int encoding_decode(enum encoding encoding, enum encoding_errors errors, const char *text,
	size_t len, struct buf *out, struct fail *fail)
{
	size_t i = ascii_run(text, len);
	int r = buf_add(out, text, i);

	while (r == 0 && i < len) {
		const unsigned char *p = (const unsigned char *)text + i;
		struct step step = {1, "ordinal not in range(128)"};
		size_t run;

		if (encoding == ENCODING_UTF8)
			step = utf8_step(p, len - i);
		if (encoding == ENCODING_LATIN1)
			r = add_latin1(out, *p);
		else if (!step.why)
			r = buf_add(out, p, step.len);
		else if (errors == ENCODING_REPLACE)
			r = buf_add_str(out, "\xef\xbf\xbd");
		else if (errors == ENCODING_STRICT) {
			fail_set(fail, "'%s' codec can't decode byte 0x%02x in position %zu: %s",
				encoding == ENCODING_UTF8 ? "utf-8" : "ascii", *p, i, step.why);
			r = -EILSEQ;
		}
		if (r < 0)
			break;
		i += step.len;
		run = ascii_run(text + i, len - i);
		r = buf_add(out, text + i, run);
		i += run;
	}
	return r;
}
