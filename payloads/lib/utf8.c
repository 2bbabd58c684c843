/* SPDX-License-Identifier: MIT */
/* Incremental UTF-8 decoding. */
#include "payloads/lib/utf8.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* Takes one byte into the held character; true if it belongs there. */
static bool take(struct utf8 *utf8, unsigned char c)
{
	if (utf8->len > 0 && !utf8_may_follow(utf8->held[0], utf8->len, c))
		return false;
	utf8->held[utf8->len++] = c;
	return true;
}

/* The length of the valid, complete text at the start of 'p'. */
static size_t span(const unsigned char *p, const unsigned char *end)
{
	const unsigned char *start = p;

	while (p < end) {
		unsigned n = utf8_length(*p), i = 1;

		if (n == 0 || n > (size_t)(end - p))
			break;
		while (i < n && utf8_may_follow(*p, i, p[i]))
			i++;
		if (i < n)
			break;
		p += n;
	}
	return (size_t)(p - start);
}

bool utf8_is_valid(const void *data, size_t len)
{
	const unsigned char *p = data;

	return span(p, p + len) == len;
}

static int add_replacement(struct utf8 *utf8, struct buf *out)
{
	utf8->len = 0;
	return buf_add(out, REPLACEMENT, 3);
}

/* One byte that does not start a run of valid text: 1 when used up, 0 when it is to be looked at
   again, -errno. */
static int add_byte(struct utf8 *utf8, unsigned char c, struct buf *out)
{
	int r;

	if (utf8->len == 0 && utf8_length(c) == 0) {
		r = add_replacement(utf8, out);
		return r < 0 ? r : 1;
	}
	if (!take(utf8, c))
		return add_replacement(utf8, out);
	if (utf8->len < utf8_length(utf8->held[0]))
		return 1;
	r = buf_add(out, utf8->held, utf8->len);
	utf8->len = 0;
	return r < 0 ? r : 1;
}

int utf8_decode(struct utf8 *utf8, const void *data, size_t len, bool last, struct buf *out)
{
	const unsigned char *p = data, *end = p + len;
	struct utf8 before = *utf8;
	size_t start = out->len;
	int r = 0;

	while (r >= 0 && p < end) {
		size_t n = utf8->len == 0 ? span(p, end) : 0;

		if (n > 0) {
			r = buf_add(out, p, n);
			p += n;
			continue;
		}
		r = add_byte(utf8, *p, out);
		if (r > 0)
			p++;
	}
	if (r >= 0 && last && utf8->len > 0)
		r = add_replacement(utf8, out);
	if (r < 0) {
		*utf8 = before;
		out->len = start;
	}
	return r < 0 ? r : 0;
}
