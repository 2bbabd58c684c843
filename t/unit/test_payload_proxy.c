/* SPDX-License-Identifier: MIT */
/* wrap: malloc calloc realloc strdup */
/*
 * Every allocation of the model proxy fails in turn, alone or with all that follow: the client gets
 * its reply, or what tells that it is none, no leak, and the proxy goes on. And what memory counts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/model_proxy/peer.h"
#include "payloads/sandbox-tools/model_proxy/routes.h"
#include "t/unit/fail_alloc.h"

#define MANY 1000	 /* no request needs so many allocations */
#define FAILING_TICKS 10 /* then there is memory again */
#define TICKS_MAX 10000

/* ---- the host, and a client ---- */

static char dir[] = "/tmp/proxy-XXXXXX";
static struct proxy proxy;
static struct loop_timer tick;
static unsigned ticks;
static const char *response;
static int client;
static char reply[16384];
static size_t reply_len;
static bool over;
static unsigned deaf_ticks; /* the client reads nothing until then */
static size_t held_for_deaf;

static void answer(const char *name)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "responses/%s", name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(response, file);
	fclose(file);
	snprintf(path, sizeof(path), "requests/%s", name);
	unlink(path);
}

static void answer_all(void)
{
	DIR *list = opendir("requests");

	assert_non_null(list);
	for (struct dirent *entry; (entry = readdir(list));) {
		const char *end = strrchr(entry->d_name, '.');

		if (end && strcmp(end, ".json") == 0)
			answer(entry->d_name);
	}
	closedir(list);
}

static void listen_to_proxy(void)
{
	ssize_t n;

	if (reply_len == sizeof(reply) - 1)
		reply_len = 0; /* of a long one the end is enough */
	n = recv(client, reply + reply_len, sizeof(reply) - 1 - reply_len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0) {
		reply_len += (size_t)n;
		return;
	}
	io_close(&client);
}

static void on_tick(struct loop_timer *timer)
{
	bool was = armed;

	armed = false;
	answer_all();
	if (ticks < deaf_ticks)
		held_for_deaf = proxy.channel.held;
	else if (client >= 0)
		listen_to_proxy();
	over = client < 0 && !proxy.peers && !proxy.channel.calls;
	assert_true(++ticks < TICKS_MAX);
	armed = was && ticks < FAILING_TICKS;
	if (over)
		loop_stop(&proxy.loop);
	if (proxy.channel.calls)
		loop_set_timer(&proxy.loop, &proxy.channel.poll, 0);
	loop_set_timer(&proxy.loop, timer, 1);
}

/* ---- one request ---- */

static void begin(void)
{
	memset(&proxy, 0, sizeof(proxy));
	assert_int_equal(loop_open(&proxy.loop), 0);
	proxy.serve = routes_run;
	proxy.peers_max = 10;
	proxy.bodies.max = HTTP_BODY_MAX;
	proxy.listener.events = EPOLLIN; /* there is none */
	channel_init(&proxy.channel, &proxy.loop, NULL);
	proxy.channel.requests = io_open(AT_FDCWD, "requests", O_RDONLY | O_DIRECTORY, 0);
	proxy.channel.responses = io_open(AT_FDCWD, "responses", O_RDONLY | O_DIRECTORY, 0);
	tick = (struct loop_timer){.due = on_tick};
	ticks = 0;
	reply_len = 0;
	over = false;
}

static void finish(void)
{
	io_close(&proxy.channel.requests);
	io_close(&proxy.channel.responses);
	loop_close(&proxy.loop);
}

