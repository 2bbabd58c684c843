/* SPDX-License-Identifier: MIT */
#include "conf/conf.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A directory of our own, the working directory during a test. */
static char top[PATH_MAX];

static const char *below_top(const char *name)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

/* A rules file that tells itself by its payload's name. */
static void write_rules(const char *path, const char *name)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file,
		"version: 1\n"
		"payloads: {%s: {source: file, path: sub/x, sha256: " SHA "}}\n"
		"rules: [{when: {}, use: %s}]\n",
		name, name);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	char name[] = "/tmp/sbinject-conf.XXXXXX";

	(void)state;
	if (!mkdtemp(name) || !realpath(name, top) || chdir(top) < 0)
		return -1;
	mkdir("xdg", 0700);
	mkdir("xdg/sbinject", 0700);
	mkdir("home", 0700);
	mkdir("home/.config", 0700);
	mkdir("home/.config/sbinject", 0700);
	write_rules("given.yaml", "given");
	write_rules("variable.yaml", "variable");
	write_rules("xdg/sbinject/sbinject.yaml", "xdg");
	write_rules("home/.config/sbinject/sbinject.yaml", "home");
	setenv("SBINJECT_CONFIG", below_top("variable.yaml"), 1);
	setenv("XDG_CONFIG_HOME", below_top("xdg"), 1);
	setenv("HOME", below_top("home"), 1);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = {"given.yaml", "variable.yaml", "broken.yaml",
		"large.yaml", "xdg/sbinject/sbinject.yaml", "home/.config/sbinject/sbinject.yaml"};
	static const char *const dirs[] = {
		"xdg/sbinject", "xdg", "home/.config/sbinject", "home/.config", "home"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(files); i++)
		unlink(files[i]);
	for (size_t i = 0; i < SB_ARRAY_SIZE(dirs); i++)
		rmdir(dirs[i]);
	return chdir("/") < 0 || rmdir(top) < 0 ? -1 : 0;
}

