/* SPDX-License-Identifier: MIT */
/* JSON-RPC of the in-container program: what is accepted, what is answered, byte by byte. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/rpc/rpc.h"

#define NOT_VALID                                                                               \
	"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32600, \"message\": \"Invalid request\"" \
	", \"data\": \"The request failed schema validation\"}, \"id\": null}"
#define POSITIONAL                                                                             \
	"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32602, \"message\": \"Invalid params\"" \
	", \"data\": \"too many positional arguments\"}, \"id\": 1}"
#define REQUEST(members) "{\"jsonrpc\": \"2.0\"" members "}"
#define RESULT(value, id) "{\"jsonrpc\": \"2.0\", \"result\": " value ", \"id\": " id "}"

static void echo(struct rpc_call *call)
{
	json_t *params = call->req.params;

	rpc_call_result(call, params ? json_incref(params) : json_null());
}

static void complain(struct rpc_call *call)
{
	rpc_call_error(call, RPC_TOOL_FAILURE, "n\xc3\xa4in", NULL);
}

static void cut(struct rpc_call *call)
{
	rpc_call_error(call, RPC_TOOL_FAILURE, "caf\xc3", NULL);
}

static void lose_memory(struct rpc_call *call)
{
	rpc_call_result(call, NULL);
}

static const struct rpc_method methods[] = {
	{"echo", RPC_IN_SERVER, echo},
	{"complain", RPC_IN_SERVER, complain},
	{"cut", RPC_IN_SERVER, cut},
	{"tool", RPC_IN_PROCESS | RPC_TOOL, echo},
	{"lose", RPC_IN_SERVER, lose_memory},
	{"bare", RPC_IN_SERVER | RPC_NO_PARAMS, echo},
	{"elsewhere", RPC_IN_PROCESS, echo},
	{NULL, 0, NULL},
};

static const struct rpc_method *find(const char *name, unsigned place)
{
	return rpc_method_find(methods, name, place);
}

struct test_call {
	struct rpc_call call;
	char *reply;
	int count;
};

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	struct test_call *test = (struct test_call *)call;

	test->count++;
	test->reply = strndup(len > 0 ? text : "", len);
	rpc_request_release(&call->req);
}

/* The reply to a request of 'len' bytes in memory of exactly that size; free it. */
static char *ask(const char *text, size_t len)
{
	struct test_call test = {.call = {.deliver = deliver}};
	char *copy = malloc(len + 1);

	memcpy(copy, text, len);
	copy = realloc(copy, len > 0 ? len : 1);
	rpc_dispatch_text(find, RPC_IN_SERVER, &test.call, copy, len);
	assert_memory_equal(copy, text, len);
	free(copy);
	assert_int_equal(test.count, 1);
	return test.reply;
}

