/* SPDX-License-Identifier: MIT */
/* Any bytes as an engine's answer to a request for an upgrade. */
#include "engine/stream.h"

#include "t/fuzz/check.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct engine {
	struct eng_endpoint endpoint;
	char dir[64];
	int fd;
	uint8_t answer[128 << 10]; /* set before a connection is made */
	size_t len;
} engine;

static void need(bool good)
{
	if (!good)
		abort();
}

/* Everything at once, whatever is asked; then until the client goes. */
static void *serve(void *ctx)
{
	char chunk[4096];
	int fd;

	(void)ctx;
	while ((fd = accept4(engine.fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		/* Once the client has it all, the next answer may be there. */
		const uint8_t *from = engine.answer, *end = from + engine.len;
		ssize_t n = 1;

		for (; from < end && n > 0; from += n > 0 ? n : 0)
			n = send(fd, from, (size_t)(end - from), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		while (recv(fd, chunk, sizeof(chunk), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

static void clean_up(void)
{
	unlink(engine.endpoint.socket);
	rmdir(engine.dir);
	eng_endpoint_release(&engine.endpoint);
}

static void start(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sb_err err = SB_ERR_INIT;
	pthread_t thread;

	strcpy(engine.dir, "/tmp/sbinject-fuzz-XXXXXX");
	need(mkdtemp(engine.dir) != NULL);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/e.sock", engine.dir);
	engine.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(bind(engine.fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	need(listen(engine.fd, 1) == 0 && eng_http_global_init(&err) == 0);
	need(eng_endpoint_parse(address.sun_path, "a test", &engine.endpoint, &err) == 0);
	need(pthread_create(&thread, NULL, serve, NULL) == 0);
	atexit(clean_up);
}

/* All that follows the header comes out of the stream, and nothing else. */
static void check_stream(struct eng_stream *stream, const uint8_t *rest, size_t len)
{
	struct sb_err err = SB_ERR_INIT;
	char chunk[1000];
	size_t n;

	while (eng_stream_recv(stream, chunk, sizeof(chunk), 10000, &n, &err) == 0) {
		need(n > 0 && n <= len && !memcmp(chunk, rest, n));
		rest += n;
		len -= n;
	}
	need(err.code == SB_OK && len == 0);
}

static void check_reply(const struct eng_http_reply *reply)
{
	char value[32];

	need(reply->status != 101 && reply->status != 200);
	need(reply->body.len <= SB_MAX_ERROR_REPLY && !sb_buf_str(&reply->body)[reply->body.len]);
	if (eng_http_header(reply, "Content-Type", value, sizeof(value)))
		need(memchr(value, 0, sizeof(value)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	const struct eng_http_req req = {
		.method = "POST", .path = "/x", .type = "t", .body = "", .timeout_ms = 10000};
	const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
	struct sb_err err = SB_ERR_INIT;
	struct eng_stream *stream;
	struct eng_http *http;

	if (size > sizeof(engine.answer))
		return 0;
	if (!engine.endpoint.socket)
		start();
	memcpy(engine.answer, data, size);
	engine.len = size;
	need(eng_http_new(&engine.endpoint, &http, &err) == 0);
	if (eng_stream_open(http, &req, &stream, &reply, &err) < 0)
		check_error(&err);
	else if (stream)
		check_stream(stream, end + 4, (size_t)(data + size - end) - 4);
	else
		check_reply(&reply);
	eng_stream_close(stream);
	eng_http_free(http);
	return 0;
}
