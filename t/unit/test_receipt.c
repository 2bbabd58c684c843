/* SPDX-License-Identifier: MIT */
/* What our program in a container reports, and what a hostile one may report in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/buf.h"
#include "payloads/receipt.h"

#include "payloads/lib/wire.h"

#define NONCE "a1b2c3d4e5f60718"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "{\"sbinject\":1,\"nonce\":\"" NONCE "\","

static json_t *parse(const char *line, struct sb_err *err)
{
	/* Without a NUL behind it, so that the sanitizer sees a read beyond the end. */
	sb_autofree char *copy = malloc(strlen(line) ? strlen(line) : 1);
	bool ours;

	assert_non_null(copy);
	memcpy(copy, line, strlen(line));
	return receipt_parse(copy, strlen(line), NONCE, &ours, err);
}

static void test_receipt_parse__takes_ours(void **state)
{
	static const char *const lines[] = {
		HEAD "\"ok\":true}",
		HEAD "\"ok\":true}\n",
		" " HEAD "\"ok\":true,\"more\":[1,{\"a\":null}]} \r\n",
		"{\"ok\":true,\"nonce\":\"" NONCE "\",\"sbinject\":1}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++) {
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(lines[i], &err);

		assert_non_null(doc);
		assert_int_equal(err.code, SB_OK);
	}
}

static void test_receipt_parse__refuses_others(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"OCI runtime exec failed: no such file",
		"null",
		"[]",
		"[" HEAD "\"ok\":true}]",
		"{}",
		HEAD "\"ok\":true",
		HEAD "\"ok\":true}}",
		HEAD "\"ok\":true}" HEAD "\"ok\":true}",
		HEAD "\"ok\":true,\"ok\":true}",
		HEAD "\"ok\":true,\"nonce\":\"" NONCE "\"}",
		HEAD "\"ok\":true,\"a\":{\"b\":1,\"b\":2}}",
		HEAD "\"ok\":null}",
		HEAD "\"ok\":1}",
		HEAD "\"ok\":\"true\"}",
		HEAD "\"done\":true}",
		HEAD "\"ok\":false}",
		HEAD "\"ok\":false,\"code\":\"readonly\"}",
		HEAD "\"ok\":false,\"what\":\"x\"}",
		HEAD "\"ok\":false,\"code\":7,\"what\":\"x\"}",
		HEAD "\"ok\":false,\"code\":\"readonly\",\"what\":[]}",
		HEAD "\"ok\":false,\"code\":\"exploded\",\"what\":\"x\"}",
		HEAD "\"ok\":false,\"code\":\"\",\"what\":\"x\"}",
		HEAD "\"ok\":false,\"code\":\"Readonly\",\"what\":\"x\"}",
		"{\"sbinject\":2,\"nonce\":\"" NONCE "\",\"ok\":true}",
		"{\"sbinject\":\"1\",\"nonce\":\"" NONCE "\",\"ok\":true}",
		"{\"sbinject\":1.0,\"nonce\":\"" NONCE "\",\"ok\":true}",
		"{\"nonce\":\"" NONCE "\",\"ok\":true}",
		"{\"sbinject\":1,\"ok\":true}",
		"{\"sbinject\":1,\"nonce\":null,\"ok\":true}",
		"{\"sbinject\":1,\"nonce\":\"\",\"ok\":true}",
		"{\"sbinject\":1,\"nonce\":\"A1B2C3D4E5F60718\",\"ok\":true}",
		"{\"sbinject\":1,\"nonce\":\"" NONCE "0\",\"ok\":true}",
		"{\"sbinject\":1,\"nonce\":\"" NONCE "\\u0000\",\"ok\":true}",
		"{\"sbinject\":1,\"nonce\":[\"" NONCE "\"],\"ok\":true}",
		HEAD "\"ok\":true,\"s\":\"\377\"}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++) {
		struct sb_err err = SB_ERR_INIT;

		assert_null(parse(lines[i], &err));
		assert_int_equal(err.code, SB_MISMATCH);
		assert_memory_equal(
			err.text, "what answered in the container is not our program", 49);
	}
}

