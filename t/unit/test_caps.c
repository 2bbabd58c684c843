/* SPDX-License-Identifier: MIT */
/* What root gets in a container, by what docker and podman record of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/caps.h"

#define DOCKERS                                                                                 \
	"chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw " \
	"sys_chroot mknod audit_write setfcap"
#define PODMANS                                                                         \
	"chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service " \
	"sys_chroot setfcap"

struct row {
	enum eng_caps_default which;
	const char *add, *drop; /* JSON, or NULL: the engine says nothing */
	const char *caps;	/* NULL: whatever they are */
	bool can_switch;
};

static const struct row rows[] = {
	{ENG_CAPS_DOCKER, NULL, NULL, DOCKERS, true},
	{ENG_CAPS_PODMAN, "[]", "[]", PODMANS, true},
	{ENG_CAPS_DOCKER, "null", "[\"ALL\"]", "none", false},
	{ENG_CAPS_DOCKER, "null", "[\"all\"]", "none", false},
	{ENG_CAPS_DOCKER, "[\"CAP_SETUID\",\"CAP_SETGID\"]", "[\"ALL\"]", "setgid setuid", true},
	{ENG_CAPS_DOCKER, "[\"setuid\"]", "[\"ALL\"]", "setuid", false},
	{ENG_CAPS_DOCKER, "null", "[\"CAP_SETUID\"]", NULL, false},
	{ENG_CAPS_DOCKER, "null", "[\"SETGID\"]", NULL, false},
	{ENG_CAPS_DOCKER, "null", "[\"NET_RAW\",\"KILL\"]", NULL, true},
	{ENG_CAPS_DOCKER, "[\"ALL\"]", "[\"SETUID\"]", NULL, false},
	{ENG_CAPS_DOCKER, "[\"ALL\"]", "[\"ALL\"]", NULL, true},
	{ENG_CAPS_DOCKER, "[\"SYS_ADMIN\",\"CAP_OF_TOMORROW\",7]", "{}", NULL, true},
	/* Podman records the difference to its default, by name. */
	{ENG_CAPS_PODMAN, "[]",
		"[\"CHOWN\",\"DAC_OVERRIDE\",\"FOWNER\",\"FSETID\",\"KILL\",\"NET_BIND_SERVICE\","
		"\"SETFCAP\",\"SETPCAP\",\"SYS_CHROOT\"]",
		"setgid setuid", true},
	{ENG_CAPS_PODMAN, "[\"NET_ADMIN\"]", "[\"SETUID\"]", NULL, false},
};

static json_t *parse(const char *text)
{
	return text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
}

static void test_eng_caps_of_root__follows_the_engines_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		json_auto_t *add = parse(rows[i].add), *drop = parse(rows[i].drop);
		uint64_t caps = eng_caps_of_root(rows[i].which, false, add, drop);
		char text[ENG_CAPS_TEXT_SIZE];

		eng_caps_describe(caps, text);
		if (rows[i].caps)
			assert_string_equal(text, rows[i].caps);
		if (eng_caps_can_switch(caps) != rows[i].can_switch)
			fail_msg("row %zu: %s", i, text);
	}
}

static void test_eng_caps_of_root__is_all_of_them_where_privileged(void **state)
{
	json_auto_t *drop = parse("[\"ALL\"]");
	char text[ENG_CAPS_TEXT_SIZE];

	(void)state;
	eng_caps_describe(eng_caps_of_root(ENG_CAPS_DOCKER, true, NULL, drop), text);
	assert_non_null(strstr(text, "setuid"));
	assert_non_null(strstr(text, " sys_admin "));
	assert_string_equal(
		text + strlen(text) - strlen("checkpoint_restore"), "checkpoint_restore");
	assert_true(strlen(text) < ENG_CAPS_TEXT_SIZE - 1);
}

static void test_eng_caps_is_word__knows_what_is_described(void **state)
{
	(void)state;
	assert_true(eng_caps_is_word("setuid"));
	assert_true(eng_caps_is_word("none"));
	assert_false(eng_caps_is_word("SETUID"));
	assert_false(eng_caps_is_word("cap_setuid"));
	assert_false(eng_caps_is_word(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_caps_of_root__follows_the_engines_records),
		cmocka_unit_test(test_eng_caps_of_root__is_all_of_them_where_privileged),
		cmocka_unit_test(test_eng_caps_is_word__knows_what_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
