/* SPDX-License-Identifier: MIT */
/* What the tests of HTTP and of upgraded connections stand on: a connection, and its other side. */
#ifndef T_UNIT_HTTP_WORLD_H
#define T_UNIT_HTTP_WORLD_H

#include "engine/stream.h"

#include "t/unit/fake_engine.h"

#include <sys/types.h>

#define ONE_SCRIPT(steps) ((const struct fake_step *const[]){steps}), 1
#define LEN(n) "Content-Length: " #n "\r\n\r\n"
#define UPGRADED "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

struct world {
	struct fake_engine *fake;
	struct eng_http *http;
	struct eng_http_reply reply;
	struct sb_err err;
};

void open_world(struct world *w, const struct fake_step *const *scripts, size_t count);

/* Also ends the connections, so that the record is whole. */
void hang_up(struct world *w);
void close_world(struct world *w);

/* Ask for something, and for an upgrade. */
int get(struct world *w, int timeout_ms);
int upgrade(struct world *w, int timeout_ms, struct eng_stream **ret);

/* ---- TCP and TLS ---- */

/* Where a server is, and our side of it. */
struct far {
	struct eng_endpoint endpoint;
	struct world world;
};

void open_far(struct far *far, const char *url);
void close_far(struct far *far);

/* A listening socket on the loopback device, and its port. */
int listen_tcp(int *ret_port);

/* A child that does not outlive a test that fails. */
pid_t fork_child(void);

/* `openssl s_server`: what it is sent comes out of `out`, what is written to `in` it sends. */
struct tls_server {
	char dir[64], key[80], cert[80], address[80];
	pid_t pid;
	int in, out;
};

/* At a path of its own, or, with a port, on the loopback device. */
void start_tls(struct tls_server *s, int port);
void stop_tls(struct tls_server *s);

/* The server takes its time to begin. Without `ret`, a GET is asked. */
int reach(struct world *w, struct eng_stream **ret);

#endif