static void test_rpc_dispatch__answers_every_row_of_the_protocol(void **state)
{
	static const struct {
		const char *request, *reply;
	} rows[] = {
		/* ids */
		{REQUEST(", \"method\": \"echo\", \"id\": 1"), RESULT("null", "1")},
		{REQUEST(", \"method\": \"echo\", \"id\": -0"), RESULT("null", "-0")},
		{REQUEST(", \"method\": \"echo\", \"id\": 1.0"), RESULT("null", "1.0")},
		{REQUEST(", \"method\": \"echo\", \"id\": 1e999"), RESULT("null", "1e999")},
		{REQUEST(", \"method\": \"echo\", \"id\":123456789012345678901234567890 "),
			RESULT("null", "123456789012345678901234567890")},
		{REQUEST(", \"method\": \"echo\", \"id\": \"\""), RESULT("null", "\"\"")},
		{REQUEST(", \"method\": \"echo\", \"id\": \"\\u0000\xc3\xa9\\\"\""),
			RESULT("null", "\"\\u0000\\u00E9\\\"\"")},
		{REQUEST(", \"method\": \"echo\", \"id\": null"), RESULT("null", "null")},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"id\": 2"), RESULT("null", "2")},
		{REQUEST(", \"method\": \"echo\", \"id\": \"a\", \"id\": 2"), RESULT("null", "2")},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"id\": \"b\""),
			RESULT("null", "\"b\"")},
		{REQUEST(", \"method\": \"echo\", \"\\u0069d\": 18446744073709551616"),
			RESULT("null", "18446744073709551616")},
		{REQUEST(", \"params\": {\"id\": 5}, \"method\": \"echo\", \"id\": 6"),
			RESULT("{\"id\": 5}", "6")},
		{REQUEST(", \"params\": {\"a\": [{\"id\": 5}, \"}\\\"]\"]}, \"method\": \"echo\", \"id\": 6"),
			RESULT("{\"a\": [{\"id\": 5}, \"}\\\"]\"]}", "6")},
		/* notifications */
		{REQUEST(", \"method\": \"echo\""), ""},
		{REQUEST(", \"method\": \"complain\""), ""},
		{REQUEST(", \"method\": \"nope\""), ""},
		{REQUEST(", \"method\": \"echo\", \"params\": [1]"), ""},
		/* not a request */
		{REQUEST(", \"method\": \"echo\", \"id\": true"), NOT_VALID},
		{REQUEST(", \"method\": \"echo\", \"id\": []"), NOT_VALID},
		{REQUEST(", \"method\": \"echo\", \"id\": {}"), NOT_VALID},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"x\": 1"), NOT_VALID},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": null"), NOT_VALID},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": 5"), NOT_VALID},
		{REQUEST(", \"method\": 5, \"id\": 1"), NOT_VALID},
		{REQUEST(", \"id\": 1"), NOT_VALID},
		{"{\"jsonrpc\": \"1.0\", \"method\": \"echo\", \"id\": 1}", NOT_VALID},
		{"{\"jsonrpc\": 2.0, \"method\": \"echo\", \"id\": 1}", NOT_VALID},
		{"{\"jsonrpc\": \"2.0\\u0000\", \"method\": \"echo\", \"id\": 1}", NOT_VALID},
		{"{\"method\": \"echo\", \"id\": 1}", NOT_VALID},
		{"[]", NOT_VALID},
		{"5", NOT_VALID},
		{"null", NOT_VALID},
		/* methods and params */
		{REQUEST(", \"method\": \"nope\", \"id\": 1"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32601, \"message\": \"Method not "
			"found\", \"data\": \"nope\"}, \"id\": 1}"},
		{REQUEST(", \"method\": \"elsewhere\", \"id\": 1"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32601, \"message\": \"Method not "
			"found\", \"data\": \"elsewhere\"}, \"id\": 1}"},
		{REQUEST(", \"method\": \"echo\\u0000\", \"id\": 1"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32601, \"message\": \"Method not "
			"found\", \"data\": \"echo\\u0000\"}, \"id\": 1}"},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": []"), RESULT("[]", "1")},
		{REQUEST(", \"method\": \"bare\", \"id\": 1, \"params\": []"), RESULT("[]", "1")},
		{REQUEST(", \"method\": \"bare\", \"id\": 1, \"params\": [1]"), POSITIONAL},
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": [1]"), POSITIONAL},
		{REQUEST(", \"method\": \"bare\", \"id\": 1, \"params\": {}"), RESULT("{}", "1")},
		{REQUEST(", \"method\": \"bare\", \"id\": 1, \"params\": {\"x\": 1}"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32602, \"message\": \"Invalid "
			"params\", \"data\": \"got an unexpected keyword argument 'x'\"}, \"id\": 1}"},
		{REQUEST(", \"method\": \"complain\", \"id\": 1"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32099, \"message\": "
			"\"n\\u00E4in\"}, \"id\": 1}"},
		{REQUEST(", \"method\": \"cut\", \"id\": 1"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32099, \"message\": "
			"\"caf\\uFFFD\"}, \"id\": 1}"},
		{REQUEST(", \"method\": \"lose\", \"id\": 1"),
			"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32098, \"message\": "
			"\"MemoryError()\"}, \"id\": 1}"},
		/* strings */
		{REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": {\"a\": "
			 "\"\\u0000\\n\\r\\t\\b\\f\\u001b\x7f/\\u00e9\xf0\x9f\x98\x80\"}"),
			RESULT("{\"a\": \"\\u0000\\n\\r\\t\\b\\f\\u001B\x7f/\\u00E9\\uD83D\\uDE00\"}",
				"1")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply = ask(rows[i].request, strlen(rows[i].request));

		assert_string_equal(reply, rows[i].reply);
		free(reply);
	}
}

/* JSON all the same: whoever asked is told what is wrong with it, and which request it was. */
static void test_rpc_dispatch__answers_what_it_cannot_load(void **state)
{
	static const char half[] = "a string in the parameters contains half of a surrogate pair";
	static const char name[] = "a name in the parameters contains U+0000";
	static const struct {
		const char *params, *why;
	} rows[] = {
		{"{\"a\": \"\\ud800\"}", half},
		{"{\"a\": [{\"b\": \"x\\uDFFFx\"}]}", half},
		{"{\"\\ud83d\": 1}", half},
		{"{\"a\": \"\\ud83d\\ude00\\ud83d\"}", half},
		{"{\"a\": \"\\\\\\udc00\"}", half},
		{"{\"a\": \"\\ud800\\u0041\\\"\"}", half},
		{"{\"a\\u0000b\": 1}", name},
		{"{\"\\u0000\" : {}, \"b\": 1e999}", name},
	};
	static const char *const ids[] = {"1", "1e999", "\"x\"", "123456789012345678901234567890"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++) {
			char request[300], wanted[300], *reply;
			const char *method = k % 2 ? "tool" : "echo";

			snprintf(request, sizeof(request),
				REQUEST(", \"id\": %s, \"method\": \"%s\", \"params\": %s"), ids[k],
				method, rows[i].params);
			snprintf(wanted, sizeof(wanted),
				"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": %d, \"message\": \"%s\"}, \"id\": %s}",
				k % 2 ? -32099 : -32098, rows[i].why, ids[k]);
			reply = ask(request, strlen(request));
			assert_string_equal(reply, wanted);
			free(reply);
		}
}

/* A model that says a line is the 10^20th one means the last. */
static void test_rpc_dispatch__takes_numbers_as_far_as_they_go(void **state)
{
	static const struct {
		const char *params, *seen;
	} rows[] = {
		{"{\"a\": 9223372036854775808}", "{\"a\": 9223372036854775807}"},
		{"{\"a\": [-9223372036854775809, 1]}", "{\"a\": [-9223372036854775808, 1]}"},
		{"{\"a\": 123456789012345678901234567890, \"b\": -9223372036854775808}",
			"{\"a\": 9223372036854775807, \"b\": -9223372036854775808}"},
		{"{\"a\": {\"n\": [{\"x\": 1e400}, -1.5E+999]}, \"b\": 1}",
			"{\"a\": {\"n\": [{\"x\": 1e308}, -1e308]}, \"b\": 1}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char request[300], wanted[300], *reply;

		snprintf(request, sizeof(request),
			REQUEST(", \"id\": 1, \"method\": \"echo\", \"params\": %s"),
			rows[i].params);
		snprintf(wanted, sizeof(wanted), RESULT("%s", "1"), rows[i].seen);
		reply = ask(request, strlen(request));
		assert_string_equal(reply, wanted);
		free(reply);
	}
}

static void test_rpc_dispatch__survives_what_is_not_json(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"junk",
		"{",
		"{\"id\"",
		"{\"id\":",
		"{\"id\":1",
		"{\"id\":1,",
		"{\"id\":-",
		"{\"id\":1.",
		"{\"id\":1e",
		"{\"id\":01}",
		"{\"id\":+1}",
		"{\"id\":1}x",
		"\"\\",
		"{\"a\":\"\\",
		"{\"id\":}",
		"{\"id\":1 2}",
		"{\"\\u0069d\":",
		"\xef\xbb\xbf{}",
		"{\"a\":\"\xff\"}",
		"{\"a\":\"\\ud800\"}",
		REQUEST(", \"method\": \"\\ud800\", \"id\": 1"),
		REQUEST(", \"method\": \"echo\", \"id\": \"\\ud800\""),
		REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": {\"a\": \"\\ud800\", }"),
		REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": {\"a\": \"\\ud80\"}"),
		REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": {\"\\u  00\": 1}"),
		REQUEST(", \"method\": \"echo\", \"id\": 1, \"params\": {\"a\": 99999999999999999999x}"),
		"{]",
		"[[[[",
		"{\"id\":]}",
		"{,}",
	};
	char deep[4001];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *reply = ask(rows[i], strlen(rows[i]));

		assert_non_null(strstr(reply, "\"code\": -32700, \"message\": \"Parse error\""));
		assert_non_null(strstr(reply, "\"id\": null}"));
		free(reply);
	}
	memset(deep, '[', 4000);
	deep[4000] = '\0';
	free(ask(deep, 4000));
}

