/* SPDX-License-Identifier: MIT */
/* Steps, and events in chunks. */
#include "payloads/sandbox-tools/model_proxy/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "payloads/sandbox-tools/model_proxy/form.h"

void stream_init(struct stream *stream, struct buf *out)
{
	*stream = (struct stream){.out = out, .scratch = BUF_INIT(out->limit)};
}

void stream_release(struct stream *stream)
{
	buf_release(&stream->scratch);
	stream->depth = 0;
}

struct stream_step *stream_push(
	struct stream *stream, stream_run_fn *run, const struct jsontext *value)
{
	struct stream_step *step = &stream->steps[stream->depth++];

	*step = (struct stream_step){.run = run, .value = *value};
	return step;
}

int stream_go_on(struct stream *stream, size_t enough)
{
	while (stream->depth > 0 && stream->error == 0 && stream->out->len < enough) {
		size_t mine = stream->depth - 1, above;

		if (stream->steps[mine].run(stream, &stream->steps[mine]))
			continue;
		above = stream->depth - mine - 1;
		memmove(&stream->steps[mine], &stream->steps[mine + 1],
			above * sizeof(stream->steps[0]));
		stream->depth--;
	}
	if (stream->error < 0)
		return stream->error;
	return stream->depth > 0;
}

/* ---- events ---- */

static void note(struct stream *stream, int r)
{
	if (r < 0 && stream->error == 0)
		stream->error = r;
}

static void add_text(struct stream *stream, const char *text)
{
	if (stream->error == 0)
		note(stream, buf_add_str(stream->out, text));
}

static void add_list(struct stream *stream, const char *form, va_list arguments)
{
	if (stream->error == 0)
		note(stream, form_add_list(stream->out, stream->spelling, form, arguments));
}

void stream_open_event(struct stream *stream, const char *name)
{
	stream->start = stream->out->len;
	if (name) {
		add_text(stream, "event: ");
		add_text(stream, name);
		add_text(stream, "\n");
	}
	add_text(stream, "data: ");
}

void stream_add(struct stream *stream, const char *form, ...)
{
	va_list arguments;

	va_start(arguments, form);
	add_list(stream, form, arguments);
	va_end(arguments);
}

/* The size of a chunk stands before it, and is known only now. */
void stream_close_event(struct stream *stream)
{
	struct buf *out = stream->out;
	char size[24];
	size_t len;
	int n;

	add_text(stream, "\n\n");
	len = out->len - stream->start;
	n = snprintf(size, sizeof(size), "%zX\r\n", len);
	add_text(stream, size);
	add_text(stream, "\r\n");
	if (stream->error < 0) {
		out->len = stream->start;
		return;
	}
	memmove(out->data + stream->start + n, out->data + stream->start, len);
	memcpy(out->data + stream->start, size, (size_t)n);
	memcpy(out->data + out->len - 2, "\r\n", 2);
}

void stream_event(struct stream *stream, const char *name, const char *form, ...)
{
	va_list arguments;

	stream_open_event(stream, name);
	va_start(arguments, form);
	add_list(stream, form, arguments);
	va_end(arguments);
	stream_close_event(stream);
}
