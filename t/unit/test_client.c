/* SPDX-License-Identifier: MIT */
/* The client against an engine that answers as it likes: versions, containers, files, programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/client.h"
#include "engine/tar.h"

#include "t/unit/fake_engine.c"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PONG                                                                        \
	"HTTP/1.1 200 OK\r\nApi-Version: 1.51\r\nServer: Docker/29.5.1 (linux)\r\n" \
	"Content-Length: 2\r\n\r\nOK"
#define LONG                                                                     \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define JSON_HEAD(status) "HTTP/1.1 " #status " X\r\nContent-Type: application/json\r\n"
#define CLOSING "Connection: close\r\n\r\n"
#define UPGRADED "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
#define CREATED "HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n{\"Id\":\"c0de\"}"

struct world {
	struct fake_engine *fake;
	struct eng_client *client;
	struct sb_err err;
};

static int open_world(
	struct world *w, const struct fake_step *const *scripts, size_t count, int timeout_ms)
{
	*w = (struct world){.err = SB_ERR_INIT};
	eng_interrupted = 0;
	w->fake = fake_start(scripts, count);
	return eng_open(fake_endpoint(w->fake), timeout_ms, &w->client, &w->err);
}

static void close_world(struct world *w)
{
	eng_close(w->client);
	fake_free(w->fake);
	eng_interrupted = 0;
}

#define OPEN(w, steps) \
	assert_int_equal(open_world(w, (const struct fake_step *const[]){steps}, 1, 5000), 0)

static void assert_fails(struct world *w, int rc, enum sb_code code, const char *says)
{
	assert_int_equal(rc, -1);
	assert_int_equal(w->err.code, code);
	assert_non_null(strstr(w->err.text, says));
	sb_err_clear(&w->err);
}

/* ---- opening ---- */

#define PING(headers) "HTTP/1.1 200 OK\r\n" headers "Content-Length: 2\r\n\r\nOK"

static void test_eng_open__settles_kind_and_version(void **state)
{
	static const struct {
		const char *raw, *pinned, *api, *version;
		enum eng_kind kind;
	} rows[] = {
		{PONG, NULL, "1.51", "29.5.1", ENG_DOCKER},
		{PING("API-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n"), NULL, "1.41",
			"20.10.24", ENG_DOCKER},
		{PING("Api-Version: 1.40\r\n"), NULL, "1.40", "", ENG_DOCKER},
		{PING("Api-Version: 1.56\r\nServer: Docker\r\n"), NULL, "1.51", "", ENG_DOCKER},
		{PING("Api-Version: 2.0\r\n"), NULL, "1.51", "", ENG_DOCKER},
		{PING("Api-Version: 1.51\r\n"), "1.44", "1.44", "", ENG_DOCKER},
		{PING("Api-Version: 1.51\r\n"), "", "1.51", "", ENG_DOCKER},
		{PING("Api-Version: 1.41\r\nLibpod-Api-Version: 4.3.1\r\n"
		      "Server: Libpod/4.3.1 (linux)\r\n"),
			NULL, "1.41", "4.3.1", ENG_PODMAN},
		{PING("API-VERSION: 1.44\r\nlibpod-API-version: 5.8.6\r\n"), NULL, "1.44", "",
			ENG_PODMAN},
		{PING("Api-Version: 1.41\r\nServer: Evil/\033[2J1 x\r\n"), NULL, "1.41",
			"\\x1b[2J1", ENG_DOCKER},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST),
			{FAKE_SEND, rows[i].raw, strlen(rows[i].raw), 0}, FAKE_DO(FAKE_STALL)};
		struct world w;

		if (rows[i].pinned)
			setenv("DOCKER_API_VERSION", rows[i].pinned, 1);
		OPEN(&w, steps);
		unsetenv("DOCKER_API_VERSION");
		assert_string_equal(eng_client_version(w.client), rows[i].version);
		assert_string_equal(w.client->api, rows[i].api);
		assert_int_equal(eng_client_kind(w.client), rows[i].kind);
		assert_string_equal(eng_client_kind_name(w.client),
			rows[i].kind == ENG_PODMAN ? "podman" : "docker");
		assert_ptr_equal(eng_client_endpoint(w.client), fake_endpoint(w.fake));
		close_world(&w);
	}
}

static void test_eng_open__refuses_what_is_no_engine(void **state)
{
	static const struct {
		const char *raw, *pinned;
		enum sb_code code;
		const char *says;
	} rows[] = {
		{PING(""), NULL, SB_NO_ENGINE, "neither Docker nor Podman"},
		{PING("Api-Version: x\r\n"), NULL, SB_NO_ENGINE, "neither Docker nor Podman"},
		{PING("Api-Version: \r\n"), NULL, SB_NO_ENGINE, "neither Docker nor Podman"},
		{PING("Api-Version: 1.39\r\n"), NULL, SB_NO_ENGINE, "the oldest supported is 1.40"},
		{PING("Api-Version: 0.99\r\n"), NULL, SB_NO_ENGINE, "the oldest supported is 1.40"},
		{PONG, "new", SB_USAGE, "DOCKER_API_VERSION: 'new'"},
		{JSON_HEAD(500) "\r\n{\"message\":\"oh no\"}", NULL, SB_NO_ENGINE,
			"docker refuses to answer a ping: oh no (HTTP 500)"},
		{JSON_HEAD(403) "\r\n", NULL, SB_NO_ENGINE, "no reason given (HTTP 403)"},
		{"HTTP/1.1 500 X\r\nLibpod-API-Version: 4\r\n\r\ntext\n\n", NULL, SB_NO_ENGINE,
			"podman refuses to answer a ping: text (HTTP 500)"},
		{"HTTP/1.1 302 X\r\n\r\n<html>\033[2J</html>", NULL, SB_NO_ENGINE,
			"<html>\\x1b[2J</html> (HTTP 302)"},
		{"SSH-2.0-OpenSSH\r\n", NULL, SB_NO_ENGINE, "no usable reply"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST),
			{FAKE_SEND, rows[i].raw, strlen(rows[i].raw), 0}, FAKE_DO(FAKE_END)};
		struct world w;
		int rc;

		if (rows[i].pinned)
			setenv("DOCKER_API_VERSION", rows[i].pinned, 1);
		rc = open_world(&w, (const struct fake_step *const[]){steps}, 1, 5000);
		unsetenv("DOCKER_API_VERSION");
		assert_fails(&w, rc, rows[i].code, rows[i].says);
		assert_null(w.client);
		close_world(&w);
	}
}

