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

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t/unit/fake_engine.c"

#define ONE_SCRIPT(steps) ((const struct fake_step *const[]){steps}), 1
#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define LEN(n) "Content-Length: " #n "\r\n\r\n"

struct world {
	struct fake_engine *fake;
	struct eng_http *http;
	struct eng_http_reply reply;
	struct sb_err err;
};

static void open_world(struct world *w, const struct fake_step *const *scripts, size_t count)
{
	*w = (struct world){.reply = ENG_HTTP_REPLY_INIT, .err = SB_ERR_INIT};
	eng_interrupted = 0;
	w->fake = fake_start(scripts, count);
	assert_int_equal(eng_http_new(fake_endpoint(w->fake), &w->http, &w->err), 0);
}

/* Also ends the connections, so that the record is whole. */
static void hang_up(struct world *w)
{
	eng_http_free(w->http);
	w->http = NULL;
	fake_stop(w->fake);
}

static void close_world(struct world *w)
{
	hang_up(w);
	eng_http_reply_release(&w->reply);
	fake_free(w->fake);
	eng_interrupted = 0;
}

static int get(struct world *w, int timeout_ms)
{
	const struct eng_http_req req = {
		.method = "GET", .path = "/v1.41/x", .max_reply = 1000, .timeout_ms = timeout_ms};

	eng_http_reply_release(&w->reply);
	w->reply = (struct eng_http_reply)ENG_HTTP_REPLY_INIT;
	sb_err_clear(&w->err);
	return eng_http_do(w->http, &req, &w->reply, &w->err);
}

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
		assert_int_equal(i ? eng_http_upgrade(w.http, &req, &stream, &w.reply, &w.err)
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
	assert_unreachable(path, "there is no such socket; is the engine running?");
	bind_at(path, SOCK_STREAM, &silent);
	assert_unreachable(path, "nothing listens there");
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
	assert_unreachable("tcp://127.0.0.1:1", "nothing listens there");
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

/* ---- upgraded connections ---- */

#define UPGRADED "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

static int upgrade(struct world *w, int timeout_ms, struct eng_stream **ret)
{
	static const char body[] = "{\"Tty\":false}";
	const struct eng_http_req req = {.method = "POST",
		.path = "/v1.41/exec/ab/start",
		.type = "application/json",
		.body = body,
		.body_len = sizeof(body) - 1,
		.timeout_ms = timeout_ms};

	return eng_http_upgrade(w->http, &req, ret, &w->reply, &w->err);
}

/* Receive exactly that text. */
static void assert_recv(struct world *w, struct eng_stream *stream, const char *want)
{
	char data[64];
	size_t have = 0, len;

	while (have < strlen(want)) {
		assert_int_equal(eng_stream_recv(stream, data + have, strlen(want) - have, 3000,
					 &len, &w->err),
			0);
		assert_int_not_equal(len, 0);
		have += len;
	}
	assert_memory_equal(data, want, have);
}

static void test_eng_stream_recv__takes_a_reset_for_the_end(void **state)
{
	static const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST), FAKE_TEXT(UPGRADED "said"),
		FAKE_DO(FAKE_IDLE), FAKE_DO(FAKE_END)};
	struct eng_stream *stream;
	struct world w;
	char data[8];
	size_t len;

	(void)state;
	open_world(&w, ONE_SCRIPT(steps));
	assert_int_equal(upgrade(&w, 5000, &stream), 0);
	assert_int_equal(eng_stream_send(stream, "unread", 6, &len, &w.err), 0);
	assert_recv(&w, stream, "said");
	assert_int_equal(eng_stream_recv(stream, data, sizeof(data), 30000, &len, &w.err), 1);
	eng_stream_close(stream);
	close_world(&w);
}

