/* SPDX-License-Identifier: MIT */
/* HTTP as engines speak it, and as nobody should, over a Unix socket of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/http.h"

#include <sys/fsuid.h>
#include <sys/stat.h>

#include "t/unit/http_world.c"

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

/* ---- replies ---- */

static const struct {
	const char *raw;
	int status; /* 0: no reply */
	const char *body;
} replies[] = {
	{OK_HEAD LEN(2) "{}", 200, "{}"},
	{OK_HEAD LEN(0), 200, ""},
	{"HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
	{OK_HEAD "\r\nto the end", 200, "to the end"},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200,
		"abcde"},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-After: 1\r\n\r\n", 200,
		"abc"},
	{OK_HEAD LEN(3) "abcdef", 200, "abc"},
	{"HTTP/1.0 200 OK\r\n\r\nold", 200, "old"},
	{"HTTP/1.1 100 Continue\r\n\r\n" OK_HEAD LEN(2) "ok", 200, "ok"},
	{"HTTP/1.1 301 Moved\r\nLocation: http://localhost/y\r\n" LEN(4) "away", 301, "away"},
	{"HTTP/1.1 404 Not Found\r\n" LEN(15) "{\"message\":\"x\"}", 404, "{\"message\":\"x\"}"},
	{"HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\n" LEN(4) "text", 500, "text"},
	{"HTTP/1.1 502 Bad\r\n\r\n<html>no</html>", 502, "<html>no</html>"},
	{OK_HEAD "Content-Encoding: gzip\r\n" LEN(3) "\037\213\010", 200, "\037\213\010"},
	{"", 0, NULL},
	{"\r\n", 0, NULL},
	{"SSH-2.0-OpenSSH_9.2\r\n", 0, NULL},
	{"{\"message\":\"not HTTP\"}", 0, NULL},
	{"HTTP/1.1 abc\r\n\r\n", 0, NULL},
	{OK_HEAD "Serv", 0, NULL},
	{OK_HEAD "Server: x\r\n", 0, NULL},
	{OK_HEAD LEN(10) "abc", 0, NULL},
	{OK_HEAD "Content-Length: -1\r\n\r\nabc", 0, NULL},
	{OK_HEAD "Content-Length: x\r\n\r\nabc", 0, NULL},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\nZZZ\r\nabc\r\n", 0, NULL},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef", 0, NULL},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 0, NULL},
	{OK_HEAD "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nabc", 0, NULL},
};

static void test_eng_http_do__takes_or_refuses_replies(void **state)
{
	(void)state;
	/* Once in one piece, once byte by byte. */
	for (size_t i = 0; i < 2 * SB_ARRAY_SIZE(replies); i++) {
		const char *raw = replies[i / 2].raw;
		const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST),
			{i % 2 ? FAKE_TRICKLE : FAKE_SEND, raw, strlen(raw), 0}, FAKE_DO(FAKE_END)};
		struct world w;
		int rc;

		/* libcurl tries a request again when nothing at all has come. */
		open_world(&w, (const struct fake_step *const[]){steps, steps}, 2);
		rc = get(&w, 5000);
		if (replies[i / 2].status) {
			assert_int_equal(rc, 0);
			assert_int_equal(w.reply.status, replies[i / 2].status);
			assert_string_equal(sb_buf_str(&w.reply.body), replies[i / 2].body);
		} else {
			assert_int_equal(rc, -1);
			assert_int_equal(w.err.code, SB_NO_ENGINE);
			assert_non_null(strstr(w.err.text, "GET /v1.41/x"));
		}
		close_world(&w);
	}
}

static void test_eng_http_do__bounds_headers(void **state)
{
	static const char line[] =
		"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
	static const struct fake_step many[] = {FAKE_DO(FAKE_REQUEST), FAKE_TEXT(OK_HEAD),
		{FAKE_FLOOD, line, sizeof(line) - 1, 0}, FAKE_DO(FAKE_END)};
	static const struct fake_step one[] = {FAKE_DO(FAKE_REQUEST), FAKE_TEXT(OK_HEAD "X: "),
		{FAKE_FLOOD, "aaaaaaaaaaaaaaaa", 16, 0}, FAKE_DO(FAKE_END)};
	struct world w;

	(void)state;
	for (int i = 0; i < 2; i++) {
		open_world(&w, ONE_SCRIPT(i ? one : many));
		assert_int_equal(get(&w, 5000), -1);
		assert_int_not_equal(w.err.code, SB_OK);
		assert_true(w.reply.headers.len <= SB_MAX_HEADERS);
		close_world(&w);
	}
}

