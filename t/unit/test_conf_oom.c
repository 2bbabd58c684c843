/* SPDX-License-Identifier: MIT */
/* wrap: malloc calloc realloc strdup */
/* Every allocation of conf_parse and rule_match fails once: an error each time, and no leak. */
#include "conf/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/unit/fail_alloc.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char text[] = "version: 1\n"
			   "payloads:\n"
			   "  tools-amd64: {source: embedded}\n"
			   "  old: {source: file, path: sub/old, sha256: " SHA "}\n"
			   "  tree: {source: file, path: t, sha256: " SHA ", format: tar,\n"
			   "    tree: " SHA ", install: /opt/t, launcher: bin/run}\n"
			   "install: {path: /a/b, links: [/c, /d]}\n"
			   "start: [start-server, x]\n"
			   "rules:\n"
			   "  - {when: {os: linux, arch: [amd64, arm64], label: {k: [v, w], l: "
			   "m}}, use: tools-amd64, with: [tree]}\n"
			   "  - {when: {os: linux}, use: old}\n";

static void test_conf_parse__survives_each_failing_allocation(void **state)
{
	int rc = -1;

	(void)state;
	for (long n = 0; rc < 0; n++) {
		sb_auto(conf_freep) struct conf *conf = NULL;
		struct sb_err err = SB_ERR_INIT;

		armed = lasting = true;
		left = n;
		rc = conf_parse(text, sizeof(text) - 1, "f", "/d", &conf, &err);
		armed = false;
		if (rc < 0) {
			assert_null(conf);
			assert_int_equal(err.code, SB_FAILED);
			assert_string_equal(err.text, "out of memory");
		} else {
			assert_in_range(n, 50, 1000);
		}
	}
}

static void test_rule_match__survives_each_failing_allocation(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;
	struct sb_facts facts = {0};

	(void)state;
	assert_int_equal(conf_parse(text, sizeof(text) - 1, "f", "/d", &conf, &err), 0);
	for (long n = 0; err.code != SB_UNSUPPORTED; n++) {
		sb_err_clear(&err);
		armed = lasting = true;
		left = n;
		assert_null(rule_match(conf, &facts, &err));
		armed = false;
		if (err.code != SB_UNSUPPORTED)
			assert_string_equal(err.text, "out of memory");
		assert_in_range(n, 0, 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf_parse__survives_each_failing_allocation),
		cmocka_unit_test(test_rule_match__survives_each_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
