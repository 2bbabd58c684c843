/* SPDX-License-Identifier: MIT */
#include "conf/yaml.h"

#include "engine/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct bad {
	const char *text;
	const char *error;
};

static const struct bad bad[] = {
	{"", "f:1:1: the file is empty"},
	{"# only a comment\n", "f:1:1: the file is empty"},
	{"---\n", "f:2:1: the file is empty"},
	{"a: &x 1\n", "f:1:4: anchors are not supported"},
	{"a: &x [1]\n", "f:1:4: anchors are not supported"},
	{"a:\n  &x b: 1\n", "f:2:3: anchors are not supported"},
	{"a: &x {b: 1}\n", "f:1:4: anchors are not supported"},
	{"a: 1\nb: *x\n", "f:2:4: a string that begins with '*' needs quotes"},
	{"*x : 1\n", "f:1:1: a string that begins with '*' needs quotes"},
	{"a: 1\nimage: */team/*\n", "f:2:8: a string that begins with '*' needs quotes"},
	{"image: *\n", "f:1:8: a string that begins with '*' needs quotes"},
	{"a: !!str 1\n", "f:1:4: tags are not supported"},
	{"a: !!python/object:x [1]\n", "f:1:4: tags are not supported"},
	{"a: !local {b: 1}\n", "f:1:4: tags are not supported"},
	{"!!str a: 1\n", "f:1:1: tags are not supported"},
	{"%YAML 1.1\n---\na: 1\n", "f:1:1: directives are not supported"},
	{"%TAG ! tag:x,2000:\n---\na: 1\n", "f:1:1: directives are not supported"},
	{"a: 1\n---\nb: 2\n", "f:2:1: more than one document"},
	{"a: 1\nb: 2\na: 3\n", "f:3:1: duplicate key 'a', first on line 1"},
	{"x: {b: 1, \"b\": 2}\n", "f:1:11: duplicate key 'b', first on line 1"},
	{"[1]: 2\n", "f:1:1: a key must be a string"},
	{"? {a: 1}\n: 2\n", "f:1:3: a key must be a string"},
	{"'': 1\n", "f:1:1: empty key"},
	{"a:\nb: 1\n", "f:1:1: 'a' has no value"},
	{"x:\n  a: ~\n", "f:2:3: 'a' has no value"},
	{"a: null\n", "f:1:1: 'a' has no value"},
	{"a: Null\n", "f:1:1: 'a' has no value"},
	{"a: NULL\n", "f:1:1: 'a' has no value"},
	{"- 1\n- ~\n", "f:2:3: an item has no value"},
	{"- 1\n-\n", "f:2:2: an item has no value"},
	{"{a, b: 1}\n", "f:1:2: 'a' has no value"},
	{"a: \"\\0\"\n", "f:1:4: unprintable character in a string (byte 0x00)"},
	{"a: \"x\\e[2J\"\n", "f:1:4: unprintable character in a string (byte 0x1b)"},
	{"a: |\n  text\n", "f:1:4: unprintable character in a string (byte 0x0a)"},
	{"\"a\\tb\": 1\n", "f:1:1: unprintable character in a string (byte 0x09)"},
	{"a: \"\\u202e\"\n", "f:1:4: unprintable character in a string (byte 0xe2)"},
	{"a: 1\nb: \x01\n", "f:2:4: control characters are not allowed"},
	{"a: 1\nb: \xc3\xa4\xff\n", "f:2:5: invalid leading UTF-8 octet"},
	{"\xff\xfe"
	 "a",
		"f:1:1: invalid leading UTF-8 octet"},
	{"a: [1, 2\n", "f:2:1: did not find expected ',' or ']' while parsing a flow sequence"},
	{"a: 1\n  b: 2\n", "f:2:4: mapping values are not allowed in this context"},
	{"a:\n\t- 1\n", "f:2:1: found character that cannot start any token while scanning for "
			"the next token"},
	{"a: 'x\n", "f:2:1: found unexpected end of stream while scanning a quoted scalar"},
	{"[[[[[[[[[[[[[[[[[", "f:1:17: nested more than 16 levels deep"},
	{"{a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1",
		"f:1:65: nested more than 16 levels deep"},
};

