/* SPDX-License-Identifier: MIT */
/* What all connections of the server share. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_PROXY_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_PROXY_H

#include "payloads/lib/loop.h"
#include "payloads/lib/memory.h"
#include "payloads/sandbox-tools/model_proxy/channel.h"

#define PROXY_PORT 13131
#define PROXY_PEERS_MAX 1024
#define PROXY_BODIES_MAX ((size_t)256 << 20) /* of requests that are coming, together */

struct peer;

struct proxy {
	struct loop loop;
	struct channel channel;
	struct loop_watch listener;
	struct loop_timer resume; /* accepting, after a failure or when there was no room */
	struct peer *peers;
	void (*serve)(struct peer *peer); /* answers a request that has been read */
	unsigned peer_count, peers_max;
	struct memory_share bodies;
};

/* The host cannot go on: says why on stderr, and ends the loop. */
void proxy_end(struct proxy *proxy, const char *why, size_t len);
/* A connection has ended: there is room for another one. */
void proxy_accept_more(struct proxy *proxy);

#endif
