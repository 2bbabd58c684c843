/* SPDX-License-Identifier: MIT */
/*
 * Text to JSON strings in ASCII, spelled as jansson spells them but many times faster: what is
 * quoted here is the output of programs. 0, or -ENOMEM/-EMSGSIZE, and then 'out' is as it was.
 */
#ifndef PAYLOADS_LIB_QUOTE_H
#define PAYLOADS_LIB_QUOTE_H

#include <stdint.h>

#include "payloads/lib/buf.h"

/* Appends valid UTF-8, U+0000 included, with quotes around it. */
int quote_add(struct buf *out, const char *text, size_t len);
/* Appends one character as it stands within the quotes. */
int quote_add_char(struct buf *out, uint32_t c);

#endif
