/* SPDX-License-Identifier: MIT */
/* wrap: clock_gettime */
/* wrap: nanosleep */
/*
 * Helper containers, with an engine that loses its answers or has a helper of another run. Who
 * sleeps does not wait: the clock is put forward.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/graft.h"

#include "payloads/lib/wire.h"
#include "t/unit/fake_engine.c"
#include "t/unit/script.h"

#define ID(four) four four four four four four four four four four four four four four four four
#define TARGET ID("1234")
#define OURS ID("0123")
#define FIRST ID("aaaa")
#define SECOND ID("bbbb")
#define NONCE "00112233445566778899aabbccddeeff"
#define NAME "sbinject-graft-123412341234"

enum { SLEEP_MS = 1000 };

struct world {
	struct script scripts[2];
	size_t script_count;
	struct fake_engine *fake;
	struct eng_client *client;
	struct plan plan;
	struct graft *graft;
	json_t *doc; /* of the container, or NULL */
	struct sb_err err;
};

/* ---- the clock ---- */

static atomic_int_fast64_t put_forward_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int rc = __real_clock_gettime(clock, ret);

	ret->tv_sec += put_forward_s;
	return rc;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
	(void)length, (void)left;
	put_forward_s += SLEEP_MS / 1000;
	return 0;
}

/* ---- the engine ---- */

static void answer_taken(struct script *script)
{
	script_answer(script, "409 Conflict", "{\"message\":\"the name is in use\"}");
}

static void answer_found(struct script *script, const char *id, const char *state,
	const char *label, const char *value)
{
	char body[400];

	snprintf(body, sizeof(body),
		"{\"Id\":\"%s\",\"State\":{\"Status\":\"%s\"},\"Config\":{\"Labels\":{\"%s\":\"%s\"}}}",
		id, state, label, value);
	script_answer(script, "200 OK", body);
}

/* A helper of another run that has not been started. */
static void answer_rival(struct script *script, const char *id)
{
	answer_taken(script);
	answer_found(script, id, "created", GRAFT_LABEL, TARGET);
}

/* One that has run since noon, at that time of the engine's. */
static void answer_running(struct script *script, const char *now, const char *zone)
{
	char headers[80], body[400];

	answer_taken(script);
	snprintf(headers, sizeof(headers), "Date: Sat, 31 Jan 2026 %s GMT\r\n", now);
	snprintf(body, sizeof(body),
		"{\"Id\":\"%s\",\"State\":{\"Status\":\"running\","
		"\"StartedAt\":\"2026-01-31T12:00:00.5%s\"},"
		"\"Config\":{\"Labels\":{\"%s\":\"%s\"}}}",
		FIRST, zone, GRAFT_LABEL, TARGET);
	script_answer_with(script, "200 OK", *now ? headers : "", body);
}

static struct script *add_connection(struct world *w)
{
	assert_true(w->script_count < SB_ARRAY_SIZE(w->scripts));
	return &w->scripts[w->script_count++];
}

/* The first connection, on which the client is opened. */
static struct script *begin_world(struct world *w)
{
	struct script *script;

	*w = (struct world){.err = SB_ERR_INIT};
	script = add_connection(w);
	script_answer_with(script, "200 OK", "Api-Version: 1.51\r\n", "OK");
	return script;
}

/* Fails, as no script has what it takes to succeed; and ends what was begun. */
static void graft(struct world *w)
{
	static const struct payload_program program = {"abc", "program", 7};
	const struct graft_order order = {&w->plan, &program, NONCE, "abc.def", WHEN_ALWAYS};
	const struct fake_step *scripts[SB_ARRAY_SIZE(w->scripts)];
	char current[65];

	for (size_t i = 0; i < w->script_count; i++)
		scripts[i] = w->scripts[i].steps;
	w->fake = fake_start(scripts, w->script_count);
	assert_int_equal(eng_open(fake_endpoint(w->fake), 0, &w->client, &w->err), 0);
	w->plan.client = w->client;
	w->plan.container.doc = w->doc;
	w->plan.container.id = TARGET;
	w->plan.container.image_id = "sha256:0";
	w->plan.may_graft = true;
	assert_int_equal(graft_begin(&order, &w->graft, current, &w->err), -1);
	graft_end(w->graft, true);
	eng_close(w->client);
	fake_stop(w->fake);
}

