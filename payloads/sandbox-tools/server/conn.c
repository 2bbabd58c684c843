/* SPDX-License-Identifier: MIT */
/* One connection: its buffers and the calls that belong to it. */
#include "payloads/sandbox-tools/server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"

#define READ_SIZE 65536

struct pending {
	struct rpc_call call; /* first, so that a call is its pending entry */
	struct conn *conn;    /* NULL when the client has gone */
	uint32_t tag;
	struct pending *next, **link; /* list of the connection */
};

struct conn {
	struct loop_watch watch; /* first, so that a watch is its connection */
	struct server *server;
	struct buf in, out;
	int64_t heard; /* when something came last */
	struct pending *calls;
	unsigned call_count;
	bool no_more; /* the client has closed its sending half */
	bool busy;    /* inside a callback: do not free */
	bool broken;
	struct conn *next, **link;
};

static void conn_close(struct conn *conn)
{
	struct server *server = conn->server;

	for (struct pending *p = conn->calls; p; p = p->next) {
		p->conn = NULL;
		p->call.abandoned = true;
	}
	loop_unwatch(&server->loop, &conn->watch);
	io_close(&conn->watch.fd);
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	server->conn_count--;
	server->half -= conn->in.len;
	buf_release(&conn->in);
	buf_release(&conn->out);
	free(conn);
}

static void flush(struct conn *conn)
{
	size_t sent = 0;

	while (sent < conn->out.len) {
		ssize_t n = send(conn->watch.fd, conn->out.data + sent, conn->out.len - sent,
			MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			conn->broken = errno != EAGAIN;
			break;
		}
		sent += (size_t)n;
	}
	buf_drop(&conn->out, sent);
}

/* Sets what to wait for next, and closes a connection that has nothing left to do. */
static void settle(struct conn *conn)
{
	uint32_t events = 0;

	if (conn->busy)
		return;
	if (conn->broken || (conn->no_more && !conn->calls && conn->out.len == 0)) {
		conn_close(conn);
		return;
	}
	if (!conn->no_more && conn->out.len < CONN_UNSENT_MAX && conn->call_count < CONN_CALLS_MAX)
		events |= EPOLLIN;
	if (conn->out.len > 0)
		events |= EPOLLOUT;
	loop_change(&conn->server->loop, &conn->watch, events);
}

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	struct pending *pending = (struct pending *)call;
	struct conn *conn = pending->conn;

	((struct server *)call->host)->running--;
	if (conn) {
		*pending->link = pending->next;
		if (pending->next)
			pending->next->link = pending->link;
		conn->call_count--;
		/* an answer that cannot even be queued ends the connection: the client must not
		   wait */
		if (frame_add(&conn->out, pending->tag, text, len) < 0)
			conn->broken = true;
		if (!conn->busy && !conn->broken)
			flush(conn);
	}
	rpc_request_release(&call->req);
	free(pending);
	if (conn)
		settle(conn);
}

static void run_frame(struct conn *conn, const struct frame *frame)
{
	struct pending *pending = calloc(1, sizeof(*pending));
	struct server *server = conn->server;

	if (!pending) {
		conn->broken = true;
		return;
	}
	pending->conn = conn;
	pending->tag = frame->tag;
	pending->next = conn->calls;
	pending->link = &conn->calls;
	if (pending->next)
		pending->next->link = &pending->next;
	conn->calls = pending;
	conn->call_count++;
	server->running++;
	pending->call.host = server;
	pending->call.deliver = deliver;
	rpc_dispatch(server->methods, RPC_IN_SERVER, &pending->call, frame->data, frame->len);
}

static void run_frames(struct conn *conn)
{
	struct buf rest = conn->in;
	struct frame frame;
	int r = 0;

	while (!conn->broken && (r = frame_find(&rest, FRAME_REQUEST_MAX, &frame)) > 0) {
		run_frame(conn, &frame);
		rest.data += FRAME_HEAD_SIZE + frame.len;
		rest.len -= FRAME_HEAD_SIZE + frame.len;
	}
	if (r < 0)
		conn->broken = true;
	buf_drop(&conn->in, conn->in.len - rest.len);
}

/* Half-sent requests are not to fill the memory. */
static void make_room(struct server *server, const struct conn *current)
{
	while (server->half > CONN_HALF_MAX) {
		struct conn *stalest = NULL;

		for (struct conn *conn = server->conns; conn; conn = conn->next)
			if (conn != current && conn->in.len > READ_SIZE &&
				(!stalest || conn->heard < stalest->heard))
				stalest = conn;
		if (!stalest)
			return;
		conn_close(stalest);
	}
}

static void receive(struct conn *conn)
{
	struct server *server = conn->server;
	size_t before = conn->in.len;
	ssize_t n;

	if (buf_reserve(&conn->in, READ_SIZE) < 0) {
		conn->broken = true;
		return;
	}
	n = recv(conn->watch.fd, conn->in.data + conn->in.len, READ_SIZE, MSG_DONTWAIT);
	if (n < 0) {
		conn->broken = errno != EAGAIN && errno != EINTR;
		return;
	}
	conn->no_more = n == 0;
	conn->in.len += (size_t)n;
	conn->heard = io_now();
	if (n > 0)
		run_frames(conn);
	server->half += conn->in.len - before;
	make_room(server, conn);
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct conn *conn = (struct conn *)watch;

	conn->busy = true;
	if (events & EPOLLIN)
		receive(conn);
	else if (events & (EPOLLHUP | EPOLLERR))
		conn->broken = true;
	if (!conn->broken)
		flush(conn);
	conn->busy = false;
	settle(conn);
}

static bool say_hello(int fd, pid_t pid)
{
	uint8_t hello[FRAME_HELLO_SIZE];

	frame_put_hello(hello, (uint32_t)pid);
	return send(fd, hello, sizeof(hello), MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)sizeof(hello);
}

void conn_refuse(int fd)
{
	say_hello(fd, 0);
	close(fd);
}

void conn_open(struct server *server, int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn || !say_hello(fd, getpid())) {
		free(conn);
		close(fd);
		return;
	}
	conn->server = server;
	conn->in.limit = FRAME_HEAD_SIZE + FRAME_REQUEST_MAX + READ_SIZE;
	conn->out.limit = 2 * FRAME_REPLY_MAX;
	conn->watch.fd = fd;
	conn->watch.ready = on_ready;
	if (loop_watch(&server->loop, &conn->watch, EPOLLIN) < 0) {
		free(conn);
		close(fd);
		return;
	}
	conn->next = server->conns;
	conn->link = &server->conns;
	if (conn->next)
		conn->next->link = &conn->next;
	server->conns = conn;
	server->conn_count++;
}

void conn_quiesce(struct server *server)
{
	struct conn *next;

	for (struct conn *conn = server->conns; conn; conn = next) {
		next = conn->next;
		conn->no_more = true;
		settle(conn);
	}
}

void conn_close_all(struct server *server)
{
	while (server->conns)
		conn_close(server->conns);
}
