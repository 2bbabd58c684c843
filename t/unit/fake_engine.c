/* SPDX-License-Identifier: MIT */
/* Included by the tests that use it: every test is one program from one file. */
#include "t/unit/fake_engine.h"

#include "engine/buf.h"
#include "engine/clock.h"
#include "engine/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	FAKE_MAX_CONNECTIONS = 128,
	FAKE_PATIENCE_MS = 60 * 1000, /* so that a test that hangs ends */
	FAKE_FLOOD_MS = 5000,
};

struct fake_connection {
	struct fake_engine *fake;
	const struct fake_step *steps;
	int fd;
	pthread_t thread;
	struct sb_buf got;
	size_t done; /* bytes of `got` that belong to requests answered */
};

struct fake_engine {
	char dir[64];
	struct eng_endpoint endpoint;
	int fd;
	pthread_t thread;
	atomic_bool stopping;
	const struct fake_step *const *scripts;
	size_t script_count;
	fake_serve_fn serve; /* else the scripts */
	void *serve_ctx;
	struct fake_connection connections[FAKE_MAX_CONNECTIONS];
	size_t connection_count;
};

/* Connections there are, and those on which the fake waits for the client. */
static atomic_int fake_alive, fake_idle;
static atomic_int fake_halves; /* clients' sending sides that have ended alone, as the fake saw */

static void fake_need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fake engine: %s: %s\n", what, strerror(errno));
	abort();
}

/* Wait for the client and take what it sends. False: it is gone, or took too long. */
static bool fake_receive(struct fake_connection *c)
{
	int64_t until = sb_deadline(FAKE_PATIENCE_MS);
	struct sb_err err = SB_ERR_INIT;
	char chunk[65536];

	while (!c->fake->stopping && sb_left_ms(until, 1)) {
		struct pollfd slot = {.fd = c->fd, .events = POLLIN | POLLRDHUP};
		ssize_t n;
		int ready;

		fake_idle++;
		ready = poll(&slot, 1, 20);
		fake_idle--;
		if (ready <= 0)
			continue;
		n = recv(c->fd, chunk, sizeof(chunk), 0);
		if (n > 0)
			fake_need(sb_buf_add(&c->got, chunk, (size_t)n, &err) == 0, "record");
		else if (n == 0 && !(slot.revents & POLLHUP))
			fake_halves++;
		return n > 0;
	}
	return false;
}

/* 0: not there yet. */
static size_t fake_head_len(const struct fake_connection *c)
{
	const char *from = sb_buf_str(&c->got) + c->done;
	const char *end = strstr(from, "\r\n\r\n");

	return end ? (size_t)(end - from) + 4 : 0;
}

static bool fake_take_request(struct fake_connection *c, bool with_body)
{
	const char *length;
	size_t head, body;

	while (!(head = fake_head_len(c)))
		if (!fake_receive(c))
			return false;
	length = strcasestr(c->got.data + c->done, "\r\nContent-Length:");
	body = length && length < c->got.data + c->done + head ? strtoul(length + 17, NULL, 10) : 0;
	while (with_body && c->got.len - c->done < head + body)
		if (!fake_receive(c))
			return false;
	c->done = with_body ? c->done + head + body : c->got.len;
	return true;
}