static void test_eng_open__gives_up_in_time(void **state)
{
	static const struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_STALL)};
	struct world w;

	(void)state;
	assert_fails(&w, open_world(&w, (const struct fake_step *const[]){steps}, 1, 300),
		SB_NO_ENGINE, "did not answer GET /_ping in time");
	close_world(&w);
}

static void test_eng_client__is_bound_by_its_deadline(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_STALL)};
	static const struct fake_step again[] = {
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"), FAKE_DO(FAKE_STALL)};
	json_t *list = NULL;
	struct world w;

	(void)state;
	assert_int_equal(open_world(&w, (const struct fake_step *const[]){steps, again}, 2, 0), 0);
	assert_int_equal(eng_time_left(w.client, 77), 77);
	eng_begin_work(w.client, 300);
	assert_in_range(eng_time_left(w.client, 1000), 0, 300);
	assert_fails(
		&w, eng_container_list(w.client, false, &list, &w.err), SB_NO_ENGINE, "in time");
	assert_fails(&w, eng_container_list(w.client, false, &list, &w.err), SB_NO_ENGINE,
		"out of time");
	eng_begin_work(w.client, 5000);
	assert_int_equal(eng_container_list(w.client, true, &list, &w.err), 0);
	json_decref(list);
	close_world(&w);
}

/* What the user allows for the whole is allowed for a part, and there is no other limit. */
static void test_eng_limit_time__gives_all_that_is_left(void **state)
{
	struct eng_http_req req = {.method = "PUT", .path = "/x", .timeout_ms = 10};
	struct eng_client client = {.deadline = SB_NEVER};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(eng_limit_time(&client, &req, &err), 0);
	assert_int_equal(req.timeout_ms, 10);
	client.deadline = sb_deadline(1000000);
	assert_int_equal(eng_limit_time(&client, &req, &err), 0);
	assert_in_range(req.timeout_ms, 900000, 1000000);
	client.deadline = sb_now_ms();
	assert_int_equal(eng_limit_time(&client, &req, &err), -1);
	assert_non_null(strstr(err.text, "out of time before PUT /x; --timeout allows more"));
}

static void test_eng_client__is_interrupted_unless_it_cleans_up(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"), FAKE_DO(FAKE_STALL)};
	json_t *list = NULL;
	struct world w;

	(void)state;
	OPEN(&w, steps);
	eng_interrupted = 1;
	assert_true(eng_is_interrupted(w.client));
	assert_fails(&w, eng_container_list(w.client, false, &list, &w.err), SB_INTERRUPTED,
		"interrupted");
	eng_begin_cleanup(w.client, 0);
	assert_false(eng_is_interrupted(w.client));
	assert_int_equal(eng_container_list(w.client, false, &list, &w.err), 0);
	json_decref(list);
	eng_begin_work(w.client, 5000);
	assert_true(eng_is_interrupted(w.client));
	close_world(&w);
}

static void test_eng_begin_cleanup__never_gets_more_time(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_STALL)};
	struct world w;

	(void)state;
	OPEN(&w, steps);
	for (int i = 0; i < 2; i++) {
		eng_begin_work(w.client, 60000);
		eng_begin_cleanup(w.client, 15000);
		assert_in_range(eng_time_left(w.client, 60000), 4000, 5000);
		sb_sleep_ms(50);
		eng_begin_cleanup(w.client, 0);
		assert_in_range(eng_time_left(w.client, 60000), 19000, ENG_CLEANUP_MS - 50);
		eng_begin_cleanup(w.client, ENG_CLEANUP_MS);
		assert_int_equal(eng_time_left(w.client, 60000), 0);
	}
	close_world(&w);
}

/* ---- containers ---- */

static void test_eng_container_inspect__finds_one(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG),
		FAKE_ANSWER(JSON_HEAD(200) CLOSING "{\"Id\":\"" ID "\",\"Name\":\"/a\"}"),
		FAKE_DO(FAKE_END)};
	static const char *const names[][2] = {
		{"a/b?c", "a%2Fb%3Fc"}, {"/web", "web"}, {"a..", "a.."}};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(names); i++) {
		struct eng_container c = ENG_CONTAINER_INIT;
		char request[80];
		struct world w;

		OPEN(&w, steps);
		assert_int_equal(eng_container_inspect(w.client, names[i][0], &c, &w.err), 0);
		assert_string_equal(c.name, "a");
		eng_container_release(&c);
		fake_stop(w.fake);
		snprintf(request, sizeof(request), "GET /v1.51/containers/%s/json HTTP/1.1\r\n",
			names[i][1]);
		assert_non_null(strstr(fake_received(w.fake, 0, NULL), request));
		close_world(&w);
	}
}

static void test_eng_container_inspect__tells_why_not(void **state)
{
	static const struct {
		const char *raw;
		enum sb_code code;
		const char *says;
	} rows[] = {
		{JSON_HEAD(404) CLOSING "{\"message\":\"No such container: x\"}", SB_NO_CONTAINER,
			"no container 'x' on docker"},
		{JSON_HEAD(500) CLOSING
			"{\"message\":\"container x does not exist in database: no such container\"}",
			SB_NO_CONTAINER, "no container 'x' on docker"},
		{JSON_HEAD(404) CLOSING "{\"message\":\"multiple IDs found with provided prefix\"}",
			SB_NO_CONTAINER, "'x' is ambiguous"},
		{JSON_HEAD(500) CLOSING
			"{\"cause\":\"x\",\"message\":\"more than one result for x\"}",
			SB_NO_CONTAINER, "'x' is ambiguous"},
		{JSON_HEAD(400) CLOSING "{\"message\":\"client version is too new\"}", SB_FAILED,
			"client version is too new (HTTP 400)"},
		{"HTTP/1.1 400 X\r\n" CLOSING "plain text\n", SB_FAILED, "plain text (HTTP 400)"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"\\u001b[2Jbad\\n\"}", SB_FAILED,
			"\\x1b[2Jbad (HTTP 500)"},
		{JSON_HEAD(500) CLOSING "{\"message\":7}", SB_FAILED, "{\"message\":7} (HTTP 500)"},
		{JSON_HEAD(500) CLOSING, SB_FAILED, "no reason given (HTTP 500)"},
		{JSON_HEAD(200) CLOSING "<html>", SB_FAILED,
			"the engine's answer is not valid JSON"},
		{JSON_HEAD(200) CLOSING, SB_FAILED, "is not valid JSON"},
		{JSON_HEAD(200) CLOSING "[]", SB_FAILED, "without an id"},
		{JSON_HEAD(200) CLOSING "{\"Id\":\"../../x\"}", SB_FAILED, "without an id"},
		{JSON_HEAD(200) "Content-Length: 99\r\n\r\n{\"Id\":", SB_NO_ENGINE,
			"no usable reply"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_REQUEST),
			{FAKE_SEND, rows[i].raw, strlen(rows[i].raw), 0}, FAKE_DO(FAKE_END)};
		struct eng_container c = ENG_CONTAINER_INIT;
		struct world w;

		OPEN(&w, steps);
		assert_fails(&w, eng_container_inspect(w.client, "x", &c, &w.err), rows[i].code,
			rows[i].says);
		assert_null(c.doc);
		close_world(&w);
	}
}

