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

#include "t/unit/fake_engine.c"

#define ID(four) four four four four four four four four four four four four four four four four
#define TARGET ID("1234")
#define OURS ID("0123")
#define FIRST ID("aaaa")
#define SECOND ID("bbbb")
#define NONCE "00112233445566778899aabbccddeeff"
#define NAME "sbinject-graft-123412341234"

enum { MAX_STEPS = 60, SLEEP_MS = 1000 };

/* What the engine does on one connection. */
struct script {
	struct fake_step steps[MAX_STEPS];
	size_t count;
};

struct world {
	struct script scripts[2];
	size_t script_count;
	struct fake_engine *fake;
	struct eng_client *client;
	struct plan plan;
	struct visit visit;
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

static void add_step(struct script *script, enum fake_do what, char *data)
{
	assert_true(script->count < MAX_STEPS);
	script->steps[script->count++] = (struct fake_step){what, data, data ? strlen(data) : 0, 0};
}

/* Wait for a request and answer it. */
static void answer(struct script *script, const char *status, const char *body)
{
	char *text;

	assert_true(asprintf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status,
			    strlen(body), body) > 0);
	add_step(script, FAKE_REQUEST, NULL);
	add_step(script, FAKE_SEND, text);
}

static void answer_taken(struct script *script)
{
	answer(script, "409 Conflict", "{\"message\":\"the name is in use\"}");
}

static void answer_found(struct script *script, const char *id, const char *state,
	const char *label, const char *value)
{
	char body[400];

	snprintf(body, sizeof(body),
		"{\"Id\":\"%s\",\"State\":{\"Status\":\"%s\"},\"Config\":{\"Labels\":{\"%s\":\"%s\"}}}",
		id, state, label, value);
	answer(script, "200 OK", body);
}

/* A helper of another run that has not been started. */
static void answer_rival(struct script *script, const char *id)
{
	answer_taken(script);
	answer_found(script, id, "created", GRAFT_LABEL, TARGET);
}

static void free_script(struct script *script)
{
	for (size_t i = 0; i < script->count; i++)
		free((char *)(uintptr_t)script->steps[i].data);
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
	add_step(script, FAKE_REQUEST, NULL);
	add_step(script, FAKE_SEND,
		strdup("HTTP/1.1 200 OK\r\nApi-Version: 1.51\r\nContent-Length: 2\r\n\r\nOK"));
	return script;
}

/* Fails, as no script has what it takes to succeed; and ends what was begun. */
static void graft(struct world *w)
{
	static const struct graft_program program = {"abc", "program", 7};
	const struct fake_step *scripts[SB_ARRAY_SIZE(w->scripts)];

	for (size_t i = 0; i < w->script_count; i++)
		scripts[i] = w->scripts[i].steps;
	w->fake = fake_start(scripts, w->script_count);
	assert_int_equal(eng_open(fake_endpoint(w->fake), 0, &w->client, &w->err), 0);
	w->plan.client = w->client;
	w->plan.container.id = TARGET;
	w->plan.container.image_id = "sha256:0";
	w->plan.may_graft = true;
	w->visit = (struct visit){.plan = &w->plan, .nonce = NONCE, .name = "abc.def"};
	assert_int_equal(graft_begin(&w->visit, &program, VISIT_ALWAYS, &w->err), -1);
	graft_end(sb_steal(w->visit.graft), true);
	eng_close(w->client);
	fake_stop(w->fake);
}

static void close_world(struct world *w)
{
	fake_free(w->fake);
	for (size_t i = 0; i < w->script_count; i++)
		free_script(&w->scripts[i]);
}

/* How often that was sent on a connection. */
static int count_sent(const struct world *w, size_t connection, const char *text)
{
	const char *at = fake_received(w->fake, connection, NULL);
	int count = 0;

	for (; (at = strstr(at, text)) != NULL; at++)
		count++;
	return count;
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
	answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(w.err.code, SB_UNSUPPORTED);
	assert_int_equal(count_sent(&w, 0, "POST /v1.51/containers/create"), 9);
	assert_int_equal(count_sent(&w, 0, "DELETE "), 0);
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
	answer(script, "204 No Content", "");
	answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(count_sent(&w, 0, "DELETE "), 1);
	assert_int_equal(count_sent(&w, 0, "DELETE /v1.51/containers/" SECOND), 1);
	close_world(&w);
}

/* ---- one whose creation was not confirmed ---- */

static struct script *lose_answer(struct world *w)
{
	struct script *script = begin_world(w);

	add_step(script, FAKE_REQUEST, NULL);
	add_step(script, FAKE_SEND, strdup("HTTP/1.1 201 Created\r\nContent-Length: 70\r\n\r\n{"));
	add_step(script, FAKE_END, NULL);
	return add_connection(w);
}

static void test_graft_end__finds_one_that_was_lost(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = lose_answer(&w);
	answer(script, "404 Not Found", "{}");
	answer_found(script, OURS, "created", GRAFT_RUN_LABEL, NONCE);
	answer(script, "500 No", "{}");
	answer(script, "204 No Content", "");
	graft(&w);
	assert_int_equal(w.err.code, SB_NO_ENGINE);
	assert_int_equal(count_sent(&w, 0, "\"" GRAFT_RUN_LABEL "\":\"" NONCE "\""), 1);
	assert_int_equal(count_sent(&w, 1, "GET /v1.51/containers/" NAME "/json"), 2);
	assert_int_equal(count_sent(&w, 1, "DELETE /v1.51/containers/" OURS), 2);
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
	assert_in_range(count_sent(&w, 1, "GET "), 2, 4);
	assert_int_equal(count_sent(&w, 1, "DELETE "), 0);
	close_world(&w);
}

static void test_graft_end__looks_for_none_after_a_refusal(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_world(&w);
	answer(script, "500 No", "{\"message\":\"no\"}");
	answer_found(script, TARGET, "running", "", "");
	graft(&w);
	assert_int_equal(w.err.code, SB_UNSUPPORTED);
	assert_int_equal(count_sent(&w, 0, NAME "/json"), 0);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graft_begin__lets_each_rival_have_its_time),
		cmocka_unit_test(test_graft_begin__deletes_a_rival_that_was_forgotten),
		cmocka_unit_test(test_graft_end__finds_one_that_was_lost),
		cmocka_unit_test(test_graft_end__leaves_another_runs_alone),
		cmocka_unit_test(test_graft_end__looks_for_none_after_a_refusal),
	};
	struct sb_err err = SB_ERR_INIT;

	if (eng_global_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
