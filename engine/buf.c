/* SPDX-License-Identifier: MIT */
#include "engine/buf.h"

#include "engine/file.h"
#include "engine/interrupt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int grow(struct sb_buf *buf, size_t extra, struct sb_err *err)
{
	size_t cap = buf->cap ? buf->cap : 256;
	char *data;

	if (extra > buf->max || buf->len > buf->max - extra)
		return sb_err_set(err, SB_FAILED, "more than the permitted %zu bytes", buf->max);
	if (buf->len + extra < buf->cap)
		return 0;
	while (cap <= buf->len + extra)
		cap *= 2;
	if (cap > buf->max + 1)
		cap = buf->max + 1;
	data = realloc(buf->data, cap);
	if (!data)
		return sb_err_nomem(err);
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int sb_buf_add(struct sb_buf *buf, const void *data, size_t len, struct sb_err *err)
{
	if (grow(buf, len, err) < 0)
		return -1;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int sb_buf_adds(struct sb_buf *buf, const char *text, struct sb_err *err)
{
	return sb_buf_add(buf, text, strlen(text), err);
}

int sb_buf_addf(struct sb_buf *buf, struct sb_err *err, const char *fmt, ...)
{
	va_list args, again;
	int n, ret = -1;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	if (n < 0) {
		sb_err_set(err, SB_FAILED, "cannot format '%s'", fmt);
	} else if (grow(buf, (size_t)n, err) == 0) {
		vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
		buf->len += (size_t)n;
		ret = 0;
	}
	va_end(again);
	va_end(args);
	return ret;
}

void sb_buf_consume(struct sb_buf *buf, size_t n)
{
	if (n == 0)
		return;
	memmove(buf->data, buf->data + n, buf->len - n + 1);
	buf->len -= n;
}

const char *sb_buf_str(const struct sb_buf *buf)
{
	return buf->data ? buf->data : "";
}

void sb_buf_reset(struct sb_buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void sb_buf_release(struct sb_buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->len = buf->cap = 0;
}

int sb_buf_read_fd(struct sb_buf *buf, int fd, struct sb_err *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR && eng_interrupted)
			return sb_err_set(err, SB_INTERRUPTED, "interrupted");
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sb_err_set(err, SB_FAILED, "cannot read: %s", strerror(errno));
		if (n == 0)
			return 0;
		if (sb_buf_add(buf, chunk, (size_t)n, err) < 0)
			return -1;
	}
}

int sb_buf_read_file(struct sb_buf *buf, const char *path, struct sb_err *err)
{
	sb_autoclose int fd = -1;
	int found = sb_file_open(path, &fd, err);

	if (found)
		return found;
	if (sb_buf_read_fd(buf, fd, err) < 0)
		return sb_err_wrap(err, "'%s'", path);
	return 0;
}