static void close_world(struct world *w)
{
	fake_free(w->fake);
	json_decref(w->doc);
	for (size_t i = 0; i < w->script_count; i++)
		script_release(&w->scripts[i]);
}

/* ---- another run's ---- */

static void test_graft_begin__lets_each_rival_have_its_time(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_world(&w);
	for (int i = 0; i < 4; i++)
		answer_rival(script, FIRST);
	for (int i = 0; i < 4; i++)
		answer_rival(script, SECOND);
	script_answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(w.err.code, SB_UNSUPPORTED);
	assert_int_equal(script_count_sent(w.fake, 0, "POST /v1.51/containers/create"), 9);
	assert_int_equal(script_count_sent(w.fake, 0, "DELETE "), 0);
	close_world(&w);
}

static void test_graft_begin__deletes_a_rival_that_was_forgotten(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_world(&w);
	answer_rival(script, FIRST);
	for (int i = 0; i < 6; i++)
		answer_rival(script, SECOND);
	script_answer(script, "204 No Content", "");
	script_answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(script_count_sent(w.fake, 0, "DELETE "), 1);
	assert_int_equal(script_count_sent(w.fake, 0, "DELETE /v1.51/containers/" SECOND), 1);
	close_world(&w);
}

/* How often one that runs is deleted when that is the time. */
static int deletes_running(const char *now, const char *zone)
{
	struct script *script;
	struct world w;
	int count;

	script = begin_world(&w);
	for (int i = 0; i < 6; i++)
		answer_running(script, now, zone);
	script_answer(script, "204 No Content", "");
	script_answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	count = script_count_sent(w.fake, 0, "DELETE /v1.51/containers/" FIRST);
	close_world(&w);
	return count;
}

static void test_graft_begin__deletes_a_rival_that_was_stopped(void **state)
{
	(void)state;
	assert_int_equal(deletes_running("12:03:01", "Z"), 1);
	assert_int_equal(deletes_running("12:03:00", "Z"), 0);
	assert_int_equal(deletes_running("11:00:00", "Z"), 0);
	assert_int_equal(deletes_running("", "Z"), 0);
	assert_int_equal(deletes_running("23:00:00", "+01:00"), 0);
}

/* ---- what it may be ---- */

static void test_graft_begin__asks_for_little(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_world(&w);
	w.doc = json_pack("{s:{s:{s:{}, s:{}, s:{}, s:{}}}, s:{s:s}}", "Config", "Volumes",
		"/data/../data/", "/a//./b \"", "none", "/..", "HostConfig", "Runtime", "crun");
	script_answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(script_count_sent(w.fake, 0,
				 "\"Tmpfs\":{\"/data\":\"size=64k\","
				 "\"/a/b \\\"\":\"size=64k\"}"),
		1);
	assert_int_equal(script_count_sent(w.fake, 0, "\"Runtime\":\"crun\""), 1);
	assert_int_equal(script_count_sent(w.fake, 0, "\"CgroupnsMode\":\"private\""), 1);
	assert_int_equal(
		script_count_sent(w.fake, 0, "\"Memory\":67108871,\"MemorySwap\":67108871"), 1);
	assert_int_equal(script_count_sent(w.fake, 0, "\"PidsLimit\":64"), 1);
	assert_int_equal(
		script_count_sent(w.fake, 0, "\"Entrypoint\":[\"/.sbinject." NONCE "/abc.def\"]"),
		1);
	close_world(&w);
}

static enum sb_code check(json_t *doc)
{
	struct plan plan = {.may_graft = true, .container = {.doc = doc}};
	struct sb_err err = SB_ERR_INIT;
	int r = graft_check(&plan, &err);

