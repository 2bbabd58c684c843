/* SPDX-License-Identifier: MIT */
#include "cmd/choice.h"

#include <stdio.h>
#include <string.h>

void choice_release(struct choice *choice)
{
	free(choice->list);
	choice->list = NULL;
	choice->count = 0;
}

/* Whether a comma-separated list has the word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list; list += *list == ',') {
		size_t n = strcspn(list, ",");

		if (n == len && !strncmp(list, word, len))
			return true;
		list += n;
	}
	return false;
}

static bool has_arch(const char *word)
{
	for (size_t i = 0; i < upstream_count(); i++)
		if (!strcmp(upstream_at(i)->arch, word))
			return true;
	return false;
}

static int check_arches(const char *list, struct sb_err *err)
{
	while (*list) {
		size_t n = strcspn(list, ",");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", n < 31 ? (int)n : 31, list);
		if (!has_arch(word))
			return sb_err_set(err, SB_USAGE,
				"--arch: nothing in the catalogue is for '%s'; 'sbinject payloads "
				"--all' lists it",
				word);
		list += n + (list[n] == ',');
	}
	return 0;
}

static int check_ways(const struct cmd_env *env, struct sb_err *err)
{
	int ways = (env->arg_count > 0) + cmd_has(env, OPT_FOR) + cmd_has(env, OPT_ALL);

	if (ways != 1)
		return sb_err_set(err, SB_USAGE,
			"give either names of payloads, --for CLIENT or --all; 'sbinject payloads "
			"--all' lists them");
	if (cmd_has(env, OPT_ARCH) && env->arg_count)
		return sb_err_set(err, SB_USAGE, "--arch needs --for or --all");
	return cmd_has(env, OPT_ARCH) ? check_arches(env->opts.text[OPT_ARCH], err) : 0;
}

static int find_client(const struct cmd_env *env, const struct host **ret, struct sb_err *err)
{
	if (cmd_find_for(env, ret, err) < 0)
		return -1;
	if (!(*ret)->number)
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s' brings no such program: %s; 'sbinject hosts' lists those that do",
			env->opts.text[OPT_FOR], (*ret)->why);
	return 0;
}

static int check_names(const struct cmd_env *env, struct sb_err *err)
{
	for (int i = 0; i < env->arg_count; i++) {
		if (payload_by_name(env->args[i]))
			return sb_err_set(err, SB_USAGE,
				"payload '%s' is embedded in sbinject: it is always here",
				env->args[i]);
		if (!upstream_by_name(env->args[i]))
			return sb_err_set(err, SB_USAGE,
				"no payload '%s'; 'sbinject payloads --all' lists those there are",
				env->args[i]);
	}
	return 0;
}

static bool is_named(const struct cmd_env *env, const struct upstream *one)
{
	for (int i = 0; i < env->arg_count; i++)
		if (!strcmp(env->args[i], one->name))
			return true;
	return false;
}

static bool is_meant(const struct cmd_env *env, const struct host *host, const struct upstream *one)
{
	if (cmd_has(env, OPT_ARCH) && !has_word(env->opts.text[OPT_ARCH], one->arch))
		return false;
	if (host)
		return one == upstream_for(host, one->arch, one->libc);
	return cmd_has(env, OPT_ALL) || is_named(env, one);
}

int choice_make(const struct cmd_env *env, struct choice *ret, struct sb_err *err)
{
	const struct host *host = NULL;

	if (check_ways(env, err) < 0 || check_names(env, err) < 0)
		return -1;
	if (cmd_has(env, OPT_FOR) && find_client(env, &host, err) < 0)
		return -1;
	ret->named = env->arg_count > 0;
	ret->list = calloc(upstream_count(), sizeof(const struct upstream *));
	if (!ret->list)
		return sb_err_nomem(err);
	for (size_t i = 0; i < upstream_count(); i++)
		if (is_meant(env, host, upstream_at(i)))
			ret->list[ret->count++] = upstream_at(i);
	return 0;
}

bool choice_may_miss(const struct choice *choice, const struct upstream *one)
{
	return !choice->named && !one->wheel;
}

struct store_want choice_want(const struct cmd_env *env, const struct upstream *one)
{
	return (struct store_want){
		.name = one->name,
		.sha256 = one->sha256,
		.size = one->size,
		.bundle = env->opts.text[OPT_BUNDLE],
	};
}

const char *choice_serves(const struct upstream *one, char text[HOST_TEXT_SIZE])
{
	struct host range = {.from = one->from, .to = one->to};
	char releases[HOST_TEXT_SIZE];

	snprintf(text, HOST_TEXT_SIZE, "inspect_ai %.45s", host_range_text(&range, releases));
	return text;
}