static void test_eng_http_do__bounds_a_body(void **state)
{
	static const struct fake_step whole[] = {FAKE_DO(FAKE_REQUEST),
		FAKE_TEXT(OK_HEAD LEN(1000)), {FAKE_SEND, "0123456789", 10, 100},
		FAKE_DO(FAKE_END)};
	static const struct fake_step over[] = {FAKE_DO(FAKE_REQUEST), FAKE_TEXT(OK_HEAD "\r\n"),
		{FAKE_FLOOD, "0123456789", 10, 0}, FAKE_DO(FAKE_END)};
	struct world w;

	(void)state;
	open_world(&w, ONE_SCRIPT(whole));
	assert_int_equal(get(&w, 5000), 0);
	assert_int_equal(w.reply.body.len, 1000);
	close_world(&w);
	open_world(&w, ONE_SCRIPT(over));
	assert_int_equal(get(&w, 5000), -1);
	assert_non_null(strstr(w.err.text, "more than the permitted 1000 bytes"));
	close_world(&w);
}

static void test_eng_http_do__keeps_a_connection(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(OK_HEAD LEN(1) "1"),
		FAKE_ANSWER("HTTP/1.1 404 No\r\n" LEN(1) "2"), FAKE_ANSWER(OK_HEAD LEN(1) "3"),
		FAKE_DO(FAKE_STALL)};
	struct world w;

	(void)state;
	open_world(&w, (const struct fake_step *const[]){steps, steps}, 2);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(get(&w, 5000), 0);
		assert_int_equal(w.reply.body.data[0], '0' + i);
	}
	hang_up(&w);
	assert_int_equal(fake_connections(w.fake), 1);
	close_world(&w);
}

static void test_eng_http_do__connects_again(void **state)
{
	static const struct fake_step first[] = {
		FAKE_ANSWER(OK_HEAD LEN(1) "1"), FAKE_DO(FAKE_END)};
	static const struct fake_step second[] = {
		FAKE_ANSWER(OK_HEAD "Connection: close\r\n" LEN(1) "2"), FAKE_DO(FAKE_END)};
	static const struct fake_step third[] = {
		FAKE_ANSWER(OK_HEAD LEN(1) "3"), FAKE_DO(FAKE_STALL)};
	struct world w;

	(void)state;
	open_world(&w, (const struct fake_step *const[]){first, second, third}, 3);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(get(&w, 5000), 0);
		assert_int_equal(w.reply.body.data[0], '0' + i);
	}
	close_world(&w);
}

/* It hangs up on the next request at the earliest, so that libcurl cannot have seen it before. */
static void test_eng_http_do__loses_nothing_to_one_that_hangs_up(void **state)
{
	static const struct fake_step closes[] = {
		FAKE_ANSWER(OK_HEAD LEN(1) "1"), FAKE_DO(FAKE_HEAD), FAKE_DO(FAKE_END)};
	const struct fake_step *const scripts[] = {closes, closes, closes, closes};
	static const char *const methods[] = {"PUT", "POST"};
	struct world w;

	(void)state;
	open_world(&w, scripts, SB_ARRAY_SIZE(scripts));
	for (int i = 0; i < 2; i++)
		assert_int_equal(get(&w, 5000), 0);
	for (size_t i = 0; i < SB_ARRAY_SIZE(methods); i++) {
		struct eng_http_req req = {.method = methods[i],
			.path = "/x",
			.type = "t",
			.body = "body",
			.body_len = 4,
			.max_reply = 100,
			.timeout_ms = 5000};

		sb_buf_reset(&w.reply.body);
		if (eng_http_do(w.http, &req, &w.reply, &w.err) < 0)
			fail_msg("%s: %s", methods[i], w.err.text);
		assert_int_equal(w.reply.body.data[0], '1');
	}
	hang_up(&w);
	assert_int_equal(fake_connections(w.fake), SB_ARRAY_SIZE(scripts));
	for (size_t i = 0; i < SB_ARRAY_SIZE(methods); i++) {
		const char *sent = fake_received(w.fake, 2 + i, NULL);

		assert_memory_equal(sent, methods[i], strlen(methods[i]));
	}
	close_world(&w);
}