static void test_receipt_parse__turns_failures_into_codes(void **state)
{
	static const struct {
		const char *word;
		enum sb_code code;
	} rows[] = {
		{"readonly", SB_UNSUPPORTED},
		{"noexec", SB_UNSUPPORTED},
		{"nospace", SB_UNSUPPORTED},
		{"limit", SB_UNSUPPORTED},
		{"occupied", SB_UNSUPPORTED},
		{"denied", SB_UNSUPPORTED},
		{"digest", SB_MISMATCH},
		{"start", SB_NO_SERVICE},
		{"timeout", SB_NO_SERVICE},
		{"busy", SB_NO_SERVICE},
		{"internal", SB_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		char line[256], want[64];

		snprintf(line, sizeof(line), HEAD "\"ok\":false,\"code\":\"%s\",\"what\":\"why\"}",
			rows[i].word);
		snprintf(want, sizeof(want), "why (%s)", rows[i].word);
		assert_null(parse(line, &err));
		assert_int_equal(err.code, rows[i].code);
		assert_string_equal(err.text, want);
	}
}

static void test_receipt_parse__knows_the_limit_of_processes(void **state)
{
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_null(parse(HEAD "\"ok\":false,\"code\":\"start\",\"what\":\"cannot start the "
			       "server: Resource temporarily unavailable\"}",
		&err));
	assert_int_equal(err.code, SB_UNSUPPORTED);
}

static void assert_printable(const char *text)
{
	for (const unsigned char *u = (const unsigned char *)text; *u; u++)
		assert_true(*u >= 0x20 && *u != 0x7f);
}

static void test_receipt_parse__never_passes_control_characters(void **state)
{
	static const char *const whats[] = {"\\u001b[2J\\u001b]0;owned\\u0007", "a\\nb\\r\\tc",
		"\\u007f", "\\u009b31m", "\\u202eevil", "\302\23331m", "%s%n%999999d"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(whats); i++) {
		struct sb_err err = SB_ERR_INIT;
		char line[512];

		snprintf(line, sizeof(line),
			HEAD "\"ok\":false,\"code\":\"internal\",\"what\":\"%s\"}", whats[i]);
		assert_null(parse(line, &err));
		assert_int_equal(err.code, SB_FAILED);
		assert_printable(err.text);
		assert_null(strstr(err.text, "\302\233"));
		assert_null(strstr(err.text, "\342\200\256"));
	}
}

static void test_receipt_parse__bounds_a_long_reason(void **state)
{
	static char line[SB_MAX_RECEIPT];
	struct sb_err err = SB_ERR_INIT;
	int n = snprintf(line, sizeof(line), HEAD "\"ok\":false,\"code\":\"busy\",\"what\":\"");

	(void)state;
	/* Of two bytes each, so that a cut may fall into a character. */
	for (size_t i = 0; i < 10001; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, i ? "\303\266" : "x");
	snprintf(line + n, sizeof(line) - (size_t)n, "\"}");
	assert_null(parse(line, &err));
	assert_int_equal(err.code, SB_NO_SERVICE);
	assert_in_range(strlen(err.text), 100, sizeof(err.text) - 1);
	assert_printable(err.text);
	assert_non_null(strstr(err.text, "(busy)"));
}

#define INSTALL(sha, release, rest) \
	HEAD "\"ok\":true,\"sha256\":\"" sha "\",\"release\":\"" release "\"" rest "}"

static void test_receipt_read_install__reads_ours(void **state)
{
	static const struct {
		const char *line;
		enum wire_was was;
		bool started;
		long long pid, uid;
	} rows[] = {
		{INSTALL(SHA, "0.1.0", ",\"was\":\"absent\",\"started\":true,\"pid\":7,\"uid\":0"),
			WAS_ABSENT, true, 7, 0},
		{INSTALL(SHA, "0.1.0", ",\"was\":\"same\",\"started\":false"), WAS_SAME, false, 0,
			-1},
		{INSTALL(SHA, "0.1.0", ",\"was\":\"other\",\"started\":1,\"pid\":\"7\""), WAS_OTHER,
			false, 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_install receipt = {0};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(rows[i].line, &err);

		assert_non_null(doc);
		assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), 0);
		assert_string_equal(receipt.sha256, SHA);
		assert_string_equal(receipt.release, "0.1.0");
		assert_int_equal(receipt.was, rows[i].was);
		assert_int_equal(receipt.started, rows[i].started);
		assert_true(receipt.pid == rows[i].pid && receipt.uid == rows[i].uid);
	}
}

