/* SPDX-License-Identifier: MIT */
/* Requests under way. */
#include "payloads/sandbox-tools/model_proxy/exchange.h"

#include <stdlib.h>

#include "payloads/lib/base.h"

static void on_ping(struct loop_timer *timer)
{
	struct exchange *exchange = container_of(timer, struct exchange, ping);

	stream_event(&exchange->stream, "ping", "{'type': 'ping'}");
	exchange_start_pings(exchange);
	peer_write(exchange->peer);
}

static void free_exchange(struct exchange *exchange)
{
	channel_release(&exchange->proxy->channel, &exchange->answer);
	buf_release(&exchange->id);
	free(exchange);
}

static void leave(struct peer_work *work)
{
	struct exchange *exchange = container_of(work, struct exchange, work);

	loop_clear_timer(&exchange->proxy->loop, &exchange->ping);
	stream_release(&exchange->stream);
	exchange->peer->work = NULL;
	exchange->peer = NULL;
	if (!exchange->work.waits)
		free_exchange(exchange);
}

static void go_on(struct peer_work *work)
{
	struct exchange *exchange = container_of(work, struct exchange, work);
	struct peer *peer = exchange->peer;
	int r = stream_go_on(&exchange->stream, PEER_ENOUGH);

	if (r > 0 || (r == 0 && exchange->work.waits))
		return;
	if (r == 0 && !exchange->cut)
		r = buf_add_str(&peer->out, REPLY_LAST_CHUNK);
	leave(work);
	if (r < 0)
		peer_break(peer);
}

struct exchange *exchange_open(struct peer *peer, void (*answered)(struct exchange *exchange))
{
	struct exchange *exchange;

	/* also those whose clients have gone: the limit of connections is none for them */
	if (peer->proxy->channel.call_count >= CHANNEL_CALLS_MAX) {
		peer_refuse(peer, 503, "overloaded_error", "Too many requests wait for the host");
		return NULL;
	}
	exchange = calloc(1, sizeof(*exchange));
	if (!exchange) {
		peer_break(peer);
		return NULL;
	}
	exchange->proxy = peer->proxy;
	exchange->peer = peer;
	exchange->answered = answered;
	exchange->ping.due = on_ping;
	exchange->id.limit = (size_t)6 * EXCHANGE_ID_MAX; /* a byte may become an escape */
	exchange->work.go_on = go_on;
	exchange->work.leave = leave;
	peer->work = &exchange->work;
	stream_init(&exchange->stream, &peer->out);
	return exchange;
}

static void on_answer(struct channel_call *call, struct channel_answer *answer)
{
	struct exchange *exchange = container_of(call, struct exchange, call);

	exchange->work.waits = false;
	exchange->answer = *answer;
	loop_clear_timer(&exchange->proxy->loop, &exchange->ping);
	if (exchange->peer)
		exchange->answered(exchange);
	else
		free_exchange(exchange);
}

int exchange_ask(struct exchange *exchange, const char *method, const struct channel_part *parts,
	size_t count, struct fail *fail)
{
	exchange->call.answered = on_answer;
	if (channel_ask(&exchange->proxy->channel, &exchange->call, method, parts, count, fail) < 0)
		return -1;
	exchange->work.waits = true;
	return 0;
}

void exchange_begin_stream(struct exchange *exchange)
{
	int r = reply_add_stream_head(&exchange->peer->head);

	if (r < 0)
		exchange->stream.error = r;
}

void exchange_start_pings(struct exchange *exchange)
{
	loop_set_timer(&exchange->proxy->loop, &exchange->ping, EXCHANGE_PING_MS);
}
