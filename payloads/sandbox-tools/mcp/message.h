/* SPDX-License-Identifier: MIT */
/*
 * What passes between a host and an MCP server, as text: which lines of a server are replies, to
 * which request, and how messages are written down again. Pure. Requests and notifications of a
 * server are not told from garbage, because both are dropped.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_MESSAGE_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_MESSAGE_H

#include "payloads/sandbox-tools/mcp/jsontext.h"

#define MESSAGE_FAILURE 666 /* the code of errors that are ours, not the server's */

enum message_kind {
	MESSAGE_OTHER,
	MESSAGE_RESPONSE, /* with an object as result */
	MESSAGE_ERROR,
};

struct message {
	enum message_kind kind;
	struct jsontext whole, id, result, error; /* borrow from the line; the last of each */
};

/* Reads a line (without its newline) of an MCP server. */
void message_read(const char *line, size_t len, struct message *ret);

/* Appends what makes an id equal to another: a type and its content. 'id' is an integer or string:
   0, -ENOMEM, -EMSGSIZE. */
int message_add_key(const struct jsontext *id, struct buf *key);

/* Appends the reply as the host gets it: as received, but an error always has data, and the other
   half of a reply goes when it is empty (`"error": null`). 0, -ENOMEM, -EMSGSIZE. */
int message_add_reply(const struct message *reply, struct buf *out);
/* Appends an error reply of our own. 'id' is JSON text. */
int message_add_failure(const char *id, const char *text, struct buf *out);
/* Appends a request or notification as one line with its newline; top-level nulls are left out. */
int message_add_request(const struct jsontext *request, struct buf *out);

#endif
