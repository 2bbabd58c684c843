/* SPDX-License-Identifier: MIT */
/* Users and groups out of files that may hold anything. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payloads/sandbox-tools/child/user.h"

static char passwd[64], group[64];

static void put(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(passwd, sizeof(passwd), "/tmp/test_user_p.%ld", (long)getpid());
	snprintf(group, sizeof(group), "/tmp/test_user_g.%ld", (long)getpid());
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	unlink(passwd);
	unlink(group);
	return 0;
}

static int find(const char *passwd_text, const char *group_text, const char *name, struct user *ret)
{
	put(passwd, passwd_text, strlen(passwd_text));
	put(group, group_text, strlen(group_text));
	return user_find_in(passwd, group, name, ret);
}

static void test_user_find__reads_ids_home_and_groups(void **state)
{
	struct user u;

	(void)state;
	assert_int_equal(
		find("root:x:0:0:root:/root:/bin/sh\n"
		     "agent:x:1000:1001:A,,,:/home/agent:/bin/bash\n",
			"root:x:0:\nwheel:x:10:bob,agent\nx:x:1001:agent\nagents:x:11:agentx\n"
			"last:x:12:agent",
			"agent", &u),
		0);
	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 1001);
	assert_string_equal(u.home, "/home/agent");
	assert_int_equal(u.group_count, 3);
	assert_int_equal(u.groups[0], 1001);
	assert_int_equal(u.groups[1], 10);
	assert_int_equal(u.groups[2], 12);
	assert_int_equal(find("a:x:5:6:::", "", "a", &u), 0);
	assert_string_equal(u.home, "/");
	assert_int_equal(find("a:x:5:6::/h", "", "a", &u), 0);
	assert_string_equal(u.home, "/h");
}

static void test_user_find__skips_what_it_cannot_trust(void **state)
{
	static const char *const rows[] = {
		"",
		"\n\n",
		"a",
		"a:x",
		"a:x:1:2",
		"a:x::0::/:/",
		"a:x:-1:0::/:/",
		"a:x:4294967295:0::/:/",
		"a:x:99999999999999999999:0::/:/",
		"a:x:0x10:0::/:/",
		"a:x: 1:0::/:/",
		"a:x:1:4294967295::/:/",
		"#a:x:1:1::/:/",
		"ab:x:1:1::/:/",
	};
	struct user u;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(find(rows[i], "", "a", &u), 1);
	assert_int_equal(find("a:x:bad:1::/:/\na:x:7:7::/:/\n", "", "a", &u), 0);
	assert_int_equal(u.uid, 7);
	assert_int_equal(find("a:x:7:7::/:/\n", "", "", &u), 1);
	assert_int_equal(find("a:x:7:7::/:/\n", "", "a:x", &u), 1);
	assert_int_equal(find("#a:x:7:7::/:/\n", "", "#a", &u), 1);
	put(passwd, "a\0b:x:1:1::/:/\n", 15);
	assert_int_equal(user_find_in(passwd, group, "a", &u), 1);
}

static void test_user_find__survives_lines_and_files_without_end(void **state)
{
	size_t len = 17 << 20;
	char *text = malloc(len + 1);
	struct user u;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	text[len] = '\0';
	assert_int_equal(find(text, "", "a", &u), 1);
	memcpy(text + 200000, "\na:x:3:4::/:/\n", 14);
	assert_int_equal(find(text, text, "a", &u), 0);
	assert_int_equal(u.uid, 3);
	/* a line that starts right after a full block, and the longest one that counts */
	memset(text, 'x', len);
	memcpy(text + 65536, "\na:x:3:4::/:/\n", 14);
	assert_int_equal(find(text, text, "a", &u), 0);
	memset(text, 'x', len);
	memcpy(text, "a:x:3:4:", 8);
	memcpy(text + 65535 - 6, ":/h:/\n", 6);
	assert_int_equal(find(text, text, "a", &u), 0);
	free(text);
}

static void test_user_find__wants_regular_files(void **state)
{
	struct user u;

	(void)state;
	assert_int_equal(user_find_in("/nonexistent/p", group, "a", &u), 1);
	assert_int_equal(user_find_in("/dev/zero", group, "a", &u), 1);
	assert_int_equal(user_find_in("/tmp", group, "a", &u), 1);
	unlink(passwd);
	assert_int_equal(mkfifo(passwd, 0600), 0);
	assert_int_equal(user_find_in(passwd, group, "a", &u), 1);
	unlink(passwd);
	put(passwd, "a:x:3:4::/:/\n", 13);
	assert_int_equal(user_find_in(passwd, "/dev/zero", "a", &u), 0);
	assert_int_equal(u.group_count, 1);
}

