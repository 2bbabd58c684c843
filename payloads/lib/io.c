/* SPDX-License-Identifier: MIT */
/* Full reads and writes, deadlines, EINTR. */
#include "payloads/lib/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

int64_t io_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t io_in(int64_t ms)
{
	return io_now() + ms;
}

int64_t io_sooner(int64_t deadline, int64_t ms)
{
	int64_t other = io_in(ms);

	return deadline < other ? deadline : other;
}

void io_sleep(int ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

int io_open(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd;

	do {
		fd = openat(dirfd, path, flags | O_CLOEXEC, mode);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

void io_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

ssize_t io_read(int fd, void *data, size_t len)
{
	ssize_t n;

	do {
		n = read(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t io_write(int fd, const void *data, size_t len)
{
	ssize_t n;

	do {
		n = write(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* What poll(2) takes. */
static int time_left(int64_t deadline)
{
	int64_t left = deadline - io_now();

	if (deadline == IO_NEVER)
		return -1;
	return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

int io_wait(int fd, short events, int64_t deadline)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int n = poll(&p, 1, time_left(deadline));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (io_now() >= deadline)
			return -ETIMEDOUT;
	}
}

int io_write_full(int fd, const void *data, size_t len, int64_t deadline)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n;
		int r;

		if (deadline != IO_NEVER) {
			r = io_wait(fd, POLLOUT, deadline);
			if (r < 0)
				return r;
		}
		n = io_write(fd, p, len);
		if (n == -EAGAIN) {
			r = io_wait(fd, POLLOUT, deadline);
			if (r < 0)
				return r;
			continue;
		}
		if (n < 0)
			return (int)n;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* One read when there is something to read: bytes, 0 at the end, -errno. */
static ssize_t read_some(int fd, void *data, size_t len, int64_t deadline)
{
	for (;;) {
		ssize_t n;

		if (deadline != IO_NEVER) {
			int r = io_wait(fd, POLLIN, deadline);

			if (r < 0)
				return r;
		}
		n = io_read(fd, data, len);
		if (n != -EAGAIN)
			return n;
		if (deadline == IO_NEVER)
			io_wait(fd, POLLIN, deadline);
	}
}

int io_read_full(int fd, void *data, size_t len, int64_t deadline)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = read_some(fd, p, len, deadline);

		if (n <= 0)
			return n == 0 ? -ENODATA : (int)n;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_read_all(int fd, struct buf *buf, int64_t deadline)
{
	for (;;) {
		size_t room = buf->limit - buf->len;
		char probe;
		ssize_t n;
		int r;

		/* a full buffer is only too small if there is one more byte */
		if (room == 0) {
			n = read_some(fd, &probe, 1, deadline);
			return n > 0 ? -EMSGSIZE : (int)n;
		}
		r = buf_reserve(buf, room < 65536 ? room : 65536);
		if (r < 0)
			return r;
		n = read_some(fd, buf->data + buf->len, buf->size - buf->len, deadline);
		if (n <= 0)
			return (int)n;
		buf->len += (size_t)n;
	}
}

int io_lock(int fd, int64_t deadline)
{
	int pause = 1;

	for (;;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (io_now() >= deadline)
			return -ETIMEDOUT;
		io_sleep(pause);
		pause = pause < 8 ? 2 * pause : 10;
	}
}
