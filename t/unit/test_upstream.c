/* SPDX-License-Identifier: MIT */
/* The table of upstream's own programs: each pinned once, and one for each range of releases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/text.h"
#include "payloads/upstream.h"

static bool is_before(const struct host_release *a, const struct host_release *b)
{
	for (size_t i = 0; i < SB_ARRAY_SIZE(a->part); i++)
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i];
	return false;
}

static void test_upstream__is_pinned_and_named_once(void **state)
{
	(void)state;
	assert_true(upstream_count() >= 66);
	for (size_t i = 0; i < upstream_count(); i++) {
		const struct upstream *one = upstream_at(i);
		char name[64];

		snprintf(name, sizeof(name), "upstream-v%u-%s%s", one->number, one->arch,
			!strcmp(one->libc, "musl") ? "-musl" : "");
		assert_string_equal(one->name, name);
		assert_true(sb_is_hex64(one->sha256));
		assert_false(is_before(&one->to, &one->from));
		assert_true(upstream_by_name(one->name) == one);
		assert_true(upstream_by_sha256(one->sha256) == one);
	}
	assert_null(upstream_by_name("upstream-v1-amd64"));
	assert_null(upstream_by_sha256(""));
}

static void test_upstream__says_where_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < upstream_count(); i++) {
		const struct upstream *one = upstream_at(i);

		assert_true(!one->wheel == !one->wheel_sha256);
		assert_true(!one->wheel == !strcmp(one->libc, "musl"));
		assert_true(!one->wheel || one->size > 10000000);
		assert_true(!one->wheel || sb_is_hex64(one->wheel_sha256));
	}
}

/* The two tables are kept apart; a release that is in one of them must be in the other. */
static void test_upstream_for__has_what_each_release_brings(void **state)
{
	static const char *const arches[] = {"amd64", "arm64"};

	(void)state;
	for (size_t i = 0; i < 2 * host_count(); i++) {
		const struct host *host = host_at(i / 2);
		const struct upstream *one = upstream_for(host, arches[i % 2], "glibc");

		assert_int_equal(one != NULL, host->path != NULL);
		if (!one)
			continue;
		assert_string_equal(one->form, host->form);
		assert_false(is_before(&host->from, &one->from));
		assert_false(is_before(&one->to, &host->to));
	}
	assert_null(upstream_for(host_at(host_count() - 1), "riscv64", "glibc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_upstream__is_pinned_and_named_once),
		cmocka_unit_test(test_upstream__says_where_it_is),
		cmocka_unit_test(test_upstream_for__has_what_each_release_brings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