static void test_eng_http_do__sends_what_engines_need(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(OK_HEAD LEN(0)),
		FAKE_ANSWER(OK_HEAD LEN(0)), FAKE_ANSWER(OK_HEAD "X-A: b\r\n" LEN(999)),
		FAKE_DO(FAKE_STALL)};
	const struct eng_http_req reqs[] = {
		{.method = "PUT",
			.path = "/p?path=%2F",
			.type = "application/x-tar",
			.body = "a\0b",
			.body_len = 3,
			.max_reply = 100,
			.timeout_ms = 5000},
		{.method = "POST",
			.path = "/q",
			.type = "application/json",
			.max_reply = 100,
			.timeout_ms = 5000},
		{.method = "HEAD", .path = "/h", .max_reply = 100, .timeout_ms = 5000},
	};
	const char *got;
	struct world w;
	size_t len;

	(void)state;
	open_world(&w, ONE_SCRIPT(steps));
	for (size_t i = 0; i < SB_ARRAY_SIZE(reqs); i++)
		assert_int_equal(eng_http_do(w.http, &reqs[i], &w.reply, &w.err), 0);
	hang_up(&w);
	got = fake_received(w.fake, 0, &len);
	assert_memory_equal(got, "PUT /p?path=%2F HTTP/1.1\r\n", 26);
	assert_non_null(strstr(got, "\r\nHost: localhost\r\n"));
	assert_non_null(strstr(got, "\r\nContent-Type: application/x-tar\r\n"));
	assert_non_null(strstr(got, "\r\nContent-Length: 3\r\n"));
	assert_null(strcasestr(got, "Expect:"));
	assert_null(strcasestr(got, "Accept-Encoding:"));
	assert_non_null(memmem(got, len, "\r\n\r\na\0bPOST /q HTTP/1.1\r\n", 25));
	assert_non_null(memmem(got, len, "\r\nContent-Length: 0\r\n", 21));
	assert_non_null(memmem(got, len, "HEAD /h HTTP/1.1\r\n", 18));
	close_world(&w);
}

static void test_eng_http_do__puts_the_prefix_in_front(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(OK_HEAD LEN(0)), FAKE_DO(FAKE_STALL)};
	struct eng_endpoint endpoint;
	struct world w;
	char prefix[] = "/engine";

	(void)state;
	open_world(&w, ONE_SCRIPT(steps));
	eng_http_free(w.http);
	endpoint = *fake_endpoint(w.fake);
	endpoint.prefix = prefix;
	assert_int_equal(eng_http_new(&endpoint, &w.http, &w.err), 0);
	assert_int_equal(get(&w, 5000), 0);
	hang_up(&w);
	assert_memory_equal(fake_received(w.fake, 0, NULL), "GET /engine/v1.41/x HTTP/1.1", 28);
	close_world(&w);
}

/* An engine that refuses an upload does so before it has read it, and does not read the rest. */
static void test_eng_http_do__takes_an_early_refusal_of_an_upload(void **state)
{
	static const struct fake_step steps[][5] = {
		{FAKE_DO(FAKE_HEAD),
			FAKE_TEXT("HTTP/1.1 404 No\r\nConnection: close\r\n" LEN(4) "gone"),
			FAKE_DO(FAKE_STALL)},
		{FAKE_DO(FAKE_HEAD),
			FAKE_TEXT("HTTP/1.1 404 No\r\nConnection: close\r\n" LEN(4) "gone"),
			FAKE_DO(FAKE_HALF), FAKE_DO(FAKE_IDLE)},
	};
	enum { SIZE = 3 << 20 };
	sb_autofree char *body = calloc(1, SIZE);
	const struct eng_http_req req = {.method = "PUT",
		.path = "/p",
		.type = "application/x-tar",
		.body = body,
		.body_len = SIZE,
		.max_reply = 100,
		.timeout_ms = 5000};

	(void)state;
	assert_non_null(body);
	for (int i = 0; i < 20; i++) {
		struct world w;

		open_world(&w, ONE_SCRIPT(steps[i % 2]));
		assert_int_equal(eng_http_do(w.http, &req, &w.reply, &w.err), 0);
		assert_int_equal(w.reply.status, 404);
		assert_string_equal(sb_buf_str(&w.reply.body), "gone");
		close_world(&w);
	}
}

