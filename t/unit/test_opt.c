/* SPDX-License-Identifier: MIT */
/* Command lines: what becomes an option, a value or an argument, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/opt.h"

enum { MAX_WORDS = 16 };

struct parsed {
	struct opts opts;
	char *args[MAX_WORDS];
	struct opt_args rest;
};

/* Split a line at '|' (words may be empty) and parse it, as behind the program's name. */
static int parse(const char *line, struct parsed *ret, struct sb_err *err)
{
	static char copy[512];
	char *argv[MAX_WORDS + 1] = {copy}, *rest = copy;
	int argc = 0;

	snprintf(copy, sizeof(copy), "sbinject%s%s", *line ? "|" : "", line);
	for (char *word; (word = strsep(&rest, "|"));)
		argv[argc++] = word;
	memset(ret, 0xa5, sizeof(*ret));
	ret->rest.args = ret->args;
	return opt_parse(argc, argv, &ret->opts, &ret->rest, err);
}

static void test_opt_parse__sorts_words(void **state)
{
	static const struct {
		const char *line;
		opt_set given;
		int count;
		const char *first; /* argument, or NULL */
		bool first_is_name;
	} rows[] = {
		{"", 0, 0, NULL, false},
		{"ls", 0, 1, "ls", false},
		{"inject|a|b", 0, 3, "inject", false},
		{"-q", OPT(QUIET), 0, NULL, false},
		{"-qv", OPT(QUIET) | OPT(VERBOSE), 0, NULL, false},
		{"-qvqv|x", OPT(QUIET) | OPT(VERBOSE), 1, "x", false},
		{"x|-n|y|--json", OPT(DRY_RUN) | OPT(JSON), 2, "x", false},
		{"--quiet|--verbose|--all", OPT(QUIET) | OPT(VERBOSE) | OPT(ALL), 0, NULL, false},
		{"-h", OPT(HELP), 0, NULL, false},
		{"-V", OPT(VERSION), 0, NULL, false},
		{"-", 0, 1, "-", false},
		{"", 0, 0, NULL, false},
		{"|", 0, 2, "", false},
		{"--", 0, 0, NULL, true},
		{"--|x", 0, 1, "x", true},
		{"--|-q|--json", 0, 2, "-q", true},
		{"--|--", 0, 1, "--", true},
		{"x|--|-q", 0, 2, "x", false},
		{"-q|--|x", OPT(QUIET), 1, "x", true},
		{"x|-q|--|-v", OPT(QUIET), 2, "x", false},
		{"--host|--|x", OPT(HOST), 1, "x", false},
		{"-H|-q", OPT(HOST), 0, NULL, false},
		{"-qH|x|y", OPT(QUIET) | OPT(HOST), 1, "y", false},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct parsed p;

		assert_int_equal(parse(rows[i].line, &p, &err), 0);
		assert_int_equal(p.opts.given, rows[i].given);
		assert_int_equal(p.rest.count, rows[i].count);
		assert_int_equal(p.rest.first_is_name, rows[i].first_is_name);
		if (rows[i].first)
			assert_string_equal(p.args[0], rows[i].first);
	}
}

