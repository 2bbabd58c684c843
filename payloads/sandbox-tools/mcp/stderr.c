/* SPDX-License-Identifier: MIT */
/* From the stderr of children to a log of bounded length. */
#include "payloads/sandbox-tools/mcp/stderr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/server/place.h"

struct relay {
	struct loop_watch watch; /* first, so that a watch is its relay */
	struct loop *loop;
};

static void write_log(const char *data, size_t len)
{
	struct stat st;

	if (fstat(2, &st) == 0 && st.st_size > PLACE_LOG_MAX && ftruncate(2, 0) < 0)
		return;
	io_write(2, data, len);
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct relay *relay = (struct relay *)watch;
	char data[16384];
	ssize_t n = io_read(watch->fd, data, sizeof(data));

	(void)events;
	if (n > 0)
		write_log(data, (size_t)n);
	if (n > 0 || n == -EAGAIN)
		return;
	loop_unwatch(relay->loop, watch);
	io_close(&watch->fd);
	free(relay);
}

/* The end to write to, or -errno. */
static int open_relay(struct loop *loop)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	int ends[2], r;

	if (!relay || pipe2(ends, O_CLOEXEC) < 0) {
		r = relay ? -errno : -ENOMEM;
		free(relay);
		return r;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	relay->loop = loop;
	relay->watch.fd = ends[0];
	relay->watch.ready = on_ready;
	r = loop_watch(loop, &relay->watch, EPOLLIN);
	if (r == 0)
		return ends[1];
	close(ends[0]);
	close(ends[1]);
	free(relay);
	return r;
}

/* Never the log itself: it is for its readers alone, and the child may be another user. */
int mcp_stderr_open(struct loop *loop)
{
	struct stat st;
	int fd;

	if (fstat(2, &st) < 0 || !S_ISREG(st.st_mode))
		return 2;
	fd = open_relay(loop);
	return fd < 0 ? sys_null(true) : fd;
}

void mcp_stderr_close(int fd)
{
	if (fd != 2)
		io_close(&fd);
}