struct sink {
	size_t len, stop_at;
};

static int on_data(void *ctx, const char *data, size_t len)
{
	struct sink *sink = ctx;

	(void)data;
	sink->len += len;
	return sink->stop_at && sink->len >= sink->stop_at;
}

static void test_eng_http_do__gives_bodies_of_success_to_the_sink(void **state)
{
	static const struct fake_step first[] = {FAKE_ANSWER(OK_HEAD LEN(5) "hello"),
		FAKE_ANSWER("HTTP/1.1 404 No\r\n" LEN(4) "gone"), FAKE_DO(FAKE_REQUEST),
		FAKE_TEXT(OK_HEAD "\r\n"), {FAKE_FLOOD, "0123456789", 10, 0}, FAKE_DO(FAKE_END)};
	static const struct fake_step second[] = {
		FAKE_ANSWER(OK_HEAD LEN(1) "1"), FAKE_DO(FAKE_STALL)};
	struct sink sink = {0, 0};
	const struct eng_http_req req = {.method = "GET",
		.path = "/a",
		.max_reply = 100,
		.timeout_ms = 5000,
		.sink = on_data,
		.ctx = &sink};
	struct world w;

	(void)state;
	open_world(&w, (const struct fake_step *const[]){first, second}, 2);
	assert_int_equal(eng_http_do(w.http, &req, &w.reply, &w.err), 0);
	assert_int_equal(sink.len, 5);
	assert_false(w.reply.stopped);
	assert_int_equal(eng_http_do(w.http, &req, &w.reply, &w.err), 0);
	assert_int_equal(sink.len, 5);
	assert_string_equal(sb_buf_str(&w.reply.body), "gone");
	sink.stop_at = 1000;
	assert_int_equal(eng_http_do(w.http, &req, &w.reply, &w.err), 0);
	assert_true(w.reply.stopped);
	assert_int_equal(get(&w, 5000), 0);
	assert_string_equal(sb_buf_str(&w.reply.body), "1");
	close_world(&w);
}

/* ---- waiting ---- */

static void test_eng_http_do__gives_up_in_time(void **state)
{
	static const struct fake_step steps[][3] = {
		{FAKE_DO(FAKE_STALL)},
		{FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_STALL)},
		{FAKE_ANSWER(OK_HEAD "Content-"), FAKE_DO(FAKE_STALL)},
		{FAKE_ANSWER(OK_HEAD LEN(10) "abc"), FAKE_DO(FAKE_STALL)},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(steps); i++) {
		struct world w;

		open_world(&w, ONE_SCRIPT(steps[i]));
		assert_int_equal(get(&w, 300), -1);
		assert_int_equal(w.err.code, SB_NO_ENGINE);
		assert_non_null(strstr(w.err.text, "in time"));
		close_world(&w);
	}
}

static void test_eng_http_do__stops_when_interrupted(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_SIGNAL), FAKE_DO(FAKE_STALL)};
	static const struct fake_step quick[] = {FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_SIGNAL),
		FAKE_TEXT(OK_HEAD LEN(2) "ok"), FAKE_DO(FAKE_STALL)};
	struct world w;

	(void)state;
	open_world(&w, ONE_SCRIPT(steps));
	assert_int_equal(get(&w, 5000), -1);
	assert_int_equal(w.err.code, SB_INTERRUPTED);
	assert_true(eng_http_is_interrupted(w.http));
	close_world(&w);
	open_world(&w, ONE_SCRIPT(quick));
	eng_http_ignore_interrupt(w.http, true);
	assert_int_equal(get(&w, 5000), 0);
	assert_false(eng_http_is_interrupted(w.http));
	eng_http_ignore_interrupt(w.http, false);
	assert_true(eng_http_is_interrupted(w.http));
	close_world(&w);
}

/* ---- nobody there ---- */

