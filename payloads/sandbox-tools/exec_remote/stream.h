/* SPDX-License-Identifier: MIT */
/*
 * One output stream of a job: what comes out of its pipe waits here, as bytes, until somebody takes
 * it, as text. Nothing that was written before the end is lost; a full buffer makes the writer
 * wait. Knows no job.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_STREAM_H
#define PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_STREAM_H

#include "payloads/lib/buf.h"
#include "payloads/lib/loop.h"
#include "payloads/lib/memory.h"
#include "payloads/lib/utf8.h"
#include "payloads/sandbox-tools/exec_remote/queue.h"

#define STREAM_MAX ((size_t)104857600) /* bytes that wait; then nothing more is read */
#define STREAM_LEAST ((size_t)65536)   /* that each may have when all together have too many */
#define STREAM_SINKS_MAX 256
/* What waits must leave so much memory free, or nobody could even ask for it; unless it is little
   in all, or less than STREAM_LEAST of its stream, which need leave no more than STREAM_LITTLE. */
#define STREAM_RESERVE ((size_t)16 << 20)
#define STREAM_LITTLE ((size_t)4 << 20)
#define STREAM_PROBE ((size_t)1 << 20) /* how often that is looked at */

struct stream {
	struct loop_watch watch; /* first, so that a watch is its stream; fd -1 when over */
	struct loop *loop;
	struct memory_share *all; /* bytes that wait in all streams; borrowed */
	struct queue queue;
	struct utf8 utf8;
	bool paused;  /* not watched: full, or no memory */
	bool starved; /* no memory */
	bool ended;   /* nothing more will come */
	/* Bytes came, or the end; called by the loop. */
	void (*changed)(struct stream *stream);
};

/* Readers of pipes whose job is over, so that the background processes that still write neither
   fail nor hang. All together read a few MB a second; who writes more has to wait. The oldest go
   when there are too many. */
struct stream_sinks {
	struct loop *loop; /* once there was one */
	struct stream_sink *first, **last;
	unsigned count;
	uint64_t turns; /* reads there were */
	struct loop_timer timer;
};

/* Takes over the reading end 'fd', or closes it: 0 or -errno. 'changed' is set by the caller; 'all'
   counts for all streams that share it. */
int stream_open(struct stream *stream, struct loop *loop, struct memory_share *all, int fd);
/* Is there something left to read, but still no memory for it? Otherwise it is read on. */
bool stream_starves(struct stream *stream);
/* Appends text of at most 'max' bytes of the stream, and an incomplete character when it is the
   last. Less when memory is short. 0, or -ENOMEM/-EMSGSIZE when not even a little fits. */
int stream_take(struct stream *stream, size_t max, struct buf *out);
/* Throws away all but the last 'max' bytes that wait; how many. */
size_t stream_cut(struct stream *stream, size_t max);
/* Reads what is in the pipe, and ends it; a pipe that still has writers becomes a sink. */
void stream_give_up(struct stream *stream, struct stream_sinks *sinks);
/* Frees everything. */
void stream_close(struct stream *stream);
void stream_sinks_close(struct stream_sinks *sinks);

#endif
