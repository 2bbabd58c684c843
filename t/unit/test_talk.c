/* SPDX-License-Identifier: MIT */
/* wrap: nanosleep */
/*
 * One talk with a program in a container, which may be another than ours: what passes for its
 * answer, and what is made of a stream that ends without one. Who sleeps does not wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/talk.h"

#include "t/unit/fake_engine.c"
#include "t/unit/script.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NONCE "00112233445566778899aabbccddeeff"
#define OURS "{\"sbinject\":1,\"nonce\":\"" NONCE "\","
#define RUNS "{\"Id\":\"" ID "\",\"State\":{\"Status\":\"running\"}}"
#define EXITED "{\"Id\":\"" ID "\",\"State\":{\"Status\":\"exited\"}}"

enum { LOOKS = 6 }; /* whether the container has ended */

int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
	(void)length, (void)left;
	return 0;
}

struct world {
	struct script requests, stream;
	struct fake_engine *fake;
	struct eng_client *client;
	struct plan plan;
	struct talk talk;
	struct sb_err err;
};

/* A frame of one of the two streams; its text is shorter than 256 bytes. */
static void send_frame(struct world *w, int stream, const char *text)
{
	size_t len = strlen(text);
	char *frame = calloc(1, 8 + len + 1);

	assert_true(len < 256);
	frame[0] = (char)stream;
	frame[7] = (char)len;
	memcpy(frame + 8, text, len);
	script_add(&w->stream, FAKE_SEND, frame);
	w->stream.steps[w->stream.count - 1].len = 8 + len;
}

enum { QUESTION = 2 }; /* the step of the stream that waits for so many bytes of it */

/* A program of which that is known: what it writes to stdout and stderr. */
static void begin_world(struct world *w, const char *out, const char *problem)
{
	*w = (struct world){.err = SB_ERR_INIT};
	script_answer_with(&w->requests, "200 OK", "Api-Version: 1.51\r\n", "OK");
	script_answer(&w->requests, "201 Created", "{\"Id\":\"c0de\"}");
	script_reply(
		&w->stream, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
	script_add(&w->stream, FAKE_TAKE, NULL);
	if (*problem)
		send_frame(w, 2, problem);
	if (*out)
		send_frame(w, 1, out);
	script_add(&w->stream, FAKE_HALF, NULL);
	script_add(&w->stream, FAKE_STALL, NULL);
}

static void run(struct world *w)
{
	const struct fake_step *const scripts[] = {w->requests.steps, w->stream.steps};
	const char *const argv[] = {"/x", "status", NULL};

	w->fake = fake_start(scripts, 2);
	assert_int_equal(eng_open(fake_endpoint(w->fake), 60000, &w->client, &w->err), 0);
	w->plan.client = w->client;
	w->plan.container.id = ID;
	w->plan.container.state = "running";
	w->talk.plan = &w->plan;
	assert_int_equal(talk_prepare(&w->talk, &w->err), 0);
	strcpy(w->talk.nonce, NONCE);
	assert_int_equal(talk_run(&w->talk, ENG_AS_ROOT, argv, &w->err), 0);
	assert_true(w->talk.tried && !w->talk.answered);
}

static void end_world(struct world *w)
{
	talk_end(&w->talk);
	eng_close(w->client);
	fake_free(w->fake);
	script_release(&w->requests);
	script_release(&w->stream);
}

/* ---- what passes for an answer ---- */

struct answer {
	const char *out, *problem;
	enum sb_code code;
	bool answered;
	const char *instead; /* NULL: something came that may have been meant for one */
};

static void assert_answer(const struct answer *row)
{
	struct world w;
	json_t *receipt;

	begin_world(&w, row->out, row->problem);
	run(&w);
	receipt = talk_ask(&w.talk, json_object(), &w.err);
	if (w.err.code != row->code || w.talk.answered != row->answered)
		fail_msg("'%s' ends in %d: %s", row->out, w.err.code, w.err.text);
	assert_int_equal(receipt != NULL, row->code == SB_OK);
	assert_int_equal(w.talk.instead != NULL, row->instead != NULL);
	if (row->instead)
		assert_string_equal(w.talk.instead, row->instead);
	json_decref(receipt);
	end_world(&w);
}

static void test_talk_ask__takes_only_our_programs_answer(void **state)
{
	static const struct answer rows[] = {
		{OURS "\"ok\":true}\n", "", SB_OK, true, NULL},
		{OURS "\"ok\":true}\nand more", "a warning", SB_OK, true, NULL},
		{OURS "\"ok\":false,\"code\":\"noexec\",\"what\":\"x\"}\n", "", SB_UNSUPPORTED,
			true, NULL},
		{OURS "\"ok\":false,\"code\":\"new\",\"what\":\"x\"}\n", "", SB_MISMATCH, true,
			NULL},
		{"{\"sbinject\":1,\"nonce\":\"0" NONCE "\",\"ok\":true}\n", "", SB_MISMATCH, false,
			NULL},
		{"{\"sbinject\":1,\"ok\":true}\n", "", SB_MISMATCH, false, NULL},
		{"{\"sbinject\":2,\"nonce\":\"" NONCE "\",\"ok\":true}\n", "", SB_MISMATCH, false,
			NULL},
		{"{}\n", "", SB_MISMATCH, false, NULL},
		{"", "", SB_NO_SERVICE, false, ""},
		{"hello\nworld\n", "", SB_NO_SERVICE, false, "hello"},
		{"x" OURS "\"ok\":true}\n", "", SB_NO_SERVICE, false, "x" OURS "\"ok\":true}"},
		{OURS "\"ok\":true}", "", SB_NO_SERVICE, false, OURS "\"ok\":true}"},
		{"", OURS "\"ok\":true}\n", SB_NO_SERVICE, false, OURS "\"ok\":true}"},
		{"out\n", "err\n", SB_NO_SERVICE, false, "out"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		assert_answer(&rows[i]);
}

static void test_talk_ask__sends_the_nonce(void **state)
{
	static const char question[] = "{\"path\":\"/p\",\"nonce\":\"" NONCE "\"}\n";
	struct world w;
	json_t *receipt;

	(void)state;
	begin_world(&w, OURS "\"ok\":true}\n", "");
	w.stream.steps[QUESTION].times = strlen(question);
	run(&w);
	receipt = talk_ask(&w.talk, json_pack("{s:s}", "path", "/p"), &w.err);
	assert_non_null(receipt);
	json_decref(receipt);
	talk_end(&w.talk);
	fake_stop(w.fake);
	assert_int_equal(script_count_sent(w.fake, 1, question), 1);
	end_world(&w);
}

static void test_talk_prepare__never_repeats_a_nonce(void **state)
{
	struct talk talk = {.tried = true, .answered = true};
	struct sb_err err = SB_ERR_INIT;
	char before[sizeof(talk.nonce)];

	(void)state;
	assert_int_equal(talk_prepare(&talk, &err), 0);
	assert_false(talk.tried || talk.answered);
	assert_int_equal(strspn(talk.nonce, "0123456789abcdef"), 32);
	strcpy(before, talk.nonce);
	talk_repeat(&talk);
	assert_string_equal(talk.nonce, before);
	assert_int_equal(talk_prepare(&talk, &err), 0);
	assert_string_not_equal(talk.nonce, before);
}

static void test_talk_greet__takes_only_the_answer_to_its_request(void **state)
{
	static const struct {
		const char *out;
		enum sb_code code;
	} rows[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":\"" NONCE "\",\"result\":\"1\"}\n", SB_OK},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":\"1\"}\n", SB_MISMATCH},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"1\"}\n", SB_MISMATCH},
		{"{not JSON\n", SB_MISMATCH},
		{"hello\n", SB_NO_SERVICE},
		{"", SB_NO_SERVICE},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct world w;

		begin_world(&w, rows[i].out, "");
		run(&w);
		assert_int_equal(talk_greet(&w.talk, &w.err), rows[i].code ? -1 : 0);
		assert_int_equal(w.err.code, rows[i].code);
		assert_int_equal(w.talk.answered, rows[i].code == SB_OK);
		end_world(&w);
	}
}

