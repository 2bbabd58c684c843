/* SPDX-License-Identifier: MIT */
/* Getters over JSON that an engine wrote: absent, null and of the wrong type are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/json.h"

static json_t *parse(const char *text)
{
	struct sb_err err = SB_ERR_INIT;
	json_t *doc = sb_json_parse(text, strlen(text), "a test", &err);

	assert_non_null(doc);
	assert_int_equal(err.code, SB_OK);
	return doc;
}

static void test_sb_json_parse__refuses_what_is_not_a_document(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} rows[] = {
		{"", 0},
		{"{", 1},
		{"{} x", 4},
		{"null", 4},
		{"1", 1},
		{"{'a':1}", 7},
		{"{\"a\":1", 6},
		{"{\"a\":\"\377\"}", 9},
		{"{\"a\":1e999}", 11},
		{"{\"a\":99999999999999999999}", 26},
		{"{}\0", 3},
		{"<html>", 6},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;

		assert_null(sb_json_parse(rows[i].text, rows[i].len, "the answer", &err));
		assert_int_equal(err.code, SB_FAILED);
		assert_memory_equal(err.text, "the answer is not valid JSON", 28);
	}
}

static void test_sb_json_parse__quotes_nothing(void **state)
{
	static const char *const texts[] = {"{\"auth\":1 \"s3cret\"}", "{\"auth\":\"x\" s3cret}",
		"{\"auth\": s3cret", "s3cret", "{\"auth\":\"s3cret\n\"}", "{\"s3cret"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		struct sb_err err = SB_ERR_INIT;

		assert_null(sb_json_parse(texts[i], strlen(texts[i]), "it", &err));
		assert_null(strstr(err.text, "s3cr"));
		assert_non_null(strstr(err.text, "(line 1, column "));
	}
}

/* An engine passes on what people wrote: one label must not cost the whole document. */
static void test_sb_json_str__does_not_know_a_string_with_a_nul(void **state)
{
	static const char text[] = "{\"a\":\"x\\u0000y\",\"b\":\"\",\"c\":\"z\",\"d\":1}";
	json_t *doc = parse(text);

	(void)state;
	assert_null(sb_json_str(doc, "a"));
	assert_string_equal(sb_json_str(doc, "b"), "");
	assert_string_equal(sb_json_str(doc, "c"), "z");
	assert_null(sb_json_text(json_object_get(doc, "a")));
	assert_string_equal(sb_json_text(json_object_get(doc, "c")), "z");
	assert_null(sb_json_text(json_object_get(doc, "d")));
	assert_null(sb_json_text(NULL));
	json_decref(doc);
}

static void test_sb_json_parse__refuses_deep_nesting(void **state)
{
	enum { DEPTH = 100000 };
	sb_autofree char *text = malloc(DEPTH);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_non_null(text);
	memset(text, '[', DEPTH);
	assert_null(sb_json_parse(text, DEPTH, "the answer", &err));
	assert_int_equal(err.code, SB_FAILED);
}

static void test_sb_json_parse__reads_no_further_than_told(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	json_auto_t *doc = sb_json_parse("{\"a\":1}garbage", 7, "x", &err);

	(void)state;
	assert_non_null(doc);
	assert_int_equal(sb_json_int(doc, "a", 0), 1);
}

static void test_sb_json_at__follows_a_path(void **state)
{
	static const struct {
		const char *path;
		bool there;
	} rows[] = {
		{"State", true},
		{"State.Running", true},
		{"State.Health.Status", true},
		{"State.Running.x", false},
		{"State.", true},
		{"", true},
		{".", false},
		{"state", false},
		{"State.Nothing", false},
		{"List.0", false},
		{"List.a", false},
		{"Null", true},
		{"Null.a", false},
		{"0123456789012345678901234567890123456789012345678901234567890123456789", false},
	};
	json_auto_t *doc = parse("{\"State\":{\"Running\":true,\"Health\":{\"Status\":\"ok\"}},"
				 "\"List\":[{\"a\":1}],\"Null\":null}");

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++)
		assert_int_equal(sb_json_at(doc, rows[i].path) != NULL, rows[i].there);
	assert_null(sb_json_at(NULL, "State"));
	assert_ptr_equal(sb_json_at(doc, ""), doc);
}

static void test_sb_json_getters__take_only_their_type(void **state)
{
	static const struct {
		const char *key;
		const char *str;
		long long number;
		bool boolean;
	} rows[] = {
		{"s", "text", -7, false},
		{"e", "", -7, false},
		{"i", NULL, 42, false},
		{"big", NULL, 9223372036854775807LL, false},
		{"minus", NULL, -3, false},
		{"r", NULL, -7, false},
		{"t", NULL, -7, true},
		{"f", NULL, -7, false},
		{"n", NULL, -7, false},
		{"a", NULL, -7, false},
		{"o", NULL, -7, false},
		{"absent", NULL, -7, false},
		{"st", "true", -7, false},
		{"si", "1", -7, false},
	};
	json_auto_t *doc = parse("{\"s\":\"text\",\"e\":\"\",\"i\":42,\"big\":9223372036854775807,"
				 "\"minus\":-3,\"r\":1.5,\"t\":true,\"f\":false,\"n\":null,"
				 "\"a\":[1],\"o\":{},\"st\":\"true\",\"si\":\"1\"}");

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		const char *str = sb_json_str(doc, rows[i].key);

		assert_int_equal(str != NULL, rows[i].str != NULL);
		if (str)
			assert_string_equal(str, rows[i].str);
		assert_true(sb_json_int(doc, rows[i].key, -7) == rows[i].number);
		assert_int_equal(sb_json_bool(doc, rows[i].key), rows[i].boolean);
	}
}

static void test_sb_json_getters__take_no_document(void **state)
{
	json_auto_t *list = parse("[1]");

	(void)state;
	assert_null(sb_json_str(NULL, "a.b"));
	assert_int_equal(sb_json_int(NULL, "a", 5), 5);
	assert_false(sb_json_bool(NULL, "a"));
	assert_null(sb_json_str(list, "a"));
	assert_int_equal(sb_json_int(list, "0", 5), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sb_json_parse__refuses_what_is_not_a_document),
		cmocka_unit_test(test_sb_json_parse__quotes_nothing),
		cmocka_unit_test(test_sb_json_str__does_not_know_a_string_with_a_nul),
		cmocka_unit_test(test_sb_json_parse__refuses_deep_nesting),
		cmocka_unit_test(test_sb_json_parse__reads_no_further_than_told),
		cmocka_unit_test(test_sb_json_at__follows_a_path),
		cmocka_unit_test(test_sb_json_getters__take_only_their_type),
		cmocka_unit_test(test_sb_json_getters__take_no_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