/* As while an engine restarts behind a socket that systemd or a proxy holds. */
static void test_eng_http_do__speaks_of_the_url_when_hung_up_on(void **state)
{
	struct world w;

	(void)state;
	for (int i = 0; i < 20; i++) {
		open_world(&w, NULL, 0);
		assert_int_equal(get(&w, 5000), -1);
		assert_int_equal(w.err.code, SB_NO_ENGINE);
		assert_non_null(strstr(w.err.text, fake_endpoint(w.fake)->url));
		assert_null(strstr(w.err.text, "port 80"));
		close_world(&w);
	}
}

static void assert_unreachable(const char *url, const char *says)
{
	sb_auto(eng_endpoint_release) struct eng_endpoint endpoint = ENG_ENDPOINT_INIT;
	struct world w = {.reply = ENG_HTTP_REPLY_INIT, .err = SB_ERR_INIT};
	struct eng_stream *stream;
	const struct eng_http_req req = {.method = "POST",
		.path = "/x",
		.type = "t",
		.body = "",
		.max_reply = 100,
		.timeout_ms = 3000};

	assert_int_equal(eng_endpoint_parse(url, "DOCKER_HOST", &endpoint, &w.err), 0);
	assert_int_equal(eng_http_new(&endpoint, &w.http, &w.err), 0);
	for (int i = 0; i < 2; i++) {
		sb_err_clear(&w.err);
		assert_int_equal(i ? eng_stream_open(w.http, &req, &stream, &w.reply, &w.err)
				   : get(&w, 3000),
			-1);
		assert_int_equal(w.err.code, SB_NO_ENGINE);
		assert_non_null(strstr(w.err.text, "cannot reach the engine at '"));
		assert_non_null(strstr(w.err.text, endpoint.url));
		assert_non_null(strstr(w.err.text, "(from DOCKER_HOST)"));
		assert_non_null(strstr(w.err.text, says));
		assert_null(strstr(w.err.text, "port 80"));
	}
	eng_http_free(w.http);
	eng_http_reply_release(&w.reply);
}

static void bind_at(const char *path, int type, int *ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, path);
	unlink(path);
	*ret = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*ret, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void test_eng_http_do__says_why_nobody_is_there(void **state)
{
	sb_autoclose int silent = -1, datagram = -1, guarded = -1;
	char dir[] = "/tmp/sbinject-unit-XXXXXX", path[64];
	FILE *file;

	(void)state;
	eng_interrupted = 0;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	assert_unreachable(path, "no such socket; is the engine running?");
	bind_at(path, SOCK_STREAM, &silent);
	assert_unreachable(path, "nothing is listening there");
	bind_at(path, SOCK_DGRAM, &datagram);
	assert_unreachable(path, "it is not a stream socket");
	bind_at(path, SOCK_STREAM, &guarded);
	assert_int_equal(listen(guarded, 1), 0);
	assert_int_equal(chmod(path, 0), 0);
	if (geteuid() == 0)
		setfsuid(65534);
	assert_unreachable(path, "permission denied; use sudo");
	if (geteuid() == 0)
		setfsuid(0);
	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_unreachable(path, "engine");
	unlink(path);
	rmdir(dir);
	assert_unreachable("tcp://127.0.0.1:1", "nothing is listening there");
	assert_unreachable("tcp://host.invalid:1", "");
}

/* ---- pieces ---- */

static void test_eng_http_header__finds_the_first_of_a_name(void **state)
{
	static const struct {
		const char *name, *value; /* NULL: absent */
	} rows[] = {
		{"Api-Version", "1.41"},
		{"API-VERSION", "1.41"},
		{"api-version", "1.41"},
		{"Server", "Docker/28.5.2 (linux)"},
		{"Empty", ""},
		{"Last", "x:y"},
		{"Api", NULL},
		{"Api-Versio", NULL},
		{"Version", NULL},
		{"HTTP/1.1 200 OK", NULL},
		{"Cut", "01234567890123456789012"},
	};
	struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	struct sb_err err = SB_ERR_INIT;
	char value[24];

	(void)state;
	assert_null(eng_http_header(&reply, "Server", value, sizeof(value)));
	assert_int_equal(sb_buf_adds(&reply.headers,
				 OK_HEAD "X-Api-Version: 9\r\napi-VERSION: \t1.41\r\n"
					 "Api-Version: 1.99\r\nServer:Docker/28.5.2 (linux)\r\n"
					 "Empty:\r\nCut: 012345678901234567890123456789\r\n"
					 "Last: x:y\r\n\r\n",
				 &err),
		0);
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const char *found = eng_http_header(&reply, rows[i].name, value, sizeof(value));

		assert_int_equal(found != NULL, rows[i].value != NULL);
		if (found)
			assert_string_equal(found, rows[i].value);
	}
	eng_http_reply_release(&reply);
}