static void test_user_find__keeps_no_more_groups_than_fit(void **state)
{
	char *text = calloc(1, 100000), *p = text;
	struct user u;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < 2 * USER_GROUPS_MAX; i++)
		p += sprintf(p, "g:x:%d:a\ng:x:%d:b,a\n", 100 + i, 100 + i);
	assert_int_equal(find("a:x:3:4::/:/\n", text, "a", &u), 0);
	assert_int_equal(u.group_count, USER_GROUPS_MAX);
	free(text);
}

static void test_user_find_home_in__goes_by_uid(void **state)
{
	char home[PATH_MAX] = "kept";

	(void)state;
	put(passwd, "a:x:5:6:::\nb:x:x:7::/x:\nc:x:7:7::/c:\nd:x:7:7::/d:\n", 46);
	assert_int_equal(user_find_home_in(passwd, 7, home), 0);
	assert_string_equal(home, "/c");
	assert_int_equal(user_find_home_in(passwd, 5, home), 0);
	assert_string_equal(home, "/");
	strcpy(home, "kept");
	assert_int_equal(user_find_home_in(passwd, 8, home), 1);
	assert_int_equal(user_find_home_in("/nonexistent/p", 7, home), 1);
	assert_string_equal(home, "kept");
}

/* ---- whom a value asks for ---- */

static int choose(const char *text, struct user *ret, struct fail *fail)
{
	json_t *value = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	int r;

	assert_non_null(value);
	r = user_choose(value, ret, fail);
	json_decref(value);
	return r;
}

/* This process as an identity with that home, group ids twice over. */
static json_t *self(const char *home)
{
	gid_t groups[USER_GROUPS_MAX];
	int count = getgroups(USER_GROUPS_MAX, groups);
	json_t *list = json_array();

	for (int i = 0; i < 2 * count; i++)
		json_array_append_new(list, json_integer(groups[i % count]));
	return json_pack("{s:i,s:i,s:o,s:s}", "uid", (int)geteuid(), "gid", (int)getegid(),
		"groups", list, "home", home);
}

static void test_user_choose__reads_identities(void **state)
{
	struct fail fail = FAIL_INIT;
	struct user u;
	char home[PATH_MAX + 1], text[PATH_MAX + 100];
	int r;

	(void)state;
	r = choose("{\"uid\":4294967294,\"gid\":7,\"groups\":[9,8,9],\"home\":\"\"}", &u, &fail);
	assert_int_equal(r, geteuid() == 0 ? 1 : -1);
	assert_int_equal(u.uid, 4294967294U);
	assert_int_equal(u.gid, 7);
	assert_int_equal(u.group_count, 3);
	assert_int_equal(u.groups[1], 8);
	assert_string_equal(u.home, "");
	assert_string_equal(u.shown, "4294967294:7");
	assert_false(u.unknown);
	if (geteuid() != 0)
		assert_int_equal(fail.code, FAIL_TOOL);
	memset(home, 'h', PATH_MAX);
	home[PATH_MAX] = '\0';
	snprintf(text, sizeof(text), "{\"uid\":1,\"gid\":7,\"groups\":[],\"home\":\"%s\"}", home);
	assert_int_equal(choose(text, &u, &fail), -1);
	assert_int_equal(fail.error, ENAMETOOLONG);
}

static void test_user_choose__refuses_numbers_that_are_no_ids(void **state)
{
	static const char *const rows[] = {
		"{\"uid\":-1,\"gid\":1,\"groups\":[]}",
		"{\"uid\":4294967295,\"gid\":1,\"groups\":[]}",
		"{\"uid\":1,\"gid\":4294967296,\"groups\":[]}",
		"{\"uid\":1,\"gid\":-9223372036854775808,\"groups\":[]}",
		"{\"uid\":1,\"gid\":1,\"groups\":[1,-1]}",
		/* never root by default, whoever was to check the types */
		"{}",
		"[]",
		"5",
		"true",
		"{\"uid\":\"1\",\"gid\":1,\"groups\":[]}",
	};
	struct fail fail = FAIL_INIT;
	struct user u;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fail.code = 0;
		assert_int_equal(choose(rows[i], &u, &fail), -1);
		assert_int_equal(fail.code, FAIL_PARAMS);
	}
}