/* Asks, and waits for what comes of it. */
static void talk(const char *path, const char *body)
{
	char request[1000];
	int ends[2], len;

	len = snprintf(request, sizeof(request),
		"POST %s HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n"
		"%s",
		path, strlen(body), body);
	assert_in_range(len, 1, sizeof(request) - 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	client = ends[0];
	assert_int_equal(send(client, request, (size_t)len, 0), len);
	loop_set_timer(&proxy.loop, &tick, 1);
	armed = true;
	peer_open(&proxy, ends[1]);
	assert_int_equal(loop_run(&proxy.loop), 0);
	armed = false;
	if (!over)
		fail_msg("ended by allocation %ld%s", left, lasting ? " and all after" : "");
	reply[reply_len] = '\0';
}

/* The reply ends so; or in another way that tells the client, if memory was short. */
static void check(const char *end)
{
	static const char none[] = "Cannot allocate memory\"}}";
	size_t len = strlen(end);
	bool whole = reply_len >= len && strcmp(reply + reply_len - len, end) == 0;
	bool stream = strstr(reply, "text/event-stream");

	if (whole || (tripped && (reply_len == 0 || strstr(reply, none))))
		return;
	if (!tripped || !stream || strstr(reply, "\r\n0\r\n\r\n"))
		fail_msg("allocation %ld%s: '%s'", left, lasting ? " and all after" : "", reply);
}

/* Asks again and again, until no allocation is left to fail. */
static void sweep(const char *path, const char *body, const char *result, const char *end)
{
	response = result;
	for (int all = 0; all < 2; all++) {
		long n = 0;

		do {
			assert_in_range(n, 0, MANY);
			lasting = all;
			left = n++;
			tripped = false;
			begin();
			talk(path, body);
			check(end);
			finish();
		} while (tripped);
		assert_true(n > 3);
	}
}

/* ---- requests ---- */

#define CHAT "/v1/chat/completions"
#define GOOGLE "/models/m:generateContent"
#define ASK "{\"model\": \"m\", \"messages\": []}"
#define ASK_STREAM "{\"model\": \"m\", \"messages\": [], \"stream\": true}"
#define INPUT_STREAM "{\"model\": \"m\", \"input\": \"\", \"stream\": true}"

static void test_generate_run__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep(CHAT, ASK, "{\"result\": {\"a\": 1}}", "\r\n\r\n{\"a\": 1}");
	sweep(GOOGLE, "{}", "{\"result\": \"{\\\"a\\\": 1}\"}", "\r\n\r\n{\"a\": 1}");
	sweep(CHAT, "{}", "", "\"code\": \"missing_required_parameter\"}}");
	sweep(CHAT, ASK,
		"{\"result\": {\"__inspect_provider_error__\": {\"status\": 429, \"message\": "
		"\"m\"}}}",
		"{\"error\": {\"message\": \"m\", \"type\": \"invalid_request_error\", \"param\": "
		"null, \"code\": null}}");
}

static void test_generate_run__survives_each_failing_allocation_in_a_stream(void **state)
{
	(void)state;
	sweep(CHAT, ASK_STREAM, "{\"result\": \"{\\\"choices\\\": [{\\\"message\\\": {}}]}\"}",
		"data: [DONE]\n\n\r\n0\r\n\r\n");
	sweep("/v1/responses", INPUT_STREAM,
		"{\"result\": {\"output\": [{\"type\": \"message\", \"content\": []}]}}",
		"\"type\": \"response.completed\"}\n\n\r\n0\r\n\r\n");
	sweep("/v1/messages", ASK_STREAM,
		"{\"result\": {\"content\": [{\"type\": \"tool_use\", \"input\": {\"a\": 1}}]}}",
		"{\"type\": \"message_stop\"}\n\n\r\n0\r\n\r\n");
	sweep("/models/m:streamGenerateContent", "{}", "{\"result\": {\"a\": 1}}",
		"data: {\"a\": 1}\n\n\r\n0\r\n\r\n");
	sweep(CHAT, ASK_STREAM, "{\"result\": 1}",
		"\"type\": \"internal_error\", \"code\": 500}}\n\n\r\n");
}

static void test_bridge_run__survives_each_failing_allocation(void **state)
{
	(void)state;
	sweep("/mcp/s", "{\"id\": 1, \"method\": \"tools/list\"}", "{\"result\": []}",
		"\"result\": {\"tools\": []}}");
	sweep("/mcp/s", "{\"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"n\"}}",
		"{\"error\": \"e\"}", "\"error\": {\"code\": -32603, \"message\": \"e\"}}");
}

/* ---- memory ---- */

static void test_peer_reply__counts_a_reply_until_it_is_sent(void **state)
{
	static const char start[] = "{\"result\": \"", end[] = "\"}";
	static char text[1 << 20];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, start, strlen(start));
	memcpy(text + sizeof(text) - sizeof(end), end, sizeof(end));
	response = text;
	left = MANY;
	tripped = lasting = false;
	deaf_ticks = 100;
	begin();
	talk(CHAT, ASK);
	assert_false(tripped);
	assert_in_range(held_for_deaf, sizeof(text) - 100, sizeof(text));
	assert_int_equal(proxy.channel.held, 0);
	finish();
	deaf_ticks = 0;
}

static int set_up_all(void **state)
{
	(void)state;
	if (getenv("CMOCKA_MESSAGE_OUTPUT"))
		cmocka_set_message_output(CM_OUTPUT_TAP);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("requests", 0700), 0);
	assert_int_equal(mkdir("responses", 0700), 0);
	return 0;
}

static int tear_down_all(void **state)
{
	(void)state;
	assert_int_equal(rmdir("requests"), 0);
	assert_int_equal(rmdir("responses"), 0);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generate_run__survives_each_failing_allocation),
		cmocka_unit_test(test_generate_run__survives_each_failing_allocation_in_a_stream),
		cmocka_unit_test(test_bridge_run__survives_each_failing_allocation),
		cmocka_unit_test(test_peer_reply__counts_a_reply_until_it_is_sent),
	};

	return cmocka_run_group_tests_name("payload_proxy", tests, set_up_all, tear_down_all);
}
