/* SPDX-License-Identifier: MIT */
/*
 * A growing byte buffer that cannot be made without a maximum. The contents are always followed by
 * a NUL that does not count, so they can be used as a string when they hold none themselves.
 */
#ifndef ENGINE_BUF_H
#define ENGINE_BUF_H

#include "engine/err.h"

struct sb_buf {
	char *data; /* NULL while empty and never grown */
	size_t len;
	size_t cap;
	size_t max;
};

/* clang-format off */
#define SB_BUF_INIT(limit) {NULL, 0, 0, (limit)}
/* clang-format on */
#define sb_autobuf sb_auto(sb_buf_release)

/* Append. Over the maximum, or without memory: -1, *err filled, contents as they were. */
int sb_buf_add(struct sb_buf *buf, const void *data, size_t len, struct sb_err *err) sb_must_check;
int sb_buf_adds(struct sb_buf *buf, const char *text, struct sb_err *err) sb_must_check;
int sb_buf_addf(struct sb_buf *buf, struct sb_err *err, const char *fmt, ...) sb_must_check
	sb_printf(3, 4);

/* Drop the first n bytes (n <= len). */
void sb_buf_consume(struct sb_buf *buf, size_t n);

/* The contents as a string, "" when empty; borrowed until the next change. */
const char *sb_buf_str(const struct sb_buf *buf);

/* Empty, keeping the memory; and free. Both leave a buffer that can be used again. */
void sb_buf_reset(struct sb_buf *buf);
void sb_buf_release(struct sb_buf *buf);

/*
 * Add everything up to EOF of fd, or of the regular file at path. A file over the buffer's maximum
 * is an error. sb_buf_read_file returns 1 when there is no such file.
 */
int sb_buf_read_fd(struct sb_buf *buf, int fd, struct sb_err *err) sb_must_check;
int sb_buf_read_file(struct sb_buf *buf, const char *path, struct sb_err *err) sb_must_check;

#endif