static void test_user_choose__bounds_groups(void **state)
{
	json_t *wanted = json_pack("{s:i,s:i,s:[]}", "uid", 1, "gid", 1, "groups");
	json_t *groups = json_object_get(wanted, "groups");
	struct fail fail = FAIL_INIT;
	struct user u;

	(void)state;
	for (int i = 0; i < USER_GROUPS_MAX; i++)
		json_array_append_new(groups, json_integer(i));
	user_choose(wanted, &u, &fail);
	assert_int_equal(u.group_count, USER_GROUPS_MAX);
	json_array_append_new(groups, json_integer(1));
	assert_int_equal(user_choose(wanted, &u, &fail), -1);
	assert_int_equal(fail.code, FAIL_PARAMS);
	json_decref(wanted);
}

static void test_user_choose__knows_itself(void **state)
{
	json_t *wanted = self("/elsewhere");
	struct fail fail = FAIL_INIT;
	struct user u;

	(void)state;
	assert_int_equal(user_choose(NULL, &u, &fail), 0);
	assert_int_equal(choose("null", &u, &fail), 0);
	assert_int_equal(user_choose(wanted, &u, &fail), 0);
	json_array_append_new(json_object_get(wanted, "groups"), json_integer(getegid()));
	assert_int_equal(user_choose(wanted, &u, &fail), 0);
	json_array_append_new(json_object_get(wanted, "groups"), json_integer(54321));
	assert_int_equal(user_choose(wanted, &u, &fail), geteuid() == 0 ? 1 : -1);
	json_decref(wanted);
}

static void test_user_choose__takes_names(void **state)
{
	struct fail fail = FAIL_INIT;
	struct user u;

	(void)state;
	memset(&u, 'x', sizeof(u));
	assert_int_equal(choose("\"no such user\"", &u, &fail), geteuid() == 0 ? 1 : -1);
	assert_true(u.unknown);
	assert_string_equal(u.home, "");
	assert_string_equal(u.shown, "'no such user'");
	assert_int_equal(choose("\"root\"", &u, &fail), geteuid() == 0 ? 0 : -1);
	assert_int_equal(choose("\"root\\u0000\"", &u, &fail), -1);
	assert_string_equal(fail.text, "ValueError('embedded null byte')");
	assert_int_equal(
		choose("{\"uid\":1,\"gid\":1,\"groups\":[],\"home\":\"\\u0000\"}", &u, &fail), -1);
	assert_string_equal(fail.text, "ValueError('embedded null byte')");
}