	json_decref(doc);
	return r == 0 ? SB_OK : err.code;
}

static void test_graft_check__knows_who_keeps_processes_apart(void **state)
{
	static const struct {
		const char *runtime;
		enum sb_code code;
	} cases[] = {{"", SB_OK}, {"runc", SB_OK}, {"io.containerd.runc.v2", SB_OK},
		{"crun", SB_OK}, {"nvidia", SB_OK}, {"runsc", SB_UNSUPPORTED},
		{"io.containerd.runsc.v1", SB_UNSUPPORTED}, {"kata-runtime", SB_UNSUPPORTED},
		{"io.containerd.kata.v2", SB_UNSUPPORTED}};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(cases); i++)
		assert_int_equal(
			check(json_pack("{s:{s:s}}", "HostConfig", "Runtime", cases[i].runtime)),
			cases[i].code);
}

static void test_graft_check__refuses_volumes_without_end(void **state)
{
	json_t *volumes = json_object();
	char name[16];

	(void)state;
	for (int i = 0; i < 65; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		json_object_set_new(volumes, name, json_object());
	}
	assert_int_equal(
		check(json_pack("{s:{s:O}}", "Config", "Volumes", volumes)), SB_UNSUPPORTED);
	json_object_del(volumes, "/0");
	assert_int_equal(check(json_pack("{s:{s:o}}", "Config", "Volumes", volumes)), SB_OK);
}

/* ---- one whose creation was not confirmed ---- */

static struct script *lose_answer(struct world *w)
{
	struct script *script = begin_world(w);

	script_reply(script, "HTTP/1.1 201 Created\r\nContent-Length: 70\r\n\r\n{");
	script_add(script, FAKE_END, NULL);
	return add_connection(w);
}

static void test_graft_end__finds_one_that_was_lost(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = lose_answer(&w);
	script_answer(script, "404 Not Found", "{}");
	answer_found(script, OURS, "created", GRAFT_RUN_LABEL, NONCE);
	script_answer(script, "500 No", "{}");
	script_answer(script, "204 No Content", "");
	graft(&w);
	assert_int_equal(w.err.code, SB_NO_ENGINE);
	assert_int_equal(script_count_sent(w.fake, 0, "\"" GRAFT_RUN_LABEL "\":\"" NONCE "\""), 1);
	assert_int_equal(script_count_sent(w.fake, 1, "GET /v1.51/containers/" NAME "/json"), 2);
	assert_int_equal(script_count_sent(w.fake, 1, "DELETE /v1.51/containers/" OURS), 2);
	close_world(&w);
}

static void test_graft_end__leaves_another_runs_alone(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = lose_answer(&w);
	for (int i = 0; i < 5; i++)
		answer_found(script, FIRST, "running", GRAFT_RUN_LABEL, "another");
	graft(&w);
	assert_in_range(script_count_sent(w.fake, 1, "GET "), 2, 4);
	assert_int_equal(script_count_sent(w.fake, 1, "DELETE "), 0);
	close_world(&w);
}

static void test_graft_end__looks_for_none_after_a_refusal(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_world(&w);
	script_answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(w.err.code, SB_UNSUPPORTED);
	assert_int_equal(script_count_sent(w.fake, 0, NAME "/json"), 0);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graft_begin__lets_each_rival_have_its_time),
		cmocka_unit_test(test_graft_begin__deletes_a_rival_that_was_forgotten),
		cmocka_unit_test(test_graft_begin__deletes_a_rival_that_was_stopped),
		cmocka_unit_test(test_graft_begin__asks_for_little),
		cmocka_unit_test(test_graft_check__knows_who_keeps_processes_apart),
		cmocka_unit_test(test_graft_check__refuses_volumes_without_end),
		cmocka_unit_test(test_graft_end__finds_one_that_was_lost),
		cmocka_unit_test(test_graft_end__leaves_another_runs_alone),
		cmocka_unit_test(test_graft_end__looks_for_none_after_a_refusal),
	};
	struct sb_err err = SB_ERR_INIT;

	if (eng_global_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
