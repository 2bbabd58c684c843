/* SPDX-License-Identifier: MIT */
/* The request line of install, uninstall and status, and the words of its failures. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/lib/name.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/spec.h"

#define NONCE "0123456789abcdef0123456789abcdef"
#define SHA NONCE NONCE

static int parse(enum spec_kind kind, const char *text, char *ret_nonce)
{
	struct fail fail = FAIL_INIT;
	struct spec spec;
	int r = spec_parse(&spec, kind, text, strlen(text), &fail);

	strcpy(ret_nonce, spec.nonce ? spec.nonce : "");
	if (r < 0)
		assert_true(fail.text[0] != '\0');
	spec_release(&spec);
	return r;
}

static void test_spec_parse__accepts_what_sbinject_sends(void **state)
{
	char nonce[64];

	(void)state;
	assert_int_equal(
		parse(SPEC_INSTALL,
			"{\"nonce\":\"" NONCE "\",\"sha256\":\"" SHA "\",\"home\":\"/.sbinject\","
			"\"staged\":\"" SHA "." NONCE "\",\"path\":\"/var/tmp/.d/x\","
			"\"links\":[\"/opt/x\"],\"start\":[\"start-server\"],"
			"\"keep\":\"run-" SHA "\",\"timeout_ms\":15000,\"unknown\":1}",
			nonce),
		0);
	assert_string_equal(nonce, NONCE);
	assert_int_equal(
		parse(SPEC_UNINSTALL, "{\"nonce\":\"" NONCE "\",\"home\":\"/h\"}", nonce), 0);
	assert_int_equal(
		parse(SPEC_STATUS, "{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"path\":\"/a/b\"}",
			nonce),
		0);
}

#define GRAFT(sha, staged, when) \
	"{\"nonce\":\"" NONCE "\",\"home\":\"/dev/.sbinject\"" sha staged when "}"
#define GRAFT_SHA ",\"sha256\":\"" SHA "\""
#define GRAFT_STAGED ",\"staged\":\"" SHA "." NONCE "\""

static void test_spec_parse__knows_what_graft_needs(void **state)
{
	static const struct {
		const char *text;
		int outcome;
	} rows[] = {
		{GRAFT(GRAFT_SHA, GRAFT_STAGED, ",\"when\":\"always\""), 0},
		{GRAFT(GRAFT_SHA, GRAFT_STAGED, ",\"when\":\"home\""), 0},
		{GRAFT(GRAFT_SHA, GRAFT_STAGED, ",\"when\":\"current\""), 0},
		{GRAFT(GRAFT_SHA, GRAFT_STAGED, ",\"when\":\"never\""), -1},
		{GRAFT(GRAFT_SHA, GRAFT_STAGED, ",\"when\":1"), -1},
		{GRAFT(GRAFT_SHA, GRAFT_STAGED, ""), -1},
		{GRAFT(GRAFT_SHA, "", ",\"when\":\"always\""), -1},
		{GRAFT(GRAFT_SHA, ",\"staged\":\"../x\"", ",\"when\":\"always\""), -1},
		{GRAFT("", GRAFT_STAGED, ",\"when\":\"always\""), -1},
	};
	char nonce[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(parse(SPEC_GRAFT, rows[i].text, nonce), rows[i].outcome);
}

static void test_spec_parse__refuses_everything_else(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"null",
		"{\"nonce\":\"" NONCE "\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"h\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h/\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h//i\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h/../i\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\\n\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"home\":\"/i\"}",
		"{\"nonce\":\"0123456789ABCDEF0123456789abcdef\",\"home\":\"/h\"}",
		"{\"nonce\":5,\"home\":\"/h\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"path\":\"/one\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"links\":5}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"links\":[5]}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"staged\":\"../x\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"staged\":\"\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"staged\":\"" SHA "\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"keep\":\"" SHA "\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"keep\":\"run-" SHA "0\"}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"keep\":null}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"discard\":[\"state.json\"]}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"start\":[5]}",
		"{\"nonce\":\"" NONCE "\",\"home\":\"/h\",\"cwd\":\"x\"}",
	};
	char nonce[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(parse(SPEC_UNINSTALL, rows[i], nonce), -1);
	assert_int_equal(
		parse(SPEC_INSTALL, "{\"nonce\":\"" NONCE "\",\"home\":\"/h\"}", nonce), -1);
}

static void test_name_is__tells_names_apart(void **state)
{
	static const struct {
		const char *name;
		int binary, delivery, kept;
	} rows[] = {
		{SHA, 1, 0, 0},
		{SHA "0", 0, 0, 0},
		{SHA "." NONCE, 0, 1, 0},
		{SHA ".", 0, 0, 0},
		{SHA "." NONCE "0", 0, 0, 0},
		{"run-" SHA, 0, 0, 1},
		{"run-" NONCE, 0, 0, 0},
		{"run-" SHA "." NONCE, 0, 0, 0},
		{"", 0, 0, 0},
		{"state.json", 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(name_is_binary(rows[i].name), rows[i].binary);
		assert_int_equal(name_is_delivery(rows[i].name), rows[i].delivery);
		assert_int_equal(name_is_kept(rows[i].name), rows[i].kept);
	}
}

static void test_home_forbids__all_but_the_current_one(void **state)
{
	char dir[] = "/tmp/test_payload_install.XXXXXX", path[512];
	static const struct {
		const char *program, *current, *link;
		bool forbidden;
	} rows[] = {
		{"/.sbinject/run-" SHA, "/.sbinject/current", SHA, false},
		{"/.sbinject/run-" SHA, "/.sbinject/current", "0" SHA, true},
		{"/.sbinject/run-" SHA, "/.sbinject/current", "user/" SHA, false},
		{"/.sbinject/run-" SHA, "/.sbinject/other", SHA, true},
		{"/.sbinject/" SHA "." NONCE, "/.sbinject/current", SHA, false},
		{"/.sbinject/" SHA "." NONCE, "/.sbinject/.sbinject/current", SHA, true},
		{"/" SHA "." NONCE, "/.sbinject/current", SHA, false},
		{"/" SHA "." NONCE, "/.sbinject/other", SHA, true},
		{"/.sbinject/user/" SHA "/run-" SHA, "/.sbinject/current", "user/" SHA, false},
		{"/.sbinject/user/" SHA "/program", "/.sbinject/current", "user/" SHA, false},
		{"/.sbinject/user/" SHA "/program", "/.sbinject/other", "user/" SHA, true},
		{"/.sbinject/user/" SHA "/program", "/.sbinject/user/" SHA "/current", SHA, true},
		{"/.sbinject/current", "/.sbinject/other", SHA, false},
		{"/opt/inspect-sandbox-tools", "/opt/other", SHA, false},
	};

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(path, sizeof(path),
			"cd %s && rm -rf * .s* && mkdir -p .sbinject/user/" SHA
			" .sbinject/.sbinject opt && ln -s %s .%s",
			dir, rows[i].link, rows[i].current);
		assert_int_equal(system(path), 0); /* NOLINT: nothing of it is from outside */
		snprintf(path, sizeof(path), "%s%s", dir, rows[i].program);
		assert_int_equal(home_forbids(path, SHA), rows[i].forbidden);
	}
	snprintf(path, sizeof(path), "rm -rf %s", dir);
	assert_int_equal(system(path), 0); /* NOLINT: nothing of it is from outside */
	assert_true(home_forbids("/run-" SHA, SHA));
}

static void test_receipt_code__translates_errors(void **state)
{
	static const struct {
		int error;
		const char *code;
	} rows[] = {
		{EROFS, "readonly"},
		{ENOSPC, "nospace"},
		{EACCES, "denied"},
		{EPERM, "denied"},
		{ENOTDIR, "occupied"},
		{ETIMEDOUT, "timeout"},
		{EAGAIN, "limit"},
		{ENOMEM, "limit"},
		{EIO, "internal"},
		{0, "internal"},
	};
	struct fail fail = FAIL_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fail.error = rows[i].error;
		assert_string_equal(receipt_code(&fail), rows[i].code);
	}
	fail_code(&fail, FAIL_BUSY, "x");
	assert_string_equal(receipt_code(&fail), "busy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spec_parse__accepts_what_sbinject_sends),
		cmocka_unit_test(test_spec_parse__knows_what_graft_needs),
		cmocka_unit_test(test_spec_parse__refuses_everything_else),
		cmocka_unit_test(test_name_is__tells_names_apart),
		cmocka_unit_test(test_home_forbids__all_but_the_current_one),
		cmocka_unit_test(test_receipt_code__translates_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
