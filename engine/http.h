/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 over a Unix socket or TCP, plain or TLS: one kept-alive connection for requests, and
 * bare connections, which stream.h makes byte streams of. For engines alone: download.h gets files
 * from other servers.
 */
#ifndef ENGINE_HTTP_H
#define ENGINE_HTTP_H

#include "engine/buf.h"
#include "engine/endpoint.h"
#include "engine/interrupt.h"

#include <stdint.h>

struct eng_http;      /* opaque: an endpoint and its connection */
struct eng_http_conn; /* opaque: a bare connection */

struct eng_http_req {
	const char *method;
	const char *path; /* escaped, starting with '/' */
	const char *type; /* Content-Type of the body */
	const void *body;
	size_t body_len;
	size_t max_reply; /* over it the request fails */
	int timeout_ms;	  /* for the whole request; 0: no limit */
	/* Takes the body of a 2xx reply instead of reply->body; non-zero stops the transfer. */
	int (*sink)(void *ctx, const char *data, size_t len);
	void *ctx;
};

struct eng_http_reply {
	int status;
	bool stopped; /* by the sink: the connection has been given up */
	struct sb_buf headers;
	struct sb_buf body;
};

#define ENG_HTTP_REPLY_INIT                                                           \
	{                                                                             \
		0, false, SB_BUF_INIT(SB_MAX_HEADERS), SB_BUF_INIT(SB_MAX_JSON_REPLY) \
	}
void eng_http_reply_release(struct eng_http_reply *reply);

int eng_http_global_init(struct sb_err *err) sb_must_check;

int eng_http_new(const struct eng_endpoint *endpoint, struct eng_http **ret,
	struct sb_err *err) sb_must_check;
void eng_http_free(struct eng_http *http);

/*
 * Choose whether the interrupt flag stops requests and streams, and find out whether it does now.
 */
void eng_http_ignore_interrupt(struct eng_http *http, bool ignore);
bool eng_http_is_interrupted(const struct eng_http *http);

const struct eng_endpoint *eng_http_endpoint(const struct eng_http *http);

/*
 * One request and its whole reply; 0 for any status. Without a reply: SB_NO_ENGINE, SB_INTERRUPTED,
 * or SB_USAGE if the endpoint's URL is invalid.
 */
int eng_http_do(struct eng_http *http, const struct eng_http_req *req, struct eng_http_reply *reply,
	struct sb_err *err) sb_must_check;

/* The value of a header (the first of that name), or NULL; size bounds the copy. */
const char *eng_http_header(
	const struct eng_http_reply *reply, const char *name, char *value, size_t size);

/* The other side's clock when it answered, in seconds since 1970; 0 if it does not say. */
int64_t eng_http_date(const struct eng_http_reply *reply);

/* Add `text` with everything but unreserved characters percent-encoded. */
int eng_http_escape(struct sb_buf *buf, const char *text, struct sb_err *err) sb_must_check;

/* Log a request that began at `since`, and the `len` bytes that came for it. */
void eng_http_trace(const struct eng_http_req *req, int status, size_t len, int64_t since);

/* ---- bare connections, for stream.c alone ---- */

/*
 * Connect, with TLS where the endpoint has it, and send nothing. `req` is what the connection is
 * for: it bounds the time, and errors name it.
 */
int eng_http_connect(struct eng_http *http, const struct eng_http_req *req,
	struct eng_http_conn **ret, struct sb_err *err) sb_must_check;
void eng_http_disconnect(struct eng_http_conn *conn);
int eng_http_conn_fd(const struct eng_http_conn *conn);

/* Read what is there, without waiting: *ret_len 0 with return 0: nothing. 1: end of stream. */
int eng_http_recv(struct eng_http_conn *conn, void *data, size_t size, size_t *ret_len,
	struct sb_err *err) sb_must_check;

/*
 * Send some of data, without waiting. *ret_len 0 with return 0: nothing can be sent now, and the
 * next call must begin with the same data. 1: the other side has gone.
 */
int eng_http_send(
	struct eng_http_conn *conn, const void *data, size_t len, size_t *ret_len) sb_must_check;

#endif
