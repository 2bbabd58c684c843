/* SPDX-License-Identifier: MIT */
/* The pure half of the MCP relay: JSON as text, which lines are replies, encodings, commands. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/sandbox-tools/mcp/controller.h"
#include "payloads/sandbox-tools/mcp/launch.h"
#include "payloads/sandbox-tools/mcp/message.h"
#include "payloads/sandbox-tools/mcp/session.h"
#include "payloads/sandbox-tools/mcp/stderr.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* A copy without a byte to spare, so that the sanitizer sees every step too far. */
static char *exact(const char *text, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	return copy;
}

static bool reads(const char *text)
{
	size_t len = strlen(text);
	char *copy = exact(text, len);
	struct jsontext value;
	bool ok = jsontext_read(copy, len, &value);

	free(copy);
	return ok;
}

static void expect(const struct buf *buf, const char *wanted)
{
	assert_int_equal(buf->len, strlen(wanted));
	assert_memory_equal(buf->data, wanted, buf->len);
}

/* ---- jsontext ---- */

static void test_jsontext_read__accepts_json(void **state)
{
	static const char *const texts[] = {"{}", "[]", " { } ", "[ ]", "0", "-0", "1.5", "1e5",
		"1E+5", "1.0e-3", "123456789012345678901234567890", "\"\"", "\"\\u00e9\\n\\/\"",
		"true", "false", "null", "NaN", "Infinity", "-Infinity", "[1,2,[3,{}],{\"a\":[]}]",
		"{\"a\":1,\"a\":2}", "\t[\r\n1 , 2 ]\n", "{\"a\" : {\"b\" : [ ] } , \"c\":\"d\"}",
		"\"\\ud800\""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!reads(texts[i]))
			fail_msg("refused: %s", texts[i]);
}

static void test_jsontext_read__refuses_everything_else(void **state)
{
	static const char *const texts[] = {"", " ", "{", "[", "}", "]", "{]", "[}", "[1,]", "[,1]",
		"{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "[1 2]", "1 2", "01",
		"-", "-a", "+1", ".5", "1.", "1e", "1e+", "0x1", "tru", "nul", "nan", "Inf", "-I",
		"\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "'a'", "[1]]",
		"{}{}", "// x", "[\"a\" \"b\"]", "[[[[", "{\"a\":[}", "[1}", "\"\\", "\"\\u"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (reads(texts[i]))
			fail_msg("accepted: %s", texts[i]);
}

static void test_jsontext_read__limits_depth(void **state)
{
	char text[2 * JSONTEXT_DEPTH_MAX + 5];
	struct jsontext value;

	(void)state;
	memset(text, '[', JSONTEXT_DEPTH_MAX + 1);
	memset(text + JSONTEXT_DEPTH_MAX + 1, ']', JSONTEXT_DEPTH_MAX + 1);
	/* an empty innermost one is a value like any other */
	assert_true(jsontext_read(text, 2 * JSONTEXT_DEPTH_MAX + 2, &value));
	memset(text, '[', JSONTEXT_DEPTH_MAX + 2);
	memset(text + JSONTEXT_DEPTH_MAX + 2, ']', JSONTEXT_DEPTH_MAX + 2);
	assert_false(jsontext_read(text, 2 * JSONTEXT_DEPTH_MAX + 4, &value));
}

static void test_jsontext_copy__writes_ascii_and_keeps_numbers(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{" { \"a\" : [ 1 , 2.50 , 1e400 ] } ", "{\"a\":[1,2.50,1e400]}"},
		{"123456789012345678901234567890.10", "123456789012345678901234567890.10"},
		{"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\\u00E9\\u20AC\\uD83D\\uDE00\""},
		{"\"\\u00E9\\uD83D\\uDE00\\u0041\"", "\"\\u00E9\\uD83D\\uDE00A\""},
		{"\"\\b\\f\\n\\r\\t\\\"\\\\\\/\\u0000\\u001f\x7f\"",
			"\"\\b\\f\\n\\r\\t\\\"\\\\/\\u0000\\u001F\\u007F\""},
		{"\"\\ud800\"", "\"\\uFFFD\""},
		{"\"\\ud800\\ud800\\udc00\"", "\"\\uFFFD\\uD800\\uDC00\""},
		{"\"\\udc00x\\ud800x\"", "\"\\uFFFDx\\uFFFDx\""},
		{"\"\xff\xed\xa0\x80\xc0\x80\"", "\"\\uFFFD\\uFFFD\\uFFFD\\uFFFD\\uFFFD\\uFFFD\""},
		{"[NaN,Infinity,-Infinity,-1,\"NaN\"]", "[null,null,null,-1,\"NaN\"]"},
		{"[ -Infinity , NaN ]", "[null,null]"},
		{"{\"a b\" : \"c  d\" }", "{\"a b\":\"c  d\"}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].from);
		char *copy = exact(cases[i].from, len);
		struct buf out = BUF_INIT(4096);
		struct jsontext value;

		assert_true(jsontext_read(copy, len, &value));
		assert_int_equal(jsontext_copy(&value, &out), 0);
		expect(&out, cases[i].to);
		buf_release(&out);
		free(copy);
	}
}

