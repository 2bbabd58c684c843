/* SPDX-License-Identifier: MIT */
/* What is found out about a container's architecture, and the engine's, and by how many requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/plan.h"

#include "t/unit/fake_engine.c"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "mips64le" /* no machine that this is built for */

enum { LOOKS = 40 }; /* at files, none of which is there */

/* The text of an answer, which is the caller's. */
static char *answer(const char *status, const char *body)
{
	char *text;

	assert_true(asprintf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", status,
			    strlen(body), body) > 0);
	return text;
}

static char *answer_arch(const char *status, const char *key, const char *arch)
{
	char body[100];

	snprintf(body, sizeof(body), "{\"%s\":\"%s\"}", key, arch);
	return answer(status, body);
}

static int count(const char *sent, const char *text)
{
	int found = 0;

	for (; (sent = strstr(sent, text)) != NULL; sent++)
		found++;
	return found;
}

struct row {
	const char *image;	     /* what its image is labelled with */
	const char *status, *engine; /* of the engine's answer; NULL where it is not to be asked */
	bool foreign;
};

static void look(const struct row *row, const struct fake_step *steps)
{
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	struct fake_engine *fake = fake_start(&steps, 1);
	struct eng_client *client = NULL;
	struct sb_err err = SB_ERR_INIT;
	struct plan_opts opts = {0};
	struct conf *conf = NULL;

	assert_int_equal(conf_load(NULL, &conf, &err), 0);
	opts.conf = conf;
	assert_int_equal(eng_open(fake_endpoint(fake), 5000, &client, &err), 0);
	assert_int_equal(plan_look(client, &opts, "web", &plan, &err), 0);
	assert_int_equal(plan_is_foreign(&plan), row->foreign);
	eng_close(client);
	conf_free(conf);
	fake_stop(fake);
	assert_int_equal(
		count(fake_received(fake, 0, NULL), "GET /v1.51/version "), row->status ? 1 : 0);
	fake_free(fake);
}

