/* SPDX-License-Identifier: MIT */
/* The text of one piece, and how much fits into it. Pure: no files, no environment. */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHUNK_ENVELOPE_H
#define PAYLOADS_SANDBOX_TOOLS_CHUNK_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"

#define ENVELOPE_HANDLE 32		    /* digits */
#define ENVELOPE_BYTES_MAX ((size_t)524288) /* of the reply in one envelope */

struct envelope {
	const char *id;	    /* JSON token */
	const char *handle; /* ENVELOPE_HANDLE lower case hex digits */
	uint64_t offset, total;
};

/* How many bytes from 'offset' (< total) on fit into 'limit' bytes of output, a newline
   included; 0: not even one. */
size_t envelope_room(const struct envelope *envelope, size_t limit);
/* Appends the envelope that carries 'len' bytes of the reply. 0, -ENOMEM, -EMSGSIZE. */
int envelope_write(struct buf *out, const struct envelope *envelope, const void *data, size_t len);
/* Leniently, as people write numbers in an environment: blanks around it, '_' between digits.
   What is no number above zero is 'otherwise'. */
size_t envelope_parse_limit(const char *text, size_t otherwise);

#endif
