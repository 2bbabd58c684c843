/* SPDX-License-Identifier: MIT */
/* What a pipe that runs commands is told of its container, and as whom it is started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/commands.h"

#include "engine/client.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct row {
	enum eng_kind kind;
	const char *user, *rest; /* of Config, and what follows there */
	bool as_user;
	const char *told;
	bool by_default;
};

static void describe(const struct row *row)
{
	struct eng_client client = {.kind = row->kind, .version = "4.3.1"};
	struct plan plan = {.client = &client, .as_user = row->as_user};
	struct commands commands = COMMANDS_INIT;
	struct sb_err err = SB_ERR_INIT;
	json_t *doc, *want, *got;
	char text[500];

	snprintf(text, sizeof(text), "{\"Id\": \"" ID "\", \"Config\": {\"User\": \"%s\"%s",
		row->user, row->rest);
	doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	assert_int_equal(eng_container_parse(row->kind, doc, &plan.container, &err), 0);
	assert_int_equal(commands_describe(&plan, &commands, &err), 0);
	got = json_loads(commands.argument, 0, NULL);
	want = json_loads(row->told, 0, NULL);
	assert_non_null(want);
	if (!json_equal(got, want))
		fail_msg("%s%s: %s", row->user, row->rest, commands.argument);
	assert_int_equal(commands.by_default, row->by_default);
	json_decref(got);
	json_decref(want);
	json_decref(doc);
	commands_release(&commands);
	eng_container_release(&plan.container);
}

#define DOCKER(home)                                                                             \
	"\"only_default\": false, \"lists_gid\": true, \"settle_ms\": 2000, \"has_home\": " home \
	", \"groups\": "
#define MOUNT(path) "}, \"Mounts\": [{\"Type\": \"bind\", \"Destination\": \"" path "\"}]}"
#define OTHER_USERS "\"has_home\": false, \"lists_gid\": true, \"settle_ms\": 2000, \"groups\": []"
#define PODMAN "\"only_default\": false, \"lists_gid\": false, \"settle_ms\": 0, \"groups\": []"
#define REFUSED "\"refused\": \"only Podman knows what its default user has\", "

static void test_commands_describe__tells_what_only_the_engine_knows(void **state)
{
	static const struct row rows[] = {
		{ENG_DOCKER, "", "}}", false, "{\"cwd\": \"/\", " DOCKER("false") "[]}", true},
		{ENG_DOCKER, "root", ", \"WorkingDir\": \"/w\", \"Env\": [\"HOME=/h\"]}}", false,
			"{\"cwd\": \"/w\", " DOCKER("true") "[]}", true},
		{ENG_DOCKER, "0",
			", \"Env\": [\"A=b\", \"HOME=\"]}, \"HostConfig\": {\"GroupAdd\": "
			"[\"audio\", \"5\"]}}",
			false, "{\"cwd\": \"/\", " DOCKER("false") "[\"audio\", \"5\"]}", true},
		{ENG_DOCKER, "0:5", "}}", false,
			"{\"cwd\": \"/\", \"user\": \"0:5\", " DOCKER("false") "[]}", false},
		{ENG_DOCKER, "agent", "}}", false,
			"{\"cwd\": \"/\", \"user\": \"agent\", " DOCKER("false") "[]}", false},
		{ENG_DOCKER, "agent", "}}", true, "{\"cwd\": \"/\", " DOCKER("false") "[]}", false},
		{ENG_PODMAN, "", ", \"Env\": [\"A=b\", \"HOME=/root\", \"HOSTNAME=x\"]}}", false,
			"{\"cwd\": \"/\", " PODMAN "}", true},
		{ENG_PODMAN, "", ", \"Env\": [\"HOME=/h\", \"A=b\", \"HOSTNAME=x\"]}}", false,
			"{\"cwd\": \"/\", \"has_home\": true, " PODMAN "}", true},
		{ENG_PODMAN, "agent", "}, \"HostConfig\": {\"GroupAdd\": [\"audio\"]}}", false,
			"{\"cwd\": \"/\", " REFUSED PODMAN "}", false},
		{ENG_PODMAN, "agent", "}}", true, "{\"cwd\": \"/\", " PODMAN "}", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		describe(&rows[i]);
}

static void test_commands_describe__knows_what_hides_users(void **state)
{
	static const struct row rows[] = {
		{ENG_DOCKER, "", MOUNT("/etc/passwd"), false,
			"{\"cwd\": \"/\", \"only_default\": true, " OTHER_USERS "}", true},
		{ENG_DOCKER, "agent", MOUNT("/etc"), true,
			"{\"cwd\": \"/\", \"only_default\": true, " OTHER_USERS "}", false},
		{ENG_DOCKER, "agent", MOUNT("/etc/group"), false,
			"{\"cwd\": \"/\", \"user\": \"agent\", \"refused\": \"a mount hides the users "
			"that Docker knows\", \"only_default\": true, " OTHER_USERS "}",
			false},
		{ENG_DOCKER, "agent", MOUNT("/etc/group.d"), false,
			"{\"cwd\": \"/\", \"user\": \"agent\", \"only_default\": false, " OTHER_USERS
			"}",
			false},
		{ENG_PODMAN, "", MOUNT("/etc/passwd"), false, "{\"cwd\": \"/\", " PODMAN "}", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		describe(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_describe__tells_what_only_the_engine_knows),
		cmocka_unit_test(test_commands_describe__knows_what_hides_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
