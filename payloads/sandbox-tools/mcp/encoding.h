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
	ENCODING_UTF8_SIG, /* the same, and a byte order mark may stand before each text */
	ENCODING_ASCII,
	ENCODING_LATIN1,
	ENCODING_PAGES, /* and all after it: those of codepages.inc */
};

enum encoding_errors {
	ENCODING_STRICT,
	ENCODING_IGNORE,
	ENCODING_REPLACE, /* by U+FFFD */
};

/* Knows the names that Python has for them, in any case and with any punctuation; false for any
   other encoding. Those are the ones whose lower half is not ASCII, in which a line does not end as
   it does here, and those of Chinese, Japanese and Korean, whose tables would be a third of the
   program. */
bool encoding_find(const char *name, enum encoding *ret);
bool encoding_find_errors(const char *name, enum encoding_errors *ret);

/* Can 'text' be used as it is? */
bool encoding_is_plain(enum encoding encoding, const char *text, size_t len);
/* Appends 'text' as UTF-8: 0, -ENOMEM, -EMSGSIZE, or -EILSEQ with 'fail' (which byte, where). */
int encoding_decode(enum encoding encoding, enum encoding_errors errors, const char *text,
	size_t len, struct buf *out, struct fail *fail);

#endif