static void test_eng_http_upgrade__gives_a_stream(void **state)
{
	static const char early[] = UPGRADED "early bytes";
	static const char plain[] = "HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\nearly bytes";
	const struct {
		enum fake_do how;
		const char *data;
		size_t len;
	} rows[] = {
		{FAKE_SEND, early, sizeof(early) - 1},
		{FAKE_TRICKLE, early, sizeof(early) - 1},
		{FAKE_SEND, plain, sizeof(plain) - 1},
		{FAKE_TRICKLE, plain, sizeof(plain) - 1},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST),
			{rows[i].how, rows[i].data, rows[i].len, 0}, {FAKE_TAKE, NULL, 0, 5},
			FAKE_TEXT("thanks"), FAKE_DO(FAKE_HALF), FAKE_DO(FAKE_STALL)};
		struct eng_stream *stream;
		const char *got;
		char data[64];
		struct world w;
		size_t len;

		open_world(&w, ONE_SCRIPT(steps));
		assert_int_equal(upgrade(&w, 5000, &stream), 0);
		assert_non_null(stream);
		assert_true(eng_stream_fd(stream) >= 0);
		assert_recv(&w, stream, "early");
		assert_recv(&w, stream, " bytes");
		assert_int_equal(eng_stream_recv(stream, data, sizeof(data), 0, &len, &w.err), 0);
		assert_int_equal(len, 0);
		assert_int_equal(eng_stream_send(stream, "input", 5, &len, &w.err), 0);
		assert_int_equal(len, 5);
		assert_recv(&w, stream, "thanks");
		assert_int_equal(
			eng_stream_recv(stream, data, sizeof(data), 3000, &len, &w.err), 1);
		assert_int_equal(eng_stream_half_close(stream, &w.err), 0);
		eng_stream_close(stream);
		hang_up(&w);
		got = fake_received(w.fake, 0, &len);
		assert_memory_equal(got, "POST /v1.41/exec/ab/start HTTP/1.1\r\n", 36);
		assert_non_null(strstr(got, "\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"));
		assert_non_null(strstr(got, "\r\nContent-Type: application/json\r\n"));
		assert_non_null(strstr(got, "\r\n\r\n{\"Tty\":false}input"));
		close_world(&w);
	}
}

#define CHUNKED "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n"

static void test_eng_http_upgrade__hands_over_a_refusal(void **state)
{
	static const struct {
		const char *raw;
		int status;
		const char *body;
	} rows[] = {
		{"HTTP/1.1 404 No\r\n" LEN(15) "{\"message\":\"x\"}", 404, "{\"message\":\"x\"}"},
		{"HTTP/1.1 409 No\r\n" LEN(6) "paused", 409, "paused"},
		{"HTTP/1.1 500 No\r\n\r\nto the end", 500, "to the end"},
		{"HTTP/1.1 400 No\r\n" LEN(0), 400, ""},
		{"HTTP/1.1 400 No\r\n" LEN(99) "short", 400, "short"},
		{"HTTP/1.1 400 No\r\nContent-Length: x\r\n\r\n", 400, ""},
		{"HTTP/1.0 503 No\r\n\r\nold", 503, "old"},
		{"HTTP/1.1 204 None\r\n\r\n", 204, ""},
		{CHUNKED "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 500, "abc"},
		{CHUNKED "2\r\nab\r\nzz\r\nc\r\n0\r\n\r\n", 500, "ab"},
		{CHUNKED "2\r\nab\r\n-1\r\nc\r\n", 500, "ab"},
		{CHUNKED "2\r\nab\r\n9\r\ncut off", 500, "ab"},
		{CHUNKED "odd", 500, ""},
	};

	(void)state;
	for (size_t i = 0; i < 2 * SB_ARRAY_SIZE(rows); i++) {
		const char *raw = rows[i / 2].raw;
		const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST),
			{i % 2 ? FAKE_TRICKLE : FAKE_SEND, raw, strlen(raw), 0}, FAKE_DO(FAKE_END)};
		struct eng_stream *stream;
		struct world w;

		open_world(&w, ONE_SCRIPT(steps));
		assert_int_equal(upgrade(&w, 5000, &stream), 0);
		assert_null(stream);
		assert_int_equal(w.reply.status, rows[i / 2].status);
		assert_string_equal(sb_buf_str(&w.reply.body), rows[i / 2].body);
		close_world(&w);
	}
}

static void test_eng_http_upgrade__refuses_what_is_not_http(void **state)
{
	static const char *const raws[] = {"", "\r\n\r\n", "hello\r\n\r\n", "HTTP/2 101\r\n\r\n",
		"HTTP/1.1\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 101 UPGRADED\r\nConn",
		"\1\0\0\0", "OCI runtime exec failed"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(raws); i++) {
		const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST),
			{FAKE_SEND, raws[i], strlen(raws[i]), 0}, FAKE_DO(FAKE_END)};
		struct eng_stream *stream;
		struct world w;

		open_world(&w, ONE_SCRIPT(steps));
		assert_int_equal(upgrade(&w, 5000, &stream), -1);
		assert_null(stream);
		assert_int_equal(w.err.code, SB_NO_ENGINE);
		assert_non_null(strstr(w.err.text, "POST /v1.41/exec/ab/start: "));
		close_world(&w);
	}
}

