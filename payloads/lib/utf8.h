/* SPDX-License-Identifier: MIT */
/*
 * Bytes that arrive in pieces, to valid UTF-8. What is not UTF-8 becomes U+FFFD, one for each
 * maximal invalid piece (the practice of Unicode and of Python's "replace"); a character that is
 * not complete yet is held back. U+0000 is a character like any other.
 */
#ifndef PAYLOADS_LIB_UTF8_H
#define PAYLOADS_LIB_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "payloads/lib/buf.h"

struct utf8 {
	unsigned char held[4]; /* the beginning of a character */
	unsigned len;
};

/* Appends to 'out' what 'data' completes; with 'last' the held beginning, too, as U+FFFD. 0, or
   -ENOMEM/-EMSGSIZE, and then neither 'utf8' nor 'out' has changed. */
int utf8_decode(struct utf8 *utf8, const void *data, size_t len, bool last, struct buf *out);

#endif