static void test_jsontext_get__finds_the_last_member(void **state)
{
	static const char text[] =
		"{\"a\":1,\"\\u0062\":{\"a\":[\"}\",{}]},\"a\" : 2 , \"c\":\"]\\\"\"}";
	struct jsontext whole, value;

	(void)state;
	assert_true(jsontext_read(text, sizeof(text) - 1, &whole));
	value = jsontext_get(&whole, "a");
	assert_int_equal(value.kind, JSONTEXT_INTEGER);
	assert_memory_equal(value.at, "2", value.len);
	value = jsontext_get(&whole, "b");
	assert_int_equal(value.kind, JSONTEXT_OBJECT);
	value = jsontext_get(&value, "a");
	assert_int_equal(value.kind, JSONTEXT_ARRAY);
	value = jsontext_get(&whole, "c");
	assert_true(jsontext_is(&value, "]\""));
	assert_false(jsontext_is(&value, "]"));
	assert_false(jsontext_is(&value, "]\"x"));
	assert_int_equal(jsontext_get(&whole, "d").kind, JSONTEXT_ABSENT);
	assert_int_equal(jsontext_get(&value, "d").kind, JSONTEXT_ABSENT);
}

/* ---- messages ---- */

static enum message_kind kind_of(const char *line)
{
	size_t len = strlen(line);
	char *copy = exact(line, len);
	struct message message;

	message_read(copy, len, &message);
	free(copy);
	return message.kind;
}

#define HEAD "{\"jsonrpc\":\"2.0\","