/* "UID:GID GROUPS HOME" of whom an engine takes, "" if there is nobody. */
static const char *resolve(const char *wanted, const char *const *more, bool lists_gid)
{
	static char text[300];
	const struct user_files files = {passwd, group};
	struct fail fail = FAIL_INIT;
	struct user u;
	int n;

	if (user_resolve_in(&files, wanted, more, lists_gid, &u, &fail) < 0) {
		assert_true(fail.text[0]);
		return "";
	}
	n = snprintf(text, sizeof(text), "%u:%u", u.uid, u.gid);
	for (int i = 0; i < u.group_count; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %u", u.groups[i]);
	snprintf(text + n, sizeof(text) - (size_t)n, " %s", u.home);
	return text;
}

static void put_both(const char *passwd_text, const char *group_text)
{
	put(passwd, passwd_text, strlen(passwd_text));
	put(group, group_text, strlen(group_text));
}

static void test_user_resolve__takes_whom_engines_take(void **state)
{
	static const char *const more[] = {"wheel", "2000", NULL};

	(void)state;
	put_both("root:x:0:0:root:/root:/bin/sh\n\na:x:5:6:::x\nb:x:7:8::/b:/x\nc:x:7:9::/c:/x\n"
		 "7:x:70:80::/seven:/x\n",
		"wheel:x:10:b,c\nother:x:11:x,b\n\nnone:x:12:\n");
	assert_string_equal(resolve("root", NULL, true), "0:0 0 /root");
	assert_string_equal(resolve("b", NULL, true), "7:8 8 10 11 /b");
	assert_string_equal(resolve("b", NULL, false), "7:8 10 11 /b");
	/* the home is by number, of the first line that has it */
	assert_string_equal(resolve("c", NULL, false), "7:9 10 /b");
	assert_string_equal(resolve("7", NULL, true), "7:8 8 10 11 /b");
	assert_string_equal(resolve("007", NULL, true), "7:8 8 10 11 /b");
	/* a group that is named is the only one */
	assert_string_equal(resolve("b:none", NULL, true), "7:12 12 /b");
	assert_string_equal(resolve("b:77", more, true), "7:77 77 10 2000 /b");
	assert_string_equal(resolve("4321", NULL, true), "4321:0 0 /");
	assert_string_equal(resolve("4321:11", more, false), "4321:11 10 2000 /");
	unlink(passwd);
	unlink(group);
	assert_string_equal(resolve("1:2", NULL, true), "1:2 2 /");
	assert_string_equal(resolve("root", NULL, true), "");
	assert_string_equal(resolve("1:wheel", NULL, true), "");
}

static void test_user_resolve__refuses_what_engines_differ_about(void **state)
{
	static const char *const wanted[] = {"", ":", ":5", "5:", "1:2:3", "+5", "-1", "#a", " a",
		"a b:", "nobody", "b:nogroup", "2147483648", "4294967295", "1:2147483648", "b:-1",
		"99999999999999999999"};
	static const char *const lines[] = {"a:x:5", "a:x:5:6:::", ":x:5:6::/:", "#a:x:5:6::/:x",
		"+:x:5:6::/:x", "a:x:x:6::/:x", "a:x:5:-6::/:x", "a:x:4294967294:6::/:x",
		"a:x:5:6::/:x:y", "a:x:5:6::home:x",
		"\xc2\xa0"
		"a:x:5:6::/:x",
		"\ra:x:5:6::/:x"};
	static const char *const members[] = {
		"own:x:8:b\r\n", "own:x:8:b \n", "own:x:8:b\xc2\xa0", "own:x:8:b\v\n"};
	static char many[70000];
	static const char *const twice[] = {"8", NULL}, *const absent[] = {"absent", NULL};

	(void)state;
	put_both("b:x:7:8::/b:/x\n", "own:x:8:\n");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_string_equal(resolve(wanted[i], NULL, true), "");
	assert_string_equal(resolve("b", twice, true), "");
	assert_string_equal(resolve("b", twice, false), "7:8 8 /b");
	assert_string_equal(resolve("b", absent, true), "");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put(passwd, lines[i], strlen(lines[i]));
		assert_string_equal(resolve("5", NULL, true), "");
	}
	put_both("b:x:7:8::/b:/x\n", "odd\n");
	assert_string_equal(resolve("b", NULL, true), "");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		put(group, members[i], strlen(members[i]));
		assert_string_equal(resolve("b", NULL, false), "");
	}
	/* what is left out, or not a file of lines at all */
	snprintf(many, sizeof(many), "own:x:8:%066000d,b\n", 0);
	put(group, many, strlen(many));
	assert_string_equal(resolve("b", NULL, false), "");
	put_both("b:x:0:0::/:/x\n", "");
	assert_string_equal(resolve("b", NULL, false), "0:0 /");
	put(passwd, "b:x:7:8::/\0:/x\nb:x:0:0::/:/x\n", 29);
	assert_string_equal(resolve("b", NULL, false), "");
	unlink(passwd);
	assert_int_equal(symlink(passwd, passwd), 0);
	assert_string_equal(resolve("7", NULL, false), "");
	unlink(passwd);
	assert_int_equal(mkdir(passwd, 0700), 0);
	assert_string_equal(resolve("7", NULL, false), "");
	assert_int_equal(rmdir(passwd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user_find__reads_ids_home_and_groups),
		cmocka_unit_test(test_user_find__skips_what_it_cannot_trust),
		cmocka_unit_test(test_user_find__survives_lines_and_files_without_end),
		cmocka_unit_test(test_user_find__wants_regular_files),
		cmocka_unit_test(test_user_find__keeps_no_more_groups_than_fit),
		cmocka_unit_test(test_user_find_home_in__goes_by_uid),
		cmocka_unit_test(test_user_choose__reads_identities),
		cmocka_unit_test(test_user_choose__refuses_numbers_that_are_no_ids),
		cmocka_unit_test(test_user_choose__bounds_groups),
		cmocka_unit_test(test_user_choose__knows_itself),
		cmocka_unit_test(test_user_choose__takes_names),
		cmocka_unit_test(test_user_resolve__takes_whom_engines_take),
		cmocka_unit_test(test_user_resolve__refuses_what_engines_differ_about),
	};

	return cmocka_run_group_tests(tests, setup, cleanup);
}
