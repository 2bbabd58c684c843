/* SPDX-License-Identifier: MIT */
#include "conf/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_PAYLOAD(name) name ": {source: file, path: /" name ", sha256: " SHA "}"
#define HEAD                                                                                  \
	"version: 1\npayloads: {" FILE_PAYLOAD("a") ", " FILE_PAYLOAD("b") ", " FILE_PAYLOAD( \
		"c") ", " FILE_PAYLOAD("d") "}\nrules: "

enum { MAX_CASE_LINES = 3 };

/* The next case of a table of text: lines between empty or comment lines. */
static bool next_case(char **rest, size_t lines, char *fields[MAX_CASE_LINES])
{
	size_t count = 0;

	for (char *line; count < lines && (line = strsep(rest, "\n"));) {
		if (*line && *line != '#')
			fields[count++] = line;
		else if (count)
			fail_msg("case cut short before '%s'", line);
	}
	if (count && count < lines)
		fail_msg("case cut short at the end of the file");
	return count == lines;
}

static void read_table(const char *path, struct sb_buf *text)
{
	struct sb_err err = SB_ERR_INIT;

	if (sb_buf_read_file(text, path, &err) != 0)
		fail_msg("%s: %s (run it from the top directory)", path, err.text);
}

static struct conf *parse_rules(const char *rules)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;

	if (sb_buf_addf(&text, &err, HEAD "%s\n", rules) < 0 ||
		conf_parse(text.data, text.len, "f", NULL, &conf, &err) < 0)
		fail_msg("%s: %s", rules, err.text);
	return conf;
}

/* Facts from JSON, with the labels borrowed from it. */
static void put_facts(json_t *doc, struct sb_facts *facts)
{
	const char *key;
	json_t *value;

	json_object_foreach (doc, key, value) {
		if (!strcmp(key, "label"))
			facts->labels = value;
		else
			sb_fact_put(facts, sb_fact_by_name(key), json_string_value(value));
	}
}

static void check_match(const char *rules, const char *json, const char *expected)
{
	sb_auto(conf_freep) struct conf *conf = parse_rules(rules);
	struct sb_err err = SB_ERR_INIT;
	struct sb_facts facts = {0};
	const struct conf_rule *rule;
	json_t *doc = json_loads(json, 0, NULL);

	if (!doc)
		fail_msg("not JSON: %s", json);
	put_facts(doc, &facts);
	rule = rule_match(conf, &facts, &err);
	if (strcmp(rule ? rule->use->name : err.text, expected) != 0)
		fail_msg("%s\n%s\nis: %s\nnot: %s", rules, json, rule ? rule->use->name : err.text,
			expected);
	assert_int_equal(err.code, rule ? SB_OK : SB_UNSUPPORTED);
	if (rule)
		assert_null(rule_first_failed(rule, &facts));
	json_decref(doc);
}

static void test_rule_match__by_table(void **state)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	char *fields[MAX_CASE_LINES], *rest;
	int cases = 0;

	(void)state;
	read_table("t/data/conf/rules.t", &text);
	for (rest = text.data; next_case(&rest, 3, fields); cases++)
		check_match(fields[0], fields[1], fields[2]);
	assert_in_range(cases, 40, 1000);
}

static void check_ties(const char *rules, const char *expected)
{
	sb_auto(conf_freep) struct conf *conf = parse_rules(rules);
	sb_autobuf struct sb_buf found = SB_BUF_INIT(1024);
	struct sb_err err = SB_ERR_INIT;
	size_t i = 0, j = 0;
	bool certain = true;

	while (rule_next_tie(conf, &i, &j, &certain)) {
		assert_false(certain);
		assert_int_equal(
			sb_buf_addf(&found, &err, "%s%zu-%zu", found.len ? " " : "", i + 1, j + 1),
			0);
	}
	if (strcmp(found.len ? found.data : "none", expected) != 0)
		fail_msg("%s\nis: %s\nnot: %s", rules, sb_buf_str(&found), expected);
}

static void test_rule_next_tie__by_table(void **state)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	char *fields[MAX_CASE_LINES], *rest;
	int cases = 0;

	(void)state;
	read_table("t/data/conf/ties.t", &text);
	for (rest = text.data; next_case(&rest, 2, fields); cases++)
		check_ties(fields[0], fields[1]);
	assert_in_range(cases, 20, 1000);
}

