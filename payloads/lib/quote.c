/* SPDX-License-Identifier: MIT */
/* Quoting text for JSON. */
#include "payloads/lib/quote.h"

#include <stdbool.h>

#define QUOTED_MAX 12  /* bytes that one character becomes at most */
#define PIECE_MAX 4096 /* bytes that are put together before they are appended */

static bool is_plain(uint32_t c)
{
	return c >= ' ' && c < 0x80 && c != '"' && c != '\\';
}

static char *put_unit(char *to, uint32_t unit)
{
	static const char digits[] = "0123456789ABCDEF";

	*to++ = '\\';
	*to++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = digits[unit >> shift & 15];
	return to;
}

static char *put_char(char *to, uint32_t c)
{
	static const char names[] = "btn?fr";

	if (is_plain(c)) {
		*to++ = (char)c;
	} else if (c == '"' || c == '\\') {
		*to++ = '\\';
		*to++ = (char)c;
	} else if (c >= '\b' && c <= '\r' && c != '\v') {
		*to++ = '\\';
		*to++ = names[c - '\b'];
	} else if (c < 0x10000) {
		to = put_unit(to, c);
	} else {
		to = put_unit(to, 0xd800 + ((c - 0x10000) >> 10));
		to = put_unit(to, 0xdc00 + ((c - 0x10000) & 0x3ff));
	}
	return to;
}

/* The character at '*p', which moves on. */
static uint32_t take_char(const unsigned char **p)
{
	uint32_t c = *(*p)++;
	unsigned more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;

	if (more > 0)
		c &= 0x3fu >> more;
	for (; more > 0; more--)
		c = c << 6 | (*(*p)++ & 0x3f);
	return c;
}

int quote_add_char(struct buf *out, uint32_t c)
{
	char text[QUOTED_MAX];

	return buf_add(out, text, (size_t)(put_char(text, c) - text));
}

int quote_add(struct buf *out, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + len;
	char piece[PIECE_MAX + QUOTED_MAX], *to = piece;
	size_t start = out->len;
	int r = 0;

	*to++ = '"';
	while (r == 0 && p < end) {
		while (p < end && to < piece + PIECE_MAX)
			if (is_plain(*p))
				*to++ = (char)*p++;
			else
				to = put_char(to, take_char(&p));
		r = buf_add(out, piece, (size_t)(to - piece));
		to = piece;
	}
	*to++ = '"';
	if (r == 0)
		r = buf_add(out, piece, (size_t)(to - piece));
	if (r < 0)
		out->len = start;
	return r;
}
