/* SPDX-License-Identifier: MIT */
/*
 * Frames on the private socket between the short-lived commands and the server. A frame is u32
 * length of the payload, u32 tag, payload; both numbers big-endian. A reply carries the tag of
 * its request, so one connection can have many requests under way; an empty reply answers a
 * notification. Right after accept(2) the server sends FRAME_HELLO_SIZE bytes: FRAME_MAGIC, u32
 * wire version, u32 pid. A client that does not get them is not talking to our server; pid 0 says
 * that the server lives but takes no more connections now, and closes this one. The coding
 * functions are pure; only frame_send and frame_receive touch a descriptor.
 */
#ifndef PAYLOADS_LIB_FRAME_H
#define PAYLOADS_LIB_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"

#define FRAME_MAGIC "sbinject"
#define FRAME_HEAD_SIZE 8
#define FRAME_HELLO_SIZE 16
#define FRAME_REQUEST_MAX ((size_t)64 << 20)
#define FRAME_REPLY_MAX ((size_t)1 << 30)

struct frame {
	uint32_t tag;
	size_t len;
	char *data; /* borrowed from the buffer it was found in */
};

/* Finds the frame that starts at buf->data: 1 found (its size is FRAME_HEAD_SIZE + len), 0 more
   bytes are needed, -EMSGSIZE its payload exceeds 'max'. */
int frame_find(const struct buf *buf, size_t max, struct frame *ret);
/* Appends a frame: 0, -ENOMEM, -EMSGSIZE. */
int frame_add(struct buf *buf, uint32_t tag, const void *data, size_t len);

void frame_put_hello(uint8_t hello[FRAME_HELLO_SIZE], uint32_t pid);
/* 0 and the pid, or -EPROTO for any other bytes or wire version. */
int frame_check_hello(const uint8_t hello[FRAME_HELLO_SIZE], uint32_t *ret_pid);

/* Blocking halves: 0 or -errno as in io.h. 'reply' is replaced by the payload. */
int frame_send(int fd, uint32_t tag, const void *data, size_t len, int64_t deadline);
int frame_receive(int fd, struct buf *reply, size_t max, int64_t deadline);

#endif
