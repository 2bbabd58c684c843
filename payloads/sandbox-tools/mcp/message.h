/* SPDX-License-Identifier: MIT */
/*
 * What passes between a host and an MCP server, as text: which lines of a server are replies, to
 * which request, and how messages are written down again. Pure. Requests and notifications of a
 * server are not told from garbage, because both are dropped.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_MESSAGE_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_MESSAGE_H

#include "payloads/lib/jsontext.h"

#define MESSAGE_FAILURE 666 /* the code of errors that are ours, not the server's */

enum message_kind {
	MESSAGE_OTHER,
	MESSAGE_RESPONSE, /* with an object as result */
	MESSAGE_ERROR,
};

#define MESSAGE_ROOM 24

struct message {
	enum message_kind kind;
	struct jsontext whole, result, error; /* borrow from the line; the last of each */
	struct jsontext id, code;	      /* the same, or from what follows */
	char id_room[MESSAGE_ROOM], code_room[MESSAGE_ROOM];
};

/* Reads a line (without its newline) of an MCP server. The id of a response is an integer or a
   string. In an error a whole number or a boolean will do, too, and for the code so will an integer
   in quotes: they are then the integers that they stand for, as clients of MCP have it. */
void message_read(const char *line, size_t len, struct message *ret);

/* Appends what makes an id equal to another: a type and its content. 'id' is an integer or string:
   0, -ENOMEM, -EMSGSIZE. */
int message_add_key(const struct jsontext *id, struct buf *key);

/* Appends the reply as the host gets it: as received, but an error has its id and code as integers
   and always data, and the other half of a reply goes when it is empty (`"error": null`). 0,
   -ENOMEM, -EMSGSIZE. */
int message_add_reply(const struct message *reply, struct buf *out);
/* Appends an error reply of our own. 'id' is JSON text. */
int message_add_failure(const char *id, const char *text, struct buf *out);
/* Appends a request or notification as one line with its newline; top-level nulls are left out. */
int message_add_request(const struct jsontext *request, struct buf *out);

#endif