static bool fake_send(struct fake_connection *c, const char *data, size_t len)
{
	while (len) {
		struct pollfd slot = {.fd = c->fd, .events = POLLOUT};
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN && !c->fake->stopping) {
			poll(&slot, 1, 20);
			continue;
		}
		if (n < 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool fake_flood(struct fake_connection *c, const struct fake_step *step)
{
	int64_t until = sb_deadline(FAKE_FLOOD_MS);

	while (sb_left_ms(until, 1))
		if (!fake_send(c, step->data, step->len))
			return false;
	return true;
}

static bool fake_step(struct fake_connection *c, const struct fake_step *step)
{
	bool good = true;

	switch (step->what) {
	case FAKE_REQUEST:
	case FAKE_HEAD:
		return fake_take_request(c, step->what == FAKE_REQUEST);
	case FAKE_TAKE:
		while (good && c->got.len - c->done < step->times)
			good = fake_receive(c);
		c->done += good ? step->times : 0;
		return good;
	case FAKE_SEND:
		for (size_t i = 0; good && i < (step->times ? step->times : 1); i++)
			good = fake_send(c, step->data, step->len);
		return good;
	case FAKE_TRICKLE:
		for (size_t i = 0; good && i < step->len; i++) {
			good = fake_send(c, step->data + i, 1);
			usleep(100);
		}
		return good;
	case FAKE_FLOOD:
		return fake_flood(c, step);
	case FAKE_STALL:
		while (fake_receive(c))
			;
		return false;
	case FAKE_IDLE:
		for (int i = 0; i < 25 && !c->fake->stopping; i++)
			sb_sleep_ms(20);
		return true;
	case FAKE_SIGNAL:
		eng_interrupted = 1;
		return true;
	case FAKE_HALF:
		return shutdown(c->fd, SHUT_WR) == 0;
	default:
		return false;
	}
}

static void fake_play(struct fake_connection *c)
{
	for (const struct fake_step *step = c->steps; fake_step(c, step); step++)
		;
}

static void *fake_serve(void *ctx)
{
	struct fake_connection *c = ctx;

	if (c->fake->serve)
		c->fake->serve(c, c->fake->serve_ctx);
	else
		fake_play(c);
	close(c->fd);
	fake_alive--;
	return NULL;
}

static void *fake_listen(void *ctx)
{
	struct fake_engine *fake = ctx;
	int fd;

	while ((fd = accept4(fake->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct fake_connection *c = &fake->connections[fake->connection_count];

		if (fake->connection_count >= fake->script_count) {
			close(fd);
			continue;
		}
		*c = (struct fake_connection){.fake = fake, .fd = fd, .got.max = 8 << 20};
		if (fake->scripts)
			c->steps = fake->scripts[fake->connection_count];
		fake->connection_count++;
		fake_alive++;
		fake_need(pthread_create(&c->thread, NULL, fake_serve, c) == 0, "thread");
	}
	return NULL;
}

static struct fake_engine *fake_new(void)
{
	struct fake_engine *fake = calloc(1, sizeof(*fake));

	fake_need(fake != NULL, "start");
	return fake;
}

static struct fake_engine *fake_begin(struct fake_engine *fake)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct sb_err err = SB_ERR_INIT;

	strcpy(fake->dir, "/tmp/sbinject-unit-XXXXXX");
	fake_need(mkdtemp(fake->dir) != NULL, "mkdtemp");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/e.sock", fake->dir);
	fake->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fake_need(fake->fd >= 0 &&
			  bind(fake->fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			  listen(fake->fd, 16) == 0,
		"listen");
	fake_need(eng_endpoint_parse(address.sun_path, "a test", &fake->endpoint, &err) == 0,
		"endpoint");
	fake_need(pthread_create(&fake->thread, NULL, fake_listen, fake) == 0, "thread");
	return fake;
}

struct fake_engine *fake_start(const struct fake_step *const *scripts, size_t count)
{
	struct fake_engine *fake = fake_new();

	fake_need(count <= FAKE_MAX_CONNECTIONS, "start");
	fake->scripts = scripts;
	fake->script_count = count;
	return fake_begin(fake);
}

struct fake_engine *fake_start_serving(fake_serve_fn serve, void *ctx)
{
	struct fake_engine *fake = fake_new();

	fake->script_count = FAKE_MAX_CONNECTIONS;
	fake->serve = serve;
	fake->serve_ctx = ctx;
	return fake_begin(fake);
}

const struct eng_endpoint *fake_endpoint(const struct fake_engine *fake)
{
	return &fake->endpoint;
}

void fake_stop(struct fake_engine *fake)
{
	if (fake->fd < 0)
		return;
	fake->stopping = true;
	shutdown(fake->fd, SHUT_RDWR);
	pthread_join(fake->thread, NULL);
	close(fake->fd);
	fake->fd = -1;
	for (size_t i = 0; i < fake->connection_count; i++)
		pthread_join(fake->connections[i].thread, NULL);
	unlink(fake->endpoint.socket);
	rmdir(fake->dir);
}

size_t fake_connections(const struct fake_engine *fake)
{
	return fake->connection_count;
}

const char *fake_received(const struct fake_engine *fake, size_t connection, size_t *ret_len)
{
	const struct fake_connection *c = &fake->connections[connection];

	if (ret_len)
		*ret_len = c->got.len;
	return sb_buf_str(&c->got);
}

void fake_free(struct fake_engine *fake)
{
	fake_stop(fake);
	for (size_t i = 0; i < fake->connection_count; i++)
		sb_buf_release(&fake->connections[i].got);
	eng_endpoint_release(&fake->endpoint);
	free(fake);
}
