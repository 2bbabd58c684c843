/* SPDX-License-Identifier: MIT */
/* Strict UTF-8, byte by byte: no surrogates, nothing overlong, nothing above U+10FFFF. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_CHARS_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_CHARS_H

#include "payloads/lib/utf8.h"

struct chars {
	unsigned char need;  /* bytes still missing */
	unsigned char have;  /* bytes of the character so far */
	unsigned char first; /* of them */
};

/* 1: a character is complete; 0: more bytes are needed; -1: this byte cannot stand here. Start with
   a zeroed state; after -1 it is no more use. */
static inline int chars_step(struct chars *u, unsigned char c)
{
	if (u->need == 0) {
		unsigned length = utf8_length(c);

		if (length == 0)
			return -1;
		*u = (struct chars){(unsigned char)(length - 1), 1, c};
		return length == 1;
	}
	if (!utf8_may_follow(u->first, u->have, c))
		return -1;
	u->have++;
	return --u->need == 0;
}

/* Bytes of the character at the start of 'len' > 0 bytes, 0 if there is none. */
static inline size_t chars_length(const char *data, size_t len)
{
	struct chars u = {0, 0, 0};

	for (size_t i = 0; i < len; i++) {
		int r = chars_step(&u, (unsigned char)data[i]);

		if (r != 0)
			return r > 0 ? i + 1 : 0;
	}
	return 0;
}

#endif
