/* SPDX-License-Identifier: MIT */
/*
 * The rules of UTF-8, and bytes that arrive in pieces made valid. What is not UTF-8 becomes U+FFFD,
 * one for each maximal invalid piece (the practice of Unicode and of Python's "replace"); a
 * character that is not complete yet is held back. U+0000 is a character like any other.
 */
#ifndef PAYLOADS_LIB_UTF8_H
#define PAYLOADS_LIB_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"

/* How many bytes the character that starts with 'c' has, 0 if none starts so. */
static inline unsigned utf8_length(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	return c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* May 'c' be the byte number 'at' after 'first'? The second byte excludes overlong forms,
   surrogates and what is beyond U+10FFFF. */
static inline bool utf8_may_follow(unsigned char first, size_t at, unsigned char c)
{
	unsigned char low = 0x80, high = 0xbf;

	if (at == 1 && first == 0xe0)
		low = 0xa0;
	else if (at == 1 && first == 0xed)
		high = 0x9f;
	else if (at == 1 && first == 0xf0)
		low = 0x90;
	else if (at == 1 && first == 0xf4)
		high = 0x8f;
	return c >= low && c <= high;
}

/* Half of a surrogate pair, which is no character by itself. */
static inline bool utf8_is_half(uint32_t c)
{
	return c >= 0xd800 && c <= 0xdfff;
}

bool utf8_is_valid(const void *data, size_t len);

struct utf8 {
	unsigned char held[4]; /* the beginning of a character */
	unsigned len;
};

/* Appends to 'out' what 'data' completes; with 'last' the held beginning, too, as U+FFFD. 0, or
   -ENOMEM/-EMSGSIZE, and then neither 'utf8' nor 'out' has changed. */
int utf8_decode(struct utf8 *utf8, const void *data, size_t len, bool last, struct buf *out);

#endif