static void test_eng_container_inspect__refuses_names_that_cannot_be(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_STALL)};
	static const char *const names[] = {"", "/", "//web", "web/", "/web/", "a//b", "a/../b",
		"a/.", "./a", "..", "-a", " a"};
	struct eng_container c = ENG_CONTAINER_INIT;
	char name[SB_MAX_NAME + 2];
	struct world w;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	OPEN(&w, steps);
	for (size_t i = 0; i < SB_ARRAY_SIZE(names); i++)
		assert_fails(&w, eng_container_inspect(w.client, names[i], &c, &w.err), SB_USAGE,
			"' is not a valid container name");
	assert_fails(&w, eng_container_inspect(w.client, name, &c, &w.err), SB_USAGE, "aaa");
	close_world(&w);
}

static void test_eng_image_inspect__asks_only_when_it_has_to(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 56\r\n\r\n"
			    "{\"Os\":\"linux\",\"Architecture\":\"arm\\u001b\",\"Variant\":null}"),
		FAKE_ANSWER("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
		FAKE_ANSWER("HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad"),
		FAKE_DO(FAKE_STALL)};
	struct eng_container c = ENG_CONTAINER_INIT, known = ENG_CONTAINER_INIT;
	json_auto_t *doc = json_pack("{s:s, s:s}", "Id", ID, "Image", "sha256:ab");
	json_auto_t *whole = json_pack("{s:s, s:{s:{s:s, s:s}}}", "Id", ID,
		"ImageManifestDescriptor", "platform", "architecture", "amd64", "os", "linux");
	struct eng_image image;
	struct world w;

	(void)state;
	OPEN(&w, steps);
	assert_int_equal(eng_container_parse(ENG_DOCKER, doc, &c, &w.err), 0);
	assert_int_equal(eng_container_parse(ENG_DOCKER, whole, &known, &w.err), 0);
	assert_int_equal(eng_image_inspect(w.client, &known, &image, &w.err), 0);
	assert_string_equal(image.arch, "amd64");
	assert_int_equal(eng_image_inspect(w.client, &c, &image, &w.err), 0);
	assert_string_equal(image.os, "linux");
	assert_string_equal(image.arch, "arm\\x1b");
	assert_string_equal(image.variant, "");
	assert_int_equal(eng_image_inspect(w.client, &c, &image, &w.err), 1);
	assert_fails(&w, eng_image_inspect(w.client, &c, &image, &w.err), SB_FAILED, "bad");
	eng_container_release(&c);
	eng_container_release(&known);
	eng_close(sb_steal(w.client));
	fake_stop(w.fake);
	assert_non_null(strstr(fake_received(w.fake, 0, NULL), "/images/sha256%3Aab/json "));
	close_world(&w);
}

static void test_eng_container_list__needs_a_list(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
		FAKE_ANSWER("HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad"),
		FAKE_DO(FAKE_STALL)};
	json_t *list = NULL;
	struct world w;

	(void)state;
	OPEN(&w, steps);
	assert_fails(
		&w, eng_container_list(w.client, true, &list, &w.err), SB_FAILED, "is not a list");
	assert_fails(&w, eng_container_list(w.client, true, &list, &w.err), SB_FAILED, "bad");
	assert_null(list);
	close_world(&w);
}

/* ---- files ---- */

static void test_eng_archive_stat__reads_the_header(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG),
		/* {"mode":2148532735} */
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nX-Docker-Container-Path-Stat: "
			    "eyJtb2RlIjoyMTQ4NTMyNzM1fQ==\r\n\r\n"),
		FAKE_ANSWER("HTTP/1.1 404 No\r\nContent-Length: 99\r\n\r\n"),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\n\r\n"), FAKE_ANSWER("HTTP/1.1 500 No\r\n\r\n"),
		FAKE_DO(FAKE_STALL)};
	struct eng_stat st;
	struct world w;

	(void)state;
	OPEN(&w, steps);
	assert_int_equal(eng_archive_stat(w.client, ID, "/tmp x", &st, &w.err), 0);
	assert_int_equal(st.type, ENG_DIR);
	assert_int_equal(st.mode, 01777);
	assert_int_equal(eng_archive_stat(w.client, ID, "/no", &st, &w.err), 1);
	assert_fails(&w, eng_archive_stat(w.client, ID, "/odd", &st, &w.err), SB_FAILED,
		"reply does not describe '/odd'");
	assert_fails(
		&w, eng_archive_stat(w.client, ID, "/bad", &st, &w.err), SB_FAILED, "HTTP 500");
	eng_close(sb_steal(w.client));
	fake_stop(w.fake);
	assert_non_null(strstr(fake_received(w.fake, 0, NULL),
		"HEAD /v1.51/containers/" ID "/archive?path=%2Ftmp%20x HTTP/1.1\r\n"));
	close_world(&w);
}

static void test_eng_archive_read__takes_the_beginning_of_a_file(void **state)
{
	static char data[100000];
	static const struct eng_tar_member member = {"f", 0644, data, sizeof(data), NULL};
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 20);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	memset(data, 'd', sizeof(data));
	assert_int_equal(eng_tar_write(&member, 1, &tar, &err), 0);
	for (size_t max = 1; max < 200000; max *= 10) {
		const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_REQUEST),
			FAKE_TEXT("HTTP/1.1 200 OK\r\n" CLOSING), {FAKE_SEND, tar.data, tar.len, 0},
			FAKE_DO(FAKE_END)};
		sb_autobuf struct sb_buf out = SB_BUF_INIT(1 << 20);
		struct world w;

		OPEN(&w, steps);
		assert_int_equal(eng_archive_read(w.client, ID, "/f", max, &out, &w.err), 0);
		assert_int_equal(out.len, max < sizeof(data) ? max : sizeof(data));
		assert_memory_equal(out.data, data, out.len);
		close_world(&w);
	}
}