static void test_eng_http_upgrade__bounds_the_answer(void **state)
{
	static const struct fake_step steps[][4] = {
		{FAKE_DO(FAKE_REQUEST), FAKE_TEXT("HTTP/1.1 101 UPGRADED\r\n"),
			{FAKE_FLOOD, "X-Filler: abcdefghijklmnopqrstuvwxyz\r\n", 38, 0}},
		{FAKE_DO(FAKE_REQUEST), FAKE_TEXT("HTTP/1.1 500 No\r\n\r\n"),
			{FAKE_FLOOD, "abcdefghijklmnopqrstuvwxyz abcdefghij\n", 38, 0}},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(steps); i++) {
		struct eng_stream *stream;
		struct world w;

		open_world(&w, ONE_SCRIPT(steps[i]));
		assert_int_equal(upgrade(&w, 5000, &stream), -1);
		assert_null(stream);
		assert_int_equal(w.err.code, SB_NO_ENGINE);
		close_world(&w);
	}
}

static void test_eng_http_upgrade__gives_up_in_time(void **state)
{
	static const struct fake_step steps[][3] = {
		{FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_STALL)},
		{FAKE_ANSWER("HTTP/1.1 101 UP"), FAKE_DO(FAKE_STALL)},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(steps); i++) {
		struct eng_stream *stream;
		struct world w;

		open_world(&w, ONE_SCRIPT(steps[i]));
		assert_int_equal(upgrade(&w, 300, &stream), -1);
		assert_int_equal(w.err.code, SB_NO_ENGINE);
		close_world(&w);
	}
}

static void test_eng_http_upgrade__gives_up_a_silent_handshake(void **state)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct eng_endpoint endpoint = ENG_ENDPOINT_INIT;
	struct world w = {.reply = ENG_HTTP_REPLY_INIT, .err = SB_ERR_INIT};
	socklen_t len = sizeof(address);
	sb_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int64_t start = sb_now_ms();
	struct eng_stream *stream;
	char url[64];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(url, sizeof(url), "https://127.0.0.1:%d", ntohs(address.sin_port));
	assert_int_equal(eng_endpoint_parse(url, "a test", &endpoint, &w.err), 0);
	endpoint.tls_verify = false;
	assert_int_equal(eng_http_new(&endpoint, &w.http, &w.err), 0);
	assert_int_equal(upgrade(&w, 300, &stream), -1);
	assert_int_equal(w.err.code, SB_NO_ENGINE);
	assert_in_range(sb_now_ms() - start, 300, 4999); /* the connection itself has 5 s */
	eng_http_free(w.http);
	eng_http_reply_release(&w.reply);
	eng_endpoint_release(&endpoint);
}

static void test_eng_http_upgrade__stops_when_interrupted(void **state)
{
	static const struct fake_step waiting[] = {
		FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_SIGNAL), FAKE_DO(FAKE_STALL)};
	static const struct fake_step reading[] = {FAKE_ANSWER(UPGRADED), FAKE_DO(FAKE_STALL)};
	struct eng_stream *stream;
	struct world w;
	char data[16];
	size_t len;

	(void)state;
	open_world(&w, ONE_SCRIPT(waiting));
	assert_int_equal(upgrade(&w, 5000, &stream), -1);
	assert_int_equal(w.err.code, SB_INTERRUPTED);
	close_world(&w);
	open_world(&w, ONE_SCRIPT(reading));
	assert_int_equal(upgrade(&w, 5000, &stream), 0);
	eng_interrupted = 1;
	assert_int_equal(eng_stream_recv(stream, data, sizeof(data), 5000, &len, &w.err), -1);
	assert_int_equal(w.err.code, SB_INTERRUPTED);
	sb_err_clear(&w.err);
	assert_int_equal(eng_stream_send(stream, "x", 1, &len, &w.err), -1);
	assert_int_equal(w.err.code, SB_INTERRUPTED);
	sb_err_clear(&w.err);
	eng_http_ignore_interrupt(w.http, true);
	assert_int_equal(eng_stream_recv(stream, data, sizeof(data), 10, &len, &w.err), 0);
	assert_int_equal(len, 0);
	eng_stream_close(stream);
	close_world(&w);
}