static void assert_row(const struct row *row)
{
	char *texts[] = {
		strdup("HTTP/1.1 200 OK\r\nApi-Version: 1.51\r\nContent-Length: 2\r\n\r\nOK"),
		answer("200 OK", "{\"Id\":\"" ID "\",\"Image\":\"sha256:1\"}"),
		answer_arch("200 OK", "Architecture", row->image),
		row->status ? answer_arch(row->status, "Arch", row->engine) : NULL,
		strdup("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
	};
	struct fake_step steps[2 * (SB_ARRAY_SIZE(texts) + LOOKS) + 1] = {FAKE_DO(FAKE_END)};
	size_t at = 0;

	for (size_t t = 0; t < SB_ARRAY_SIZE(texts); t++)
		for (int n = t + 1 < SB_ARRAY_SIZE(texts) ? 1 : LOOKS; texts[t] && n; n--) {
			steps[at++].what = FAKE_REQUEST;
			steps[at++] = (struct fake_step){FAKE_SEND, texts[t], strlen(texts[t]), 0};
		}
	look(row, steps);
	for (size_t t = 0; t < SB_ARRAY_SIZE(texts); t++)
		free(texts[t]);
}

static void test_plan_is_foreign__is_seen_from_the_engines_machine(void **state)
{
	const char *own = payload_own_arch();
	const struct row rows[] = {
		{own, NULL, NULL, false},
		{"", NULL, NULL, false},
		{OTHER, "200 OK", own, true},
		{OTHER, "200 OK", OTHER, false},
		{OTHER, "200 OK", "", true},
		{OTHER, "403 Forbidden", OTHER, true},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		assert_row(&rows[i]);
}

/* ---- whose the service is ---- */

#define PONG "HTTP/1.1 200 OK\r\nApi-Version: 1.51\r\nContent-Length: 2\r\n\r\nOK"
#define PONG_20                                                                       \
	"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n" \
	"Content-Length: 2\r\n\r\nOK"

#define USER_1000 "\"Config\":{\"User\":\"1000:1000\"}"
#define NO_CAPS "\"HostConfig\":{\"CapDrop\":[\"ALL\"]}"
#define NO_CAPS_READ_ONLY                                                \
	"\"HostConfig\":{\"CapDrop\":[\"ALL\"],\"ReadonlyRootfs\":true," \
	"\"Tmpfs\":{\"/run\":\"\"}}"
#define ONLY_SWITCH "\"HostConfig\":{\"CapDrop\":[\"ALL\"],\"CapAdd\":[\"SETUID\",\"SETGID\"]}"
#define NO_SETGID "\"HostConfig\":{\"CapDrop\":[\"CAP_SETGID\"]}"
#define PRIVILEGED "\"HostConfig\":{\"CapDrop\":[\"ALL\"],\"Privileged\":true}"

struct owner {
	const char *service; /* in the rule, or "" */
	const char *client;
	const char *container; /* more of the engine's record */
	const char *who;       /* "root" or "user"; NULL: it is an error */
};

static const struct owner owners[] = {
	/* without a word in the rule it is root, but for inspect_ai */
	{"", NULL, "", "root"},
	{"", NULL, USER_1000 "," NO_CAPS, "root"},
	{"", "harbor 1.0", USER_1000 "," NO_CAPS, "root"},
	{"", "inspect_ai 0.3.285", USER_1000 "," NO_CAPS, "user"},
	{"", "inspect_ai", USER_1000, "root"},
	{"service: root", "inspect_ai", USER_1000 "," NO_CAPS, "root"},
	{"service: user", NULL, USER_1000, "user"},
	{"service: user", NULL, "", "root"},
	{"service: user", NULL, USER_1000 ",\"HostConfig\":{\"ReadonlyRootfs\":true}", NULL},
	{"service: auto", NULL, USER_1000, "root"},
	{"service: auto", NULL, USER_1000 "," NO_CAPS, "user"},
	{"service: auto", NULL, USER_1000 "," ONLY_SWITCH, "root"},
	{"service: auto", NULL, USER_1000 "," NO_SETGID, "user"},
	{"service: auto", NULL, USER_1000 "," PRIVILEGED, "root"},
	{"service: auto", NULL, "\"Config\":{\"User\":\"agent\"}," NO_CAPS, "user"},
	{"service: auto", NULL, "\"Config\":{\"User\":\"root:1000\"}," NO_CAPS, "root"},
	{"service: auto", NULL, "\"Config\":{\"User\":\"0\"}," NO_CAPS, "root"},
	{"service: auto", NULL, NO_CAPS, "root"},
	/* early releases come as the container's own user, whatever root can do */
	{"", "inspect_ai 0.3.262", USER_1000, "user"},
	{"service: auto", "inspect_ai 0.3.262", USER_1000, "user"},
	{"service: auto", "inspect_ai 0.3.262", "\"Config\":{\"User\":\"0\"}", "root"},
	{"service: auto", "inspect_ai 0.3.262", NO_CAPS, "root"},
	{"service: root", "inspect_ai 0.3.262", USER_1000, "root"},
	{"service: auto", "inspect_ai 0.3.263", USER_1000, "root"},
	{"service: auto", "inspect_ai 0.3.263", USER_1000 "," NO_CAPS, "root"},
	{"service: auto", "inspect_ai 0.3.273", USER_1000 "," NO_CAPS, "root"},
	{"service: auto", "inspect_ai 0.3.275", USER_1000 "," NO_CAPS, "user"},
	{"service: auto", "inspect_ai 0.3.275", USER_1000, "root"},
	{"service: user", "inspect_ai 0.3.273", USER_1000, "user"},
	{"service: auto", "inspect_ai", USER_1000, "root"},
	{"service: auto", "harbor 0.3.100", USER_1000, "root"},
	{"service: auto", "inspect_ai 0.3.262",
		USER_1000 ",\"HostConfig\":{\"ReadonlyRootfs\":true,\"Tmpfs\":{\"/run\":\"\"}}",
		"root"},
	/* where only root's program has a place, it is root's */
	{"service: auto", NULL, USER_1000 "," NO_CAPS_READ_ONLY, "root"},
};

#define NO_NEW(value) "\"HostConfig\":{\"SecurityOpt\":[\"no-new-privileges" value "\"]}"

/* On Docker 20.10; since then, all of them are root's. */
static const struct owner owners_20[] = {
	{"service: auto", NULL, USER_1000, "root"},
	{"service: auto", NULL, USER_1000 "," NO_NEW(""), "user"},
	{"service: auto", NULL, USER_1000 "," NO_NEW(":true"), "user"},
	{"service: auto", NULL, USER_1000 "," NO_NEW("=true"), "user"},
	{"service: auto", NULL, USER_1000 "," NO_NEW(":false"), "root"},
	{"service: auto", NULL, NO_NEW(""), "root"},
	{"service: auto", NULL,
		USER_1000 ",\"HostConfig\":{\"SecurityOpt\":[7,\"seccomp=unconfined\"]}", "root"},
};

static struct conf *rules_with(const char *service)
{
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;
	char text[300];

	snprintf(text, sizeof(text),
		"version: 1\npayloads:\n  tools-%s: {source: embedded}\n"
		"rules:\n  - when: {}\n    use: tools-%s\n    %s\n",
		payload_own_arch(), payload_own_arch(), service);
	assert_int_equal(conf_parse(text, strlen(text), "f", NULL, &conf, &err), 0);
	return conf;
}

static void assert_owner(const struct owner *row, const char *pong)
{
	char body[600];
	struct fake_step steps[] = {FAKE_DO(FAKE_REQUEST), {FAKE_SEND, pong, strlen(pong), 0},
		FAKE_DO(FAKE_REQUEST), FAKE_DO(FAKE_SEND), FAKE_DO(FAKE_REQUEST),
		FAKE_DO(FAKE_SEND), FAKE_DO(FAKE_STALL)};
	const struct fake_step *script = steps;
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	sb_auto(conf_freep) struct conf *conf = rules_with(row->service);
	struct plan_opts opts = {
		.conf = conf, .client = row->client, .key = &(struct key){.known = false}};
	struct eng_client *client = NULL;
	struct sb_err err = SB_ERR_INIT;
	struct fake_engine *fake;
	int made;

	snprintf(body, sizeof(body),
		"{\"Id\":\"" ID "\",\"Image\":\"sha256:1\",\"State\":{\"Status\":\"running\"}%s%s}",
		*row->container ? "," : "", row->container);
	steps[3].data = answer("200 OK", body);
	steps[5].data = answer_arch("200 OK", "Architecture", payload_own_arch());
	steps[3].len = strlen(steps[3].data);
	steps[5].len = strlen(steps[5].data);
	fake = fake_start(&script, 1);
	assert_int_equal(eng_open(fake_endpoint(fake), 5000, &client, &err), 0);
	made = plan_make(client, &opts, "web", &plan, &err);
	if (made < 0 && row->who)
		fail_msg("%s: %s", row->container, err.text);
	if (made == 0 && (!row->who || strcmp(plan_service(&plan), row->who) != 0))
		fail_msg("%s, %s: %s", row->service, row->container, plan_service(&plan));
	if (!row->who)
		assert_int_equal(err.code, SB_UNSUPPORTED);
	eng_close(client);
	fake_free(fake);
	free((char *)(uintptr_t)steps[3].data);
	free((char *)(uintptr_t)steps[5].data);
}

static void test_plan_make__gives_the_service_to_who_can_do_most(void **state)
{
	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(owners); i++)
		assert_owner(&owners[i], PONG);
}

static void test_plan_make__knows_what_docker_20_takes_from_root(void **state)
{
	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(owners_20); i++) {
		struct owner row = owners_20[i];

		assert_owner(&row, PONG_20);
		row.who = "root";
		assert_owner(&row, PONG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan_make__gives_the_service_to_who_can_do_most),
		cmocka_unit_test(test_plan_make__knows_what_docker_20_takes_from_root),
		cmocka_unit_test(test_plan_is_foreign__is_seen_from_the_engines_machine),
	};
	struct sb_err err = SB_ERR_INIT;

	setenv("HOME", "/nonexistent", 1);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("SBINJECT_CONFIG");
	if (eng_global_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