/* Docker sends a link itself: its status names where it ends, and that is read. */
static void test_eng_archive_read__follows_a_link_once(void **state)
{
	static const struct eng_tar_member member = {"real", 0644, "hello", 5, NULL};
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(1 << 16), out = SB_BUF_INIT(100);
	char link[1536] = "l";
	struct sb_err err = SB_ERR_INIT;
	unsigned sum = 0;
	struct world w;

	(void)state;
	assert_int_equal(eng_tar_write(&member, 1, &tar, &err), 0);
	memcpy(link + 100, tar.data + 100, 24);
	memcpy(link + 124, "00000000000", 12);
	memcpy(link + 136, "00000000000", 12);
	memcpy(link + 148, "        2anything", 17);
	memcpy(link + 257, "ustar\00000", 8);
	for (size_t i = 0; i < 512; i++)
		sum += (unsigned char)link[i];
	snprintf(link + 148, 8, "%06o", sum);
	link[155] = ' ';
	{
		/* {"mode":134218239,"linkTarget":"/real"} */
		const struct fake_step steps[] = {FAKE_ANSWER(PONG),
			FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 1536\r\n\r\n"),
			{FAKE_SEND, link, sizeof(link), 0},
			FAKE_ANSWER("HTTP/1.1 200 OK\r\nX-Docker-Container-Path-Stat: "
				    "eyJtb2RlIjoxMzQyMTgyMzksImxpbmtUYXJnZXQiOiIvcmVhbCJ9\r\n\r\n"),
			FAKE_ANSWER("HTTP/1.1 200 OK\r\n" CLOSING),
			{FAKE_SEND, tar.data, tar.len, 0}, FAKE_DO(FAKE_END)};

		OPEN(&w, steps);
		assert_int_equal(eng_archive_read(w.client, ID, "/l", 100, &out, &w.err), 0);
		assert_string_equal(sb_buf_str(&out), "hello");
		fake_stop(w.fake);
		assert_non_null(strstr(fake_received(w.fake, 0, NULL), "archive?path=%2Freal "));
		close_world(&w);
	}
}

static void test_eng_archive_read__tells_of_what_is_no_file(void **state)
{
	static const struct {
		const char *raw;
		int rc;
		const char *says;
	} rows[] = {
		{"HTTP/1.1 404 No\r\n" CLOSING "{\"message\":\"no\"}", 1, NULL},
		{"HTTP/1.1 200 OK\r\n" CLOSING, 1, NULL}, /* Podman, below /proc */
		{"HTTP/1.1 500 No\r\n" CLOSING "bad", -1, "bad (HTTP 500)"},
		{"HTTP/1.1 200 OK\r\n" CLOSING "<html>not a tar at all</html>", -1,
			"archive cannot be read"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\nshort", -1, "no usable reply"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_REQUEST),
			{FAKE_SEND, rows[i].raw, strlen(rows[i].raw), 0}, FAKE_DO(FAKE_END)};
		sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
		struct world w;
		int rc;

		OPEN(&w, steps);
		rc = eng_archive_read(w.client, ID, "/f", 100, &out, &w.err);
		assert_int_equal(rc, rows[i].rc);
		assert_int_equal(out.len, 0);
		if (rows[i].says)
			assert_non_null(strstr(w.err.text, rows[i].says));
		close_world(&w);
	}
}

static void test_eng_archive_put__classifies_refusals(void **state)
{
	static const struct {
		const char *raw;
		enum sb_code code;
		const char *says;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\n" CLOSING, SB_OK, NULL},
		{JSON_HEAD(500) CLOSING "{\"message\":\"container rootfs is marked read-only\"}",
			SB_UNSUPPORTED, "its file system is read-only (docker: container rootfs"},
		{JSON_HEAD(400) CLOSING "{\"message\":\"mounted volume is marked read-only\"}",
			SB_UNSUPPORTED, "read-only"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"mkdir /x: Read-only file system\"}",
			SB_UNSUPPORTED, "read-only"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"write /x: no space left on device\"}",
			SB_UNSUPPORTED, "no space left"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"" LONG LONG LONG ": no space left\"}",
			SB_UNSUPPORTED, "no space left (docker: " LONG},
		{JSON_HEAD(500) CLOSING "{\"message\":\"disk quota exceeded\"}", SB_UNSUPPORTED,
			"quota"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"extraction point is not a directory\"}",
			SB_UNSUPPORTED, "part of the path is not a directory"},
		{JSON_HEAD(404) CLOSING "{\"message\":\"No such container: x\"}", SB_NO_CONTAINER,
			"it no longer exists"},
		{JSON_HEAD(404) CLOSING
			"{\"message\":\"Could not find the file / in container x\"}",
			SB_FAILED, "its root could not be opened"},
		{JSON_HEAD(404) CLOSING "<html>?</html>", SB_NO_CONTAINER, "(HTTP 404)"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"unexpected EOF\"}", SB_FAILED,
			"unexpected EOF (HTTP 500)"},
		{JSON_HEAD(403) CLOSING, SB_FAILED, "(HTTP 403)"},
		{"garbage\r\n\r\n", SB_NO_ENGINE, "PUT"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * SB_ARRAY_SIZE(rows); i++) {
		const char *raw = rows[i / 2].raw;
		/* Once after the whole body, once before any of it. */
		const struct fake_step steps[] = {FAKE_ANSWER(PONG),
			FAKE_DO(i % 2 && rows[i / 2].code != SB_OK ? FAKE_HEAD : FAKE_REQUEST),
			{FAKE_SEND, raw, strlen(raw), 0}, FAKE_DO(FAKE_HALF), FAKE_DO(FAKE_STALL)};
		static char tar[1 << 20];
		struct world w;
		int rc;

		OPEN(&w, steps);
		rc = eng_archive_put(w.client, ID, "/", tar, sizeof(tar), &w.err);
		if (rows[i / 2].code == SB_OK)
			assert_int_equal(rc, 0);
		else
			assert_fails(&w, rc, rows[i / 2].code, rows[i / 2].says);
		close_world(&w);
	}
}

/* ---- programs ---- */

static const char *const argv[] = {"/bin/x", "a\"b", NULL};

static void test_eng_exec_start__insists_on_a_plain_id(void **state)
{
	static const char *const bodies[] = {"{}", "[]", "{\"Id\":null}", "{\"Id\":\"\"}",
		"{\"Id\":\"ABCDEF\"}", "{\"Id\":\"../ab\"}", "{\"Id\":\"ab/../x\"}",
		"{\"Id\":\"ab cd\"}", "{\"Id\":\"ab\\r\\n\"}", "{\"id\":\"ab\"}",
		"{\"Id\":\"" ID ID "0\"}"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(bodies); i++) {
		const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_REQUEST),
			FAKE_TEXT(JSON_HEAD(201) CLOSING),
			{FAKE_SEND, bodies[i], strlen(bodies[i]), 0}, FAKE_DO(FAKE_END)};
		struct eng_exec *exec = NULL;
		struct world w;

		OPEN(&w, steps);
		assert_fails(&w, eng_exec_start(w.client, ID, ENG_AS_ROOT, argv, &exec, &w.err),
			SB_FAILED, "created an exec, but reported no id");
		assert_null(exec);
		close_world(&w);
	}
}

