/* SPDX-License-Identifier: MIT */
/*
 * A connection, on which one request is read and answered. Its reply may be made little by little.
 * A client that goes away takes nothing with it but its connection; one that only ends its sending
 * half still gets its reply, unless room is needed: until something is sent, both look alike.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_PEER_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_PEER_H

#include "payloads/lib/buf.h"
#include "payloads/lib/loop.h"
#include "payloads/sandbox-tools/model_proxy/http.h"
#include "payloads/sandbox-tools/model_proxy/proxy.h"
#include "payloads/sandbox-tools/model_proxy/reply.h"

#define PEER_PATIENCE_MS 300000 /* for each step of reading or writing */
#define PEER_LINGER_MS 2000	/* for what is still coming, after the reply */
#define PEER_ASKING_MS 10000	/* that a request may take while others wait for a connection */
#define PEER_ENOUGH ((size_t)256 << 10) /* of a reply that is made little by little, in memory */
#define PEER_OUT_MAX ((size_t)1 << 30)

/* What is being done for a connection that waits for its reply (exchange.h). */
struct peer_work {
	void (*go_on)(struct peer_work *work); /* the peer has room for more of the reply */
	void (*leave)(struct peer_work *work); /* the peer is gone, or has its reply */
	bool waits;			       /* for the host */
};

enum peer_state {
	PEER_READING,
	PEER_WAITING, /* for the host */
	PEER_WRITING,
	PEER_LINGERING,
};

struct peer {
	struct loop_watch watch;
	struct loop_timer timer;
	struct proxy *proxy;
	enum peer_state state;
	int64_t late; /* io_now() time: from then on it must make room for others */
	struct http http;
	struct buf head, out; /* to be sent, in this order */
	size_t held;	      /* of 'out', as a whole reply that counts as a response of the host */
	struct peer_work *work; /* NULL unless some is under way */
	struct peer *next, **link;
	bool busy;   /* inside a callback: do not free */
	bool broken; /* to be closed */
};

/* Takes over a connected descriptor. */
void peer_open(struct proxy *proxy, int fd);
/* Closes the connections of those that wait for the host and have ended their sending half, and of
   those that have not asked for anything in PEER_ASKING_MS. */
void peer_make_room(struct proxy *proxy);
/* Sends a whole reply, whose body is taken over. */
void peer_reply(struct peer *peer, const struct reply *reply, struct buf *body);
/* The same with a body that is made from a form (form.h). */
void peer_reply_form(struct peer *peer, const struct reply *reply, const char *form, ...);
/* The same with an error that is no provider's. */
void peer_refuse(struct peer *peer, int status, const char *type, const char *why);
/* Sends what has been put into 'out', or will be put there: the reply is being made. */
void peer_write(struct peer *peer);
/* Closes the connection without another word; at once, or when the callback ends. */
void peer_break(struct peer *peer);

#endif
