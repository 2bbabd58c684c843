/* SPDX-License-Identifier: MIT */
/* wrap: nanosleep */
/*
 * A visit to a container where what stands ready is not our program, or nothing can be run. Who
 * sleeps does not wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/visit.h"

#include "payloads/lib/wire.h"
#include "t/unit/fake_engine.c"
#include "t/unit/script.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PONG                                                                        \
	"HTTP/1.1 200 OK\r\nApi-Version: 1.51\r\nServer: Docker/29.5.1 (linux)\r\n" \
	"Content-Length: 2\r\n\r\nOK"
/* {"mode":493,"size":7} */
#define KEPT                                                                        \
	"HTTP/1.1 200 OK\r\nX-Docker-Container-Path-Stat: eyJtb2RlIjo0OTMsInNpemUi" \
	"Ojd9\r\n\r\n"
#define MADE "HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n{\"Id\":\"c0de\"}"
#define UPGRADED "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
#define FOUND                                                         \
	"HTTP/1.1 200 OK\r\nContent-Length: 108\r\n\r\n{\"Id\":\"" ID \
	"\",\"State\":{\"Status\":\"running\"},\"x\":1}"
#define PUT_DONE "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define PUT_LOST                                               \
	"HTTP/1.1 404 Not Found\r\nContent-Length: 54\r\n\r\n" \
	"{\"message\":\"Could not find the file / in container x\"}"
#define REFUSED "HTTP/1.1 409 Conflict\r\nContent-Length: 20\r\n\r\n{\"message\":\"no way\"}"

int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
	(void)length, (void)left;
	return 0;
}

static json_t *question(const struct carry *carry, const void *ctx)
{
	(void)carry, (void)ctx;
	return json_object();
}

static int bring(struct carry *carry, void *ctx, struct sb_err *err)
{
	(void)ctx;
	return carry_bring(carry, WHEN_ALWAYS, err);
}

/* Fails, as no script has what it takes to succeed. */
static struct fake_engine *visit(
	const struct fake_step *const *scripts, size_t count, const char *keep, struct sb_err *err)
{
	static const struct errand errand = {"status", question, bring, NULL, NULL, NULL};
	struct fake_engine *fake = fake_start(scripts, count);
	struct eng_client *client = NULL;
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	struct plan plan = PLAN_INIT;
	json_t *receipt;

	*err = (struct sb_err)SB_ERR_INIT;
	assert_int_equal(eng_open(fake_endpoint(fake), 60000, &client, err), 0);
	plan.client = client;
	plan.container.id = ID;
	plan.container.state = "running";
	plan.engine_arch = "amd64";
	plan.home.dir = "/";
	plan.payload.data = "program";
	plan.payload.size = 7;
	memset(plan.payload.sha256, 'a', 64);
	strcpy(plan.home_path, "/.sbinject");
	strcpy(plan.keep, keep);
	assert_int_equal(visit_ask(&plan, false, &errand, &visit, &receipt, err), -1);
	visit_end(&visit);
	eng_close(client);
	fake_stop(fake);
	return fake;
}

static void test_visit_ask__tells_what_it_cannot_delete(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(PUT_DONE),
		FAKE_ANSWER(REFUSED), FAKE_ANSWER(FOUND), FAKE_ANSWER(PUT_DONE),
		FAKE_ANSWER(REFUSED), FAKE_DO(FAKE_STALL)};
	struct fake_engine *fake;
	struct sb_err err;

	(void)state;
	fake = visit((const struct fake_step *const[]){steps}, 1, "", &err);
	assert_int_equal(err.code, SB_NO_CONTAINER);
	assert_non_null(strstr(err.text, "'/.sbinject' may be left inside"));
	fake_free(fake);
}

/* Docker cannot always open the root of a container into which others look. */
static void test_visit_ask__uploads_again_what_docker_could_not_take(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(PUT_LOST),
		FAKE_ANSWER(FOUND), FAKE_ANSWER(PUT_DONE), FAKE_ANSWER(REFUSED), FAKE_ANSWER(FOUND),
		FAKE_ANSWER(PUT_DONE), FAKE_ANSWER(REFUSED), FAKE_DO(FAKE_STALL)};
	struct fake_engine *fake;
	struct sb_err err;

	(void)state;
	fake = visit((const struct fake_step *const[]){steps}, 1, "", &err);
	assert_null(strstr(err.text, "its root could not be opened"));
	assert_int_equal(script_count_sent(fake, 0, "PUT /v1.51/containers/" ID "/archive"), 3);
	fake_free(fake);
}

/* What stands ready ends without a word, or says something of its own. */
static void test_visit_ask__brings_what_is_not_ours_anew(void **state)
{
	static const struct fake_step steps[] = {FAKE_ANSWER(PONG), FAKE_ANSWER(KEPT),
		FAKE_ANSWER(MADE), FAKE_ANSWER(FOUND), FAKE_ANSWER(FOUND), FAKE_ANSWER(FOUND),
		FAKE_ANSWER(FOUND), FAKE_ANSWER(FOUND), FAKE_ANSWER(FOUND), FAKE_ANSWER(PUT_DONE),
		FAKE_ANSWER(REFUSED), FAKE_DO(FAKE_END)};
	static const struct fake_step silent[] = {
		FAKE_ANSWER(UPGRADED), FAKE_DO(FAKE_HALF), FAKE_DO(FAKE_STALL)};
	static const struct fake_step rubbish[] = {
		FAKE_ANSWER(UPGRADED), FAKE_TEXT("\1\0\0\0\0\0\0\3{}\n"), FAKE_DO(FAKE_STALL)};
	const struct fake_step *const streams[] = {silent, rubbish};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(streams); i++) {
		struct fake_engine *fake;
		struct sb_err err;

		fake = visit(
			(const struct fake_step *const[]){steps, streams[i]}, 2, "run-1", &err);
		assert_int_equal(
			script_count_sent(fake, 0, "HEAD /v1.51/containers/" ID "/archive"), 1);
		assert_int_equal(
			script_count_sent(fake, 0, "PUT /v1.51/containers/" ID "/archive"), 1);
		assert_int_equal(script_count_sent(fake, 0, "/.sbinject/run-1\""), 1);
		assert_int_equal(
			script_count_sent(fake, 0, "POST /v1.51/containers/" ID "/exec"), 2);
		fake_free(fake);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_visit_ask__tells_what_it_cannot_delete),
		cmocka_unit_test(test_visit_ask__uploads_again_what_docker_could_not_take),
		cmocka_unit_test(test_visit_ask__brings_what_is_not_ours_anew),
	};
	struct sb_err err = SB_ERR_INIT;

	if (eng_global_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