static void test_eng_exec_start__tells_why_not(void **state)
{
	static const struct {
		const char *create, *start;
		enum sb_code code;
		const char *says;
	} rows[] = {
		{JSON_HEAD(404) CLOSING "{\"message\":\"No such container\"}", NULL,
			SB_NO_CONTAINER, "No such container (HTTP 404)"},
		{JSON_HEAD(409) CLOSING "{\"message\":\"container x is paused\"}", NULL,
			SB_NO_CONTAINER, "is paused (HTTP 409)"},
		{JSON_HEAD(500) CLOSING "{\"message\":\"can only create exec sessions on running "
					"containers: container state improper\"}",
			NULL, SB_NO_CONTAINER, "on running containers"},
		{JSON_HEAD(400) CLOSING "{\"message\":\"unable to find user\"}", NULL,
			SB_UNSUPPORTED, "unable to find user"},
		{JSON_HEAD(200) CLOSING "{\"Id\":\"c0de\"}", NULL, SB_FAILED, "(HTTP 200)"},
		{JSON_HEAD(201) CLOSING "garbage", NULL, SB_FAILED, "not valid JSON"},
		{CREATED, JSON_HEAD(404) "\r\n{\"message\":\"No such exec instance\"}",
			SB_NO_CONTAINER, "No such exec instance"},
		{CREATED, JSON_HEAD(409) "\r\n{\"message\":\"is not running\"}", SB_NO_CONTAINER,
			"is not running (HTTP 409)"},
		{CREATED, JSON_HEAD(500) "\r\n{\"message\":\"oh\"}", SB_FAILED, "oh (HTTP 500)"},
		{CREATED, "garbage\r\n\r\n", SB_NO_ENGINE, "is not HTTP"},
		{CREATED, "", SB_NO_ENGINE, "closed the connection without a reply"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const char *raw = rows[i].start ? rows[i].start : "";
		const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_DO(FAKE_REQUEST),
			{FAKE_SEND, rows[i].create, strlen(rows[i].create), 0},
			FAKE_DO(rows[i].start ? FAKE_STALL : FAKE_END)};
		const struct fake_step start[] = {
			FAKE_DO(FAKE_REQUEST), {FAKE_SEND, raw, strlen(raw), 0}, FAKE_DO(FAKE_END)};
		struct eng_exec *exec = NULL;
		struct world w;

		assert_int_equal(
			open_world(&w, (const struct fake_step *const[]){steps, start}, 2, 5000),
			0);
		assert_fails(&w, eng_exec_start(w.client, ID, ENG_AS_ROOT, argv, &exec, &w.err),
			rows[i].code, rows[i].says);
		assert_null(exec);
		close_world(&w);
	}
}

/* Go sends what is longer than 2 KiB in chunks. */
static void test_eng_exec_start__reads_a_chunked_refusal(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {
		FAKE_ANSWER(JSON_HEAD(409) "Transfer-Encoding: chunked\r\n\r\n"
					   "10\r\n{\"message\":\"is n\r\n"
					   "c\r\not running\"}\r\n0\r\n\r\n"),
		FAKE_DO(FAKE_STALL)};
	struct eng_exec *exec = NULL;
	struct world w;

	(void)state;
	assert_int_equal(
		open_world(&w, (const struct fake_step *const[]){steps, start}, 2, 5000), 0);
	assert_fails(&w, eng_exec_start(w.client, ID, ENG_AS_ROOT, argv, &exec, &w.err),
		SB_NO_CONTAINER, "container: is not running (HTTP 409)");
	close_world(&w);
}

static struct eng_exec *start_exec(struct world *w, const struct fake_step *steps,
	const struct fake_step *start, int timeout_ms)
{
	struct eng_exec *exec = NULL;

	assert_int_equal(
		open_world(w, (const struct fake_step *const[]){steps, start}, 2, timeout_ms), 0);
	assert_int_equal(eng_exec_start(w->client, ID, ENG_AS_ROOT, argv, &exec, &w->err), 0);
	return exec;
}

static void test_eng_exec__runs_a_program_to_its_end(void **state)
{
	static const char frames[] = UPGRADED "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3err";
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n"
			    "{\"Running\":true,\"ExitCode\":null}"),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n"
			    "{\"Running\":false,\"ExitCode\":null}"),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n"
			    "{\"Running\":true,\"ExitCode\":0}"),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n"
			    "{\"Running\":false,\"ExitCode\":127}"),
		FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {
		FAKE_ANSWER(frames), {FAKE_TAKE, NULL, 0, 5}, FAKE_DO(FAKE_END)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	const char *got;
	struct world w;
	int status = -1;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);

	(void)state;
	assert_true(eng_exec_fd(exec) >= 0);
	assert_int_equal(eng_exec_read(exec, 3000, &out, &w.err), 0);
	assert_string_equal(sb_buf_str(&out), "hello");
	assert_int_equal(eng_exec_read(exec, 50, &out, &w.err), 0);
	assert_string_equal(sb_buf_str(eng_exec_stderr(exec)), "err");
	assert_int_equal(eng_exec_write(exec, "input", 5, &w.err), 0);
	assert_int_equal(eng_exec_read(exec, -1, &out, &w.err), 1);
	assert_string_equal(sb_buf_str(&out), "hello");
	assert_int_equal(eng_exec_write(exec, "more", 4, &w.err), 1);
	assert_int_equal(eng_exec_status(exec, &status, &w.err), 0);
	assert_int_equal(status, 127);
	eng_exec_close(exec);
	eng_close(sb_steal(w.client));
	fake_stop(w.fake);
	got = fake_received(w.fake, 0, NULL);
	assert_non_null(strstr(got, "POST /v1.51/containers/" ID "/exec HTTP/1.1\r\n"));
	assert_non_null(strstr(got, "\"User\":\"0:0\",\"WorkingDir\":\"/\""));
	assert_non_null(strstr(got, "\"Cmd\":[\"/bin/x\",\"a\\\"b\"]"));
	assert_null(strstr(got, "Privileged"));
	assert_non_null(strstr(got, "GET /v1.51/exec/c0de/json HTTP/1.1\r\n"));
	assert_memory_equal(fake_received(w.fake, 1, NULL), "POST /v1.51/exec/c0de/start ", 28);
	close_world(&w);
}