static void test_rpc_find_number_id__finds_the_last_number(void **state)
{
	static const struct {
		const char *text;
		ssize_t at;
		size_t len;
	} rows[] = {
		{"{\"id\":12}", 6, 2},
		{" {\"a\":{\"id\":1},\"id\" : -1.5e+3 }", 22, 7},
		{"{\"id\":\"1\"}", -1, 0},
		{"{\"id\":1,\"id\":null}", -1, 0},
		{"{\"idx\":1,\"xid\":2}", -1, 0},
		{"[{\"id\":1}]", -1, 0},
		{"{\"id\":00}", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = 0;
		ssize_t at = rpc_find_number_id(rows[i].text, strlen(rows[i].text), &len);

		assert_int_equal(at, rows[i].at);
		if (at >= 0)
			assert_int_equal(len, rows[i].len);
	}
}

static void test_rpc_request_check_outline__is_what_a_command_checks(void **state)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{REQUEST(", \"method\": \"x\""), 0},
		{REQUEST(", \"method\": \"x\", \"params\": null, \"more\": 1, \"id\": true"), 0},
		{REQUEST(", \"method\": \"x\", \"params\": []"), 0},
		{REQUEST(", \"method\": \"x\", \"params\": \"y\""), -1},
		{REQUEST(", \"method\": null"), -1},
		{"{\"method\": \"x\"}", -1},
		{"[]", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fail fail = FAIL_INIT;
		struct rpc_request req;
		char *text = strdup(rows[i].text);

		assert_int_equal(rpc_request_read(&req, text, strlen(text), &fail), 0);
		assert_int_equal(rpc_request_check_outline(&req, &fail), rows[i].r);
		rpc_request_release(&req);
		free(text);
	}
}

static void test_rpc_write_result__leaves_the_buffer_alone_when_it_is_full(void **state)
{
	struct buf out = BUF_INIT(30);
	json_t *value = json_string("too long for thirty bytes");

	(void)state;
	assert_int_equal(buf_add_str(&out, "x"), 0);
	assert_true(rpc_write_result(&out, "1", value) < 0);
	assert_true(rpc_write_error(&out, "1", -1, "message", value) < 0);
	assert_int_equal(out.len, 1);
	json_decref(value);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rpc_dispatch__answers_every_row_of_the_protocol),
		cmocka_unit_test(test_rpc_dispatch__answers_what_it_cannot_load),
		cmocka_unit_test(test_rpc_dispatch__takes_numbers_as_far_as_they_go),
		cmocka_unit_test(test_rpc_dispatch__survives_what_is_not_json),
		cmocka_unit_test(test_rpc_find_number_id__finds_the_last_number),
		cmocka_unit_test(test_rpc_request_check_outline__is_what_a_command_checks),
		cmocka_unit_test(test_rpc_write_result__leaves_the_buffer_alone_when_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
