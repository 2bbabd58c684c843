/* SPDX-License-Identifier: MIT */
/*
 * Pausing a container while an engine looks into it that could be turned against its host: for
 * which engines and containers, in which order, and that nothing stays paused, whatever becomes of
 * us. Run with a word, this program is the guard of a pause, or one of those that are killed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "engine/client.h"
#include "engine/guard.h"
#include "engine/race.h"

#include "t/unit/fake_engine.c"
#include "t/unit/script.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define VICTIM "--victim"

#define OLD "Docker/20.10.24 (linux)"
#define RUNS "\"State\":{\"Status\":\"running\"}"
#define MOUNTS "\"Mounts\":[{\"Type\":\"volume\",\"Destination\":\"/data\"}]"
#define FOUND(rest) "{\"Id\":\"" ID "\"," rest "}"
#define EXPOSED FOUND(RUNS "," MOUNTS)
#define CALL(method, what) method " /v1.51/containers/" ID "/" what

enum { LIMIT_MS = 60000 };

extern char **environ;

/* ---- engines ---- */

static void test_eng_race_in_version__knows_who_has_it(void **state)
{
	static const struct {
		enum eng_kind kind;
		const char *version, *since;
		bool race;
	} rows[] = {
		{ENG_DOCKER, "20.10.24+dfsg1", NULL, true},
		{ENG_DOCKER, "28.5.2", NULL, true},
		{ENG_DOCKER, "28.5.2+dfsg4", "2026-06-23", true},
		{ENG_DOCKER, "28.5.2+dfsg3", NULL, true},
		{ENG_DOCKER, "29.4.9", NULL, true},
		{ENG_DOCKER, "29.5.0", NULL, true},
		{ENG_DOCKER, "29.5.1-rc.1", NULL, true},
		{ENG_DOCKER, "29.5.1", NULL, false},
		{ENG_DOCKER, "29.5.1+dfsg1", NULL, false},
		{ENG_DOCKER, "29.6.0", NULL, false},
		{ENG_DOCKER, "30.0.0-dev", NULL, false},
		{ENG_DOCKER, "99.0", NULL, false},
		{ENG_DOCKER, "29.5", NULL, true},
		{ENG_DOCKER, "", NULL, true},
		{ENG_DOCKER, "dev", NULL, true},
		{ENG_PODMAN, "4.3.1", NULL, false},
		{ENG_PODMAN, "", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const char *since;

		assert_int_equal(
			eng_race_in_version(rows[i].kind, rows[i].version, &since), rows[i].race);
		assert_int_equal(!since, !rows[i].since);
		if (since)
			assert_string_equal(since, rows[i].since);
	}
}

static void test_eng_race_in_build__goes_by_the_day(void **state)
{
	(void)state;
	assert_true(eng_race_in_build(NULL, "2027-01-01T00:00:00Z"));
	assert_true(eng_race_in_build("2026-06-23", "2026-05-24T20:07:24.000000000+00:00"));
	assert_false(eng_race_in_build("2026-06-23", "2026-06-23T15:08:56.000000000+00:00"));
	assert_false(eng_race_in_build("2026-06-23", "2026-09-15T11:02:57.000000000+00:00"));
	assert_true(eng_race_in_build("2026-06-23", ""));
	assert_true(eng_race_in_build("2026-06-23", "unknown"));
}

/* ---- an engine ---- */

struct world {
	struct script scripts[3];
	const struct fake_step *all[3];
	size_t script_count;
	struct fake_engine *fake;
	struct eng_client *client;
	struct sb_err err;
};

static void done(struct script *script)
{
	script_reply(script, "HTTP/1.1 204 No Content\r\n\r\n");
}

/* A look, at a file that is not there. */
static void answer_look(struct script *script)
{
	script_reply(script, "HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n");
}

/* A connection; the first is the client's, the second the guard's. */
static struct script *add_connection(struct world *w, const char *server)
{
	struct script *script = &w->scripts[w->script_count];
	char headers[200];

	w->all[w->script_count++] = script->steps;
	snprintf(headers, sizeof(headers), "Api-Version: 1.51\r\nServer: %s\r\n", server);
	script_answer_with(script, "200 OK", headers, "OK");
	return script;
}

static void open_world(struct world *w)
{
	eng_interrupted = 0;
	w->fake = fake_start(w->all, w->script_count);
	assert_int_equal(eng_open(fake_endpoint(w->fake), LIMIT_MS, &w->client, &w->err), 0);
}

static void close_world(struct world *w)
{
	eng_interrupted = 0;
	fake_free(w->fake);
	for (size_t i = 0; i < w->script_count; i++)
		script_release(&w->scripts[i]);
}

/* One look into a container; nothing more comes after it. */
static int look(struct world *w)
{
	struct eng_stat stat;
	int ret = eng_archive_stat(w->client, ID, "/x", &stat, &w->err);

	eng_close(sb_steal(w->client));
	fake_stop(w->fake);
	return ret;
}

/* That these were sent in this order, among others. */
static void assert_order(const struct world *w, size_t connection, const char *const *texts)
{
	const char *at = fake_received(w->fake, connection, NULL);

	for (; *texts; texts++) {
		at = strstr(at, *texts);
		assert_non_null(at);
		at++;
	}
}

/* ---- who is paused ---- */

static void test_eng_archive__leaves_others_running(void **state)
{
	static const struct {
		const char *server, *found, *version;
	} rows[] = {
		{"Docker/29.5.1 (linux)", NULL, NULL},
		{"Libpod/4.3.1 (linux)\r\nLibpod-Api-Version: 4.3.1", NULL, NULL},
		{OLD, FOUND(RUNS), NULL},
		{OLD, FOUND("\"State\":{\"Status\":\"exited\"}," MOUNTS), NULL},
		{"Docker/28.5.2+dfsg4 (linux)", EXPOSED,
			"{\"BuildTime\":\"2026-09-15T11:02:57Z\"}"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct world w = {.err = SB_ERR_INIT};
		struct script *script = add_connection(&w, rows[i].server);

		if (rows[i].found)
			script_answer(script, "200 OK", rows[i].found);
		if (rows[i].version)
			script_answer(script, "200 OK", rows[i].version);
		answer_look(script);
		open_world(&w);
		assert_int_equal(look(&w), 1);
		assert_int_equal(script_count_sent(w.fake, 0, "pause"), 0);
		assert_int_equal(fake_connections(w.fake), 1);
		close_world(&w);
	}
}

static void test_eng_archive__is_dared_or_refused(void **state)
{
	(void)state;
	for (int caution = ENG_REFUSE; caution <= ENG_DARE; caution++) {
		struct world w = {.err = SB_ERR_INIT};
		struct script *script = add_connection(&w, OLD);

		if (caution == ENG_REFUSE)
			script_answer(script, "200 OK", EXPOSED);
		else
			answer_look(script);
		open_world(&w);
		eng_set_caution(w.client, caution);
		assert_int_equal(look(&w), caution == ENG_REFUSE ? -1 : 1);
		assert_int_equal(w.err.code, caution == ENG_REFUSE ? SB_UNSUPPORTED : SB_OK);
		assert_int_equal(script_count_sent(w.fake, 0, "pause"), 0);
		close_world(&w);
	}
}

/* ---- in which order ---- */

static const char *const paused_look[] = {
	CALL("POST", "pause "), CALL("HEAD", "archive"), CALL("POST", "unpause "), NULL};

/* The client's side up to the pause. */
static struct script *begin_exposed(struct world *w)
{
	struct script *script;

	*w = (struct world){.err = SB_ERR_INIT};
	script = add_connection(w, OLD);
	script_answer(script, "200 OK", EXPOSED);
	script_answer(script, "200 OK", EXPOSED);
	return script;
}

static void test_eng_archive__looks_while_it_is_paused(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_exposed(&w);
	done(script);
	answer_look(script);
	done(script);
	add_connection(&w, OLD);
	open_world(&w);
	assert_int_equal(look(&w), 1);
	assert_order(&w, 0, paused_look);
	assert_int_equal(script_count_sent(w.fake, 0, "POST "), 2);
	assert_int_equal(script_count_sent(w.fake, 1, "POST "), 0);
	close_world(&w);
}

static void test_eng_archive__waits_for_another_runs_pause(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_exposed(&w);
	script_answer(
		script, "409 Conflict", "{\"message\":\"Container " ID " is already paused\"}");
	script_answer(
		script, "500 No", "{\"message\":\"OCI runtime pause failed: unable to freeze\"}");
	done(script);
	answer_look(script);
	done(script);
	add_connection(&w, OLD);
	open_world(&w);
	assert_int_equal(look(&w), 1);
	assert_order(&w, 0, paused_look);
	assert_int_equal(script_count_sent(w.fake, 0, CALL("POST", "pause ")), 3);
	assert_int_equal(script_count_sent(w.fake, 0, CALL("POST", "unpause ")), 1);
	close_world(&w);
}

static void test_eng_archive__waits_for_programs_to_start(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	w = (struct world){.err = SB_ERR_INIT};
	script = add_connection(&w, OLD);
	script_answer(script, "200 OK", EXPOSED);
	script_answer(script, "200 OK", FOUND(RUNS "," MOUNTS ",\"ExecIDs\":[\"e1\",\"e2\"]"));
	script_answer(script, "200 OK", "{\"Running\":true,\"Pid\":7,\"ExitCode\":null}");
	script_answer(script, "200 OK", "{\"Running\":true,\"Pid\":0,\"ExitCode\":null}");
	script_answer(script, "200 OK", FOUND(RUNS "," MOUNTS ",\"ExecIDs\":[\"e2\"]"));
	script_answer(script, "200 OK", "{\"Running\":false,\"Pid\":0,\"ExitCode\":0}");
	done(script);
	answer_look(script);
	done(script);
	add_connection(&w, OLD);
	open_world(&w);
	assert_int_equal(look(&w), 1);
	assert_order(&w, 0,
		(const char *const[]){"/exec/e1/json", "/exec/e2/json", "/exec/e2/json",
			CALL("POST", "pause "), NULL});
	assert_order(&w, 0, paused_look);
	close_world(&w);
}

static void test_eng_hold__is_one_pause_for_several(void **state)
{
	struct eng_stat stat;
	struct script *script;
	struct world w;

	(void)state;
	script = begin_exposed(&w);
	done(script);
	answer_look(script);
	answer_look(script);
	done(script);
	add_connection(&w, OLD);
	open_world(&w);
	eng_hold_begin(w.client);
	assert_int_equal(eng_archive_stat(w.client, ID, "/1", &stat, &w.err), 1);
	assert_int_equal(eng_archive_stat(w.client, ID, "/2", &stat, &w.err), 1);
	assert_int_equal(eng_hold_end(w.client, 1, &w.err), 1);
	eng_close(sb_steal(w.client));
	fake_stop(w.fake);
	assert_order(&w, 0,
		(const char *const[]){
			CALL("POST", "pause "), "%2F1", "%2F2", CALL("POST", "unpause "), NULL});
	assert_int_equal(script_count_sent(w.fake, 0, "pause "), 2);
	close_world(&w);
}

/* ---- what goes wrong ---- */

static void test_eng_archive__does_nothing_where_it_cannot_pause(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_exposed(&w);
	script_answer(script, "500 No", "{\"message\":\"cannot pause: cgroups not configured\"}");
	add_connection(&w, OLD);
	open_world(&w);
	assert_int_equal(look(&w), -1);
	assert_int_equal(w.err.code, SB_UNSUPPORTED);
	assert_non_null(strstr(w.err.text, "cgroups not configured"));
	assert_non_null(strstr(w.err.text, "--no-pause"));
	assert_int_equal(script_count_sent(w.fake, 0, "archive"), 0);
	assert_int_equal(script_count_sent(w.fake, 0, "unpause"), 0);
	assert_int_equal(script_count_sent(w.fake, 1, "unpause"), 0);
	close_world(&w);
}

static void test_eng_archive__unpauses_after_an_interrupt(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_exposed(&w);
	done(script);
	script_add(script, FAKE_REQUEST, NULL);
	script_add(script, FAKE_SIGNAL, NULL);
	script_add(script, FAKE_STALL, NULL);
	add_connection(&w, OLD);
	w.all[w.script_count] = w.scripts[w.script_count].steps;
	done(&w.scripts[w.script_count++]);
	open_world(&w);
	assert_int_equal(look(&w), -1);
	assert_int_equal(w.err.code, SB_INTERRUPTED);
	assert_int_equal(script_count_sent(w.fake, 2, CALL("POST", "unpause ")), 1);
	assert_int_equal(script_count_sent(w.fake, 1, "unpause"), 0);
	close_world(&w);
}

/* Where we cannot, the guard does. */
static void test_eng_archive__leaves_unpausing_to_the_guard(void **state)
{
	struct script *script;
	struct world w;

	(void)state;
	script = begin_exposed(&w);
	done(script);
	answer_look(script);
	script_answer(script, "500 No", "{\"message\":\"try again\"}");
	script = add_connection(&w, OLD);
	script_answer(script, "500 No", "{\"message\":\"try again\"}");
	done(script);
	open_world(&w);
	assert_int_equal(look(&w), 1);
	assert_int_equal(script_count_sent(w.fake, 1, CALL("POST", "unpause ")), 2);
	close_world(&w);
}

static void await_signal(void)
{
	for (int left = LIMIT_MS; !eng_interrupted && left; left -= 10)
		sb_sleep_ms(10);
	assert_true(eng_interrupted);
	eng_interrupted = 0;
}

/* Somebody else of this program, who looks and is never answered. */
static pid_t start_victim(const struct fake_engine *fake)
{
	static char name[] = "test_hold", word[] = VICTIM;
	char *argv[] = {name, word, fake_endpoint(fake)->socket, NULL};
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
	return pid;
}

static int be_victim(const char *socket)
{
	struct eng_endpoint endpoint = ENG_ENDPOINT_INIT;
	struct eng_client *client = NULL;
	struct sb_err err = SB_ERR_INIT;
	struct eng_stat stat;

	return eng_endpoint_parse(socket, "a test", &endpoint, &err) < 0 ||
	       eng_open(&endpoint, 0, &client, &err) < 0 ||
	       eng_archive_stat(client, ID, "/x", &stat, &err) < 0;
}

static void test_eng_guard__unpauses_for_one_that_is_killed(void **state)
{
	struct script *script;
	struct world w;
	pid_t pid;

	(void)state;
	script = begin_exposed(&w);
	done(script);
	script_add(script, FAKE_REQUEST, NULL);
	script_add(script, FAKE_SIGNAL, NULL);
	script_add(script, FAKE_STALL, NULL);
	script = add_connection(&w, OLD);
	done(script);
	script_add(script, FAKE_SIGNAL, NULL);
	w.fake = fake_start(w.all, w.script_count);
	pid = start_victim(w.fake);
	await_signal();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	await_signal();
	fake_stop(w.fake);
	assert_int_equal(script_count_sent(w.fake, 0, "unpause"), 0);
	assert_int_equal(script_count_sent(w.fake, 1, CALL("POST", "unpause ")), 1);
	close_world(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_race_in_version__knows_who_has_it),
		cmocka_unit_test(test_eng_race_in_build__goes_by_the_day),
		cmocka_unit_test(test_eng_archive__leaves_others_running),
		cmocka_unit_test(test_eng_archive__is_dared_or_refused),
		cmocka_unit_test(test_eng_archive__looks_while_it_is_paused),
		cmocka_unit_test(test_eng_archive__waits_for_another_runs_pause),
		cmocka_unit_test(test_eng_archive__waits_for_programs_to_start),
		cmocka_unit_test(test_eng_hold__is_one_pause_for_several),
		cmocka_unit_test(test_eng_archive__does_nothing_where_it_cannot_pause),
		cmocka_unit_test(test_eng_archive__unpauses_after_an_interrupt),
		cmocka_unit_test(test_eng_archive__leaves_unpausing_to_the_guard),
		cmocka_unit_test(test_eng_guard__unpauses_for_one_that_is_killed),
	};
	struct sb_err err = SB_ERR_INIT;

	if (argc == 2 && !strcmp(argv[1], ENG_GUARD_WORD))
		return eng_guard_main();
	if (eng_global_init(&err) < 0)
		return 1;
	if (argc == 3 && !strcmp(argv[1], VICTIM))
		return be_victim(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