static void test_eng_exec_start__can_leave_the_user_to_the_engine(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED), FAKE_DO(FAKE_STALL)};
	struct eng_exec *exec = NULL;
	const char *got;
	struct world w;

	(void)state;
	assert_int_equal(
		open_world(&w, (const struct fake_step *const[]){steps, start}, 2, 5000), 0);
	assert_int_equal(eng_exec_start(w.client, ID, ENG_AS_USER, argv, &exec, &w.err), 0);
	eng_exec_close(exec);
	eng_close(sb_steal(w.client));
	fake_stop(w.fake);
	got = fake_received(w.fake, 0, NULL);
	assert_non_null(strstr(got, "\"WorkingDir\":\"/\""));
	assert_null(strstr(got, "\"User\""));
	close_world(&w);
}

static void test_eng_exec_read__tells_of_a_broken_stream(void **state)
{
	static const struct {
		const char *raw;
		size_t len, max;
		enum sb_code code;
		const char *says;
	} rows[] = {
		{"OCI runtime exec failed", 23, 100, SB_NO_ENGINE, "garbled"},
		{"\1\0\0\0\0\0\0\5hello", 13, 3, SB_FAILED, "more than the permitted 3 bytes"},
		{"\1\0\0", 3, 100, SB_NO_ENGINE, "closed the connection in the middle"},
		{"\2\0\0\0\0\0\0\5hell", 12, 100, SB_NO_ENGINE,
			"closed the connection in the middle"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const struct fake_step steps[] = {
			FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
		const struct fake_step start[] = {FAKE_ANSWER(UPGRADED),
			{FAKE_SEND, rows[i].raw, rows[i].len, 0}, FAKE_DO(FAKE_END)};
		sb_autobuf struct sb_buf out = SB_BUF_INIT(rows[i].max);
		struct world w;
		struct eng_exec *exec = start_exec(&w, steps, start, 5000);

		assert_fails(
			&w, eng_exec_read(exec, 3000, &out, &w.err), rows[i].code, rows[i].says);
		eng_exec_close(exec);
		close_world(&w);
	}
}

struct read_job {
	struct eng_exec *exec;
	struct sb_buf *out;
	struct sb_err *err;
	int rc;
};

static void *read_exec(void *ctx)
{
	struct read_job *job = ctx;

	job->rc = eng_exec_read(job->exec, -1, job->out, job->err);
	return NULL;
}

/* As the main thread's is after "ulimit -s 64". */
static void test_eng_exec_read__does_with_a_small_stack(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {
		FAKE_ANSWER(UPGRADED "\1\0\0\0\0\0\0\5hello"), FAKE_DO(FAKE_END)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	struct world w;
	struct read_job job = {start_exec(&w, steps, start, 5000), &out, &w.err, -1};
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 64 << 10), 0);
	assert_int_equal(pthread_create(&thread, &attr, read_exec, &job), 0);
	pthread_attr_destroy(&attr);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(job.rc, 0);
	assert_string_equal(sb_buf_str(&out), "hello");
	eng_exec_close(job.exec);
	close_world(&w);
}

static void test_eng_exec_read__keeps_the_end_of_stderr(void **state)
{
	static const char frame[] = "\2\0\0\0\0\0\0\12abcdefghi\n";
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED),
		{FAKE_SEND, frame, sizeof(frame) - 1, 20000}, FAKE_TEXT("\2\0\0\0\0\0\0\3end"),
		FAKE_DO(FAKE_END)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	const struct sb_buf *text;
	struct world w;
	struct eng_exec *exec = start_exec(&w, steps, start, 60000);

	(void)state;
	assert_int_equal(eng_exec_read(exec, -1, &out, &w.err), 1);
	text = eng_exec_stderr(exec);
	assert_int_equal(text->len, SB_MAX_FRAME_TEXT);
	assert_string_equal(text->data + text->len - 8, "fghi\nend");
	assert_int_equal(out.len, 0);
	eng_exec_close(exec);
	close_world(&w);
}

static void test_eng_exec_read__gives_up_in_time(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED), FAKE_DO(FAKE_STALL)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	struct world w;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);

	(void)state;
	eng_begin_work(w.client, 300);
	assert_int_equal(eng_exec_read(exec, 50, &out, &w.err), 0);
	assert_fails(&w, eng_exec_read(exec, -1, &out, &w.err), SB_NO_SERVICE, "in time");
	eng_exec_close(exec);
	close_world(&w);
}

/*
 * What never pauses must not escape the deadline or the interrupt: a program in the container may
 * write to stderr for ever. The fake engine ends it after 5 s, which shows as the end of stream.
 */
static void test_eng_exec_read__is_not_held_by_endless_stderr(void **state)
{
	static const char frame[] = "\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\10abcdefgh";
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static char flood[(1 << 20) / 24 * 24]; /* much at once: the client shall never wait */
	static const struct fake_step start[] = {
		FAKE_ANSWER(UPGRADED), {FAKE_FLOOD, flood, sizeof(flood), 0}, FAKE_DO(FAKE_END)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	struct eng_exec *exec;
	struct world w;

	(void)state;
	for (size_t at = 0; at < sizeof(flood); at += sizeof(frame) - 1)
		memcpy(flood + at, frame, sizeof(frame) - 1);
	for (int i = 0; i < 2; i++) {
		exec = start_exec(&w, steps, start, 20000);
		eng_interrupted = i;
		eng_begin_work(w.client, i ? 20000 : 300);
		assert_fails(&w, eng_exec_read(exec, -1, &out, &w.err),
			i ? SB_INTERRUPTED : SB_NO_SERVICE, i ? "interrupted" : "in time");
		eng_exec_close(exec);
		close_world(&w);
	}
}

/* Nor may what never pauses on stdout, which is given to the caller piece by piece. */
static void test_eng_exec_read__is_not_held_by_endless_stdout(void **state)
{
	static const char frame[] = "\1\0\0\0\0\0\0\10abcdefgh";
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED),
		{FAKE_FLOOD, frame, sizeof(frame) - 1, 0}, FAKE_DO(FAKE_END)};
	struct world w;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct eng_exec *exec = start_exec(&w, steps, start, 20000);
		sb_autobuf struct sb_buf out = SB_BUF_INIT(1 << 20);
		int rc;

		eng_begin_work(w.client, i ? 20000 : 300);
		do {
			sb_buf_reset(&out);
			rc = eng_exec_read(exec, -1, &out, &w.err);
			eng_interrupted = i;
		} while (rc == 0);
		assert_fails(
			&w, rc, i ? SB_INTERRUPTED : SB_NO_SERVICE, i ? "interrupted" : "in time");
		eng_exec_close(exec);
		close_world(&w);
	}
}