static void test_rule_next_tie__tells_certain_ones(void **state)
{
	char linux_value[] = "linux", *values[] = {linux_value, NULL};
	struct conf_test test = {.fact = SB_FACT_OS, .values = values, .count = 1};
	struct conf_rule rules[3] = {{.tests = &test, .count = 1, .facts = 1, .line = 1},
		{.line = 2}, {.tests = &test, .count = 1, .facts = 1, .line = 3}};
	struct conf conf = {.rules = rules, .rule_count = 3};
	size_t i = 0, j = 0;
	bool certain = false;

	(void)state;
	assert_true(rule_next_tie(&conf, &i, &j, &certain));
	assert_int_equal(i, 0);
	assert_int_equal(j, 2);
	assert_true(certain);
	assert_false(rule_next_tie(&conf, &i, &j, &certain));
}

static void test_rule_first_failed__names_the_test(void **state)
{
	sb_auto(conf_freep) struct conf *conf =
		parse_rules("[{when: {os: linux, distro: [a, b], label: {k: v}}, use: a}]");
	const struct conf_rule *rule = &conf->rules[0];
	struct sb_facts facts = {0};
	json_t *labels = json_pack("{s:s}", "k", "v");

	(void)state;
	assert_ptr_equal(rule_first_failed(rule, &facts), &rule->tests[0]);
	sb_fact_put(&facts, SB_FACT_OS, "linux");
	assert_ptr_equal(rule_first_failed(rule, &facts), &rule->tests[1]);
	sb_fact_put(&facts, SB_FACT_DISTRO, "b");
	assert_ptr_equal(rule_first_failed(rule, &facts), &rule->tests[2]);
	facts.labels = labels;
	assert_null(rule_first_failed(rule, &facts));
	json_object_set_new(labels, "k", json_stringn("v\0w", 3));
	assert_ptr_equal(rule_first_failed(rule, &facts), &rule->tests[2]);
	json_decref(labels);
}

/* What the built-in rules must do is what recon finds in these images. */
struct image {
	const char *name, *distro, *version, *family, *libc, *libc_version;
};

static const struct image images[] = {
	{"ubuntu:16.04", "ubuntu", "16.04", "ubuntu debian", "glibc", "2.23"},
	{"ubuntu:24.04", "ubuntu", "24.04", "ubuntu debian", "glibc", "2.39"},
	{"debian:12", "debian", "12", "debian", "glibc", "2.36"},
	{"debian:sid", "debian", "", "debian", "glibc", "2.41"},
	{"kalilinux/kali-rolling", "kali", "2025.1", "kali debian", "glibc", "2.40"},
	{"alpine:3.20", "alpine", "3.20.3", "alpine", "musl", "1.2.5"},
	{"fedora:41", "fedora", "41", "fedora", "glibc", "2.40"},
	{"rockylinux:9", "rocky", "9.3", "rocky rhel centos fedora", "glibc", "2.34"},
	{"amazonlinux:2", "amzn", "2", "amzn centos rhel fedora", "glibc", "2.26"},
	{"busybox:musl", "", "", "", "none", ""},
	{"gcr.io/distroless/static", "debian", "12", "debian", "none", ""},
	{"scratch", "", "", "", "none", ""},
	{"", "", "", "", "", ""},
};

struct arch {
	const char *os, *arch, *variant, *payload; /* the payload, or NULL and the error */
	const char *error;
};

static const struct arch arches[] = {
	{"linux", "amd64", "", "tools-amd64", NULL},
	{"linux", "amd64", "v3", "tools-amd64", NULL},
	{"linux", "arm64", "v8", "tools-arm64", NULL},
	{"linux", "arm", "v7", "tools-armv7", NULL},
	{"linux", "arm", "v8", "tools-armv7", NULL},
	{"linux", "riscv64", "", "tools-riscv64", NULL},
	{"linux", "ppc64le", "", "tools-ppc64le", NULL},
	{"linux", "s390x", "", "tools-s390x", NULL},
	{"linux", "arm", "v6", NULL,
		"no rule in 'built-in' matches os=linux arch=arm variant=v6; see 'sbinject rules'"},
	{"linux", "arm", "", NULL,
		"no rule in 'built-in' matches os=linux arch=arm variant=(unknown); see 'sbinject rules'"},
	{"linux", "ppc64", "", NULL,
		"no rule in 'built-in' matches os=linux arch=ppc64 variant=(unknown); see 'sbinject rules'"},
	{"linux", "", "", NULL,
		"no rule in 'built-in' matches os=linux arch=(unknown) variant=(unknown); see 'sbinject rules'"},
	{"windows", "amd64", "", NULL,
		"no rule in 'built-in' matches os=windows arch=amd64 variant=(unknown); see 'sbinject rules'"},
};