#define MISSING(list) INSTALL(SHA, "0.1.0", ",\"was\":\"absent\",\"missing\":" list)

static void test_receipt_read_install__reads_what_is_missing(void **state)
{
	static const struct {
		const char *text;
		int outcome;
		uint32_t missing;
	} rows[] = {
		{INSTALL(SHA, "0.1.0", ",\"was\":\"absent\""), 0, 0},
		{MISSING("[]"), 0, 0},
		{MISSING("[0,2]"), 0, 5},
		{MISSING("[31]"), 0, UINT32_C(1) << 31},
		{MISSING("[32]"), -1, 0},
		{MISSING("[-1]"), -1, 0},
		{MISSING("[4294967296]"), -1, 0},
		{MISSING("[0.0]"), -1, 0},
		{MISSING("[\"0\"]"), -1, 0},
		{MISSING("{}"), -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_install receipt = {.missing = 7};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(rows[i].text, &err);

		assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), rows[i].outcome);
		assert_true(rows[i].outcome || receipt.missing == rows[i].missing);
	}
}

#define ASIDE(list) INSTALL(SHA, "0.1.0", ",\"was\":\"absent\",\"aside\":" list)

static void test_receipt_read_install__reads_what_was_moved_aside(void **state)
{
	static const struct {
		const char *line;
		int outcome;
		size_t count;
	} rows[] = {
		{ASIDE("[]"), 0, 0},
		{ASIDE("[\"/v/.d.sbinject-aside-0123abcd\"]"), 0, 1},
		{ASIDE("[\"/a.sbinject-aside-0123abcd\",\"/b.sbinject-aside-0123abcd\"]"), 0, 2},
		{ASIDE("[\"/a.sbinject-aside-0123abcd\",\"/b.sbinject-aside-0123abcd\","
		       "\"/c.sbinject-aside-0123abcd\"]"),
			-1, 0},
		{ASIDE("\"/v/.d.sbinject-aside-0123abcd\""), -1, 0},
		{ASIDE("[7]"), -1, 0},
		{ASIDE("[\"\"]"), -1, 0},
		{ASIDE("[\"0123abcd\"]"), -1, 0},
		{ASIDE("[\"/0123abcd\"]"), -1, 0},
		{ASIDE("[\"/.sbinject-aside-0123abcd\"]"), -1, 0},
		{ASIDE("[\"v/.d.sbinject-aside-0123abcd\"]"), -1, 0},
		{ASIDE("[\"/v/.d.sbinject-aside-0123abcX\"]"), -1, 0},
		{ASIDE("[\"/v/.d.sbinject-moved-0123abcd\"]"), -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_install receipt = {.aside_count = 7};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(rows[i].line, &err);

		assert_non_null(doc);
		assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), rows[i].outcome);
		assert_int_equal(err.code, rows[i].outcome ? SB_MISMATCH : SB_OK);
		assert_true(rows[i].outcome || receipt.aside_count == rows[i].count);
	}
}

static void test_receipt_read_install__reads_that_it_is_the_users(void **state)
{
	struct receipt_install receipt = {0};
	struct sb_err err = SB_ERR_INIT;
	json_auto_t *doc = parse(HEAD "\"ok\":true,\"was\":\"user\"}", &err);

	(void)state;
	assert_non_null(doc);
	assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), 0);
	assert_int_equal(receipt.was, WAS_USERS);
}