/* Over TLS, poll does not see what follows a frame's header, or a piece of stderr. */
static void test_eng_exec_take__tells_of_what_is_not_for_stdout(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED), {FAKE_TAKE, NULL, 0, 1},
		FAKE_TEXT("\1\0\0\0\0\0\0\2"), {FAKE_TAKE, NULL, 0, 1},
		FAKE_TEXT("hi\2\0\0\0\0\0\0\1"), {FAKE_TAKE, NULL, 0, 1}, FAKE_TEXT("x"),
		{FAKE_TAKE, NULL, 0, 1}, FAKE_DO(FAKE_END)};
	static const struct {
		int ret;
		bool came;
		const char *out;
	} rows[] = {{0, true, ""}, {0, true, "hi"}, {0, true, ""}, {1, false, ""}};
	struct world w;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);
	bool came;

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
		struct pollfd slot = {.fd = eng_exec_fd(exec), .events = POLLIN};

		assert_int_equal(eng_exec_take(exec, &out, &came, &w.err), 0);
		assert_false(came);
		assert_int_equal(eng_exec_write(exec, ".", 1, &w.err), 0);
		assert_int_equal(poll(&slot, 1, 3000), 1);
		assert_int_equal(eng_exec_take(exec, &out, &came, &w.err), rows[i].ret);
		assert_int_equal(came, rows[i].came);
		assert_string_equal(sb_buf_str(&out), rows[i].out);
	}
	eng_exec_close(exec);
	close_world(&w);
}

static void test_eng_exec_take__tells_of_a_stream_that_is_cut_off(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {
		FAKE_ANSWER(UPGRADED "\1\0\0\0\0\0\0\3hi"), FAKE_DO(FAKE_END)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	struct world w;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);
	bool came;
	int rc;

	(void)state;
	while ((rc = eng_exec_take(exec, &out, &came, &w.err)) == 0)
		sb_sleep_ms(1);
	assert_fails(&w, rc, SB_NO_ENGINE, "in the middle of the program's output");
	assert_string_equal(sb_buf_str(&out), "hi");
	eng_exec_close(exec);
	close_world(&w);
}

static void test_eng_exec_write__gives_up_in_time(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	/* Neither reads nor goes: waits for a flood that the client never takes. */
	static const struct fake_step start[] = {
		FAKE_ANSWER(UPGRADED), {FAKE_FLOOD, "\2\0\0\0\0\0\0\0", 8, 0}, FAKE_DO(FAKE_END)};
	static char data[4 << 20];
	struct world w;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);

	(void)state;
	eng_begin_work(w.client, 300);
	assert_fails(
		&w, eng_exec_write(exec, data, sizeof(data), &w.err), SB_NO_ENGINE, "out of time");
	eng_exec_close(exec);
	eng_exec_close(NULL);
	close_world(&w);
}

/* It answers when it has taken some, and neither takes the rest nor goes. */
static void test_eng_exec_write_until__ends_with_an_answer(void **state)
{
	static const struct fake_step steps[] = {
		FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED), FAKE_DO(FAKE_STALL)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED), {FAKE_TAKE, NULL, 0, 1},
		FAKE_DO(FAKE_IDLE), FAKE_TEXT("\1\0\0\0\0\0\0\2hi"),
		{FAKE_FLOOD, "\2\0\0\0\0\0\0\0", 8, 0}, FAKE_DO(FAKE_END)};
	static char data[8 << 20];
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	struct world w;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);

	(void)state;
	assert_int_equal(eng_exec_write_until(exec, data, sizeof(data), &out, &w.err), 1);
	assert_string_equal(sb_buf_str(&out), "hi");
	eng_exec_close(exec);
	close_world(&w);
}

static void test_eng_exec_status__tells_why_not(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(CREATED),
		FAKE_ANSWER("HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone"),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{"),
		FAKE_ANSWER("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"), FAKE_DO(FAKE_END)};
	static const struct fake_step start[] = {FAKE_ANSWER(UPGRADED), FAKE_DO(FAKE_END)};
	struct world w;
	int status;
	struct eng_exec *exec = start_exec(&w, steps, start, 5000);

	(void)state;
	assert_fails(&w, eng_exec_status(exec, &status, &w.err), SB_NO_CONTAINER, "gone");
	assert_fails(&w, eng_exec_status(exec, &status, &w.err), SB_FAILED, "not valid JSON");
	/* No state at all is asked for again, by when this engine is gone. */
	assert_fails(&w, eng_exec_status(exec, &status, &w.err), SB_NO_ENGINE, "the engine at");
	eng_exec_close(exec);
	close_world(&w);
}

static int group_setup(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	unsetenv("DOCKER_API_VERSION");
	return eng_global_init(&err);
}

/* ---- containers of our own ---- */

#define EMPTY(status) "HTTP/1.1 " #status " X\r\nContent-Length: 0\r\n\r\n"
#define MADE JSON_HEAD(201) "Content-Length: 73\r\n\r\n{\"Id\":\"" ID "\"}"
#define OTHER_MADE JSON_HEAD(201) "Content-Length: 13\r\n\r\n{\"Id\":\"../x\"}"

