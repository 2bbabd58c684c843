/* SPDX-License-Identifier: MIT */
#include "payloads/sandbox-tools/model_proxy/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/lib/memory.h"
#include "payloads/sandbox-tools/model_proxy/peer.h"
#include "payloads/sandbox-tools/model_proxy/routes.h"

#define BACKLOG 1024
#define RESUME_MS 100

/* ---- connections ---- */

/* Half of the descriptors, at most, are for clients: requests and responses need some, too. */
static unsigned peers_max(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return PROXY_PEERS_MAX;
	if (files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
		getrlimit(RLIMIT_NOFILE, &files);
	}
	return files.rlim_cur / 2 < PROXY_PEERS_MAX ? (unsigned)files.rlim_cur / 2
						    : PROXY_PEERS_MAX;
}

static void pause_accepting(struct proxy *proxy)
{
	loop_change(&proxy->loop, &proxy->listener, 0);
	loop_set_timer(&proxy->loop, &proxy->resume, RESUME_MS);
}

static void on_resume(struct loop_timer *timer)
{
	struct proxy *proxy = container_of(timer, struct proxy, resume);

	if (proxy->peer_count >= proxy->peers_max)
		peer_make_room(proxy);
	if (proxy->peer_count >= proxy->peers_max)
		pause_accepting(proxy);
	else
		proxy_accept_more(proxy);
}

static void on_connection(struct loop_watch *watch, uint32_t events)
{
	struct proxy *proxy = container_of(watch, struct proxy, listener);
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC), on = 1;

	(void)events;
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		peer_open(proxy, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		pause_accepting(proxy);
	}
	if (proxy->peer_count >= proxy->peers_max)
		pause_accepting(proxy);
}

/* ---- the socket ---- */

static int parse_port(const char *text, uint16_t *ret, struct fail *fail)
{
	char *end;
	unsigned long port;

	*ret = PROXY_PORT;
	if (!text)
		return 0;
	port = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || port > UINT16_MAX)
		return fail_set(fail, "BRIDGE_MODEL_SERVICE_PORT is not a port: '%.100s'", text);
	*ret = (uint16_t)port;
	return 0;
}

/* Descriptor or -errno; 'address' is then the one it got. */
static int open_socket(struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r = 0;
	socklen_t len = sizeof(*address);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)address, sizeof(*address)) < 0 || listen(fd, BACKLOG) < 0 ||
		getsockname(fd, (struct sockaddr *)address, &len) < 0)
		r = -errno;
	if (r < 0)
		io_close(&fd);
	return r < 0 ? r : fd;
}

static int listen_on(struct proxy *proxy, uint16_t port, struct fail *fail)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = open_socket(&address), r = fd;

	if (fd >= 0) {
		proxy->listener.fd = fd;
		proxy->listener.ready = on_connection;
		r = loop_watch(&proxy->loop, &proxy->listener, EPOLLIN);
	}
	if (r < 0)
		return fail_sys(fail, r, "cannot listen on 127.0.0.1:%u", port);
	printf("Server running on http://127.0.0.1:%u\n", ntohs(address.sin_port));
	fflush(stdout);
	return 0;
}

/* ---- life ---- */

int proxy_run(const char *port, const char *instance, struct fail *fail)
{
	static struct proxy proxy; /* what it has is not freed before the process ends */
	uint16_t number;
	int r;

	if (parse_port(port, &number, fail) < 0)
		return -1;
	r = loop_open(&proxy.loop);
	if (r < 0)
		return fail_sys(fail, r, "cannot wait for events");
	proxy.serve = routes_run;
	proxy.resume.due = on_resume;
	proxy.peers_max = peers_max();
	proxy.bodies.max = memory_part(memory_limit(), 4, PROXY_BODIES_MAX);
	channel_init(&proxy.channel, &proxy.loop, instance);
	if (listen_on(&proxy, number, fail) < 0)
		return -1;
	r = loop_run(&proxy.loop);
	return r < 0 ? fail_sys(fail, r, "cannot wait for events") : 0;
}