static void check_builtin(
	const struct conf *conf, const struct image *image, const struct arch *arch)
{
	struct sb_err err = SB_ERR_INIT;
	struct sb_facts facts = {0};
	const struct conf_rule *rule;

	sb_fact_put(&facts, SB_FACT_OS, arch->os);
	sb_fact_put(&facts, SB_FACT_ARCH, arch->arch);
	sb_fact_put(&facts, SB_FACT_VARIANT, arch->variant);
	sb_fact_put(&facts, SB_FACT_IMAGE, image->name);
	sb_fact_put(&facts, SB_FACT_DISTRO, image->distro);
	sb_fact_put(&facts, SB_FACT_VERSION, image->version);
	sb_fact_put(&facts, SB_FACT_FAMILY, image->family);
	sb_fact_put(&facts, SB_FACT_LIBC, image->libc);
	sb_fact_put(&facts, SB_FACT_LIBC_VERSION, image->libc_version);
	rule = rule_match(conf, &facts, &err);
	if (arch->payload) {
		assert_non_null(rule);
		assert_string_equal(rule->use->name, arch->payload);
	} else {
		assert_null(rule);
		assert_string_equal(err.text, arch->error);
	}
}

/* conf/builtin.S */
extern const char conf_builtin_data[];

static void test_rule_match__builtin_rules_take_any_linux(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	const char *text = conf_builtin_data;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(conf_parse(text, strlen(text), "built-in", NULL, &conf, &err), 0);
	for (size_t i = 0; i < SB_ARRAY_SIZE(images); i++)
		for (size_t k = 0; k < SB_ARRAY_SIZE(arches); k++)
			check_builtin(conf, &images[i], &arches[k]);
}

/* Or each injection would read files of the container: see architecture, "as few round trips". */
static void test_conf_facts__builtin_rules_need_no_file(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	const char *text = conf_builtin_data;
	struct sb_err err = SB_ERR_INIT;
	size_t i = 0, j = 0;
	bool certain;

	(void)state;
	assert_int_equal(conf_parse(text, strlen(text), "built-in", NULL, &conf, &err), 0);
	assert_int_equal(
		conf_facts(conf), 1u << SB_FACT_OS | 1u << SB_FACT_ARCH | 1u << SB_FACT_VARIANT);
	assert_false(rule_next_tie(conf, &i, &j, &certain));
	assert_string_equal(conf->path, "/var/tmp/.da7be258e003d428/inspect-sandbox-tools");
	assert_null(conf->links);
	assert_string_equal(conf->start[0], "start-server");
	assert_null(conf->start[1]);
}

static void test_rule_describe__stops_at_the_maximum(void **state)
{
	sb_auto(conf_freep) struct conf *conf = parse_rules("[{when: {os: linux}, use: a}]");
	sb_autobuf struct sb_buf text = SB_BUF_INIT(5);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(rule_describe(&conf->rules[0], &text, &err), -1);
	assert_int_equal(err.code, SB_FAILED);
}

/* Of several words, one is enough; whose it is, and what root has, are two facts. */
static void test_rule_match__takes_a_user_and_its_root(void **state)
{
	static const char text[] =
		"version: 1\n"
		"payloads: {tools-amd64: {source: embedded}}\n"
		"rules:\n"
		"- {when: {}, use: tools-amd64}\n"
		"- {when: {user: [\"1000\", agent]}, use: tools-amd64}\n"
		"- {when: {user: \"1000\", caps: [setuid, kill]}, use: tools-amd64}\n"
		"- {when: {user: \"1000\", caps: none, os: linux}, use: tools-amd64}\n";
	static const struct {
		const char *user, *caps;
		int line;
	} rows[] = {
		{"root", "chown setuid", 4},
		{"agent", "chown setuid", 5},
		{"1000", "chown setuid", 6},
		{"1000", "chown setuids", 5},
		{"1000", "none", 7},
	};
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(conf_parse(text, sizeof(text) - 1, "f", NULL, &conf, &err), 0);
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct sb_facts facts = {0};
		const struct conf_rule *rule;

		sb_fact_put(&facts, SB_FACT_OS, "linux");
		sb_fact_put(&facts, SB_FACT_USER, rows[i].user);
		sb_fact_put(&facts, SB_FACT_CAPS, rows[i].caps);
		rule = rule_match(conf, &facts, &err);
		assert_non_null(rule);
		assert_int_equal(rule->line, rows[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_match__takes_a_user_and_its_root),
		cmocka_unit_test(test_rule_match__by_table),
		cmocka_unit_test(test_rule_match__builtin_rules_take_any_linux),
		cmocka_unit_test(test_rule_next_tie__by_table),
		cmocka_unit_test(test_rule_next_tie__tells_certain_ones),
		cmocka_unit_test(test_rule_first_failed__names_the_test),
		cmocka_unit_test(test_rule_describe__stops_at_the_maximum),
		cmocka_unit_test(test_conf_facts__builtin_rules_need_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
