/* SPDX-License-Identifier: MIT */
/*
 * A growing byte buffer with a maximum. Every function that can grow it answers 0, -ENOMEM or
 * -EMSGSIZE (past the maximum) and leaves the content as it was when it fails.
 */
#ifndef PAYLOADS_LIB_BUF_H
#define PAYLOADS_LIB_BUF_H

#include <stddef.h>

struct buf {
	char *data; /* owned; not NUL-terminated */
	size_t len;
	size_t size;	/* room at data, used or not */
	size_t limit;	/* len never exceeds it */
	size_t dropped; /* bytes before data that wait to be reused */
};

#define BUF_INIT(maximum)                \
	{                                \
		NULL, 0, 0, (maximum), 0 \
	}

/* Room for 'more' bytes after data + len; the caller writes there and raises len. */
int buf_reserve(struct buf *buf, size_t more);
int buf_add(struct buf *buf, const void *data, size_t len);
int buf_add_str(struct buf *buf, const char *text);
/* Drops 'len' bytes at the front, without moving the rest. */
void buf_drop(struct buf *buf, size_t len);
/* Frees the memory; the buffer is empty and usable again. */
void buf_release(struct buf *buf);

#endif
