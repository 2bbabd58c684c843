/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/clock.h"
#include "payloads/deliver.h"

#include <stdio.h>

/* The word for what was done, from what was there before and whether the service was started. */
static const char *outcome(const struct deliver_receipt *receipt)
{
	if (receipt->was == WAS_OTHER)
		return "replaced";
	if (receipt->was == WAS_ABSENT)
		return "injected";
	return receipt->started ? "restarted" : "already";
}

static const struct {
	const char *word, *text;
} sentences[] = {
	{"injected", "injected"},
	{"replaced", "replaced another version by"},
	{"restarted", "started the service again:"},
	{"already", "already there and healthy:"},
};

static const char *sentence(const char *word)
{
	size_t i = 0;

	while (sentences[i].word != word && i + 1 < SB_ARRAY_SIZE(sentences))
		i++;
	return sentences[i].text;
}

/* What is known before anything is done; the receipt adds to it. */
static json_t *describe(const struct plan *plan, const char *ref)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s}",
		"container", ref, "id", plan->container.id, "name", plan->container.name, "ok", 1,
		"engine", eng_client_kind_name(plan->client), "engine_version",
		eng_client_version(plan->client), "arch", plan->image.arch, "payload",
		plan->payload.name, "sha256", plan->payload.sha256, "release", payload_release,
		"wire", PAYLOAD_WIRE, "path", plan->conf->path, "home", plan->home_path, "rules",
		plan->conf->file);
}

static void report_dry_run(const struct plan *plan, const char *ref, struct cmd_result *ret)
{
	ret->json = describe(plan, ref);
	json_object_set_new(ret->json, "result", json_string("dry-run"));
	snprintf(ret->line, sizeof(ret->line),
		"%s: would place '%s' (%zu bytes, sha256 %.12s) at '%s' by rule %s:%d; nothing was "
		"changed",
		ref, plan->payload.name, plan->payload.size, plan->payload.sha256, plan->conf->path,
		plan->conf->file, plan->rule->line);
}

static void report(const struct plan *plan, const char *ref, const struct deliver_receipt *receipt,
	int ms, struct cmd_result *ret)
{
	const char *word = outcome(receipt);

	ret->json = describe(plan, ref);
	json_object_set_new(ret->json, "result", json_string(word));
	json_object_set_new(ret->json, "pid", json_integer(receipt->pid));
	json_object_set_new(ret->json, "uid", json_integer(receipt->uid));
	json_object_set_new(ret->json, "ms", json_integer(ms));
	snprintf(ret->line, sizeof(ret->line),
		"%s: %s inspect-sandbox-tools %s (%s, sha256 %.12s) at %s, pid %lld, in %d ms", ref,
		sentence(word), receipt->release, plan->facts.value[SB_FACT_ARCH], receipt->sha256,
		plan->conf->path, receipt->pid, ms);
}

static int inject_one(const struct cmd_env *env, struct eng_client *client, const struct conf *conf,
	const char *ref, struct cmd_result *ret, struct sb_err *err)
{
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	struct plan_opts opts = cmd_plan_opts(env, conf);
	struct deliver_receipt receipt;
	int64_t start = sb_now_ms();

	if (plan_make(client, &opts, ref, &plan, err) < 0)
		return -1;
	if (cmd_has(env, OPT_DRY_RUN)) {
		report_dry_run(&plan, ref, ret);
		return 0;
	}
	if (deliver_inject(&plan, &receipt, err) < 0)
		return -1;
	report(&plan, ref, &receipt, (int)(sb_now_ms() - start), ret);
	return 0;
}

static enum sb_code run(const struct cmd_env *env)
{
	return cmd_each(env, "injecting into", inject_one);
}

const struct cmd cmd_inject = {
	.name = "inject",
	.args = "CONTAINER...",
	.summary = "put the matching tool service into containers and start it",
	.help = "The main job: 'sbinject CONTAINER' is the same. Each container is looked at "
		"through the\n"
		"engine, exactly one payload is chosen by the rules, uploaded, started and proven "
		"to be\n"
		"the one that was chosen. A container that has it already is only checked. Names, "
		"ids and\n"
		"unique beginnings of ids are understood. Nothing is left behind by a failure.\n",
	.opts = OPTS_RULES | OPTS_EACH | OPT(DRY_RUN),
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 60,
	.run = run,
};
