/* SPDX-License-Identifier: MIT */
/* Named parameters: nothing is coerced, and every mistake has its exact words. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/rpc/params.h"

static const struct param every[] = {
	{"s", PARAM_STRING, PARAM_OPTIONAL},
	{"i", PARAM_INTEGER, PARAM_OPTIONAL},
	{"n", PARAM_NUMBER, PARAM_OPTIONAL},
	{"b", PARAM_BOOLEAN, PARAM_OPTIONAL},
	{"t", PARAM_TRUE, PARAM_OPTIONAL},
	{"ss", PARAM_STRINGS, PARAM_OPTIONAL},
	{"ii", PARAM_INTEGERS, PARAM_OPTIONAL},
	{"m", PARAM_STRING_MAP, PARAM_OPTIONAL},
	{"o", PARAM_OBJECT, PARAM_OPTIONAL},
	{"v", PARAM_VERSION, PARAM_OPTIONAL},
	{"h", PARAM_HANDLER, PARAM_DEFAULTED},
	{"id", PARAM_ID, PARAM_OPTIONAL},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};

static const struct param poll[] = {
	{"pid", PARAM_INTEGER, PARAM_REQUIRED},
	{"ack_seq", PARAM_INTEGER, PARAM_REQUIRED},
	{NULL, PARAM_STRING, PARAM_REQUIRED},
};

static void check(const char *text, const struct param *table, bool strict, const char *prefix,
	const char *want)
{
	struct buf errors = BUF_INIT(1 << 20);
	json_t *params = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;

	assert_true(params || !text);
	assert_int_equal(params_check(params, table, strict, prefix, &errors), 0);
	assert_int_equal(buf_add(&errors, "", 1), 0);
	assert_string_equal(errors.data, want);
	json_decref(params);
	buf_release(&errors);
}

static void test_params_check__accepts_right_types_and_nulls(void **state)
{
	(void)state;
	check(NULL, every, true, "", "");
	check("{}", every, true, "", "");
	check("{\"s\":null,\"i\":null,\"n\":null,\"b\":null,\"t\":null,\"ss\":null,\"ii\":null,"
	      "\"m\":null,\"o\":null}",
		every, true, "", "");
	check("{\"s\":\"\\u0000\",\"i\":-9223372036854775808,\"n\":1,\"b\":false,\"t\":true,"
	      "\"ss\":[],\"ii\":[1,2],\"m\":{\"A\":\"\"},\"o\":{\"x\":1}}",
		every, true, "", "");
	check("{\"v\":\"2.0\",\"h\":\"replace\",\"id\":\"\"}", every, true, "", "");
	check("{\"id\":-1,\"h\":\"strict\"}", every, true, "", "");
	check("{\"n\":1.5,\"ss\":[\"a\"],\"x\":1}", every, false, "", "");
}

static void test_params_check__coerces_nothing(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"{\"s\":5}", "'s' Input should be a valid string"},
		{"{\"i\":\"5\"}", "'i' Input should be a valid integer"},
		{"{\"i\":1.0}", "'i' Input should be a valid integer"},
		{"{\"i\":true}", "'i' Input should be a valid integer"},
		{"{\"n\":\"1\"}", "'n' Input should be a valid number"},
		{"{\"n\":false}", "'n' Input should be a valid number"},
		{"{\"b\":1}", "'b' Input should be a valid boolean"},
		{"{\"b\":\"true\"}", "'b' Input should be a valid boolean"},
		{"{\"t\":false}", "'t' Input should be True"},
		{"{\"t\":1}", "'t' Input should be True"},
		{"{\"ss\":\"a\"}", "'ss' Input should be a valid list"},
		{"{\"ss\":[\"a\",1,null]}", "'ss.1' Input should be a valid string\n"
					    "'ss.2' Input should be a valid string"},
		{"{\"ii\":{}}", "'ii' Input should be a valid list"},
		{"{\"ii\":[1,\"2\",3.0]}", "'ii.1' Input should be a valid integer\n"
					   "'ii.2' Input should be a valid integer"},
		{"{\"m\":[]}", "'m' Input should be a valid dictionary"},
		{"{\"m\":{\"A\":1}}", "'m.A' Input should be a valid string"},
		{"{\"o\":\"x\"}", "'o' Input should be a valid dictionary"},
		{"{\"v\":2.0}", "'v' Input should be '2.0'"},
		{"{\"v\":\"2\"}", "'v' Input should be '2.0'"},
		{"{\"v\":\"2.0\\u0000\"}", "'v' Input should be '2.0'"},
		{"{\"h\":null}", "'h' Input should be 'strict', 'ignore' or 'replace'"},
		{"{\"h\":\"\"}", "'h' Input should be 'strict', 'ignore' or 'replace'"},
		{"{\"h\":\"replace \"}", "'h' Input should be 'strict', 'ignore' or 'replace'"},
		{"{\"h\":\", \"}", "'h' Input should be 'strict', 'ignore' or 'replace'"},
		{"{\"id\":1.5}", "'id.int' Input should be a valid integer\n"
				 "'id.str' Input should be a valid string"},
		{"{\"x\":1,\"s\":5}", "'s' Input should be a valid string\n"
				      "'x' Extra inputs are not permitted"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(rows[i].text, every, true, "", rows[i].want);
}

static void test_params_check__takes_a_user_by_name_or_numbers(void **state)
{
	static const struct param user[] = {
		{"user", PARAM_USER, PARAM_OPTIONAL}, {NULL, PARAM_STRING, PARAM_REQUIRED}};
#define NO_NAME "'x.user.str' Input should be a valid string\n"
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"{}", ""},
		{"{\"user\":null}", ""},
		{"{\"user\":\"\"}", ""},
		{"{\"user\":{\"uid\":1,\"gid\":2,\"groups\":[]}}", ""},
		{"{\"user\":{\"uid\":1,\"gid\":2,\"groups\":[3,4],\"home\":null}}", ""},
		{"{\"user\":{\"uid\":1,\"gid\":2,\"groups\":[3],\"home\":\"/h\"}}", ""},
		{"{\"user\":5}", NO_NAME "'x.user.RunAs' Input should be a valid dictionary or "
					 "instance of RunAs"},
		{"{\"user\":[]}", NO_NAME "'x.user.RunAs' Input should be a valid dictionary or "
					  "instance of RunAs"},
		{"{\"user\":{\"uid\":1.0,\"groups\":[3,\"4\"],\"home\":5,\"name\":\"x\"}}",
			NO_NAME "'x.user.RunAs.uid' Input should be a valid integer\n"
				"'x.user.RunAs.gid' Field required\n"
				"'x.user.RunAs.groups.1' Input should be a valid integer\n"
				"'x.user.RunAs.home' Input should be a valid string\n"
				"'x.user.RunAs.name' Extra inputs are not permitted"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(rows[i].text, user, true, "x.", rows[i].want);
}

static void test_params_check__names_what_is_missing(void **state)
{
	static const struct param view[] = {
		{"path", PARAM_STRING, PARAM_REQUIRED}, {NULL, PARAM_STRING, PARAM_REQUIRED}};

	(void)state;
	check(NULL, poll, true, "", "'pid' Field required\n'ack_seq' Field required");
	check("{\"pid\":\"1\"}", poll, true, "",
		"'pid' Input should be a valid integer\n'ack_seq' Field required");
	check("{\"pid\":null,\"ack_seq\":0}", poll, true, "",
		"'pid' Input should be a valid integer");
	check("{}", view, false, "view.", "'view.path' Field required");
}

static void test_params_check__stays_bounded(void **state)
{
	struct buf errors = BUF_INIT(1000);
	json_t *params = json_object();
	char name[5000];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name + 199, "\303\251", 2);
	json_object_set_new(params, name, json_null());
	assert_int_equal(params_check(params, every, true, "", &errors), 0);
	assert_int_equal(errors.len, 1 + 199 + strlen("' Extra inputs are not permitted"));
	for (int i = 0; i < 1000; i++) {
		name[0] = (char)('a' + i % 26);
		name[1] = (char)('a' + i / 26);
		json_object_set_new(params, name, json_null());
	}
	assert_int_equal(params_check(params, every, true, "", &errors), 0);
	assert_true(errors.len > 0 && errors.len <= 1000);
	json_decref(params);
	buf_release(&errors);
}

static struct buf answer = BUF_INIT(1 << 20);

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	(void)call;
	answer.len = 0;
	assert_int_equal(buf_add(&answer, text, len), 0);
	assert_int_equal(buf_add(&answer, "", 1), 0);
}

static void test_params_accept__answers_with_32602(void **state)
{
	char id[] = "7";
	struct rpc_call call = {.req = {.id = id}, .deliver = deliver};

	(void)state;
	assert_false(params_accept(&call, poll, true));
	assert_string_equal(answer.data,
		"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32602, \"message\": "
		"\"Invalid parameters: 'pid' Field required\\n'ack_seq' Field required\"}, "
		"\"id\": 7}");
	assert_true(params_accept(&call, every, true));
	buf_release(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_params_check__accepts_right_types_and_nulls),
		cmocka_unit_test(test_params_check__coerces_nothing),
		cmocka_unit_test(test_params_check__takes_a_user_by_name_or_numbers),
		cmocka_unit_test(test_params_check__names_what_is_missing),
		cmocka_unit_test(test_params_check__stays_bounded),
		cmocka_unit_test(test_params_accept__answers_with_32602),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
