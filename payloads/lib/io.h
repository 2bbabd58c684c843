/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing that survives signals and ends in time. The one place that handles EINTR.
 * Deadlines are milliseconds of the monotonic clock: io_in(5000) or IO_NEVER. Descriptors opened
 * here are close-on-exec. Errors are negative errno values; -ETIMEDOUT is a passed deadline.
 */
#ifndef PAYLOADS_LIB_IO_H
#define PAYLOADS_LIB_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "payloads/lib/buf.h"

#define IO_NEVER INT64_MAX

int64_t io_now(void);
/* The deadline 'ms' from now. */
int64_t io_in(int64_t ms);
/* The earlier of a deadline and 'ms' from now. */
int64_t io_sooner(int64_t deadline, int64_t ms);
void io_sleep(int ms);

/* openat(2) with O_CLOEXEC: descriptor or -errno. */
int io_open(int dirfd, const char *path, int flags, mode_t mode);
/* Closes a descriptor unless it is negative and sets it to -1. */
void io_close(int *fd);
ssize_t io_read(int fd, void *data, size_t len);
ssize_t io_write(int fd, const void *data, size_t len);
/* Waits for poll(2) events: 0 ready (or hung up), -ETIMEDOUT, -errno. */
int io_wait(int fd, short events, int64_t deadline);
/* All of it, also on a non-blocking descriptor: 0 or -errno. */
int io_write_full(int fd, const void *data, size_t len, int64_t deadline);
/* Exactly 'len' bytes: 0, -errno, or -ENODATA when the end came first. */
int io_read_full(int fd, void *data, size_t len, int64_t deadline);
/* Everything to the end of file, appended: 0, -errno, -EMSGSIZE past the buffer's maximum. */
int io_read_all(int fd, struct buf *buf, int64_t deadline);
/* Takes an exclusive flock: 0, -errno, -ETIMEDOUT. */
int io_lock(int fd, int64_t deadline);

#endif
