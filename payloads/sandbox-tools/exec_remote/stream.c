/* SPDX-License-Identifier: MIT */
/* Reading a job's pipe. */
#include "payloads/sandbox-tools/exec_remote/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"

#define LAST_MAX ((size_t)8 << 20) /* no pipe holds more */
#define SINK_MS 10		   /* after which one that was read is read again */
#define SINK_READ 65536		   /* what a pipe holds as a rule */

struct stream_sink {
	struct loop_watch watch; /* first, so that a watch is its sink */
	struct stream_sinks *sinks;
	uint64_t turn; /* when it was read, if it is not watched since; 0 otherwise */
	struct stream_sink *next, **link;
};

/* ---- sinks ---- */

static void close_sink(struct stream_sink *sink)
{
	struct stream_sinks *sinks = sink->sinks;

	if (sink->turn == 0)
		loop_unwatch(sinks->loop, &sink->watch);
	io_close(&sink->watch.fd);
	*sink->link = sink->next;
	if (sink->next)
		sink->next->link = sink->link;
	else
		sinks->last = sink->link;
	sinks->count--;
	free(sink);
}

/* Lets the one go on that has not been read for longest. */
static void on_turn(struct loop_timer *timer)
{
	struct stream_sinks *sinks = container_of(timer, struct stream_sinks, timer);
	struct stream_sink *next = NULL;

	for (struct stream_sink *sink = sinks->first; sink; sink = sink->next)
		if (sink->turn > 0 && (!next || sink->turn < next->turn))
			next = sink;
	if (!next)
		return;
	loop_set_timer(sinks->loop, timer, SINK_MS);
	next->turn = 0;
	if (loop_watch(sinks->loop, &next->watch, EPOLLIN) < 0)
		close_sink(next);
}

/* A little at a time: who writes without end is to cost next to nothing. */
static void swallow(struct loop_watch *watch, uint32_t events)
{
	static char bytes[SINK_READ];
	struct stream_sink *sink = (struct stream_sink *)watch;
	struct stream_sinks *sinks = sink->sinks;
	ssize_t n = io_read(watch->fd, bytes, sizeof(bytes));

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		close_sink(sink);
		return;
	}
	loop_unwatch(sinks->loop, watch);
	sink->turn = ++sinks->turns;
	if (!sinks->timer.armed)
		loop_set_timer(sinks->loop, &sinks->timer, SINK_MS);
}

static void open_sink(struct loop *loop, struct stream_sinks *sinks, int fd)
{
	struct stream_sink *sink = calloc(1, sizeof(*sink));

	if (!sink) {
		close(fd);
		return;
	}
	if (!sinks->last)
		sinks->last = &sinks->first;
	sinks->timer.due = on_turn;
	sinks->loop = loop;
	sink->sinks = sinks;
	sink->watch.fd = fd;
	sink->watch.ready = swallow;
	sink->link = sinks->last;
	*sinks->last = sink;
	sinks->last = &sink->next;
	sinks->count++;
	if (loop_watch(loop, &sink->watch, EPOLLIN) < 0)
		close_sink(sink);
	else if (sinks->count > STREAM_SINKS_MAX)
		close_sink(sinks->first);
}

void stream_sinks_close(struct stream_sinks *sinks)
{
	if (sinks->loop)
		loop_clear_timer(sinks->loop, &sinks->timer);
	while (sinks->first)
		close_sink(sinks->first);
}

/* ---- memory ---- */

static bool is_to_be_had(size_t size)
{
	void *volatile memory = malloc(size); /* volatile: had, not only thought of */
	bool has = memory != NULL;

	free(memory);
	return has;
}

static bool has_memory(const struct stream *stream)
{
	size_t all = stream->all->used;

	return all < STREAM_LITTLE || all % STREAM_PROBE >= STREAM_LEAST ||
	       is_to_be_had(STREAM_RESERVE);
}

/* A little each, also when the others have taken what they may: a job that is asked can tell. */
static bool may_read(const struct stream *stream)
{
	return has_memory(stream) ||
	       (stream->queue.len < STREAM_LEAST && is_to_be_had(STREAM_LITTLE));
}

/* ---- streams ---- */

