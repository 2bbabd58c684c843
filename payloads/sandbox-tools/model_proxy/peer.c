/* SPDX-License-Identifier: MIT */
/* Connections. */
#include "payloads/sandbox-tools/model_proxy/peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/model_proxy/form.h"

#define READ_SIZE 65536

/* ---- the body being read counts for all connections together ---- */

static void count_body(struct peer *peer, size_t before)
{
	peer->proxy->bodies.used += peer->http.body.len - before;
}

static void drop_request(struct peer *peer)
{
	peer->proxy->bodies.used -= peer->http.body.len;
	http_close(&peer->http);
}

/* ---- so does a reply, from the host's response to the last byte that is sent ---- */

static void hold_reply(struct peer *peer)
{
	peer->held = peer->out.len;
	peer->proxy->channel.held += peer->held;
}

static void let_go(struct peer *peer)
{
	peer->proxy->channel.held -= peer->held;
	peer->held = 0;
}

static void close_peer(struct peer *peer)
{
	struct proxy *proxy = peer->proxy;

	if (peer->work)
		peer->work->leave(peer->work);
	loop_clear_timer(&proxy->loop, &peer->timer);
	loop_unwatch(&proxy->loop, &peer->watch);
	io_close(&peer->watch.fd);
	drop_request(peer);
	let_go(peer);
	buf_release(&peer->head);
	buf_release(&peer->out);
	*peer->link = peer->next;
	if (peer->next)
		peer->next->link = peer->link;
	proxy->peer_count--;
	free(peer);
	proxy_accept_more(proxy);
}

void peer_break(struct peer *peer)
{
	peer->broken = true;
	if (!peer->busy)
		close_peer(peer);
}

