/* SPDX-License-Identifier: MIT */
/*
 * One HTTP/1 request, read from pieces as they come. Any bytes are safe; what is wrong with them is
 * said in 'flaw'. Pure: knows no socket, and nothing of what is asked for.
 *
 * Lines may end in LF alone. Field lines without a colon are skipped; so are extensions and
 * trailers of a chunked body, which goes before Content-Length. Names of fields are in lower case,
 * values without blanks around them.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_HTTP_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "payloads/lib/buf.h"

#define HTTP_HEAD_MAX ((size_t)64 << 10) /* all lines before the body; also one line */
#define HTTP_BODY_MAX ((size_t)50 << 20)
#define HTTP_FIELDS_MAX 1000

enum http_state {
	HTTP_REQUEST_LINE,
	HTTP_FIELD_LINE,
	HTTP_BODY, /* of known length */
	HTTP_CHUNK_SIZE,
	HTTP_CHUNK,
	HTTP_CHUNK_END,
	HTTP_TRAILER,
	HTTP_DONE,
	HTTP_BAD,
};

/* Bytes of http.head, by offset: it moves as it grows. */
struct http_span {
	size_t at, len;
};

struct http_field {
	struct http_span name, value;
};

struct http {
	enum http_state state;
	struct buf line;	       /* the one that is coming */
	struct buf head;	       /* method, path, names and values */
	struct http_span method, path; /* the path is decoded, and without its query */
	struct http_field *fields;     /* owned */
	size_t field_count;
	size_t lines_size; /* of the head's lines so far */
	struct buf body;
	size_t left;	/* of the body or the chunk */
	bool expects;	/* a "100 Continue" before the body */
	char flaw[120]; /* of HTTP_BAD */
};

void http_open(struct http *http);
void http_close(struct http *http);
/* Takes all of 'data' up to the end of the request: 0, or -ENOMEM. Look at http->state then; what
   comes after HTTP_DONE and HTTP_BAD is ignored. */
int http_feed(struct http *http, const char *data, size_t len);
/* There is no more to come: the state is HTTP_DONE or HTTP_BAD then. 0, or -ENOMEM. */
int http_end(struct http *http);

/* Is it that text, byte by byte? */
bool http_is(const struct http *http, struct http_span span, const char *text);
/* The first field of that name, NULL if there is none. */
const struct http_field *http_find(const struct http *http, const char *name);

#endif