static void pause_reading(struct stream *stream)
{
	/* a watch for nothing would still report a writer that has gone, again and again */
	if (!stream->paused)
		loop_unwatch(stream->loop, &stream->watch);
	stream->paused = true;
}

/* One stream may have much waiting, many together may not. */
static bool is_full(const struct stream *stream)
{
	bool alone = stream->all->used < stream->all->max;

	return stream->queue.len >= (alone ? STREAM_MAX : STREAM_LEAST);
}

static void drop(struct stream *stream, size_t len)
{
	queue_drop(&stream->queue, len);
	stream->all->used -= len;
}

static void resume_reading(struct stream *stream)
{
	if (!stream->paused || stream->ended || is_full(stream))
		return;
	if (loop_watch(stream->loop, &stream->watch, EPOLLIN) == 0)
		stream->paused = false;
}

/* Reads once: bytes, 0 at the end, -errno. */
static ssize_t read_some(struct stream *stream)
{
	size_t room;
	char *data = may_read(stream) ? queue_room(&stream->queue, &room) : NULL;
	ssize_t n;

	stream->starved = !data;
	if (!data)
		return -ENOMEM;
	n = io_read(stream->watch.fd, data, room);
	if (n > 0) {
		queue_added(&stream->queue, (size_t)n);
		stream->all->used += (size_t)n;
	}
	return n;
}

static void end(struct stream *stream)
{
	pause_reading(stream);
	io_close(&stream->watch.fd);
	stream->ended = true;
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct stream *stream = (struct stream *)watch;
	ssize_t n = read_some(stream);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n == -ENOMEM || (n > 0 && is_full(stream)))
		pause_reading(stream);
	else if (n <= 0)
		end(stream);
	stream->changed(stream);
}

int stream_open(struct stream *stream, struct loop *loop, struct memory_share *all, int fd)
{
	int r;

	stream->loop = loop;
	stream->all = all;
	stream->watch.fd = fd;
	stream->watch.ready = on_ready;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	r = loop_watch(loop, &stream->watch, EPOLLIN);
	if (r < 0) {
		stream->ended = stream->paused = true;
		io_close(&stream->watch.fd);
	}
	return r;
}

bool stream_starves(struct stream *stream)
{
	if (stream->ended)
		return false;
	if (!has_memory(stream))
		return stream->starved || stream->queue.len >= STREAM_LEAST;
	if (stream->starved)
		resume_reading(stream);
	stream->starved = false;
	return false;
}

int stream_take(struct stream *stream, size_t max, struct buf *out)
{
	const char *data;
	size_t n;
	int r = 0;

	/* block by block, so that the memory of one is there for the next */
	for (size_t taken = 0; taken < max && (data = queue_front(&stream->queue, &n));
		taken += n) {
		n = n < max - taken ? n : max - taken;
		r = utf8_decode(&stream->utf8, data, n, false, out);
		if (r < 0 && taken == 0)
			return r;
		if (r < 0)
			break;
		drop(stream, n);
	}
	if (stream->ended && stream->queue.len == 0)
		utf8_decode(&stream->utf8, "", 0, true, out);
	resume_reading(stream);
	return 0;
}

size_t stream_cut(struct stream *stream, size_t max)
{
	size_t n = stream->queue.len > max ? stream->queue.len - max : 0;
	size_t len;
	const char *data;

	if (n == 0)
		return 0;
	drop(stream, n);
	stream->utf8.len = 0;
	/* not with the rest of a character */
	for (int i = 0; i < 3 && (data = queue_front(&stream->queue, &len)) &&
			((unsigned char)*data & 0xc0) == 0x80;
		i++, n++)
		drop(stream, 1);
	return n;
}

void stream_give_up(struct stream *stream, struct stream_sinks *sinks)
{
	size_t before = stream->queue.len;
	ssize_t n = 1;

	if (stream->ended)
		return;
	while (n > 0 && stream->queue.len - before < LAST_MAX)
		n = read_some(stream);
	pause_reading(stream);
	if (n != 0 && sinks) {
		open_sink(stream->loop, sinks, stream->watch.fd);
		stream->watch.fd = -1;
	}
	io_close(&stream->watch.fd);
	stream->ended = true;
}

void stream_close(struct stream *stream)
{
	if (!stream->loop)
		return;
	if (!stream->ended)
		end(stream);
	drop(stream, stream->queue.len);
}