static void test_eng_stream_send__tells_that_the_other_side_is_gone(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(UPGRADED), FAKE_DO(FAKE_END)};
	struct eng_stream *stream;
	struct world w;
	char data[16];
	size_t len;

	(void)state;
	open_world(&w, ONE_SCRIPT(steps));
	assert_int_equal(upgrade(&w, 5000, &stream), 0);
	assert_int_equal(eng_stream_recv(stream, data, sizeof(data), 3000, &len, &w.err), 1);
	assert_int_equal(eng_stream_send(stream, "x", 1, &len, &w.err), 1);
	assert_int_equal(len, 0);
	eng_stream_close(stream);
	eng_stream_close(NULL);
	close_world(&w);
}

/* ---- TCP and TLS ---- */

/* Where a server is, and our side of it. */
struct far {
	struct eng_endpoint endpoint;
	struct world world;
};

static void open_far(struct far *far, const char *url)
{
	struct world *w = &far->world;

	*far = (struct far){.endpoint = ENG_ENDPOINT_INIT,
		.world = {.reply = ENG_HTTP_REPLY_INIT, .err = SB_ERR_INIT}};
	eng_interrupted = 0;
	assert_int_equal(eng_endpoint_parse(url, "a test", &far->endpoint, &w->err), 0);
	assert_int_equal(eng_http_new(&far->endpoint, &w->http, &w->err), 0);
}

static void close_far(struct far *far)
{
	eng_http_free(far->world.http);
	eng_http_reply_release(&far->world.reply);
	eng_endpoint_release(&far->endpoint);
}

