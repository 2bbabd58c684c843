/* SPDX-License-Identifier: MIT */
/* Growing byte buffer. */
#include "payloads/lib/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_MAX 65536 /* an empty buffer keeps no more memory than this */

/* Makes the dropped bytes usable again. */
static void reclaim(struct buf *buf)
{
	char *base = buf->data - buf->dropped;

	memmove(base, buf->data, buf->len);
	buf->data = base;
	buf->size += buf->dropped;
	buf->dropped = 0;
}

int buf_reserve(struct buf *buf, size_t more)
{
	size_t need, size;
	char *data;

	if (more > buf->limit || buf->len > buf->limit - more)
		return -EMSGSIZE;
	need = buf->len + more;
	if (need > buf->size && buf->dropped > 0)
		reclaim(buf);
	if (need <= buf->size)
		return 0;
	size = buf->size < 2048 ? 4096 : 2 * buf->size;
	if (size > buf->limit)
		size = buf->limit;
	if (size < need)
		size = need;
	data = realloc(buf->data, size);
	if (!data)
		return -ENOMEM;
	buf->data = data;
	buf->size = size;
	return 0;
}

int buf_add(struct buf *buf, const void *data, size_t len)
{
	int r = buf_reserve(buf, len);

	if (r < 0 || len == 0)
		return r;
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	return 0;
}

int buf_add_str(struct buf *buf, const char *text)
{
	return buf_add(buf, text, strlen(text));
}

void buf_drop(struct buf *buf, size_t len)
{
	if (len == 0)
		return;
	buf->data += len;
	buf->len -= len;
	buf->size -= len;
	buf->dropped += len;
	if (buf->len == 0 && buf->dropped + buf->size > KEEP_MAX)
		buf_release(buf);
	else if (buf->len == 0)
		reclaim(buf);
}

void buf_release(struct buf *buf)
{
	if (buf->data)
		free(buf->data - buf->dropped);
	*buf = (struct buf)BUF_INIT(buf->limit);
}
