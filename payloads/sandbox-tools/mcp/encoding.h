/* SPDX-License-Identifier: MIT */
/*
 * The encodings an MCP server may speak: what it writes becomes UTF-8. (What it reads is ASCII,
 * which is the same in all of them.) Pure.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_ENCODING_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_ENCODING_H

#include <stdbool.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"

enum encoding {
	ENCODING_UTF8,
	ENCODING_ASCII,
	ENCODING_LATIN1,
};

enum encoding_errors {
	ENCODING_STRICT,
	ENCODING_IGNORE,
	ENCODING_REPLACE, /* by U+FFFD */
};

/* Knows the usual spellings; false for any other encoding. */
bool encoding_find(const char *name, enum encoding *ret);
bool encoding_find_errors(const char *name, enum encoding_errors *ret);

/* Can 'text' be used as it is? */
bool encoding_is_plain(enum encoding encoding, const char *text, size_t len);
/* Appends 'text' as UTF-8: 0, -ENOMEM, -EMSGSIZE, or -EILSEQ with 'fail' (which byte, where). */
int encoding_decode(enum encoding encoding, enum encoding_errors errors, const char *text,
	size_t len, struct buf *out, struct fail *fail);

#endif