static void test_eng_container_create__gives_the_id(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(MADE),
		FAKE_ANSWER(EMPTY(204)), FAKE_ANSWER(EMPTY(409)), FAKE_ANSWER(OTHER_MADE),
		FAKE_ANSWER(EMPTY(500)), FAKE_ANSWER(EMPTY(500)), FAKE_DO(FAKE_END)};
	json_auto_t *spec = json_pack("{s:s}", "Image", "x");
	struct world w;
	char id[65] = "";

	(void)state;
	OPEN(&w, steps);
	assert_int_equal(eng_container_create(w.client, "a&b", spec, id, &w.err), 0);
	assert_string_equal(id, ID);
	assert_int_equal(eng_container_start(w.client, id, SB_UNSUPPORTED, &w.err), 0);
	assert_int_equal(eng_container_create(w.client, "n", spec, id, &w.err), 1);
	assert_fails(&w, eng_container_create(w.client, "n", spec, id, &w.err), SB_FAILED, "no id");
	assert_fails(&w, eng_container_create(w.client, "n", spec, id, &w.err), SB_UNSUPPORTED,
		"refuses to create a container");
	assert_fails(&w, eng_container_start(w.client, id, SB_UNSUPPORTED, &w.err), SB_UNSUPPORTED,
		"refuses to start the container");
	fake_stop(w.fake);
	assert_non_null(strstr(fake_received(w.fake, 0, NULL), "/containers/create?name=a%26b "));
	assert_non_null(strstr(fake_received(w.fake, 0, NULL), "{\"Image\":\"x\"}"));
	close_world(&w);
}

/* The engine may be at it already, by itself. */
static void test_eng_container_delete__waits_until_it_is_gone(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(EMPTY(204)),
		FAKE_ANSWER(EMPTY(404)), FAKE_ANSWER(EMPTY(409)), FAKE_ANSWER(EMPTY(409)),
		FAKE_ANSWER(EMPTY(404)), FAKE_ANSWER(EMPTY(500)), FAKE_DO(FAKE_END)};
	struct world w;

	(void)state;
	OPEN(&w, steps);
	for (int i = 0; i < 3; i++)
		assert_int_equal(eng_container_delete(w.client, ID, &w.err), 0);
	assert_fails(&w, eng_container_delete(w.client, ID, &w.err), SB_FAILED,
		"refuses to delete a container");
	fake_stop(w.fake);
	assert_non_null(strstr(
		fake_received(w.fake, 0, NULL), "DELETE /v1.51/containers/" ID "?force=1&v=1 "));
	close_world(&w);
}

static void test_eng_exec_attach__speaks_with_the_container_itself(void **state)
{
	static const struct fake_step plain[] = {FAKE_ANSWER(PONG),
		FAKE_ANSWER(JSON_HEAD(200) "Content-Length: 40\r\n\r\n"
					   "{\"State\":{\"Running\":false,\"ExitCode\":7}}"),
		FAKE_DO(FAKE_END)};
	static const struct fake_step stream[] = {FAKE_ANSWER(UPGRADED "\1\0\0\0\0\0\0\2hi"),
		{FAKE_TAKE, NULL, 0, 3}, FAKE_DO(FAKE_END)};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(100);
	struct eng_exec *exec = NULL;
	struct world w;
	int status;

	(void)state;
	assert_int_equal(
		open_world(&w, (const struct fake_step *const[]){plain, stream}, 2, 5000), 0);
	assert_int_equal(eng_exec_attach(w.client, ID, &exec, &w.err), 0);
	assert_int_equal(eng_exec_read(exec, 1000, &out, &w.err), 0);
	assert_string_equal(sb_buf_str(&out), "hi");
	assert_int_equal(eng_exec_write(exec, "you", 3, &w.err), 0);
	assert_int_equal(eng_exec_read(exec, 1000, &out, &w.err), 1);
	assert_int_equal(eng_exec_status(exec, &status, &w.err), 0);
	assert_int_equal(status, 7);
	eng_exec_close(exec);
	fake_stop(w.fake);
	assert_non_null(strstr(fake_received(w.fake, 1, NULL),
		"POST /v1.51/containers/" ID "/attach?stream=1&stdin=1&stdout=1&stderr=1 "));
	assert_non_null(strstr(fake_received(w.fake, 0, NULL), "/containers/" ID "/json "));
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_open__settles_kind_and_version),
		cmocka_unit_test(test_eng_open__refuses_what_is_no_engine),
		cmocka_unit_test(test_eng_open__gives_up_in_time),
		cmocka_unit_test(test_eng_client__is_bound_by_its_deadline),
		cmocka_unit_test(test_eng_limit_time__gives_all_that_is_left),
		cmocka_unit_test(test_eng_client__is_interrupted_unless_it_cleans_up),
		cmocka_unit_test(test_eng_begin_cleanup__never_gets_more_time),
		cmocka_unit_test(test_eng_container_inspect__finds_one),
		cmocka_unit_test(test_eng_container_inspect__tells_why_not),
		cmocka_unit_test(test_eng_container_inspect__refuses_names_that_cannot_be),
		cmocka_unit_test(test_eng_image_inspect__asks_only_when_it_has_to),
		cmocka_unit_test(test_eng_container_list__needs_a_list),
		cmocka_unit_test(test_eng_archive_stat__reads_the_header),
		cmocka_unit_test(test_eng_archive_read__takes_the_beginning_of_a_file),
		cmocka_unit_test(test_eng_archive_read__follows_a_link_once),
		cmocka_unit_test(test_eng_archive_read__tells_of_what_is_no_file),
		cmocka_unit_test(test_eng_archive_put__classifies_refusals),
		cmocka_unit_test(test_eng_exec_start__insists_on_a_plain_id),
		cmocka_unit_test(test_eng_exec_start__tells_why_not),
		cmocka_unit_test(test_eng_exec_start__reads_a_chunked_refusal),
		cmocka_unit_test(test_eng_exec_start__can_leave_the_user_to_the_engine),
		cmocka_unit_test(test_eng_exec__runs_a_program_to_its_end),
		cmocka_unit_test(test_eng_exec_read__tells_of_a_broken_stream),
		cmocka_unit_test(test_eng_exec_read__does_with_a_small_stack),
		cmocka_unit_test(test_eng_exec_read__keeps_the_end_of_stderr),
		cmocka_unit_test(test_eng_exec_read__gives_up_in_time),
		cmocka_unit_test(test_eng_exec_read__is_not_held_by_endless_stderr),
		cmocka_unit_test(test_eng_exec_read__is_not_held_by_endless_stdout),
		cmocka_unit_test(test_eng_exec_take__tells_of_what_is_not_for_stdout),
		cmocka_unit_test(test_eng_exec_take__tells_of_a_stream_that_is_cut_off),
		cmocka_unit_test(test_eng_exec_write__gives_up_in_time),
		cmocka_unit_test(test_eng_exec_write_until__ends_with_an_answer),
		cmocka_unit_test(test_eng_exec_status__tells_why_not),
		cmocka_unit_test(test_eng_container_create__gives_the_id),
		cmocka_unit_test(test_eng_container_delete__waits_until_it_is_gone),
		cmocka_unit_test(test_eng_exec_attach__speaks_with_the_container_itself),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