static void test_opt_parse__takes_values_in_every_form(void **state)
{
	static const struct {
		const char *line;
		enum opt_id id;
		const char *value;
	} rows[] = {
		{"-j4", OPT_JOBS, "4"},
		{"-j|4", OPT_JOBS, "4"},
		{"-qj4", OPT_JOBS, "4"},
		{"-qj|4", OPT_JOBS, "4"},
		{"--jobs=4", OPT_JOBS, "4"},
		{"--jobs|4", OPT_JOBS, "4"},
		{"-Hunix:///x", OPT_HOST, "unix:///x"},
		{"-H=x", OPT_HOST, "=x"},
		{"--host=a=b", OPT_HOST, "a=b"},
		{"--host|-q", OPT_HOST, "-q"},
		{"--client|inspect_ai 0.3", OPT_CLIENT, "inspect_ai 0.3"},
		{"--host=a|--host=b", OPT_HOST, "b"},
		{"-c|f", OPT_CONFIG, "f"},
		{"--output=o", OPT_OUTPUT, "o"},
		{"--explain|box", OPT_EXPLAIN, "box"},
		{"--extract=tools-amd64", OPT_EXTRACT, "tools-amd64"},
		{"-t0", OPT_TIMEOUT, "0"},
		{"--require=wire=1", OPT_REQUIRE, "wire=1"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct parsed p;

		assert_int_equal(parse(rows[i].line, &p, &err), 0);
		assert_true(p.opts.given & OPT_BIT(rows[i].id));
		assert_string_equal(p.opts.text[rows[i].id], rows[i].value);
	}
}

static void test_opt_parse__has_defaults(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct parsed p;

	(void)state;
	assert_int_equal(parse("ls", &p, &err), 0);
	assert_int_equal(p.opts.timeout_s, -1);
	assert_int_equal(p.opts.jobs, 4);
	assert_null(p.opts.require.release);
	assert_null(p.opts.require.wire);
	assert_null(p.opts.require.sha256);
	for (size_t i = 0; i < OPT_COUNT; i++)
		assert_null(p.opts.text[i]);
}

static void test_opt_parse__reads_numbers(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct parsed p;

	(void)state;
	assert_int_equal(parse("-t|86400|-j|256", &p, &err), 0);
	assert_int_equal(p.opts.timeout_s, 86400);
	assert_int_equal(p.opts.jobs, 256);
	assert_int_equal(parse("-t|0|-j|007", &p, &err), 0);
	assert_int_equal(p.opts.timeout_s, 0);
	assert_int_equal(p.opts.jobs, 7);
	assert_int_equal(parse("-j1|-j2", &p, &err), 0);
	assert_int_equal(p.opts.jobs, 2);
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_opt_parse__collects_requirements(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct parsed p;

	(void)state;
	assert_int_equal(
		parse("--require|release=a=b|--require=wire=1|--require|sha256=" DIGEST, &p, &err),
		0);
	assert_string_equal(p.opts.require.release, "a=b");
	assert_string_equal(p.opts.require.wire, "1");
	assert_string_equal(p.opts.require.sha256, DIGEST);
}

static void test_opt_parse__refuses(void **state)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"--nonsense", "unknown option '--nonsense'"},
		{"-x", "unknown option '-x'"},
		{"-qx", "unknown option '-qx'"},
		{"-n5", "unknown option '-n5'"},
		{"-q-", "unknown option '-q-'"},
		{"---", "unknown option '---'"},
		{"--=x", "unknown option '--=x'"},
		{"--jo=4", "unknown option '--jo=4'"},
		{"--QUIET", "unknown option"},
		{"-\033[2J", "unknown option '-\\x1b[2J'"},
		{"--quiet=yes", "--quiet takes no value"},
		{"--json=", "--json takes no value"},
		{"--host", "--host needs a value (URL)"},
		{"-H", "--host needs a value (URL)"},
		{"-qj", "--jobs needs a value (N)"},
		{"--jobs=", "--jobs: '' is not a number"},
		{"-j|x", "--jobs: 'x' is not a number"},
		{"-j4x", "--jobs: '4x'"},
		{"-j|-1", "--jobs: '-1'"},
		{"-j|+1", "--jobs: '+1'"},
		{"-j| 1", "--jobs: ' 1'"},
		{"-j|0x10", "--jobs: '0x10'"},
		{"-j|1.5", "--jobs: '1.5'"},
		{"-j|257", "from 1 to 256"},
		{"-j|0", "from 1 to 256"},
		{"-t|86401", "from 0 to 86400"},
		{"-t|99999999999999999999", "from 0 to 86400"},
		{"--require|x", "--require: 'x'"},
		{"--require=release", "--require: 'release'"},
		{"--require=release=", "--require: 'release='"},
		{"--require=wire=x", "wire= must be a number"},
		{"--require=sha256=0123", "sha256= must be all 64 digits"},
		{"--require=sha256=" DIGEST "0", "sha256= must be all 64 digits"},
		{"--require|Wire=1", "--require: 'Wire=1'"},
		{"--require|wire=1|--require|wire=2", "--require: 'wire=2'"},
		{"--require=wire=1|--require=release=1|--require=wire=1",
			"'wire=1': wire= is given twice"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_err err = SB_ERR_INIT;
		struct parsed p;

		assert_int_equal(parse(rows[i].line, &p, &err), -1);
		assert_int_equal(err.code, SB_USAGE);
		assert_non_null(strstr(err.text, rows[i].says));
	}
}

static void test_opt_check_allowed__names_the_first_that_is_not(void **state)
{
	struct sb_err err = SB_ERR_INIT;
	struct opts opts = {.given = OPT(VERBOSE) | OPT(JSON) | OPT(CHECK)};

	(void)state;
	assert_int_equal(opt_check_allowed(&opts, OPTS_ANY | OPT(JSON) | OPT(CHECK), "x", &err), 0);
	assert_int_equal(opt_check_allowed(&opts, ~0u, "x", &err), 0);
	assert_int_equal(err.code, SB_OK);
	assert_int_equal(opt_check_allowed(&opts, OPTS_RULES, "inject", &err), -1);
	assert_int_equal(err.code, SB_USAGE);
	assert_non_null(strstr(err.text, "'inject' does not accept --json"));
	opts.given = 0;
	sb_err_clear(&err);
	assert_int_equal(opt_check_allowed(&opts, 0, "x", &err), 0);
}

static void test_opt_specs__are_complete_and_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPT_COUNT; i++) {
		assert_non_null(opt_specs[i].name);
		assert_non_null(opt_specs[i].help);
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(opt_specs[i].name, opt_specs[k].name);
			if (opt_specs[i].letter)
				assert_int_not_equal(opt_specs[i].letter, opt_specs[k].letter);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opt_parse__sorts_words),
		cmocka_unit_test(test_opt_parse__takes_values_in_every_form),
		cmocka_unit_test(test_opt_parse__has_defaults),
		cmocka_unit_test(test_opt_parse__reads_numbers),
		cmocka_unit_test(test_opt_parse__collects_requirements),
		cmocka_unit_test(test_opt_parse__refuses),
		cmocka_unit_test(test_opt_check_allowed__names_the_first_that_is_not),
		cmocka_unit_test(test_opt_specs__are_complete_and_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