static void test_yml_parse__refuses_with_place(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(bad); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct yml_node *root = NULL;
		int rc = yml_parse(bad[i].text, strlen(bad[i].text), "f", &root, &err);

		assert_null(root);
		if (rc == -1 && err.code == SB_USAGE && !strcmp(err.text, bad[i].error))
			continue;
		print_error("%s\nis: %s\nnot: %s\n", bad[i].text, err.text, bad[i].error);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void test_yml_parse__refuses_nul_byte(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct yml_node *root = NULL;

	(void)state;
	assert_int_equal(yml_parse("a: 1\n\0b: 2\n", 11, "f", &root, &err), -1);
	assert_string_equal(err.text, "f:2:1: control characters are not allowed");
}

static void assert_node(const struct yml_node *node, enum yml_kind kind, int line, int column)
{
	assert_non_null(node);
	assert_int_equal(node->kind, kind);
	assert_int_equal(node->at.line, line);
	assert_int_equal(node->at.column, column);
}

static void assert_text(const struct yml_node *node, const char *text, int line, int column)
{
	assert_node(node, YML_TEXT, line, column);
	assert_string_equal(node->text, text);
}

static void test_yml_parse__builds_tree_with_places(void **state)
{
	static const char text[] = "# comment\n"
				   "name: \xc3\xa4\xc3\xb6 x   # comment\n"
				   "'list':\n"
				   "- 16.10\n"
				   "- \"null\"\n"
				   "map: {\"k\xc3\xa4\": on, l: ''}\n"
				   "...\n";
	sb_auto(yml_freep) struct yml_node *root = NULL;
	struct sb_err err = SB_ERR_INIT;
	const struct yml_node *node;

	(void)state;
	assert_int_equal(yml_parse(text, sizeof(text) - 1, "f", &root, &err), 0);
	assert_node(root, YML_MAPPING, 2, 1);
	assert_int_equal(root->count, 3);
	assert_null(root->key);
	assert_text(yml_get(root, "name"), "\xc3\xa4\xc3\xb6 x", 2, 7);
	node = yml_get(root, "list");
	assert_node(node, YML_LIST, 4, 1);
	assert_int_equal(node->key_at.line, 3);
	assert_int_equal(node->key_at.column, 1);
	assert_int_equal(node->count, 2);
	assert_text(node->first, "16.10", 4, 3);
	assert_text(node->first->next, "null", 5, 3);
	assert_null(node->first->next->next);
	node = yml_get(root, "map");
	assert_node(node, YML_MAPPING, 6, 6);
	assert_text(yml_get(node, "k\xc3\xa4"), "on", 6, 13);
	assert_text(yml_get(node, "l"), "", 6, 20);
	assert_int_equal(yml_get(node, "l")->key_at.column, 17);
	assert_null(yml_get(node, "m"));
}

static void test_yml_parse__interprets_no_words(void **state)
{
	static const char *const words[] = {"no", "on", "0o17", "0x1f", "1e3", "12", "16.10",
		"nULL", "2024-01-01", "1:30", "<<", "=", "Nil"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(words); i++) {
		sb_auto(yml_freep) struct yml_node *root = NULL;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(yml_parse(words[i], strlen(words[i]), "f", &root, &err), 0);
		assert_text(root, words[i], 1, 1);
	}
}

static void test_yml_parse__skips_byte_order_mark(void **state)
{
	static const char text[] = "\xef\xbb\xbf"
				   "a: 1\nb: 2\n";
	sb_auto(yml_freep) struct yml_node *root = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(yml_parse(text, sizeof(text) - 1, "f", &root, &err), 0);
	assert_node(root, YML_MAPPING, 1, 1);
	assert_text(yml_get(root, "b"), "2", 2, 4);
}

static void test_yml_parse__accepts_full_depth(void **state)
{
	static const char text[] = "[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]";
	sb_auto(yml_freep) struct yml_node *root = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(yml_parse(text, sizeof(text) - 1, "f", &root, &err), 0);
}

static void test_yml_parse__bounds_nodes(void **state)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	sb_auto(yml_freep) struct yml_node *root = NULL;
	struct yml_node *none = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	for (int i = 1; i < YML_MAX_NODES; i++)
		assert_int_equal(sb_buf_adds(&text, "- a\n", &err), 0);
	assert_int_equal(yml_parse(text.data, text.len, "f", &root, &err), 0);
	assert_int_equal(root->count, YML_MAX_NODES - 1);
	assert_int_equal(sb_buf_adds(&text, "- a\n", &err), 0);
	assert_int_equal(yml_parse(text.data, text.len, "f", &none, &err), -1);
	assert_string_equal(err.text, "f:10000:3: more than 10000 values");
}

static void test_yml_parse__bounds_size(void **state)
{
	sb_autofree char *text = malloc(SB_MAX_CONFIG + 1);
	sb_auto(yml_freep) struct yml_node *root = NULL;
	struct yml_node *none = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', SB_MAX_CONFIG + 1);
	assert_int_equal(yml_parse(text, SB_MAX_CONFIG, "f", &root, &err), 0);
	assert_int_equal(yml_parse(text, SB_MAX_CONFIG + 1, "f", &none, &err), -1);
	assert_string_equal(err.text, "f: larger than the permitted 1048576 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yml_parse__refuses_with_place),
		cmocka_unit_test(test_yml_parse__refuses_nul_byte),
		cmocka_unit_test(test_yml_parse__builds_tree_with_places),
		cmocka_unit_test(test_yml_parse__interprets_no_words),
		cmocka_unit_test(test_yml_parse__skips_byte_order_mark),
		cmocka_unit_test(test_yml_parse__accepts_full_depth),
		cmocka_unit_test(test_yml_parse__bounds_nodes),
		cmocka_unit_test(test_yml_parse__bounds_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
