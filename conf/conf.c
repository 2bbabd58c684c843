/* SPDX-License-Identifier: MIT */
#include "conf/conf.h"

#include "conf/path.h"
#include "conf/trust.h"
#include "engine/file.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char system_file[] = "/etc/sbinject/sbinject.yaml";

extern const char conf_builtin_data[];
extern const uint64_t conf_builtin_size;

/* A place to look for the rules; returns 1 if it has none. */
struct place {
	const char *why;
	bool must_exist; /* the user has named it */
	int (*path)(const char *given, char *path, size_t size, struct sb_err *err);
};

static int put_path(char *path, size_t size, struct sb_err *err, const char *dir, const char *file)
{
	int n = snprintf(path, size, "%s%s", dir, file);

	if (n < 0 || (size_t)n >= size)
		return sb_err_set(
			err, SB_USAGE, "the path of the rules file is too long: '%s'", dir);
	return 0;
}

static int given_path(const char *given, char *path, size_t size, struct sb_err *err)
{
	return given ? put_path(path, size, err, given, "") : 1;
}

static int variable_path(const char *given, char *path, size_t size, struct sb_err *err)
{
	const char *value = getenv("SBINJECT_CONFIG");

	(void)given;
	return value && *value ? put_path(path, size, err, value, "") : 1;
}

static int user_path(const char *given, char *path, size_t size, struct sb_err *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	(void)given;
	/* The XDG specification: a relative path is to be ignored. */
	if (xdg && *xdg == '/')
		return put_path(path, size, err, xdg, "/sbinject/sbinject.yaml");
	if (home && *home == '/')
		return put_path(path, size, err, home, "/.config/sbinject/sbinject.yaml");
	return 1;
}

static int system_path(const char *given, char *path, size_t size, struct sb_err *err)
{
	(void)given;
	return put_path(path, size, err, system_file, "");
}

static const struct place places[] = {
	{"--config", true, given_path},
	{"SBINJECT_CONFIG", true, variable_path},
	{"the user's configuration", false, user_path},
	{"the system's configuration", false, system_path},
};

/* The real directory of a file, as a new string. */
static char *dir_of(const char *path, struct sb_err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	char *real;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	real = realpath(dir, NULL);
	if (!real)
		sb_err_set(err, SB_USAGE, "cannot resolve '%s': %s", dir, strerror(errno));
	return real;
}

/* A link counts with the directory that it is in, and the file that it leads to with its own. */
static int check_dirs(const char *path, const char *dir, struct sb_err *err)
{
	sb_autofree char *real = realpath(path, NULL);
	sb_autofree char *real_dir = real ? dir_of(real, err) : NULL;

	if (!real)
		return sb_err_set(err, SB_USAGE, "cannot resolve '%s': %s", path, strerror(errno));
	if (!real_dir || trust_check_dir(dir, err) < 0)
		return -1;
	return trust_check_dir(real_dir, err);
}

/* Returns 1 if there is no such file; its directory goes to *ret_dir, a new string. */
static int read_file(const char *path, struct sb_buf *text, char **ret_dir, struct sb_err *err)
{
	sb_autoclose int fd = -1;
	int found = sb_file_open(path, &fd, err);

	if (found)
		return found;
	*ret_dir = dir_of(path, err);
	if (!*ret_dir || trust_check(fd, path, err) < 0 || check_dirs(path, *ret_dir, err) < 0)
		return -1;
	return sb_buf_read_fd(text, fd, err) < 0 ? sb_err_wrap(err, "'%s'", path) : 0;
}

/* Returns 1 if there is no such file. */
static int load_file(const char *path, struct conf **ret, struct sb_err *err)
{
	sb_autobuf struct sb_buf text = SB_BUF_INIT(SB_MAX_CONFIG);
	sb_autofree char *dir = NULL;
	int rc = read_file(path, &text, &dir, err);

	if (rc < 0) {
		err->code = SB_USAGE;
		return sb_err_wrap(err, "cannot load the rules");
	}
	if (rc > 0)
		return rc;
	return conf_parse(sb_buf_str(&text), text.len, path, dir, ret, err);
}