static void assert_loads(const char *file, const char *payload, const char *path, const char *why)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;

	if (conf_load(file, &conf, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(conf->payloads[0].name, payload);
	assert_string_equal(conf->file, path);
	assert_string_equal(conf->why, why);
}

static void assert_refuses(const char *file, const char *error)
{
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;

	assert_int_equal(conf_load(file, &conf, &err), -1);
	assert_null(conf);
	assert_string_equal(err.text, error);
	assert_int_equal(err.code, SB_USAGE);
}

static void test_conf_load__searches_in_order(void **state)
{
	(void)state;
	assert_loads("given.yaml", "given", "given.yaml", "--config");
	assert_loads(NULL, "variable", below_top("variable.yaml"), "SBINJECT_CONFIG");
	unsetenv("SBINJECT_CONFIG");
	assert_loads(
		NULL, "xdg", below_top("xdg/sbinject/sbinject.yaml"), "the user's configuration");
	unsetenv("XDG_CONFIG_HOME");
	assert_loads(NULL, "home", below_top("home/.config/sbinject/sbinject.yaml"),
		"the user's configuration");
}

static void test_conf_load__falls_back_to_builtin(void **state)
{
	sb_auto(conf_freep) struct conf *conf = NULL;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	if (access("/etc/sbinject/sbinject.yaml", F_OK) == 0)
		skip();
	setenv("SBINJECT_CONFIG", "", 1);
	setenv("XDG_CONFIG_HOME", below_top("nowhere"), 1);
	assert_int_equal(conf_load(NULL, &conf, &err), 0);
	assert_string_equal(conf->file, "built-in");
	assert_string_equal(conf->why, "no rules file found");
	assert_string_equal(conf->payloads[0].name, "tools-amd64");
}

static void test_conf_load__does_without_home(void **state)
{
	static const char *const homes[] = {NULL, "", "home"};

	(void)state;
	if (access("/etc/sbinject/sbinject.yaml", F_OK) == 0)
		skip();
	unsetenv("SBINJECT_CONFIG");
	unsetenv("XDG_CONFIG_HOME");
	for (size_t i = 0; i < SB_ARRAY_SIZE(homes); i++) {
		unsetenv("HOME");
		if (homes[i])
			setenv("HOME", homes[i], 1);
		assert_loads(NULL, "tools-amd64", "built-in", "no rules file found");
	}
}

static void test_conf_load__refuses_an_endless_path(void **state)
{
	char path[PATH_MAX + 1], error[2 * PATH_MAX];
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	memset(path, 'a', PATH_MAX);
	path[PATH_MAX] = '\0';
	snprintf(error, sizeof(error), "the path of the rules file is too long: '%s'", path);
	sb_err_set(&err, SB_USAGE, "%s", error);
	assert_refuses(path, err.text);
}

static void test_conf_load__ignores_relative_xdg(void **state)
{
	(void)state;
	unsetenv("SBINJECT_CONFIG");
	setenv("XDG_CONFIG_HOME", "xdg", 1);
	assert_loads(NULL, "home", below_top("home/.config/sbinject/sbinject.yaml"),
		"the user's configuration");
}

static void test_conf_load__wants_what_is_named(void **state)
{
	(void)state;
	assert_refuses(
		"none.yaml", "cannot load the rules: 'none.yaml' does not exist (from --config)");
	assert_refuses("", "cannot load the rules: '' does not exist (from --config)");
	setenv("SBINJECT_CONFIG", "/none", 1);
	assert_refuses(
		NULL, "cannot load the rules: '/none' does not exist (from SBINJECT_CONFIG)");
}

static void test_conf_load__does_not_skip_a_broken_file(void **state)
{
	char text[2 * PATH_MAX];
	FILE *file;

	(void)state;
	unsetenv("SBINJECT_CONFIG");
	file = fopen("xdg/sbinject/sbinject.yaml", "w");
	assert_non_null(file);
	fputs("version: 1\nrules\n", file);
	fclose(file);
	snprintf(text, sizeof(text),
		"%s/xdg/sbinject/sbinject.yaml:3:1: could not find expected ':' while scanning a "
		"simple key",
		top);
	assert_refuses(NULL, text);
	unlink("xdg/sbinject/sbinject.yaml");
	mkdir("xdg/sbinject/sbinject.yaml", 0700);
	snprintf(text, sizeof(text),
		"cannot load the rules: '%s/xdg/sbinject/sbinject.yaml' is not a regular file",
		top);
	assert_refuses(NULL, text);
	rmdir("xdg/sbinject/sbinject.yaml");
}

static void test_conf_load__refuses_a_large_file(void **state)
{
	FILE *file = fopen("large.yaml", "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i <= SB_MAX_CONFIG; i++)
		fputc('#', file);
	fclose(file);
	assert_refuses("large.yaml", "cannot load the rules: 'large.yaml': more than the permitted "
				     "1048576 bytes");
}

/* ---- whoever can change the rules ---- */

static void assert_untrusted(const char *file, const char *who, const char *why)
{
	struct sb_err err = SB_ERR_INIT;
	struct conf *conf = NULL;
	char named[64];

	snprintf(named, sizeof(named), "%s' ", who);
	assert_int_equal(conf_load(file, &conf, &err), -1);
	assert_null(conf);
	assert_int_equal(err.code, SB_USAGE);
	if (!strstr(err.text, named) || !strstr(err.text, why))
		fail_msg("%s", err.text);
}

static void assert_trusted(const char *file)
{
	assert_loads(file, "given", file, "--config");
}

static void test_conf_load__takes_no_file_that_others_can_change(void **state)
{
	static const struct {
		mode_t mode;
		bool good;
	} rows[] = {{0600, true}, {0644, true}, {0444, true}, {0646, false}, {0666, false}};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		assert_int_equal(chmod("given.yaml", rows[i].mode), 0);
		if (rows[i].good)
			assert_trusted("given.yaml");
		else
			assert_untrusted("given.yaml", "given.yaml", "by others (mode 06");
	}
}

static void test_conf_load__takes_no_file_that_others_can_exchange(void **state)
{
	(void)state;
	assert_int_equal(rename("given.yaml", "home/given.yaml"), 0);
	assert_int_equal(symlink("../home/given.yaml", "xdg/given.yaml"), 0);
	assert_trusted("home/given.yaml");
	assert_trusted("xdg/given.yaml");
	assert_int_equal(chmod("home", 0757), 0);
	assert_untrusted("home/given.yaml", "/home", "by others (mode 0757)");
	assert_untrusted("xdg/given.yaml", "/home", "by others (mode 0757)");
	/* Nobody but the owner removes or renames anything in such a one. */
	assert_int_equal(chmod("home", 01777), 0);
	assert_trusted("home/given.yaml");
	assert_int_equal(chmod("xdg", 0777), 0);
	assert_untrusted("xdg/given.yaml", "/xdg", "by others (mode 0777)");
	unlink("xdg/given.yaml");
	unlink("home/given.yaml");
}

static void test_conf_load__takes_no_file_of_another_user(void **state)
{
	enum { OTHER = 54321 };

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown("given.yaml", OTHER, 0), 0);
	assert_untrusted("given.yaml", "given.yaml", "belongs to user 54321");
	setenv("SUDO_UID", "54321", 1);
	assert_trusted("given.yaml");
	setenv("SUDO_UID", "5432", 1);
	assert_untrusted("given.yaml", "given.yaml", "belongs to user 54321");
	unsetenv("SUDO_UID");
	assert_int_equal(chown("given.yaml", 0, 0), 0);
	assert_int_equal(chown(".", OTHER, 0), 0);
	assert_untrusted("given.yaml", top, "belongs to user 54321");
	assert_int_equal(chown(".", 0, 0), 0);
	assert_trusted("given.yaml");
}

