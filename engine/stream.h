/* SPDX-License-Identifier: MIT */
/*
 * An upgraded connection: a request that an engine answers with a stream of bytes, both ways, until
 * one side ends. Knows nothing of what they mean; the frames in them are frames.h's.
 */
#ifndef ENGINE_STREAM_H
#define ENGINE_STREAM_H

#include "engine/http.h"

struct eng_stream; /* opaque */

/*
 * Send a request that asks for an upgrade, on a connection of its own. 101 and 200 give a stream;
 * any other status gives none (*ret NULL) and the reply. The engine throws away what is sent
 * before its header has arrived, so this waits for it.
 */
int eng_stream_open(struct eng_http *http, const struct eng_http_req *req, struct eng_stream **ret,
	struct eng_http_reply *reply, struct sb_err *err) sb_must_check;

void eng_stream_close(struct eng_stream *stream);
int eng_stream_fd(const struct eng_stream *stream);

/*
 * Read what is there, waiting at most timeout_ms for the first byte. *ret_len 0 with return 0:
 * nothing came in time. 1: end of stream.
 */
int eng_stream_recv(struct eng_stream *stream, void *data, size_t size, int timeout_ms,
	size_t *ret_len, struct sb_err *err) sb_must_check;

/*
 * Send as much as can be sent at once: *ret_len may be 0. The next call must begin with all of the
 * data that was not sent: TLS may have begun with it. 1: the other side has gone.
 */
int eng_stream_send(struct eng_stream *stream, const void *data, size_t len, size_t *ret_len,
	struct sb_err *err) sb_must_check;

/* Wait until one of poll(2)'s `events` is possible, at most timeout_ms. */
void eng_stream_wait(struct eng_stream *stream, short events, int timeout_ms);

int eng_stream_half_close(struct eng_stream *stream, struct sb_err *err) sb_must_check;

#endif