static bool has_ended(const struct peer *peer)
{
	char c;

	return recv(peer->watch.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool is_spare(const struct peer *peer)
{
	if (peer->state == PEER_READING)
		return io_now() >= peer->late;
	return peer->state == PEER_WAITING && has_ended(peer);
}

void peer_make_room(struct proxy *proxy)
{
	struct peer *peer, *next;

	for (peer = proxy->peers; peer; peer = next) {
		next = peer->next;
		if (is_spare(peer))
			peer_break(peer);
	}
}

static void on_timeout(struct loop_timer *timer)
{
	close_peer(container_of(timer, struct peer, timer));
}

static void wait_for(struct peer *peer, enum peer_state state, uint32_t events, int ms)
{
	struct loop *loop = &peer->proxy->loop;

	peer->state = state;
	loop_change(loop, &peer->watch, events);
	if (ms > 0)
		loop_set_timer(loop, &peer->timer, ms);
	else
		loop_clear_timer(loop, &peer->timer);
}

/* ---- writing ---- */

/* False: it cannot be sent all now. */
static bool send_some(struct peer *peer, struct buf *buf)
{
	size_t sent = 0;

	while (sent < buf->len) {
		ssize_t n = send(peer->watch.fd, buf->data + sent, buf->len - sent,
			MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			peer->broken = errno != EAGAIN;
			break;
		}
		sent += (size_t)n;
	}
	buf_drop(buf, sent);
	return buf->len == 0;
}

/* What is unread would turn the end of the connection into a reset, and the reply might be lost
   with it. */
static void linger(struct peer *peer)
{
	let_go(peer);
	shutdown(peer->watch.fd, SHUT_WR);
	wait_for(peer, PEER_LINGERING, EPOLLIN, PEER_LINGER_MS);
}

/* Patience begins anew with each step. */
static void wait_to_write(struct peer *peer, bool moved)
{
	loop_change(&peer->proxy->loop, &peer->watch, EPOLLOUT);
	if (moved || peer->state != PEER_WRITING || !peer->timer.armed)
		loop_set_timer(&peer->proxy->loop, &peer->timer, PEER_PATIENCE_MS);
	peer->state = PEER_WRITING;
}

static void write_more(struct peer *peer)
{
	size_t before = peer->head.len + peer->out.len;
	bool all = send_some(peer, &peer->head) && send_some(peer, &peer->out);
	bool moved = peer->head.len + peer->out.len < before;

	if (peer->work && !peer->broken && peer->out.len < PEER_ENOUGH / 2)
		peer->work->go_on(peer->work);
	if (peer->broken)
		return;
	all = all && peer->out.len == 0;
	if (all && peer->work && peer->work->waits)
		wait_for(peer, PEER_WAITING, 0, 0);
	else if (all && !peer->work)
		linger(peer);
	else
		wait_to_write(peer, moved);
}

void peer_write(struct peer *peer)
{
	if (peer->busy) {
		peer->state = PEER_WRITING;
		return;
	}
	peer->busy = true;
	write_more(peer);
	peer->busy = false;
	if (peer->broken)
		close_peer(peer);
}

void peer_reply(struct peer *peer, const struct reply *reply, struct buf *body)
{
	if (peer->work)
		peer->work->leave(peer->work);
	buf_release(&peer->out);
	peer->out = *body;
	peer->out.limit = PEER_OUT_MAX;
	*body = (struct buf)BUF_INIT(body->limit);
	hold_reply(peer);
	if (reply_add_head(&peer->head, reply, peer->out.len) < 0)
		peer_break(peer);
	else
		peer_write(peer);
}

void peer_reply_form(struct peer *peer, const struct reply *reply, const char *form, ...)
{
	struct buf body = BUF_INIT(PEER_OUT_MAX);
	va_list arguments;
	int r;

	va_start(arguments, form);
	r = form_add_list(&body, SPELL_ASCII, form, arguments);
	va_end(arguments);
	if (r == 0)
		peer_reply(peer, reply, &body);
	else
		peer_break(peer);
	buf_release(&body);
}

void peer_refuse(struct peer *peer, int status, const char *type, const char *why)
{
	peer_reply_form(peer, &(struct reply){status, NULL, NULL},
		"{'error': {'message': %s, 'type': %s, 'code': %n}}", why, type, (size_t)status);
}

/* ---- reading ---- */

static void answer(struct peer *peer)
{
	struct proxy *proxy = peer->proxy;

	if (peer->http.state == HTTP_BAD) {
		peer_refuse(peer, 500, "internal_error", peer->http.flaw);
	} else if (proxy->bodies.used > proxy->bodies.max) {
		peer_refuse(peer, 503, "overloaded_error", "Too many large requests at once");
	} else if (peer->http.state == HTTP_DONE) {
		wait_for(peer, PEER_WAITING, 0, 0);
		peer->proxy->serve(peer);
	} else {
		wait_for(peer, PEER_READING, EPOLLIN, PEER_PATIENCE_MS);
		return;
	}
	drop_request(peer);
}

static void promise(struct peer *peer)
{
	if (!peer->http.expects || peer->http.state == HTTP_BAD)
		return;
	peer->http.expects = false;
	if (buf_add_str(&peer->head, REPLY_CONTINUE) < 0 || !send_some(peer, &peer->head))
		peer->broken = true;
}

static void read_more(struct peer *peer)
{
	static char piece[READ_SIZE];
	size_t before = peer->http.body.len;
	ssize_t n = recv(peer->watch.fd, piece, sizeof(piece), MSG_DONTWAIT);
	int r = 0;

	if (n < 0) {
		peer->broken = errno != EAGAIN && errno != EINTR;
		return;
	}
	if (peer->state == PEER_LINGERING) {
		peer->broken = n == 0;
		return;
	}
	r = n == 0 ? http_end(&peer->http) : http_feed(&peer->http, piece, (size_t)n);
	count_body(peer, before);
	if (r < 0)
		peer->broken = true;
	else
		promise(peer);
	if (!peer->broken)
		answer(peer);
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct peer *peer = container_of(watch, struct peer, watch);

	peer->busy = true;
	if (events & EPOLLIN)
		read_more(peer);
	else if (events & (EPOLLHUP | EPOLLERR))
		peer->broken = true;
	if (!peer->broken && peer->state == PEER_WRITING)
		write_more(peer);
	peer->busy = false;
	if (peer->broken)
		close_peer(peer);
}

void peer_open(struct proxy *proxy, int fd)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer) {
		io_close(&fd);
		return;
	}
	peer->proxy = proxy;
	http_open(&peer->http);
	peer->head.limit = READ_SIZE;
	peer->out.limit = PEER_OUT_MAX;
	peer->timer.due = on_timeout;
	peer->watch.fd = fd;
	peer->watch.ready = on_ready;
	if (loop_watch(&proxy->loop, &peer->watch, EPOLLIN) < 0) {
		io_close(&fd);
		free(peer);
		return;
	}
	loop_set_timer(&proxy->loop, &peer->timer, PEER_PATIENCE_MS);
	peer->late = io_in(PEER_ASKING_MS);
	peer->next = proxy->peers;
	peer->link = &proxy->peers;
	if (peer->next)
		peer->next->link = &peer->next;
	proxy->peers = peer;
	proxy->peer_count++;
}