static void test_message_read__tells_replies_from_the_rest(void **state)
{
	static const struct {
		const char *line;
		enum message_kind kind;
	} cases[] = {
		{HEAD "\"id\":1,\"result\":{}}", MESSAGE_RESPONSE},
		{HEAD "\"id\":\"x\",\"result\":{\"a\":1},\"extra\":[]}", MESSAGE_RESPONSE},
		{HEAD "\"id\":1,\"result\":{},\"error\":null}", MESSAGE_RESPONSE},
		{HEAD "\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_ERROR},
		{HEAD "\"id\":1,\"result\":null,\"error\":{\"code\":-1,\"message\":\"m\",\"data\":{}}}",
			MESSAGE_ERROR},
		{HEAD "\"id\":123456789012345678901234567890,\"result\":{}}", MESSAGE_RESPONSE},
		{HEAD "\"id\":1,\"result\":5}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"result\":[]}", MESSAGE_OTHER},
		{HEAD "\"id\":1}", MESSAGE_OTHER},
		{HEAD "\"id\":null,\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":7.0,\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_ERROR},
		{HEAD "\"id\":true,\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_ERROR},
		{HEAD "\"id\":1,\"error\":{\"code\":\"5\",\"message\":\"m\"}}", MESSAGE_ERROR},
		{HEAD "\"id\":1,\"error\":{\"code\":5.0,\"message\":\"m\"}}", MESSAGE_ERROR},
		{HEAD "\"id\":1,\"error\":{\"code\":false,\"message\":\"m\"}}", MESSAGE_ERROR},
		{HEAD "\"id\":7.5,\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1e30,\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":[],\"error\":{\"code\":-1,\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":{\"code\":\"\",\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":{\"code\":\"5x\",\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":{\"code\":5.5,\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":{\"code\":null,\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1.5,\"result\":{}}", MESSAGE_OTHER},
		{HEAD "\"id\":true,\"result\":{}}", MESSAGE_OTHER},
		{HEAD "\"result\":{}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":{\"code\":\"x\",\"message\":\"m\"}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":{\"code\":1}}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"error\":\"m\"}", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"method\":\"ping\"}", MESSAGE_OTHER},
		{HEAD "\"method\":\"note\",\"params\":{}}", MESSAGE_OTHER},
		{"{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}", MESSAGE_OTHER},
		{"{\"id\":1,\"result\":{}}", MESSAGE_OTHER},
		{"[" HEAD "\"id\":1,\"result\":{}}]", MESSAGE_OTHER},
		{HEAD "\"id\":1,\"result\":{}", MESSAGE_OTHER},
		{"", MESSAGE_OTHER},
		{"  ", MESSAGE_OTHER},
		{"Starting server…", MESSAGE_OTHER},
		{"5", MESSAGE_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (kind_of(cases[i].line) != cases[i].kind)
			fail_msg("%s", cases[i].line);
}

static void test_message_add_key__is_one_spelling_per_id(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{"1", "1", true},
		{"0", "-0", true},
		{"1", "\"1\"", false},
		{"\"a\"", "\"\\u0061\"", true},
		{"\"\xc3\xa9\"", "\"\\u00E9\"", true},
		{"\"a\"", "\"A\"", false},
		{"12", "1", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf a = BUF_INIT(100), b = BUF_INIT(100);
		struct jsontext id;

		assert_true(jsontext_read(cases[i].a, strlen(cases[i].a), &id));
		assert_int_equal(message_add_key(&id, &a), 0);
		assert_true(jsontext_read(cases[i].b, strlen(cases[i].b), &id));
		assert_int_equal(message_add_key(&id, &b), 0);
		assert_int_equal(
			a.len == b.len && memcmp(a.data, b.data, a.len) == 0, cases[i].same);
		buf_release(&a);
		buf_release(&b);
	}
}

static void test_message_add_reply__passes_through(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{HEAD " \"id\":2, \"result\":{ \"n\":1.10, \"x\":null }, \"y\":null}",
			HEAD "\"id\":2,\"result\":{\"n\":1.10,\"x\":null},\"y\":null}"},
		{HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\"}}",
			HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":null}}"},
		{HEAD "\"id\":7.0,\"error\":{\"code\":\" -5.0 \",\"message\":\"bad\"}}",
			HEAD "\"id\":7,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":null}}"},
		{"{\"error\":{\"message\":\"bad\",\"code\":true},\"jsonrpc\":\"2.0\",\"id\":false}",
			"{\"error\":{\"message\":\"bad\",\"code\":1,\"data\":null},"
			"\"jsonrpc\":\"2.0\",\"id\":0}"},
		{HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":[1]},\"result\":null}",
			HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":[1]}}"},
		{HEAD "\"error\":null,\"id\":2,\"result\":{}}", HEAD "\"id\":2,\"result\":{}}"},
		/* the last of equal names counts, whatever the host makes of them */
		{HEAD "\"id\":2,\"result\":{},\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":0},"
		      "\"result\":null}",
			HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":0}}"},
		{HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":0},\"result\":NaN}",
			HEAD "\"id\":2,\"error\":{\"code\":-5,\"message\":\"bad\",\"data\":0}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = BUF_INIT(4096);
		struct message message;

		message_read(cases[i].from, strlen(cases[i].from), &message);
		assert_int_equal(message_add_reply(&message, &out), 0);
		expect(&out, cases[i].to);
		buf_release(&out);
	}
}

static void test_message_add_request__is_one_line_without_top_level_nulls(void **state)
{
	static const char text[] =
		"{ \"jsonrpc\" : \"2.0\",\n\"id\":1, \"a\":null, \"params\":{\"x\":null,"
		"\"y\":1.10}, \"b\":[null]}";
	struct buf out = BUF_INIT(4096);
	struct jsontext request;

	(void)state;
	assert_true(jsontext_read(text, sizeof(text) - 1, &request));
	assert_int_equal(message_add_request(&request, &out), 0);
	expect(&out, HEAD "\"id\":1,\"params\":{\"x\":null,\"y\":1.10},\"b\":[null]}\n");
	out.limit = out.len + 5;
	assert_int_equal(message_add_request(&request, &out), -EMSGSIZE);
	assert_int_equal(out.len, out.limit - 5);
	buf_release(&out);
}

static void test_message_add_failure__is_an_error_reply(void **state)
{
	struct buf out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(message_add_failure("\"a\"", "it \"broke\"", &out), 0);
	expect(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":666,\"message\":"
		     "\"it \\\"broke\\\"\",\"data\":null}}");
	buf_release(&out);
}

/* ---- encodings ---- */

static void test_encoding_decode__obeys_the_handler(void **state)
{
	static const struct {
		enum encoding encoding;
		enum encoding_errors errors;
		const char *from, *to; /* NULL: strict, and this is why */
		const char *why;
	} cases[] = {
		{ENCODING_UTF8, ENCODING_STRICT, "a\xc3\xa9\xf0\x9f\x98\x80",
			"a\xc3\xa9\xf0\x9f\x98\x80", ""},
		{ENCODING_UTF8, ENCODING_STRICT, "ab\xff", NULL,
			"'utf-8' codec can't decode byte 0xff in position 2: invalid start byte"},
		{ENCODING_UTF8, ENCODING_STRICT, "\xe2\x82(", NULL,
			"'utf-8' codec can't decode bytes in position 0-1: invalid continuation byte"},
		{ENCODING_UTF8, ENCODING_STRICT, "\xe2\x82", NULL,
			"'utf-8' codec can't decode bytes in position 0-1: unexpected end of data"},
		{ENCODING_UTF8, ENCODING_REPLACE, "a\xe2\x82(\xff", "a\xef\xbf\xbd(\xef\xbf\xbd",
			""},
		{ENCODING_UTF8, ENCODING_IGNORE, "a\xe2\x82(\xff\xed\xa0\x80!", "a(!", ""},
		{ENCODING_ASCII, ENCODING_STRICT, "a\xc3", NULL,
			"'ascii' codec can't decode byte 0xc3 in position 1: ordinal not in range(128)"},
		{ENCODING_ASCII, ENCODING_REPLACE, "\xc3\xa9", "\xef\xbf\xbd\xef\xbf\xbd", ""},
		{ENCODING_LATIN1, ENCODING_STRICT, "a\xe9\xff", "a\xc3\xa9\xc3\xbf", ""},
		{ENCODING_UTF8_SIG, ENCODING_STRICT, "\xef\xbb\xbf!\xff", NULL,
			"'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"},
		{ENCODING_UTF8_SIG, ENCODING_STRICT, "\xef\xbb\xbf{\xef\xbb\xbf", "{\xef\xbb\xbf",
			""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].from);
		char *copy = exact(cases[i].from, len);
		struct buf out = BUF_INIT(4096);
		struct fail fail = FAIL_INIT;
		int r = encoding_decode(cases[i].encoding, cases[i].errors, copy, len, &out, &fail);

		assert_int_equal(r, cases[i].to ? 0 : -EILSEQ);
		assert_string_equal(fail.text, cases[i].why);
		if (cases[i].to)
			expect(&out, cases[i].to);
		assert_int_equal(encoding_is_plain(cases[i].encoding, copy, len), i == 0);
		buf_release(&out);
		free(copy);
	}
}

static void expect_page(const char *name, const char *from, const char *to)
{
	struct buf out = BUF_INIT(100);
	struct fail fail = FAIL_INIT;
	enum encoding encoding;
	int r;

	assert_true(encoding_find(name, &encoding));
	r = encoding_decode(encoding, ENCODING_STRICT, from, strlen(from), &out, &fail);
	if (r == 0)
		expect(&out, to);
	else
		assert_string_equal(fail.text, to);
	buf_release(&out);
}

static void test_encoding_decode__knows_code_pages(void **state)
{
	(void)state;
	expect_page("windows-1252", "\x80uro \xe9", "\xe2\x82\xacuro \xc3\xa9");
	expect_page("CP1252", "a\x81",
		"'charmap' codec can't decode byte 0x81 in position 1: character maps to "
		"<undefined>");
	expect_page("cp437", "\x81\xb3\xff", "\xc3\xbc\xe2\x94\x82\xc2\xa0");
	expect_page("KOI8-R", "\xc1\xda", "\xd0\xb0\xd0\xb7");
	expect_page("iso-8859-15", "\xa4", "\xe2\x82\xac");
	expect_page("latin9", "\xa4", "\xe2\x82\xac");
	expect_page("macintosh", "\x8e", "\xc3\xa9");
}

static void test_encoding_find__knows_spellings(void **state)
{
	enum encoding encoding;
	enum encoding_errors errors;

	(void)state;
	assert_true(encoding_find("UTF_8", &encoding) && encoding == ENCODING_UTF8);
	assert_true(encoding_find("Latin-1", &encoding) && encoding == ENCODING_LATIN1);
	assert_true(encoding_find("us-ascii", &encoding) && encoding == ENCODING_ASCII);
	assert_true(encoding_find("  utf---8 ", &encoding) && encoding == ENCODING_UTF8);
	assert_true(encoding_find("646", &encoding) && encoding == ENCODING_ASCII);
	assert_true(encoding_find("utf-8-sig", &encoding) && encoding == ENCODING_UTF8_SIG);
	assert_false(encoding_find("utf-16", &encoding));
	assert_false(encoding_find("utf 8 u8", &encoding));
	assert_false(encoding_find("utf\xc3\xa9", &encoding));
	assert_false(encoding_find("an encoding with a name that is longer than any", &encoding));
	assert_false(encoding_find("", &encoding));
	assert_true(encoding_find_errors("ignore", &errors) && errors == ENCODING_IGNORE);
	assert_false(encoding_find_errors("xmlcharrefreplace", &errors));
}

/* ---- limits and launching ---- */

static void test_mcp_line_max__ignores_nonsense(void **state)
{
	(void)state;
	assert_int_equal(mcp_line_max(NULL), MCP_LINE_MAX);
	assert_int_equal(mcp_line_max("1000"), 1000);
	assert_int_equal(mcp_line_max(" 1000\n"), 1000);
	assert_int_equal(mcp_line_max("1e3"), MCP_LINE_MAX);
	assert_int_equal(mcp_line_max(""), MCP_LINE_MAX);
	assert_int_equal(mcp_line_max("lots"), MCP_LINE_MAX);
	assert_int_equal(mcp_line_max("0"), MCP_LINE_MAX);
	assert_int_equal(mcp_line_max("-1"), MCP_LINE_MAX);
	assert_int_equal(mcp_line_max("99999999999999999999999"), MCP_LINE_MAX);
}

static void expect_launch(const char *json, const char *file, const char *why)
{
	json_t *params = json_loads(json, JSON_ALLOW_NUL, NULL);
	struct fail fail = FAIL_INIT;
	struct mcp_launch launch;

	assert_non_null(params);
	assert_int_equal(mcp_launch_read(&launch, params, NULL, &fail), file ? 0 : -1);
	if (file)
		assert_string_equal(launch.command, file);
	else
		assert_string_equal(fail.text, why);
	mcp_launch_release(&launch);
	json_decref(params);
}

static int lowest_free_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void test_mcp_session_start__leaves_no_descriptor_when_there_are_too_few(void **state)
{
	struct loop loop;
	struct mcp_host host = {.loop = &loop};
	struct mcp_session session = {.host = &host};
	struct mcp_launch launch = {.command = NULL};
	int saved = dup(2), null = open("/dev/null", O_WRONLY), first;
	struct rlimit limit, low;

	(void)state;
	assert_int_equal(loop_open(&loop), 0);
	assert_int_equal(dup2(null, 2), 2); /* no pipe for the log */
	first = lowest_free_fd();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)first + 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(mcp_session_start(&session, &launch), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	dup2(saved, 2);
	assert_int_equal(lowest_free_fd(), first);
	assert_true(fcntl(first + 1, F_GETFD) < 0);
	close(saved);
	close(null);
	loop_close(&loop);
}

/* The log is its readers' alone, and the child may be another user. */
static void test_mcp_stderr_open__never_gives_away_the_log(void **state)
{
	struct loop broken = {.epoll = -1};
	int own = dup(2), log = memfd_create("log", MFD_CLOEXEC), fd;
	struct stat st;

	(void)state;
	assert_int_equal(dup2(log, 2), 2);
	fd = mcp_stderr_open(&broken);
	dup2(own, 2);
	close(own);
	assert_true(fd > 2);
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(S_ISREG(st.st_mode));
	assert_int_equal(write(fd, "said", 4), 4);
	assert_int_equal(lseek(log, 0, SEEK_END), 0);
	mcp_stderr_close(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	close(log);
}

static void test_mcp_launch_read__looks_the_command_up(void **state)
{
	static const char not_found[] = "FileNotFoundError(2, 'No such file or directory')";

	(void)state;
	expect_launch("{\"command\": \"/no/such\"}", "/no/such", NULL); /* left to the kernel */
	expect_launch(
		"{\"command\": \"sh\", \"env\": {\"PATH\": \"/nowhere:/bin\"}}", "/bin/sh", NULL);
	expect_launch("{\"command\": \"sh\", \"env\": {}}", "/bin/sh", NULL);
	expect_launch("{\"command\": \"sh\", \"env\": {\"PATH\": \"bin\"}, \"cwd\": \"/\"}",
		"bin/sh", NULL);
	expect_launch("{\"command\": \"sh\", \"env\": {\"PATH\": \"::\"}, \"cwd\": \"/bin\"}", "sh",
		NULL);
	expect_launch("{\"command\": \"sh\", \"env\": {\"PATH\": \"/nowhere\"}}", NULL, not_found);
	expect_launch("{\"command\": \"\", \"env\": {\"PATH\": \"/nowhere\"}}", NULL, not_found);
	expect_launch("{\"command\": \"\", \"env\": {\"PATH\": \"/bin\"}}", NULL,
		"PermissionError(13, 'Permission denied')"); /* the directory itself */
	expect_launch("{\"command\": \"passwd\", \"env\": {\"PATH\": \"/nowhere:/etc\"}}", NULL,
		"PermissionError(13, 'Permission denied')");
	expect_launch("{\"command\": \"s\\u0000h\"}", NULL, "ValueError('embedded null byte')");
	expect_launch("{\"command\": \"sh\", \"args\": [\"\\u0000\"]}", NULL,
		"ValueError('embedded null byte')");
	expect_launch("{\"command\": \"sh\", \"env\": {\"A=\": \"b\"}}", NULL,
		"ValueError('illegal environment variable name')");
	expect_launch("{\"command\": \"sh\", \"encoding\": \"utf-16\"}", NULL,
		"LookupError('unknown encoding: utf-16')");
}

/* What HOME and A are to be for somebody with the home /h; NULL: not there. */
static void expect_env(const char *json, const char *home, const char *a)
{
	struct user user = {.uid = 1, .home = "/h"};
	json_t *params = json_loads(json, 0, NULL);
	const char *found[2] = {NULL, NULL};
	struct fail fail = FAIL_INIT;
	struct mcp_launch launch;

	assert_non_null(params);
	assert_int_equal(mcp_launch_read(&launch, params, &user, &fail), 0);
	assert_ptr_equal(launch.user, &user);
	for (char **var = launch.env; *var; var++) {
		if (strncmp(*var, "HOME=", 5) == 0)
			found[0] = *var + 5;
		if (strncmp(*var, "A=", 2) == 0)
			found[1] = *var + 2;
	}
	assert_string_equal(found[0], home);
	assert_true(a ? found[1] && strcmp(a, found[1]) == 0 : !found[1]);
	mcp_launch_release(&launch);
	json_decref(params);
}

static void test_mcp_launch_read__moves_the_user_home(void **state)
{
	(void)state;
	setenv("A", "ours", 1);
	expect_env("{\"command\": \"/x\"}", "/h", "ours");
	expect_env("{\"command\": \"/x\", \"env\": null}", "/h", "ours");
	expect_env("{\"command\": \"/x\", \"env\": {}}", "/h", NULL);
	expect_env("{\"command\": \"/x\", \"env\": {\"A\": \"b\"}}", "/h", "b");
	expect_env("{\"command\": \"/x\", \"env\": {\"HOME\": \"/mine\"}}", "/mine", NULL);
	unsetenv("A");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jsontext_read__accepts_json),
		cmocka_unit_test(test_jsontext_read__refuses_everything_else),
		cmocka_unit_test(test_jsontext_read__limits_depth),
		cmocka_unit_test(test_jsontext_copy__writes_ascii_and_keeps_numbers),
		cmocka_unit_test(test_jsontext_get__finds_the_last_member),
		cmocka_unit_test(test_message_read__tells_replies_from_the_rest),
		cmocka_unit_test(test_message_add_key__is_one_spelling_per_id),
		cmocka_unit_test(test_message_add_reply__passes_through),
		cmocka_unit_test(test_message_add_request__is_one_line_without_top_level_nulls),
		cmocka_unit_test(test_message_add_failure__is_an_error_reply),
		cmocka_unit_test(test_encoding_decode__obeys_the_handler),
		cmocka_unit_test(test_encoding_decode__knows_code_pages),
		cmocka_unit_test(test_encoding_find__knows_spellings),
		cmocka_unit_test(test_mcp_line_max__ignores_nonsense),
		cmocka_unit_test(
			test_mcp_session_start__leaves_no_descriptor_when_there_are_too_few),
		cmocka_unit_test(test_mcp_stderr_open__never_gives_away_the_log),
		cmocka_unit_test(test_mcp_launch_read__looks_the_command_up),
		cmocka_unit_test(test_mcp_launch_read__moves_the_user_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