/* A listening socket on the loopback device, and its port. */
static int listen_tcp(int *ret_port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(at);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* `openssl s_server`: what it is sent comes out of `out`, what is written to `in` it sends. */
struct tls_server {
	char dir[64], key[80], cert[80], address[80];
	pid_t pid;
	int in, out;
};

/* A child that does not outlive a test that fails. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static pid_t spawn(const char *const *argv, int in, int out)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (!freopen("/dev/null", "w", stderr))
		_exit(126);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

/* At a path of its own, or, with a port, on the loopback device. */
static void start_tls(struct tls_server *s, int port)
{
	const char *make[] = {"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
		"1", "-subj", "/CN=localhost", "-keyout", s->key, "-out", s->cert, NULL};
	const char *serve[] = {"openssl", "s_server", "-quiet", port ? "-accept" : "-unix",
		s->address, "-key", s->key, "-cert", s->cert, NULL};
	int in[2], out[2], status;

	strcpy(s->dir, "/tmp/sbu-XXXXXX"); /* s_server takes 31 bytes for a socket */
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->key, sizeof(s->key), "%s/key.pem", s->dir);
	snprintf(s->cert, sizeof(s->cert), "%s/cert.pem", s->dir);
	if (port)
		snprintf(s->address, sizeof(s->address), "127.0.0.1:%d", port);
	else
		snprintf(s->address, sizeof(s->address), "%s/e.sock", s->dir);
	assert_true(waitpid(spawn(make, -1, -1), &status, 0) > 0);
	assert_int_equal(status, 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s->pid = spawn(serve, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	s->out = out[0];
}

static void stop_tls(struct tls_server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->in);
	close(s->out);
	unlink(s->key);
	unlink(s->cert);
	unlink(s->address);
	rmdir(s->dir);
}

/* The server takes its time to begin. Without `ret`, a GET is asked. */
static int reach(struct world *w, struct eng_stream **ret)
{
	int64_t until = sb_deadline(10000);
	int rc;

	for (;;) {
		rc = ret ? upgrade(w, 5000, ret) : get(w, 5000);
		if (rc == 0 || !strstr(w->err.text, "is the engine running?") ||
			!sb_left_ms(until, 1))
			return rc;
		sb_err_clear(&w->err);
		sb_sleep_ms(20);
	}
}

static char letter(size_t at)
{
	return (char)('a' + at / 1000 % 26);
}

/* Check what comes out of the server behind a request's header; *body counts it. */
static void check_some(const struct tls_server *s, size_t *body, bool *in_body)
{
	static const char last[] = "{\"Tty\":false}";
	static char data[65536];
	ssize_t n = read(s->out, data, sizeof(data));
	const char *from = data;

	assert_true(n > 0);
	if (!*in_body) {
		from = memmem(data, (size_t)n, last, sizeof(last) - 1);
		if (!from)
			return;
		from += sizeof(last) - 1;
		*in_body = true;
	}
	for (; from < data + n; from++, ++*body)
		assert_int_equal(*from, letter(*body));
}

enum { MUCH = 3 << 20 };

/* Of MUCH, the bytes from `done` on, where none of them was the last time. */
static int send_some(struct world *w, struct eng_stream *stream, size_t done, size_t *ret_len)
{
	static char copies[2][MUCH];
	static unsigned turn;
	char *copy = copies[turn++ % 2];

	memset(copies[turn % 2], '!', MUCH);
	for (size_t i = done; i < MUCH; i++)
		copy[i - done] = letter(i);
	return eng_stream_send(stream, copy, MUCH - done, ret_len, &w->err);
}

/* A reader that is slow makes TLS say "again"; then it takes nothing but what it has begun with. */
static void test_eng_stream_send__loses_nothing_over_tls(void **state)
{
	size_t done = 0, body = 0, waits = 0, len;
	struct eng_stream *stream = NULL;
	struct tls_server server;
	bool in_body = false;
	struct far far;

	(void)state;
	start_tls(&server, 0);
	assert_int_equal(write(server.in, UPGRADED, sizeof(UPGRADED) - 1), sizeof(UPGRADED) - 1);
	open_far(&far, server.address);
	far.endpoint.tls = true;
	assert_int_equal(reach(&far.world, &stream), 0);
	assert_non_null(stream);
	while (done < MUCH) {
		assert_int_equal(send_some(&far.world, stream, done, &len), 0);
		done += len;
		if (len)
			continue;
		waits++;
		check_some(&server, &body, &in_body);
	}
	assert_true(waits > 0);
	while (body < MUCH)
		check_some(&server, &body, &in_body);
	eng_stream_close(stream);
	close_far(&far);
	stop_tls(&server);
}

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

/* Where there is no limit, that is what tells that the other machine is gone. */
static void test_eng_http_upgrade__keeps_tcp_alive(void **state)
{
	struct eng_stream *stream = NULL;
	socklen_t size = sizeof(int);
	struct far far;
	int port, on = 0;
	int fd = listen_tcp(&port);
	pid_t pid = fork_child();
	char url[40];

	(void)state;
	if (pid == 0)
		_exit(write(accept(fd, NULL, NULL), UPGRADED, sizeof(UPGRADED) - 1) < 0 || pause());
	snprintf(url, sizeof(url), "tcp://127.0.0.1:%d", port);
	open_far(&far, url);
	assert_int_equal(upgrade(&far.world, 0, &stream), 0);
	assert_int_equal(
		getsockopt(eng_stream_fd(stream), SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
	assert_int_equal(on, 1);
	eng_stream_close(stream);
	close_far(&far);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
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
		cmocka_unit_test(test_eng_stream_recv__takes_a_reset_for_the_end),
		cmocka_unit_test(test_eng_http_upgrade__gives_a_stream),
		cmocka_unit_test(test_eng_http_upgrade__hands_over_a_refusal),
		cmocka_unit_test(test_eng_http_upgrade__refuses_what_is_not_http),
		cmocka_unit_test(test_eng_http_upgrade__bounds_the_answer),
		cmocka_unit_test(test_eng_http_upgrade__gives_up_in_time),
		cmocka_unit_test(test_eng_http_upgrade__gives_up_a_silent_handshake),
		cmocka_unit_test(test_eng_http_upgrade__stops_when_interrupted),
		cmocka_unit_test(test_eng_stream_send__tells_that_the_other_side_is_gone),
		cmocka_unit_test(test_eng_stream_send__loses_nothing_over_tls),
		cmocka_unit_test(test_eng_http_do__tells_of_a_certificate_that_it_does_not_trust),
		cmocka_unit_test(test_eng_http_do__takes_an_impossible_port_for_a_mistake),
		cmocka_unit_test(test_eng_http_upgrade__keeps_tcp_alive),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