static int try_place(
	const struct place *place, const char *given, struct conf **ret, struct sb_err *err)
{
	char path[PATH_MAX];
	int rc = place->path(given, path, sizeof(path), err);

	if (rc)
		return rc;
	rc = load_file(path, ret, err);
	if (rc > 0 && place->must_exist)
		return sb_err_set(err, SB_USAGE,
			"cannot load the rules: '%s' does not exist (from %s)", path, place->why);
	if (rc == 0)
		(*ret)->why = place->why;
	return rc;
}

int conf_load(const char *file, struct conf **ret, struct sb_err *err)
{
	struct conf *conf = NULL;

	for (size_t i = 0; i < SB_ARRAY_SIZE(places); i++) {
		int rc = try_place(&places[i], file, &conf, err);

		if (rc == 0)
			*ret = conf;
		if (rc <= 0)
			return rc;
	}
	if (conf_parse(conf_builtin_data, conf_builtin_size, "built-in", NULL, &conf, err) < 0)
		return -1;
	conf->why = "no rules file found";
	*ret = conf;
	return 0;
}

sb_fact_set conf_facts(const struct conf *conf)
{
	sb_fact_set facts = 0;

	for (size_t i = 0; i < conf->rule_count; i++) {
		facts |= conf->rules[i].facts;
		if (conf->rules[i].use->format == CONF_TREE)
			facts |= 1u << SB_FACT_ARCH;
	}
	return facts;
}

const struct conf_payload *conf_payload_by_name(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->payload_count; i++)
		if (!strcmp(conf->payloads[i].name, name))
			return &conf->payloads[i];
	return NULL;
}

/* Nor may it be below the program's directory: that is private, or a tree itself. */
static int check_apart(const struct conf *conf, const struct conf_payload *tree, struct sb_err *err)
{
	const char *program = conf->path ? conf->path : conf_default_path;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(program, '/') - program), program);
	if (path_overlaps(tree->install, dir))
		return sb_err_set(err, SB_USAGE,
			"the directory '%s' of '%s' overlaps that of the service", tree->install,
			tree->name);
	for (char **link = conf->links; link && *link; link++)
		if (path_overlaps(tree->install, *link))
			return sb_err_set(err, SB_USAGE,
				"the directory '%s' of '%s' overlaps the link '%s'", tree->install,
				tree->name, *link);
	return 0;
}

int conf_check_trees(const struct conf *conf, const struct conf_payload *const *trees, size_t count,
	struct sb_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *path = trees[i]->install;

		if (trees[i]->format != CONF_TREE || !path)
			return sb_err_set(err, SB_USAGE,
				"payload '%s' is no tree with 'install'; only those can be added",
				trees[i]->name);
		if (check_apart(conf, trees[i], err) < 0)
			return -1;
		for (size_t j = 0; j < i; j++)
			if (path_overlaps(path, trees[j]->install))
				return sb_err_set(err, SB_USAGE,
					"the directory '%s' of '%s' overlaps that of '%s'", path,
					trees[i]->name, trees[j]->name);
	}
	return 0;
}

static void free_texts(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}

static void free_rule(struct conf_rule *rule)
{
	for (size_t i = 0; i < rule->count; i++) {
		free(rule->tests[i].label);
		free_texts(rule->tests[i].values);
	}
	free(rule->tests);
	free(rule->with);
}

void conf_free(struct conf *conf)
{
	if (!conf)
		return;
	for (size_t i = 0; i < conf->payload_count; i++) {
		free(conf->payloads[i].name);
		free(conf->payloads[i].path);
		free(conf->payloads[i].install);
		free(conf->payloads[i].launcher);
	}
	for (size_t i = 0; i < conf->rule_count; i++)
		free_rule(&conf->rules[i]);
	free(conf->payloads);
	free(conf->rules);
	free(conf->file);
	free(conf->text);
	free(conf->path);
	free_texts(conf->links);
	free_texts(conf->start);
	free(conf);
}

void conf_freep(struct conf **conf)
{
	conf_free(*conf);
}
