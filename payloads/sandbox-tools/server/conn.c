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
	int64_t told;  /* when something went out last, or began to wait */
	struct pending *calls;
	unsigned call_count;
	bool no_more; /* the client has closed its sending half */
	bool waits;   /* requests may have come that are not begun, for lack of room */
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
	server->unsent -= conn->out.len;
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
	if (sent == 0)
		return;
	buf_drop(&conn->out, sent);
	conn->server->unsent -= sent;
	conn->told = io_now();
}

/* May another request of it begin? */
static bool has_room(const struct conn *conn)
{
	return conn->out.len < CONN_UNSENT_MAX && conn->call_count < CONN_CALLS_MAX;
}

/* Sets what to wait for next, and closes a connection that has nothing left to do. */
static void settle(struct conn *conn)
{
	uint32_t events = 0;

	if (conn->busy)
		return;
	if (conn->broken || (conn->no_more && !conn->calls && conn->out.len == 0 && !conn->waits)) {
		conn_close(conn);
		return;
	}
	if (!conn->no_more && has_room(conn))
		events |= EPOLLIN;
	/* what waits begins from the loop: here somebody else's request may be in the middle of it
	 */
	if (conn->out.len > 0 || (conn->waits && has_room(conn)))
		events |= EPOLLOUT;
	loop_change(&conn->server->loop, &conn->watch, events);
}

static void queue(struct conn *conn, uint32_t tag, const char *text, size_t len)
{
	size_t before = conn->out.len;

	/* an answer that cannot even be queued ends the connection: the client must not wait */
	if ((before > 0 && before + len > CONN_UNSENT_ALL_MAX) ||
		frame_add(&conn->out, tag, text, len) < 0)
		conn->broken = true;
	conn->server->unsent += conn->out.len - before;
	if (before == 0)
		conn->told = io_now();
	if (!conn->busy && !conn->broken)
		flush(conn);
}

/* Answers that nobody reads are not to fill the memory; a single one may be of any size. */
static void drop_deaf(struct server *server)
{
	while (server->unsent > CONN_UNSENT_ALL_MAX) {
		struct conn *deafest = NULL;

		for (struct conn *conn = server->conns; conn; conn = conn->next)
			if (conn->out.len > 0 && (!deafest || conn->told < deafest->told))
				deafest = conn;
		if (!deafest || deafest->out.len == server->unsent)
			return;
		server->unsent -= deafest->out.len;
		buf_release(&deafest->out);
		deafest->broken = true;
		settle(deafest);
	}
}

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	struct pending *pending = (struct pending *)call;
	struct server *server = call->host;
	struct conn *conn = pending->conn;

	server->running--;
	if (conn) {
		*pending->link = pending->next;
		if (pending->next)
			pending->next->link = pending->link;
		conn->call_count--;
		if (!conn->broken)
			queue(conn, pending->tag, text, len);
	}
	rpc_request_release(&call->req);
	free(pending);
	if (conn)
		settle(conn);
	drop_deaf(server);
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
	rpc_dispatch_text(server->find, RPC_IN_SERVER, &pending->call, frame->data, frame->len);
}

/* Begins what has come, as far as there is room for it. */
static void run_frames(struct conn *conn)
{
	struct buf rest = conn->in;
	struct frame frame;
	int r = 1;

	while (!conn->broken && has_room(conn) &&
		(r = frame_find(&rest, FRAME_REQUEST_MAX, &frame)) > 0) {
		run_frame(conn, &frame);
		rest.data += FRAME_HEAD_SIZE + frame.len;
		rest.len -= FRAME_HEAD_SIZE + frame.len;
	}
	if (r < 0)
		conn->broken = true;
	conn->waits = r > 0;
	conn->server->half -= conn->in.len - rest.len;
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
	conn->server->half += (size_t)n;
	conn->heard = io_now();
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct conn *conn = (struct conn *)watch;

	conn->busy = true;
	if (events & EPOLLIN)
		receive(conn);
	else if (events & (EPOLLHUP | EPOLLERR))
		conn->broken = true;
	if (!conn->broken) {
		run_frames(conn);
		flush(conn);
		make_room(conn->server, conn);
	}
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
		conn->waits = false;
		server->half -= conn->in.len;
		buf_release(&conn->in);
		settle(conn);
	}
}

void conn_close_all(struct server *server)
{
	while (server->conns)
		conn_close(server->conns);
}
