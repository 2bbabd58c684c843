/* SPDX-License-Identifier: MIT */
#include "engine/text.h"

#include <stdint.h>
#include <string.h>

struct range {
	uint32_t first, last;
};

/* Characters that a terminal acts on or that reorder what the reader sees. */
static const struct range unprintable[] = {
	{0x00, 0x1f},
	{0x7f, 0x9f},
	{0xad, 0xad},
	{0x61c, 0x61c},
	{0x180e, 0x180e},
	{0x200b, 0x200f},
	{0x2028, 0x202e},
	{0x2060, 0x2069},
	{0xd800, 0xdfff},
	{0xfeff, 0xfeff},
	{0xfff9, 0xfffb},
	{0xe0000, 0xe0fff},
};

static bool is_printable(uint32_t c)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(unprintable); i++)
		if (c >= unprintable[i].first && c <= unprintable[i].last)
			return false;
	return c <= 0x10ffff;
}

size_t sb_text_char(const char *s, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t n;
	uint32_t c;

	if (len == 0)
		return 0;
	if (u[0] < 0x80)
		return is_printable(u[0]) ? 1 : 0;
	n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (u[0] < 0xc2 || u[0] > 0xf4 || n > len)
		return 0;
	c = u[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3fu);
	}
	return c >= least[n] && is_printable(c) ? n : 0;
}

/* The text of the first character of src, and its length in src. Returns the text's length. */
static size_t clean_char(char text[4], const char *src, size_t len, size_t *ret_taken)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = sb_text_char(src, len);
	unsigned char c = (unsigned char)*src;

	if (n) {
		memcpy(text, src, n);
		*ret_taken = n;
		return n;
	}
	memcpy(text, (char[]){'\\', 'x', hex[c >> 4], hex[c & 15]}, 4);
	*ret_taken = 1;
	return 4;
}

size_t sb_text_clean(char *dst, size_t size, const char *src, size_t len)
{
	size_t out = 0, mark = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0, taken; i < len; i += taken) {
		char text[4];
		size_t need = clean_char(text, src + i, len - i, &taken);

		if (out + need + 1 > size) {
			out = mark;
			for (const char *dots = "..."; *dots && out + 1 < size; dots++)
				dst[out++] = *dots;
			break;
		}
		memcpy(dst + out, text, need);
		out += need;
		if (out + 4 <= size)
			mark = out;
	}
	dst[out] = '\0';
	return out;
}

bool sb_is_hex64(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}
