/* SPDX-License-Identifier: MIT */
/* The X-Docker-Container-Path-Stat header: base64, JSON and Go's file modes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/client.h"

/* Standard, padded, as Go writes it. */
static void encode(const char *text, char *dst)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *u = (const unsigned char *)text;
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i += 3) {
		unsigned more = i + 1 < len ? u[i + 1] : 0, last = i + 2 < len ? u[i + 2] : 0;
		unsigned bits = (unsigned)u[i] << 16 | more << 8 | last;

		*dst++ = alphabet[bits >> 18];
		*dst++ = alphabet[bits >> 12 & 63];
		*dst++ = i + 1 < len ? alphabet[bits >> 6 & 63] : '=';
		*dst++ = i + 2 < len ? alphabet[bits & 63] : '=';
	}
	*dst = '\0';
}

static int parse(const char *json, struct eng_stat *ret, struct sb_err *err)
{
	sb_autofree char *header = malloc(strlen(json) * 2 + 8);

	assert_non_null(header);
	encode(json, header);
	memset(ret, 0xa5, sizeof(*ret));
	return eng_stat_parse(header, ret, err);
}

#define REST "\"size\":4096,\"mtime\":\"2026-11-18T09:00:00Z\",\"linkTarget\":\"\"}"

static void test_eng_stat_parse__reads_go_modes(void **state)
{
	static const struct {
		const char *json;
		enum eng_type type;
		unsigned mode;
	} rows[] = {
		{"{\"name\":\"tmp\",\"mode\":2148532735," REST, ENG_DIR, 01777},
		{"{\"name\":\"/\",\"mode\":2147484141," REST, ENG_DIR, 0755},
		{"{\"name\":\"f\",\"mode\":420," REST, ENG_FILE, 0644},
		{"{\"name\":\"f\",\"mode\":0," REST, ENG_FILE, 0},
		{"{\"name\":\"su\",\"mode\":8389101," REST, ENG_FILE, 04755},
		{"{\"name\":\"sg\",\"mode\":4194797," REST, ENG_FILE, 02755},
		{"{\"name\":\"ln\",\"mode\":134218239," REST, ENG_LINK, 0777},
		{"{\"name\":\"null\",\"mode\":69206454," REST, ENG_SPECIAL, 0666},
		{"{\"name\":\"sda\",\"mode\":67109296," REST, ENG_SPECIAL, 0660},
		{"{\"name\":\"fifo\",\"mode\":33554852," REST, ENG_SPECIAL, 0644},
		{"{\"name\":\"sock\",\"mode\":16777709," REST, ENG_SPECIAL, 0755},
		{"{\"name\":\"odd\",\"mode\":524708," REST, ENG_SPECIAL, 0644},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct eng_stat st;

		assert_int_equal(parse(rows[i].json, &st, &err), 0);
		assert_int_equal(st.type, rows[i].type);
		assert_int_equal(st.mode, rows[i].mode);
		assert_int_equal(st.size, 4096);
		assert_string_equal(st.link, "");
	}
}

static void test_eng_stat_parse__keeps_the_target_of_links_only(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct eng_stat st;

	(void)state;
	assert_int_equal(parse("{\"name\":\"sh\",\"size\":7,\"mode\":134218239,"
			       "\"linkTarget\":\"/usr/bin/dash\"}",
				 &st, &err),
		0);
	assert_int_equal(st.type, ENG_LINK);
	assert_string_equal(st.link, "/usr/bin/dash");
	/* Podman fills linkTarget for everything, and says what the target is. */
	assert_int_equal(parse("{\"name\":\"passwd\",\"size\":7,\"mode\":420,\"isDir\":false,"
			       "\"linkTarget\":\"/etc/passwd\"}",
				 &st, &err),
		0);
	assert_int_equal(st.type, ENG_FILE);
	assert_string_equal(st.link, "");
	assert_int_equal(parse("{\"name\":\".\",\"size\":7,\"mode\":2147484141,\"isDir\":true,"
			       "\"linkTarget\":\"/\"}",
				 &st, &err),
		0);
	assert_int_equal(st.type, ENG_DIR);
	assert_int_equal(parse("{\"name\":\"l\",\"mode\":134218239,\"isDir\":true}", &st, &err), 0);
	assert_int_equal(st.type, ENG_LINK);
	assert_int_equal(st.size, 0);
	assert_string_equal(st.link, "");
	assert_int_equal(
		parse("{\"name\":\"l\",\"mode\":134218239,\"linkTarget\":[\"/x\"]}", &st, &err), 0);
	assert_string_equal(st.link, "");
}

static void test_eng_stat_parse__takes_every_padding(void **state)
{
	static const char *const texts[] = {
		"{\"mode\":420}", "{\"mode\":420} ", "{\"mode\":420}  "};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct eng_stat st;

		assert_int_equal(parse(texts[i], &st, &err), 0);
		assert_int_equal(st.mode, 0644);
	}
}

static void test_eng_stat_parse__takes_large_sizes(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct eng_stat st;

	(void)state;
	assert_int_equal(parse("{\"mode\":420,\"size\":1099511627776}", &st, &err), 0);
	assert_true(st.size == 1099511627776ULL);
}

static void test_eng_stat_parse__refuses_other_json(void **state)
{
	static const char *const texts[] = {"", "{}", "[]", "[420]", "null", "{\"mode\":null}",
		"{\"mode\":\"420\"}", "{\"mode\":-1}", "{\"mode\":4.5}", "{\"Mode\":420}",
		"{\"mode\":420", "not JSON at all"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct eng_stat st;

		assert_int_equal(parse(texts[i], &st, &err), -1);
		assert_int_equal(err.code, SB_FAILED);
		assert_non_null(strstr(err.text, "the engine's file status"));
	}
}

static void test_eng_stat_parse__refuses_other_headers(void **state)
{
	static const char *const headers[] = {"{\"mode\":420}", "eyJt b2Rl", "====", "\377\377",
		"eyJtb2RlIjo0MjB9\r", "eyJtb2Rl-_", "A", "AA", "\033[31m"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(headers); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct eng_stat st;

		assert_int_equal(eng_stat_parse(headers[i], &st, &err), -1);
		assert_int_equal(err.code, SB_FAILED);
		assert_null(strchr(err.text, '\033'));
	}
}

/* What does not fit is cut into another path: it must not be used. */
static void test_eng_stat_parse__never_cuts_a_target(void **state)
{
	struct eng_stat st;
	char json[2 * sizeof(st.link)], target[sizeof(st.link) + 2];

	(void)state;
	for (size_t len = sizeof(st.link) - 2; len <= sizeof(st.link) + 1; len++) {
		struct sb_err err = SB_ERR_INIT;

		memset(target, 'a', len);
		target[0] = '/';
		target[len] = '\0';
		snprintf(json, sizeof(json), "{\"mode\":134218239,\"linkTarget\":\"%s\"}", target);
		assert_int_equal(parse(json, &st, &err), 0);
		assert_string_equal(st.link, len < sizeof(st.link) ? target : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_stat_parse__reads_go_modes),
		cmocka_unit_test(test_eng_stat_parse__keeps_the_target_of_links_only),
		cmocka_unit_test(test_eng_stat_parse__takes_every_padding),
		cmocka_unit_test(test_eng_stat_parse__takes_large_sizes),
		cmocka_unit_test(test_eng_stat_parse__refuses_other_json),
		cmocka_unit_test(test_eng_stat_parse__refuses_other_headers),
		cmocka_unit_test(test_eng_stat_parse__never_cuts_a_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
