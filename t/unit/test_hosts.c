/* SPDX-License-Identifier: MIT */
/* The table of client releases, and the range that a client is found in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/hosts.h"

static unsigned long number(const struct host_release *release)
{
	return (release->part[0] * 1000ul + release->part[1]) * 100000ul + release->part[2];
}

static void test_hosts__are_in_order_and_do_not_overlap(void **state)
{
	(void)state;
	assert_true(host_count() > 20);
	for (size_t i = 0; i < host_count(); i++) {
		const struct host *host = host_at(i);

		assert_true(number(&host->from) <= number(&host->to));
		if (i && !strcmp(host->client, host_at(i - 1)->client))
			assert_true(number(&host_at(i - 1)->to) < number(&host->from));
	}
}

static void test_hosts__say_what_is_served_or_why_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < host_count(); i++) {
		const struct host *host = host_at(i);
		struct sb_err err = SB_ERR_INIT;

		assert_true(!host->path != !host->why);
		assert_int_equal(host_check_served(host, &err), host->path ? 0 : -1);
		assert_int_equal(err.code, host->path ? SB_OK : SB_UNSUPPORTED);
		if (!host->path)
			continue;
		assert_true(*host->path == '/');
		assert_true(host->service != CONF_UNSAID);
		assert_true(!strcmp(host->form, "executable") || !strcmp(host->form, "tar.gz"));
		assert_true(host->number > 0);
	}
}

static void test_host_find__finds_the_range(void **state)
{
	static const struct {
		const char *client, *range; /* NULL: none, and no error */
		enum sb_code code;
	} rows[] = {
		{"inspect_ai 0.3.36", "0.3.36 to 0.3.75", SB_OK},
		{"inspect_ai 0.3.137", "0.3.137", SB_OK},
		{"inspect_ai 0.3.260", "0.3.259 to 0.3.260", SB_OK},
		{"inspect_ai 0.3.280", "0.3.278 to 0.3.280", SB_OK},
		{"inspect_ai=0.3.280", "0.3.278 to 0.3.280", SB_OK},
		{NULL, NULL, SB_OK},
		{"", NULL, SB_OK},
		{"inspect_ai", NULL, SB_OK},
		{"inspect_ai ", NULL, SB_OK},
		{"inspect_ait 0.3.285", NULL, SB_OK},
		{"harbor 0.3.285", NULL, SB_OK},
		{"inspect_ai 0.3.35", NULL, SB_MISMATCH},
		{"inspect_ai 0.3.141", NULL, SB_MISMATCH}, /* never published */
		{"inspect_ai 0.3.2851", NULL, SB_MISMATCH},
		{"inspect_ai 0.4.285", NULL, SB_MISMATCH},
		{"inspect_ai 1.3.285", NULL, SB_MISMATCH},
		{"inspect_ai 0.3", NULL, SB_MISMATCH},
		{"inspect_ai 0.3.285.dev4+g1234", NULL, SB_MISMATCH},
		{"inspect_ai 0.3.-1", NULL, SB_MISMATCH},
		{"inspect_ai -0.3.285", NULL, SB_MISMATCH},
		{"inspect_ai 0.3.4294967581", NULL, SB_MISMATCH}, /* 2^32 + 285 */
		{"inspect_ai latest", NULL, SB_MISMATCH},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		const struct host *host = host_at(0);
		char text[HOST_TEXT_SIZE];
		int ret = host_find(rows[i].client, &host, &err);

		if (err.code != rows[i].code || ret != (err.code ? -1 : 0) ||
			!host != !rows[i].range ||
			(host && strcmp(host_range_text(host, text), rows[i].range) != 0))
			fail_msg("%s: %s", rows[i].client, host ? text : err.text);
	}
}

static void test_host_find__names_the_newest_release(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	const struct host *host, *last = host_at(host_count() - 1);
	struct host_release next = last->to;
	char newest[HOST_TEXT_SIZE], unknown[HOST_TEXT_SIZE], text[HOST_TEXT_SIZE + 40];

	(void)state;
	next.part[2]++;
	snprintf(text, sizeof(text), "inspect_ai %s", host_release_text(&next, unknown));
	assert_int_equal(host_find(text, &host, &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_non_null(strstr(err.text, unknown));
	snprintf(text, sizeof(text), "--client 'inspect_ai %s'",
		host_release_text(&last->to, newest));
	assert_non_null(strstr(err.text, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts__are_in_order_and_do_not_overlap),
		cmocka_unit_test(test_hosts__say_what_is_served_or_why_not),
		cmocka_unit_test(test_host_find__finds_the_range),
		cmocka_unit_test(test_host_find__names_the_newest_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
