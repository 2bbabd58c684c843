/* SPDX-License-Identifier: MIT */
/* Strict UTF-8, byte by byte: no surrogates, nothing overlong, nothing above U+10FFFF. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_CHARS_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_CHARS_H

#include <stddef.h>
#include <stdint.h>

struct chars {
	unsigned char need;	 /* bytes still missing */
	unsigned char have;	 /* bytes of the character so far */
	unsigned char low, high; /* what the next byte may be */
};

/* 1: a character is complete; 0: more bytes are needed; -1: this byte cannot stand here. Start with
   a zeroed state; after -1 it is no more use. */
static inline int chars_step(struct chars *u, unsigned char c)
{
	if (u->need == 0) {
		u->have = 1;
		u->low = 0x80;
		u->high = 0xbf;
		if (c < 0x80)
			return 1;
		if (c < 0xc2 || c > 0xf4)
			return -1;
		u->need = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
		if (c == 0xe0)
			u->low = 0xa0;
		else if (c == 0xed)
			u->high = 0x9f;
		else if (c == 0xf0)
			u->low = 0x90;
		else if (c == 0xf4)
			u->high = 0x8f;
		return 0;
	}
	if (c < u->low || c > u->high)
		return -1;
	u->low = 0x80;
	u->high = 0xbf;
	u->have++;
	return --u->need == 0;
}

/* Bytes of the character at the start of 'len' > 0 bytes, 0 if there is none. */
static inline size_t chars_length(const char *data, size_t len)
{
	struct chars u = {0, 0, 0, 0};

	for (size_t i = 0; i < len; i++) {
		int r = chars_step(&u, (unsigned char)data[i]);

		if (r != 0)
			return r > 0 ? i + 1 : 0;
	}
	return 0;
}

#endif
