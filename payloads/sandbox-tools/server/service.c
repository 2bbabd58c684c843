/* SPDX-License-Identifier: MIT */
/* Connecting to the server, and asking it things. Starting and stopping are in lifecycle.c. */
#include "payloads/sandbox-tools/server/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

#define HELLO_MS 1000

int service_knock(const struct place *place, int64_t deadline)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	while ((r = place_connect(place, fd)) < 0) {
		/* EAGAIN: the queue of connections is full, so somebody listens */
		if (r != -EAGAIN && r != -EINTR) {
			close(fd);
			return r;
		}
		if (io_now() >= deadline) {
			close(fd);
			return -ETIMEDOUT;
		}
		io_sleep(5);
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

enum service_seen service_look_at(const struct place *place)
{
	int fd = service_knock(place, 0);
	struct ucred peer;
	bool seen;

	if (fd < 0)
		return fd == -ETIMEDOUT ? SERVICE_PRESENT : SERVICE_ABSENT;
	seen = sys_peer(fd, &peer) < 0 || peer.pid != 0;
	close(fd);
	return seen ? SERVICE_PRESENT : SERVICE_ELSEWHERE;
}

enum service_seen service_look(struct place *place)
{
	struct fail ignored;

	if (place->fd < 0 && place_open(place, false, &ignored) != 0)
		return SERVICE_ABSENT;
	return service_look_at(place);
}

/* Nobody else's server is used but that of the one whom the directory may belong to, and root's. */
static bool is_trusted_peer(const struct place *place, int fd)
{
	struct ucred peer;

	return sys_peer(fd, &peer) == 0 && peer.pid != 0 && place_trusts(place, peer.uid);
}

int service_connect(struct place *place)
{
	uint8_t hello[FRAME_HELLO_SIZE];
	int64_t deadline = io_in(HELLO_MS);
	struct fail ignored;
	uint32_t pid;
	int fd;

	if (place_open(place, false, &ignored) != 0)
		return -1;
	fd = service_knock(place, deadline);
	if (fd < 0)
		return -1;
	if (!is_trusted_peer(place, fd) || io_read_full(fd, hello, sizeof(hello), deadline) < 0 ||
		frame_check_hello(hello, &pid) < 0) {
		io_close(&fd);
	} else if (pid == 0) {
		close(fd);
		fd = SERVICE_BUSY;
	}
	return fd;
}

int service_call(int fd, const char *text, size_t len, struct buf *reply, int64_t deadline,
	struct fail *fail)
{
	int r = frame_send(fd, 1, text, len, deadline);

	if (r == -EMSGSIZE)
		return fail_set(fail, "request is longer than %zu bytes", FRAME_REQUEST_MAX);
	if (r == 0)
		r = frame_receive(fd, reply, FRAME_REPLY_MAX, deadline);
	if (r == -ENODATA || r == -EPIPE || r == -ECONNRESET)
		return fail_set(fail, "the server closed the connection without a reply");
	return r < 0 ? fail_sys(fail, r, "no reply from the server") : 0;
}

json_t *service_describe(struct place *place, int64_t deadline)
{
	static const char text[] =
		"{\"jsonrpc\": \"2.0\", \"method\": \"sandbox_tools_describe\", \"id\": 1}";
	struct buf reply = BUF_INIT(65536);
	json_t *doc = NULL, *result = NULL;
	struct fail ignored;
	int fd = service_connect(place);

	if (fd < 0)
		return NULL;
	if (service_call(fd, text, sizeof(text) - 1, &reply, deadline, &ignored) == 0)
		doc = json_loadb(reply.data, reply.len, 0, NULL);
	result = json_incref(json_object_get(doc, "result"));
	json_decref(doc);
	buf_release(&reply);
	close(fd);
	return result;
}

void service_last_words(struct place *place, char *text, size_t size)
{
	char tail[1024];
	ssize_t n = 0;
	off_t length;
	char *line;
	int fd;

	text[0] = '\0';
	fd = place_read_file(place, PLACE_ERR_LOG);
	if (fd < 0)
		return;
	length = lseek(fd, 0, SEEK_END);
	if (length > 0)
		n = pread(fd, tail, sizeof(tail) - 1,
			length < (off_t)sizeof(tail) ? 0 : length - (off_t)sizeof(tail) + 1);
	close(fd);
	while (n > 0 && tail[n - 1] == '\n')
		n--;
	tail[n > 0 ? n : 0] = '\0';
	line = strrchr(tail, '\n');
	snprintf(text, size, "%s", line ? line + 1 : tail);
}