/* ---- without an answer ---- */

struct end {
	const char *state;  /* of the container */
	const char *came;   /* instead of an answer */
	const char *status; /* of the program, in the engine's words */
	const char *arch;   /* of the image; the engine's machine is amd64 */
	enum sb_code code;
	const char *says;
};

static void assert_end(const struct end *row)
{
	struct world w;

	begin_world(&w, "", "");
	for (int i = 0; i < (strcmp(row->state, RUNS) ? 1 : LOOKS); i++)
		script_answer(&w.requests, "200 OK", row->state);
	script_answer(&w.requests, "200 OK", row->status);
	run(&w);
	w.plan.engine_arch = "amd64";
	strcpy(w.plan.image.arch, row->arch);
	(void)sb_err_set(&w.err, SB_FAILED, "what was known before");
	assert_int_equal(talk_explain(&w.talk, row->came, &w.err), -1);
	assert_int_equal(w.err.code, row->code);
	assert_non_null(strstr(w.err.text, row->says));
	end_world(&w);
}

static void test_talk_explain__says_why(void **state)
{
	static const struct end rows[] = {
		{EXITED, "no such file", "{}", "amd64", SB_NO_CONTAINER, "the container stopped"},
		{RUNS, "exec: permission denied\r\nmore", "{\"ExitCode\":126}", "amd64",
			SB_UNSUPPORTED, "execution is not permitted"},
		{RUNS, "", "{\"ExitCode\":0}", "amd64", SB_NO_ENGINE, "stream ended"},
		{RUNS, "", "{\"ExitCode\":137}", "amd64", SB_NO_SERVICE, "ended with status 137"},
		{RUNS, "a\033b", "{\"ExitCode\":1}", "", SB_NO_SERVICE, "a"},
		{RUNS, "", "{\"ExitCode\":1}", "riscv64", SB_UNSUPPORTED, "it is for riscv64"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		assert_end(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_talk_ask__takes_only_our_programs_answer),
		cmocka_unit_test(test_talk_ask__sends_the_nonce),
		cmocka_unit_test(test_talk_prepare__never_repeats_a_nonce),
		cmocka_unit_test(test_talk_greet__takes_only_the_answer_to_its_request),
		cmocka_unit_test(test_talk_explain__says_why),
	};
	struct sb_err err = SB_ERR_INIT;

	if (eng_global_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