static void test_eng_http_escape__keeps_only_unreserved(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"", ""},
		{"azAZ09-._~", "azAZ09-._~"},
		{"/etc/os-release", "%2Fetc%2Fos-release"},
		{"../x?a=b&c#d", "..%2Fx%3Fa%3Db%26c%23d"},
		{"\303\266 \r\n%", "%C3%B6%20%0D%0A%25"},
		{"\377\001", "%FF%01"},
		{"sha256:ab", "sha256%3Aab"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf buf = SB_BUF_INIT(100), small = SB_BUF_INIT(2);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_http_escape(&buf, rows[i].text, &err), 0);
		assert_string_equal(sb_buf_str(&buf), rows[i].want);
		assert_int_equal(
			eng_http_escape(&small, rows[i].text, &err), *rows[i].text ? -1 : 0);
	}
}

/* ---- TCP and TLS ---- */

/* "localhost" is two addresses: that nothing listens at the first says nothing of the second. */
static void test_eng_http_do__tells_of_a_certificate_that_it_does_not_trust(void **state)
{
	struct tls_server server;
	struct far far;
	char url[40];
	int port;

	(void)state;
	close(listen_tcp(&port));
	start_tls(&server, port);
	snprintf(url, sizeof(url), "https://localhost:%d", port);
	open_far(&far, url);
	assert_int_equal(reach(&far.world, NULL), -1);
	assert_int_equal(far.world.err.code, SB_NO_ENGINE);
	assert_non_null(strstr(far.world.err.text, "certificate"));
	close_far(&far);
	stop_tls(&server);
}

static void test_eng_http_do__takes_an_impossible_port_for_a_mistake(void **state)
{
	struct far far;

	(void)state;
	open_far(&far, "tcp://localhost:10000");
	strcpy(far.endpoint.host, "localhost:99999");
	assert_int_equal(get(&far.world, 5000), -1);
	assert_int_equal(far.world.err.code, SB_USAGE);
	assert_non_null(strstr(far.world.err.text, "a test: 'tcp://localhost:10000' is not"));
	close_far(&far);
}

static int group_setup(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	return eng_http_global_init(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_http_do__takes_or_refuses_replies),
		cmocka_unit_test(test_eng_http_do__bounds_headers),
		cmocka_unit_test(test_eng_http_do__bounds_a_body),
		cmocka_unit_test(test_eng_http_do__keeps_a_connection),
		cmocka_unit_test(test_eng_http_do__connects_again),
		cmocka_unit_test(test_eng_http_do__loses_nothing_to_one_that_hangs_up),
		cmocka_unit_test(test_eng_http_do__sends_what_engines_need),
		cmocka_unit_test(test_eng_http_do__puts_the_prefix_in_front),
		cmocka_unit_test(test_eng_http_do__takes_an_early_refusal_of_an_upload),
		cmocka_unit_test(test_eng_http_do__gives_bodies_of_success_to_the_sink),
		cmocka_unit_test(test_eng_http_do__gives_up_in_time),
		cmocka_unit_test(test_eng_http_do__stops_when_interrupted),
		cmocka_unit_test(test_eng_http_do__speaks_of_the_url_when_hung_up_on),
		cmocka_unit_test(test_eng_http_do__says_why_nobody_is_there),
		cmocka_unit_test(test_eng_http_header__finds_the_first_of_a_name),
		cmocka_unit_test(test_eng_http_escape__keeps_only_unreserved),
		cmocka_unit_test(test_eng_http_do__tells_of_a_certificate_that_it_does_not_trust),
		cmocka_unit_test(test_eng_http_do__takes_an_impossible_port_for_a_mistake),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
