/* SPDX-License-Identifier: MIT */
/* Length-prefixed frames. */
#include "payloads/lib/frame.h"

#include <errno.h>
#include <string.h>

#include "payloads/lib/io.h"
#include "payloads/lib/wire.h"

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_head(uint8_t head[FRAME_HEAD_SIZE], uint32_t tag, size_t len)
{
	put32(head, (uint32_t)len);
	put32(head + 4, tag);
}

int frame_find(const struct buf *buf, size_t max, struct frame *ret)
{
	const uint8_t *head = (const uint8_t *)buf->data;

	if (buf->len < FRAME_HEAD_SIZE)
		return 0;
	if (get32(head) > max)
		return -EMSGSIZE;
	if (buf->len - FRAME_HEAD_SIZE < get32(head))
		return 0;
	ret->len = get32(head);
	ret->tag = get32(head + 4);
	ret->data = buf->data + FRAME_HEAD_SIZE;
	return 1;
}

int frame_add(struct buf *buf, uint32_t tag, const void *data, size_t len)
{
	int r;

	if (len > FRAME_REPLY_MAX)
		return -EMSGSIZE;
	r = buf_reserve(buf, FRAME_HEAD_SIZE + len);
	if (r < 0)
		return r;
	put_head((uint8_t *)buf->data + buf->len, tag, len);
	buf->len += FRAME_HEAD_SIZE;
	return buf_add(buf, data, len);
}

void frame_put_hello(uint8_t hello[FRAME_HELLO_SIZE], uint32_t pid)
{
	memcpy(hello, FRAME_MAGIC, 8);
	put32(hello + 8, WIRE_VERSION);
	put32(hello + 12, pid);
}

int frame_check_hello(const uint8_t hello[FRAME_HELLO_SIZE], uint32_t *ret_pid)
{
	if (memcmp(hello, FRAME_MAGIC, 8) != 0 || get32(hello + 8) != WIRE_VERSION)
		return -EPROTO;
	*ret_pid = get32(hello + 12);
	return 0;
}

int frame_send(int fd, uint32_t tag, const void *data, size_t len, int64_t deadline)
{
	uint8_t head[FRAME_HEAD_SIZE];
	int r;

	if (len > FRAME_REQUEST_MAX)
		return -EMSGSIZE;
	put_head(head, tag, len);
	r = io_write_full(fd, head, sizeof(head), deadline);
	return r < 0 ? r : io_write_full(fd, data, len, deadline);
}

int frame_receive(int fd, struct buf *reply, size_t max, int64_t deadline)
{
	uint8_t head[FRAME_HEAD_SIZE];
	size_t len;
	int r;

	r = io_read_full(fd, head, sizeof(head), deadline);
	if (r < 0)
		return r;
	len = get32(head);
	if (len > max)
		return -EMSGSIZE;
	reply->len = 0;
	r = buf_reserve(reply, len);
	if (r < 0)
		return r;
	r = io_read_full(fd, reply->data, len, deadline);
	if (r == 0)
		reply->len = len;
	return r;
}
