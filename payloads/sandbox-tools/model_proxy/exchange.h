/* SPDX-License-Identifier: MIT */
/*
 * A request that the host is asked about, and what becomes of its answer. It outlives its
 * connection: when the client has gone, the answer is still waited for and then dropped.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_EXCHANGE_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_EXCHANGE_H

#include "payloads/sandbox-tools/model_proxy/channel.h"
#include "payloads/sandbox-tools/model_proxy/peer.h"
#include "payloads/sandbox-tools/model_proxy/provider.h"
#include "payloads/sandbox-tools/model_proxy/stream.h"

#define EXCHANGE_PING_MS 5000
#define EXCHANGE_ID_MAX 1024 /* bytes, as it came: it is kept for as long as the host takes */

struct exchange {
	struct peer_work work;
	struct channel_call call;
	struct proxy *proxy;
	struct peer *peer; /* NULL: it has gone */
	/* There is an answer, which is in 'answer', and the peer is there. */
	void (*answered)(struct exchange *exchange);
	struct channel_answer answer;
	bool cut; /* the stream ends without its last chunk: something was wrong */
	const struct provider *provider; /* NULL: MCP */
	bool streams;
	struct stream stream;
	struct loop_timer ping;
	struct buf id; /* of an MCP request, as JSON */
};

/* For a request that has been read. NULL: too many wait for the host, which the peer has been told,
   or there is no memory, and it is broken. */
struct exchange *exchange_open(struct peer *peer, void (*answered)(struct exchange *exchange));
/* Asks the host: 0, or -1 with 'fail'. */
int exchange_ask(struct exchange *exchange, const char *method, const struct channel_part *parts,
	size_t count, struct fail *fail);
/* Begins a stream. What goes wrong with it, here or later, ends it at the next peer_write(). */
void exchange_begin_stream(struct exchange *exchange);
/* Pings every so often until there is an answer. */
void exchange_start_pings(struct exchange *exchange);

#endif