static void test_conf_load__knows_a_group_of_one(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod("given.yaml", 0664), 0);
	assert_trusted("given.yaml");
	assert_int_equal(chown("given.yaml", 0, 54321), 0);
	assert_untrusted("given.yaml", "given.yaml", "by others");
	/* A group that there is, but not root's. */
	assert_int_equal(chown("given.yaml", 0, 1), 0);
	assert_untrusted("given.yaml", "given.yaml", "by others");
}

static void test_conf_load__resolves_paths_beside_the_file(void **state)
{
	static const char *const spellings[] = {"given.yaml", "./given.yaml", "xdg/../given.yaml"};
	const char *expected = below_top("sub/x");

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(spellings); i++) {
		sb_auto(conf_freep) struct conf *conf = NULL;
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(conf_load(spellings[i], &conf, &err), 0);
		assert_string_equal(conf->payloads[0].path, expected);
	}
}

static void test_conf_free__takes_null(void **state)
{
	(void)state;
	conf_free(NULL);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(test_conf_load__searches_in_order),
		IN_DIRECTORY(test_conf_load__falls_back_to_builtin),
		IN_DIRECTORY(test_conf_load__does_without_home),
		IN_DIRECTORY(test_conf_load__refuses_an_endless_path),
		IN_DIRECTORY(test_conf_load__ignores_relative_xdg),
		IN_DIRECTORY(test_conf_load__wants_what_is_named),
		IN_DIRECTORY(test_conf_load__does_not_skip_a_broken_file),
		IN_DIRECTORY(test_conf_load__refuses_a_large_file),
		IN_DIRECTORY(test_conf_load__takes_no_file_that_others_can_change),
		IN_DIRECTORY(test_conf_load__takes_no_file_that_others_can_exchange),
		IN_DIRECTORY(test_conf_load__takes_no_file_of_another_user),
		IN_DIRECTORY(test_conf_load__knows_a_group_of_one),
		IN_DIRECTORY(test_conf_load__resolves_paths_beside_the_file),
		cmocka_unit_test(test_conf_free__takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