static void test_receipt_read_install__refuses_odd_ones(void **state)
{
	static const char *const lines[] = {
		HEAD "\"ok\":true}",
		HEAD "\"ok\":true,\"release\":\"0.1.0\",\"was\":\"same\"}",
		HEAD "\"ok\":true,\"sha256\":\"" SHA "\",\"was\":\"same\"}",
		INSTALL(SHA, "0.1.0", ""),
		INSTALL(SHA, "0.1.0", ",\"was\":\"\""),
		INSTALL(SHA, "0.1.0", ",\"was\":\"SAME\""),
		INSTALL(SHA, "0.1.0", ",\"was\":null"),
		INSTALL(SHA, "0.1.0", ",\"was\":0"),
		INSTALL(SHA, "\\u001b[31m", ",\"was\":\"same\""),
		INSTALL(SHA, "0.1.0 \\n", ",\"was\":\"same\""),
		INSTALL(SHA, "01234567890123456789012345678901", ",\"was\":\"same\""),
		INSTALL(SHA, "0.1.0", ",\"was\":\"same\",\"placed\":\"nowhere\""),
		INSTALL(SHA, "0.1.0", ",\"was\":\"same\",\"placed\":null"),
		INSTALL(SHA, "0.1.0", ",\"was\":\"same\",\"placed\":7"),
		INSTALL("", "0.1.0", ",\"was\":\"same\""),
		INSTALL("0123", "0.1.0", ",\"was\":\"same\""),
		INSTALL(SHA "0", "0.1.0", ",\"was\":\"same\""),
		INSTALL("0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "0.1.0",
			",\"was\":\"same\""),
		INSTALL("f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "0.1.0",
			",\"was\":\"same\""),
		HEAD "\"ok\":true,\"sha256\":7,\"release\":\"0.1.0\",\"was\":\"same\"}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++) {
		struct receipt_install receipt = {0};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(lines[i], &err);

		assert_non_null(doc);
		assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), -1);
		assert_int_equal(err.code, SB_MISMATCH);
		assert_printable(err.text);
	}
}

static void test_receipt_read_install__names_both_digests(void **state)
{
	struct receipt_install receipt = {0};
	struct sb_err err = SB_ERR_INIT;
	json_auto_t *doc =
		parse(INSTALL("ffffffffffffffff0123456789abcdef0123456789abcdef0123456789abcdef",
			      "1", ",\"was\":\"same\""),
			&err);

	(void)state;
	assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), -1);
	assert_non_null(strstr(err.text, "ffffffffffff"));
	assert_non_null(strstr(err.text, "0123456789ab"));
}

/* Earlier releases placed a file, and did not say so. */
static void test_receipt_read__tells_what_stands_at_the_path(void **state)
{
	static const struct {
		const char *member;
		enum wire_placed placed;
	} rows[] = {{"", PLACED_FILE}, {",\"placed\":\"file\"", PLACED_FILE},
		{",\"placed\":\"link\"", PLACED_LINK}, {",\"placed\":\"none\"", PLACED_NONE}};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_install receipt = {.placed = 7};
		struct receipt_status status = {.placed = 7};
		struct sb_err err = SB_ERR_INIT;
		char line[512];
		json_auto_t *doc = NULL;

		snprintf(line, sizeof(line),
			HEAD "\"ok\":true,\"sha256\":\"" SHA
			     "\",\"release\":\"1\",\"was\":\"same\"%s}",
			rows[i].member);
		doc = parse(line, &err);
		assert_int_equal(receipt_read_install(doc, SHA, &receipt, &err), 0);
		assert_int_equal(receipt.placed, rows[i].placed);
		assert_int_equal(receipt_read_status(doc, &status, &err), 0);
		assert_int_equal(status.placed, rows[i].placed);
	}
	assert_string_equal(receipt_placed_word(PLACED_NONE), "none");
}

static void test_receipt_read_status__reads_ours(void **state)
{
	struct receipt_status status = {0};
	struct sb_err err = SB_ERR_INIT;
	json_auto_t *up =
		parse(HEAD "\"ok\":true,\"release\":\"0.1.0\",\"path_ok\":true,"
			   "\"server\":{\"running\":true,\"can_switch_user\":true,"
			   "\"pid\":12,\"uid\":0,\"uptime_ms\":5,\"sha256\":\"" SHA "\"}}",
			&err);
	json_auto_t *down = parse(
		HEAD "\"ok\":true,\"release\":\"0.1.0\",\"server\":{\"running\":false}}", &err);

	(void)state;
	assert_int_equal(receipt_read_status(up, &status, &err), 0);
	assert_true(status.path_ok && status.running && status.can_switch);
	assert_true(status.pid == 12 && status.uid == 0 && status.uptime_ms == 5);
	assert_string_equal(status.release, "0.1.0");
	assert_string_equal(status.sha256, SHA);
	memset(&status, 0, sizeof(status));
	assert_int_equal(receipt_read_status(down, &status, &err), 0);
	assert_false(status.path_ok || status.running || status.can_switch);
	assert_string_equal(status.sha256, "");
}

