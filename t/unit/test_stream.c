/* SPDX-License-Identifier: MIT */
/* Upgraded connections, what comes instead of them, and what they carry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/stream.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/wait.h>

#include "t/unit/http_world.c"

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

static void test_eng_stream_open__gives_a_stream(void **state)
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

static void test_eng_stream_open__hands_over_a_refusal(void **state)
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

static void test_eng_stream_open__refuses_what_is_not_http(void **state)
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

static void test_eng_stream_open__bounds_the_answer(void **state)
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

static void test_eng_stream_open__gives_up_in_time(void **state)
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

static void test_eng_stream_open__gives_up_a_silent_handshake(void **state)
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
	/* Clocks round; and the connection itself has 5 s. */
	assert_in_range(sb_now_ms() - start, 290, 4999);
	eng_http_free(w.http);
	eng_http_reply_release(&w.reply);
	eng_endpoint_release(&endpoint);
}

static void test_eng_stream_open__stops_when_interrupted(void **state)
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

/* Where there is no limit, that is what tells that the other machine is gone. */
static void test_eng_stream_open__keeps_tcp_alive(void **state)
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
		cmocka_unit_test(test_eng_stream_recv__takes_a_reset_for_the_end),
		cmocka_unit_test(test_eng_stream_open__gives_a_stream),
		cmocka_unit_test(test_eng_stream_open__hands_over_a_refusal),
		cmocka_unit_test(test_eng_stream_open__refuses_what_is_not_http),
		cmocka_unit_test(test_eng_stream_open__bounds_the_answer),
		cmocka_unit_test(test_eng_stream_open__gives_up_in_time),
		cmocka_unit_test(test_eng_stream_open__gives_up_a_silent_handshake),
		cmocka_unit_test(test_eng_stream_open__stops_when_interrupted),
		cmocka_unit_test(test_eng_stream_send__tells_that_the_other_side_is_gone),
		cmocka_unit_test(test_eng_stream_send__loses_nothing_over_tls),
		cmocka_unit_test(test_eng_stream_open__keeps_tcp_alive),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
