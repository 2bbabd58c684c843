/* SPDX-License-Identifier: MIT */
/*
 * A reply as server-sent events, made as fast as somebody reads them and no faster: what is to be
 * said is a stack of steps, and whoever wants more lets the uppermost go on. A step writes no more
 * than an event or a few at a time, so that besides the result only one event has to fit into
 * memory. Pure.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_STREAM_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/jsontext.h"
#include "payloads/sandbox-tools/model_proxy/spell.h"

#define STREAM_DEPTH 8

struct stream;
struct stream_step;

/* Goes on. False when it is done: it is taken away then, from below what it has put on itself. */
typedef bool stream_run_fn(struct stream *stream, struct stream_step *step);

struct stream_step {
	stream_run_fn *run;
	struct jsontext value; /* what it is about */
	const char *cursor;    /* in that */
	size_t index;	       /* of the item at the cursor */
	const char *list;      /* that the item is in a part of; NULL: none */
	size_t part;
	unsigned phase;
	struct spell_pieces pieces;
	const void *table; /* that says what to do */
};

struct stream {
	struct buf *out;
	enum spelling spelling;
	struct jsontext result; /* an object */
	struct buf scratch;	/* of the step that needs it */
	bool wants_usage;
	size_t sequence;	  /* number of the last event, where they are numbered */
	struct jsontext frame[4]; /* what each event has */
	struct stream_step steps[STREAM_DEPTH];
	size_t depth;
	size_t start; /* of the event being written */
	int error;    /* the first one; nothing is written any more */
};

void stream_init(struct stream *stream, struct buf *out);
void stream_release(struct stream *stream);
/* Puts a step on the stack; it is the next to run. Returns it, to be filled in. */
struct stream_step *stream_push(
	struct stream *stream, stream_run_fn *run, const struct jsontext *value);
/* Lets it go on until 'out' has 'enough' bytes or it is done: 1 is not done, 0, -errno. */
int stream_go_on(struct stream *stream, size_t enough);

/* ---- events: for steps; errors are kept ---- */

/* One event from a form (form.h) for its data; 'name' may be NULL. */
void stream_event(struct stream *stream, const char *name, const char *form, ...);
/* The same in parts. */
void stream_open_event(struct stream *stream, const char *name);
void stream_add(struct stream *stream, const char *form, ...);
void stream_close_event(struct stream *stream);

#endif
