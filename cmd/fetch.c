/* SPDX-License-Identifier: MIT */
#include "cmd/choice.h"

#include "cmd/out.h"
#include "engine/log.h"
#include "payloads/fetch.h"

#include <stdio.h>

static void on_progress(const char *name, uint64_t done, uint64_t total)
{
	if (total)
		out_progress("%s: %.1f of %.1f MB (%d %%)", name, (double)done / 1e6,
			(double)total / 1e6, (int)(100 * done / total));
	else
		out_progress("%s: %.1f MB", name, (double)done / 1e6);
}

static void on_wait(const char *name)
{
	out_note(name, "another sbinject is fetching it; waiting for that");
}

struct fetch_opts cmd_fetch_opts(const struct cmd_env *env)
{
	const char *mirror = env->opts.text[OPT_MIRROR];

	return (struct fetch_opts){
		.from = env->opts.text[OPT_FROM],
		.mirror = mirror ? mirror : getenv("SBINJECT_MIRROR"),
		.index = env->opts.text[OPT_INDEX],
		.output = env->opts.text[OPT_OUTPUT],
		.stall_s = cmd_timeout_ms(env) / 1000,
		.on_progress = on_progress,
		.on_wait = on_wait,
	};
}

static const char *result_of(const struct fetched *fetched)
{
	if (fetched->found.tier == STORE_FETCHED)
		return "fetched";
	return fetched->from[0] ? "copied" : "already";
}

static void print(const struct upstream *one, const struct fetched *fetched)
{
	const struct store_found *found = &fetched->found;
	const char *result = result_of(fetched);
	json_auto_t *json = json_pack("{s:s, s:b, s:s, s:s, s:o*, s:o, s:I, s:s}", "name",
		one->name, "ok", 1, "result", result, "source", store_tier_name(found->tier),
		"from", fetched->from[0] ? out_string(fetched->from) : NULL, "path",
		out_string(found->place), "size", (json_int_t)found->bytes.size, "sha256",
		one->sha256);
	char line[1024];

	if (fetched->from[0])
		snprintf(line, sizeof(line), "%s: %s %.1f MB from %s", one->name, result,
			(double)found->bytes.size / 1e6, fetched->from);
	else
		snprintf(line, sizeof(line), "%s: is here, in '%.500s' (%s)", one->name,
			found->place, store_tier_name(found->tier));
	out_result(line, json);
}

/* Finds out no more than what this host can tell. */
static int print_plan(const struct upstream *one, const struct store_want *want, struct sb_err *err)
{
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	int missing = store_find(want, &found, err);
	json_auto_t *json = NULL;
	char line[256], text[STORE_TEXT_SIZE];

	if (missing < 0)
		return -1;
	json = json_pack("{s:s, s:b, s:s, s:s, s:I, s:s}", "name", one->name, "ok", 1, "result",
		"dry-run", "would", missing ? "fetch" : "nothing", "size", (json_int_t)one->size,
		"sha256", one->sha256);
	snprintf(line, sizeof(line), missing ? "would fetch %s" : "%s is here",
		store_want_text(want, text));
	out_result(line, json);
	return 0;
}

/* 1: it is not to be had, and can be missed. */
static int fetch_one(const struct cmd_env *env, const struct choice *choice,
	const struct upstream *one, struct sb_err *err)
{
	sb_auto(fetched_release) struct fetched fetched = FETCHED_INIT;
	struct store_want want = choice_want(env, one);
	struct fetch_opts opts = cmd_fetch_opts(env);
	bool may_miss = choice_may_miss(choice, one) || (!choice->named && opts.from);
	int missing;

	if (cmd_has(env, OPT_DRY_RUN))
		return print_plan(one, &want, err);
	missing = fetch_need(&want, &opts, &fetched, err);
	if (missing < 0)
		return -1;
	if (missing && !may_miss)
		return fetch_fail(&want, &opts, err);
	if (missing)
		sb_log(SB_NOTE, "'%s' is not to be had, and is left out", one->name);
	else
		print(one, &fetched);
	return missing;
}

static int fetch(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(choice_release) struct choice choice = CHOICE_INIT;
	struct fetch_opts opts = cmd_fetch_opts(env);
	size_t missed = 0;

	if (choice_make(env, &choice, err) < 0)
		return -1;
	for (size_t i = 0; i < choice.count; i++) {
		int missing = fetch_one(env, &choice, choice.list[i], err);

		if (missing < 0)
			return -1;
		missed += (size_t)missing;
	}
	if (choice.count && missed == choice.count) {
		struct store_want want = choice_want(env, choice.list[0]);

		return fetch_fail(&want, &opts, err);
	}
	return 0;
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (fetch(env, &err) < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_fetch = {
	.name = "fetch",
	.args = "[NAME...]",
	.summary = "get archives of payloads into the cache",
	.help = "  sbinject fetch upstream-v35-amd64\n"
		"  sbinject fetch --for 'inspect_ai 0.3.285' --arch amd64\n"
		"  sbinject fetch --all --from \"$VIRTUAL_ENV/lib/python3.12/site-packages\"\n"
		"\n"
		"They come from a mirror (--mirror or SBINJECT_MIRROR), or out of wheels on the\n"
		"package index that pip uses, or only from what --from names: a directory with\n"
		"an installed inspect_ai, a wheel, or the archive itself. Each is verified by\n"
		"its digest. A download that breaks off is continued by the next run. With\n"
		"--output DIR they are put there instead, named by their digests: a mirror is a\n"
		"web server with such a directory.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(QUIET) | OPT(DRY_RUN) | OPT(TIMEOUT) | OPT(FOR) |
		OPT(ALL) | OPT(ARCH) | OPT(BUNDLE) | OPT(FROM) | OPT(MIRROR) | OPT(INDEX) |
		OPT(OUTPUT),
	.min_args = 0,
	.max_args = -1,
	.default_timeout_s = 30,
	.run = run,
};
