/* SPDX-License-Identifier: MIT */
/*
 * Replies longer than what a host can take at once: the whole goes to a private file, the host gets
 * an envelope with the first piece and asks for the rest by handle. Only the commands that print a
 * reply use this; methods and the server know nothing of it.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHUNK_CHUNK_H
#define PAYLOADS_SANDBOX_TOOLS_CHUNK_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/chunk/store.h"
#include "payloads/sandbox-tools/rpc/rpc.h"

#define CHUNK_METHOD "__inspect_json_rpc_response_chunk__"
#define CHUNK_LIMIT_VARIABLE "INSPECT_SANDBOX_JSON_RPC_RESPONSE_MAX_BYTES"
#define CHUNK_LIMIT_DEFAULT 65536

struct chunk {
	size_t limit;		   /* bytes of output, newline included */
	bool wanted;		   /* the host set a limit, so it understands envelopes */
	const struct place *place; /* borrowed: where replies wait */
	struct store_file file;	   /* the one that is reserved */
};

/* What the environment says. */
void chunk_init(struct chunk *chunk, const struct place *place);
/* Before a change of user: has a file ready, if a reply might need one. Where that fails, storing
   will. */
void chunk_reserve(struct chunk *chunk, const char *id);
/* In every process that had it: forgets the file if it was not needed. */
void chunk_release(struct chunk *chunk);
/* Must this reply to the request with that id token (NULL for none) go in pieces? */
bool chunk_is_needed(const struct chunk *chunk, const char *id, const char *text, size_t len);
/* Stores the reply and appends the first envelope. 0 or -1 with 'fail'. */
int chunk_first(struct chunk *chunk, const char *id, const char *text, size_t len, struct buf *out,
	struct fail *fail);
/* Answers a request for CHUNK_METHOD: another piece, a release, or an error reply. 0 or -ENOMEM. */
int chunk_continue(const struct chunk *chunk, const struct rpc_request *req, struct buf *out);

#endif
