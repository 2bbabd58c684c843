/* SPDX-License-Identifier: MIT */
/* What stands before the body of an HTTP reply. All return 0, -ENOMEM or -EMSGSIZE. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_REPLY_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_REPLY_H

#include <stddef.h>

#include "payloads/lib/buf.h"

struct reply {
	int status;
	const char *type;  /* NULL: JSON */
	const char *extra; /* more lines, each with its end; NULL: none */
};

/* Of a body of that length; it is the last on its connection. */
int reply_add_head(struct buf *out, const struct reply *reply, size_t len);
/* Of a stream of events, in chunks. */
int reply_add_stream_head(struct buf *out);
#define REPLY_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define REPLY_LAST_CHUNK "0\r\n\r\n"

#endif