static void test_receipt_read_status__refuses_odd_ones(void **state)
{
	static const char *const lines[] = {
		HEAD "\"ok\":true}",
		HEAD "\"ok\":true,\"release\":7}",
		HEAD "\"ok\":true,\"release\":\"a b\"}",
		HEAD "\"ok\":true,\"release\":\"1\",\"placed\":\"there\"}",
		HEAD "\"ok\":true,\"release\":\"1\",\"server\":{\"running\":true}}",
		HEAD "\"ok\":true,\"release\":\"1\",\"server\":{\"running\":true,\"sha256\":null}}",
		HEAD
		"\"ok\":true,\"release\":\"1\",\"server\":{\"running\":true,\"sha256\":\"xyz\"}}",
		HEAD "\"ok\":true,\"release\":\"1\",\"server\":{\"running\":true,\"sha256\":\"" SHA
		     "0\"}}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++) {
		struct receipt_status status = {0};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(lines[i], &err);

		assert_non_null(doc);
		assert_int_equal(receipt_read_status(doc, &status, &err), -1);
		assert_int_equal(err.code, SB_MISMATCH);
	}
}

/* A digest has 64 digits: what is shorter is an odd member. */
static void test_receipt_read_status__refuses_short_digests(void **state)
{
	static const char *const lines[] = {
		HEAD "\"ok\":true,\"release\":\"1\",\"server\":{\"running\":true,\"sha256\":\"\"}}",
		HEAD
		"\"ok\":true,\"release\":\"1\",\"server\":{\"running\":true,\"sha256\":\"0a\"}}",
		HEAD "\"ok\":true,\"release\":\"\",\"server\":{\"running\":false}}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++) {
		struct receipt_status status = {0};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(lines[i], &err);

		assert_int_equal(receipt_read_status(doc, &status, &err), -1);
		assert_int_equal(err.code, SB_MISMATCH);
	}
}

/* ---- trees ---- */

#define OTHER_SHA "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UNPACKED HEAD "\"ok\":true,\"was\":\"absent\","
#define TREE_OF(sha) "\"tree\":\"" sha "\""

