/* SPDX-License-Identifier: MIT */
/*
 * The way to the host: a request is a file in one directory, and the response to it one in another.
 * The host made both, for the container's user; whoever has that user's rights can put there what
 * they like. A request appears whole, by renaming; a response may be looked at while it is still
 * being written, and is taken for unfinished until it is JSON.
 *
 * There is no limit of time: the host works for as long as it takes. Who does not wait any longer
 * leaves the call here, so that its response is cleared away when it comes.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_CHANNEL_H
#define PAYLOADS_SANDBOX_TOOLS_MODEL_PROXY_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"
#include "payloads/lib/jsontext.h"
#include "payloads/lib/loop.h"

#define CHANNEL_DIR "/var/tmp/sandbox-services"
#define CHANNEL_SERVICE "bridge_model_service"
#define CHANNEL_POLL_MS 100
#define CHANNEL_CALLS_MAX 4096 /* that a caller should make; each is looked at in each poll */
#define CHANNEL_RESPONSE_MAX ((size_t)150 << 20)

struct channel_call;

struct channel {
	struct loop *loop;
	const char *instance; /* of the service; NULL: there is only one */
	int requests, responses;
	struct loop_watch changes; /* inotify; -1 where there is none */
	struct loop_timer poll;
	struct channel_call *calls;
	unsigned call_count;
	size_t held; /* bytes of responses that somebody works with */
	size_t held_max;
};

/* A response. It is the receiver's, who gives it back with channel_release(). */
struct channel_answer {
	struct buf text; /* of the whole file */
	size_t held;
	struct jsontext result; /* in 'text'; of failures ABSENT */
	struct buf error;	/* UTF-8: why there is no result */
};

struct channel_call {
	void (*answered)(struct channel_call *call, struct channel_answer *answer);
	const char *method;
	char id[37];
	struct timespec seen; /* what was no JSON: when it was written, */
	off_t seen_size;      /* and its size, 0 if there was nothing */
	struct channel_call *next, **link;
};

/* What a request's parameters are put together from. */
struct channel_part {
	const char *at;
	size_t len;
	bool spelled; /* checked JSON, to be spelled in ASCII; else it is written as it is */
};

/* Opens nothing yet. */
void channel_init(struct channel *channel, struct loop *loop, const char *instance);
/* Writes a request: 0, or -1 with 'fail'. call->answered is called once, later. */
int channel_ask(struct channel *channel, struct channel_call *call, const char *method,
	const struct channel_part *parts, size_t count, struct fail *fail);
void channel_release(struct channel *channel, struct channel_answer *answer);

/* Is answer->text a whole response? Then its result, or the error, is taken from it: 1, 0 if it is
   none, -ENOMEM. 'method' is named in an error. Pure. */
int channel_read(struct channel_answer *answer, const char *method);

#endif
