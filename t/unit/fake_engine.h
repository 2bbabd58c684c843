/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for an engine: a Unix socket in a directory of its own, and for each connection a
 * script of what to wait for and which bytes to send. It understands no more of HTTP than where a
 * request ends, so that it can answer as no engine should.
 */
#ifndef T_UNIT_FAKE_ENGINE_H
#define T_UNIT_FAKE_ENGINE_H

#include "engine/endpoint.h"

enum fake_do {
	FAKE_END,     /* close the connection */
	FAKE_REQUEST, /* wait for a whole request: its header, and its body by Content-Length */
	FAKE_HEAD,    /* wait for the header of a request and no more */
	FAKE_TAKE,    /* wait for `times` bytes */
	FAKE_SEND,    /* send the bytes `times` times (0: once) */
	FAKE_TRICKLE, /* send them one at a time */
	FAKE_FLOOD,   /* send them again and again until the client goes, 5 s at most */
	FAKE_STALL,   /* take what comes and do nothing until the client goes */
	FAKE_IDLE,    /* take nothing either, as a Go server before it closes: 500 ms */
	FAKE_SIGNAL,  /* raise eng_interrupted */
	FAKE_HALF,    /* end the sending side, as an engine does when a program has ended */
};

struct fake_step {
	enum fake_do what;
	const char *data;
	size_t len;
	size_t times;
};

/* A step that sends a string literal; a request and the answer to it. */
#define FAKE_TEXT(text)                                \
	{                                              \
		FAKE_SEND, (text), sizeof(text) - 1, 0 \
	}
#define FAKE_ANSWER(text) {FAKE_REQUEST, NULL, 0, 0}, FAKE_TEXT(text)
#define FAKE_DO(what)              \
	{                          \
		(what), NULL, 0, 0 \
	}

struct fake_engine; /* opaque */

/* Listen. scripts[i] is for the i-th connection; further ones are closed at once. */
struct fake_engine *fake_start(const struct fake_step *const *scripts, size_t count);

/* Listen, and leave each connection to `serve`, which ends when it returns; see fake_docker.c. */
struct fake_connection;
typedef void (*fake_serve_fn)(struct fake_connection *connection, void *ctx);
struct fake_engine *fake_start_serving(fake_serve_fn serve, void *ctx);

/* The endpoint to reach it. */
const struct eng_endpoint *fake_endpoint(const struct fake_engine *fake);

/* End all connections and wait for them. What was recorded can be read then. */
void fake_stop(struct fake_engine *fake);

/* How many connections came; and all that one of them sent, NUL-terminated. */
size_t fake_connections(const struct fake_engine *fake);
const char *fake_received(const struct fake_engine *fake, size_t connection, size_t *ret_len);

void fake_free(struct fake_engine *fake);

#endif