static void test_receipt_read_tree__reads_ours(void **state)
{
	static const struct {
		const char *members;
		enum wire_was was;
		const char *tree, *aside;
		uint64_t files, bytes;
	} rows[] = {
		{"\"was\":\"absent\"," TREE_OF(SHA) ",\"files\":3,\"bytes\":4294967296", WAS_ABSENT,
			SHA, "", 3, UINT64_C(4) << 30},
		{"\"was\":\"same\"," TREE_OF(SHA), WAS_SAME, SHA, "", 0, 0},
		{"\"was\":\"other\"," TREE_OF(SHA) ",\"files\":-1,\"bytes\":-1", WAS_OTHER, SHA, "",
			0, 0},
		{"\"was\":\"absent\"," TREE_OF(SHA) ",\"files\":\"x\",\"bytes\":1e9", WAS_ABSENT,
			SHA, "", 0, 0},
		{"\"was\":\"absent\"," TREE_OF(SHA) ",\"aside\":[\"/a.sbinject-aside-01234567\"]",
			WAS_ABSENT, SHA, "/a.sbinject-aside-01234567", 0, 0},
		{"\"was\":\"user\"", WAS_USERS, "", "", 0, 0},
		{"\"was\":\"kind\"", WAS_KIND, "", "", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_tree tree;
		struct sb_err err = SB_ERR_INIT;
		char line[512];
		json_auto_t *doc = NULL;

		memset(&tree, 0xff, sizeof(tree));
		snprintf(line, sizeof(line), HEAD "\"ok\":true,%s}", rows[i].members);
		doc = parse(line, &err);
		assert_int_equal(receipt_read_tree(doc, SHA, &tree, &err), 0);
		assert_int_equal(tree.was, rows[i].was);
		assert_string_equal(tree.tree, rows[i].tree);
		assert_string_equal(tree.aside, rows[i].aside);
		assert_int_equal(tree.files, rows[i].files);
		assert_int_equal(tree.bytes, rows[i].bytes);
	}
}

static void test_receipt_read_tree__refuses_odd_ones(void **state)
{
	static const char *const lines[] = {
		HEAD "\"ok\":true}",
		HEAD "\"ok\":true," TREE_OF(SHA) "}",
		HEAD "\"ok\":true,\"was\":\"there\"," TREE_OF(SHA) "}",
		HEAD "\"ok\":true,\"was\":7," TREE_OF(SHA) "}",
		HEAD "\"ok\":true,\"was\":\"same\"}",
		HEAD "\"ok\":true,\"send\":true}",
		UNPACKED "\"tree\":null}",
		UNPACKED "\"tree\":\"0123\"}",
		UNPACKED TREE_OF(SHA "0") "}",
		UNPACKED "\"tree\":[\"" SHA "\"]}",
		UNPACKED TREE_OF(SHA) ",\"aside\":\"/a.sbinject-aside-01234567\"}",
		UNPACKED TREE_OF(SHA) ",\"aside\":[\"/etc\"]}",
		UNPACKED TREE_OF(SHA) ",\"aside\":[1]}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++) {
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse(lines[i], &err);
		struct receipt_tree tree;

		assert_non_null(doc);
		assert_int_equal(receipt_read_tree(doc, SHA, &tree, &err), -1);
		assert_int_equal(err.code, SB_MISMATCH);
		assert_string_equal(err.text,
			"what answered in the container is not our program: its receipt is "
			"incomplete");
	}
}

static void test_receipt_read_tree__names_both_digests(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	json_auto_t *doc = parse(UNPACKED TREE_OF(OTHER_SHA) "}", &err);
	struct receipt_tree tree;

	(void)state;
	assert_int_equal(receipt_read_tree(doc, SHA, &tree, &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_string_equal(err.text,
		"the tree in the container is not the one delivered: it has the digest "
		"fedcba987654…, delivered was 0123456789ab…");
}

/* A status with so many trees, each of which is that. */
static json_t *parse_trees(const char *tree, int count, struct sb_err *err)
{
	sb_autobuf struct sb_buf line = SB_BUF_INIT(1 << 20);

	assert_int_equal(
		sb_buf_adds(&line,
			HEAD "\"ok\":true,\"release\":\"1\",\"server\":{\"running\":false},"
			     "\"trees\":[",
			err),
		0);
	for (int i = 0; i < count; i++)
		assert_int_equal(sb_buf_addf(&line, err, "%s%s", i ? "," : "", tree), 0);
	assert_int_equal(sb_buf_adds(&line, "]}", err), 0);
	return parse(sb_buf_str(&line), err);
}

#define A_TREE "{\"path\":\"/opt/t\",\"name\":\"t\",\"service\":true," TREE_OF(SHA) "}"
#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void test_receipt_read_status__reads_trees(void **state)
{
	static const struct {
		const char *tree;
		const char *path, *name, *digest;
		bool service;
	} rows[] = {
		{A_TREE, "/opt/t", "t", SHA, true},
		{"{\"path\":\"/opt/t\",\"name\":\"\",\"tree\":null}", "/opt/t", "", "", false},
		{"{\"path\":\"\\u001b[2J\",\"name\":\"a\\nb\",\"tree\":null}", "\\x1b[2J",
			"a\\x0ab", "", false},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_status status;
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse_trees(rows[i].tree, RECEIPT_TREES_MAX, &err);

		memset(&status, 0xff, sizeof(status));
		assert_int_equal(receipt_read_status(doc, &status, &err), 0);
		assert_int_equal(status.tree_count, RECEIPT_TREES_MAX);
		for (size_t k = 0; k < status.tree_count; k++) {
			assert_string_equal(status.trees[k].path, rows[i].path);
			assert_string_equal(status.trees[k].name, rows[i].name);
			assert_string_equal(status.trees[k].tree, rows[i].digest);
			assert_int_equal(status.trees[k].service, rows[i].service);
		}
	}
}

static void test_receipt_read_status__refuses_odd_trees(void **state)
{
	static const struct {
		const char *tree;
		int count;
	} rows[] = {
		{A_TREE, RECEIPT_TREES_MAX + 1},
		{"7", 1},
		{"[]", 1},
		{"{}", 1},
		{"{\"path\":\"/opt/t\"," TREE_OF(SHA) "}", 1},
		{"{\"name\":\"t\"," TREE_OF(SHA) "}", 1},
		{"{\"path\":7,\"name\":\"t\"," TREE_OF(SHA) "}", 1},
		{"{\"path\":\"/opt/t\",\"name\":\"t\"}", 1},
		{"{\"path\":\"/opt/t\",\"name\":\"t\",\"tree\":\"12\"}", 1},
		{"{\"path\":\"/opt/t\",\"name\":\"t\",\"tree\":7}", 1},
		{"{\"path\":\"/" HUNDRED HUNDRED HUNDRED TEN TEN "\",\"name\":\"t\",\"tree\":null}",
			1},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct receipt_status status = {0};
		struct sb_err err = SB_ERR_INIT;
		json_auto_t *doc = parse_trees(rows[i].tree, rows[i].count, &err);

		assert_non_null(doc);
		assert_int_equal(receipt_read_status(doc, &status, &err), -1);
		assert_int_equal(err.code, SB_MISMATCH);
	}
}

static void test_receipt_read_graft__tells_what_is_there(void **state)
{
	static const struct {
		const char *members;
		int outcome;
		const char *current;
	} rows[] = {
		{"\"grafted\":true", 0, ""},
		{"\"grafted\":false", 1, ""},
		{"\"grafted\":true,\"current\":\"" SHA "\"", 0, SHA},
		{"\"grafted\":false,\"current\":\"" SHA "\"", 1, SHA},
		{"\"current\":\"" SHA "\"", -1, NULL},
		{"\"grafted\":1", -1, NULL},
		{"\"grafted\":true,\"current\":\"0a\"", -1, NULL},
		{"\"grafted\":true,\"current\":null", -1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		char line[512], current[65] = "x";
		json_auto_t *doc = NULL;

		snprintf(line, sizeof(line), HEAD "\"ok\":true,%s}", rows[i].members);
		doc = parse(line, &err);
		assert_int_equal(receipt_read_graft(doc, current, &err), rows[i].outcome);
		assert_int_equal(err.code, rows[i].outcome < 0 ? SB_MISMATCH : SB_OK);
		if (rows[i].current)
			assert_string_equal(current, rows[i].current);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receipt_parse__takes_ours),
		cmocka_unit_test(test_receipt_parse__refuses_others),
		cmocka_unit_test(test_receipt_parse__turns_failures_into_codes),
		cmocka_unit_test(test_receipt_parse__knows_the_limit_of_processes),
		cmocka_unit_test(test_receipt_parse__never_passes_control_characters),
		cmocka_unit_test(test_receipt_parse__bounds_a_long_reason),
		cmocka_unit_test(test_receipt_read_install__reads_ours),
		cmocka_unit_test(test_receipt_read_install__reads_what_was_moved_aside),
		cmocka_unit_test(test_receipt_read_install__reads_what_is_missing),
		cmocka_unit_test(test_receipt_read_install__reads_that_it_is_the_users),
		cmocka_unit_test(test_receipt_read_install__refuses_odd_ones),
		cmocka_unit_test(test_receipt_read_install__names_both_digests),
		cmocka_unit_test(test_receipt_read__tells_what_stands_at_the_path),
		cmocka_unit_test(test_receipt_read_status__reads_ours),
		cmocka_unit_test(test_receipt_read_status__refuses_odd_ones),
		cmocka_unit_test(test_receipt_read_status__refuses_short_digests),
		cmocka_unit_test(test_receipt_read_tree__reads_ours),
		cmocka_unit_test(test_receipt_read_tree__refuses_odd_ones),
		cmocka_unit_test(test_receipt_read_tree__names_both_digests),
		cmocka_unit_test(test_receipt_read_status__reads_trees),
		cmocka_unit_test(test_receipt_read_status__refuses_odd_trees),
		cmocka_unit_test(test_receipt_read_graft__tells_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
