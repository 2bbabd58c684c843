/* SPDX-License-Identifier: MIT */
#include "payloads/sandbox-tools/model_proxy/proxy.h"

#include <string.h>
#include <sys/epoll.h>

#include "payloads/lib/io.h"

void proxy_accept_more(struct proxy *proxy)
{
	if (proxy->peer_count < proxy->peers_max)
		loop_change(&proxy->loop, &proxy->listener, EPOLLIN);
}

void proxy_end(struct proxy *proxy, const char *why, size_t len)
{
	static const char head[] = "Unexpected error during model proxy call: ";

	io_write_full(2, head, strlen(head), IO_NEVER);
	io_write_full(2, why, len, IO_NEVER);
	io_write_full(2, "\n", 1, IO_NEVER);
	loop_stop(&proxy->loop);
}
