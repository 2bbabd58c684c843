/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/clock.h"
#include "payloads/service.h"
#include "payloads/lib/wire.h"

#include <stdio.h>
#include <string.h>

enum outcome { INJECTED, REPLACED, RESTARTED, ALREADY };

static const struct {
	const char *word, *text;
} outcomes[] = {
	[INJECTED] = {"injected", "injected"},
	[REPLACED] = {"replaced", "replaced another version with"},
	[RESTARTED] = {"restarted", "restarted the service:"},
	[ALREADY] = {"already", "already there and healthy:"},
};

static enum outcome outcome_of(const struct receipt_install *receipt)
{
	if (receipt->was != WAS_SAME)
		return receipt->was == WAS_OTHER ? REPLACED : INJECTED;
	return receipt->started ? RESTARTED : ALREADY;
}

/* What is known before anything is done; the receipt adds to it. `release` can be NULL. */
static json_t *describe(
	const struct plan *plan, const char *ref, const char *result, const char *release)
{
	return json_pack(
		"{s:o, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:s*, s:i, s:s, s:s, s:s, s:o}",
		"container", out_string(ref), "id", plan->container.id, "name",
		plan->container.name, "ok", 1, "result", result, "engine",
		eng_client_kind_name(plan->client), "engine_version",
		eng_client_version(plan->client), "arch", plan->image.arch, "payload",
		plan->payload.name, "sha256", plan_sha256(plan), "release", release, "wire",
		WIRE_VERSION, "service", plan_service(plan), "path", plan->conf->path, "home",
		plan->home_path, "rules", out_string(plan->conf->file));
}

static json_t *describe_tree(const struct plan_tree *tree)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", tree->what->name, "path", tree->path,
		"tree", tree->tree, "sha256", tree->sha256, "source",
		store_tier_name(tree->archive.tier));
}

/* Whether they are there is not known. */
static void plan_trees(const struct plan *plan, struct cmd_result *ret)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->tree_count; i++) {
		const struct plan_tree *tree = &plan->trees[i];
		size_t len = strlen(ret->line);

		json_array_append_new(list, describe_tree(tree));
		if (i || !plan->service_is_tree)
			snprintf(ret->line + len, sizeof(ret->line) - len,
				"; tree '%s' would be at %s", tree->what->name, tree->path);
	}
	if (plan->tree_count)
		json_object_set(ret->json, "trees", list);
	json_decref(list);
}

static int dry_run(struct plan *plan, const char *ref, struct cmd_result *ret, struct sb_err *err)
{
	const char *release = *plan->payload.release ? plan->payload.release : NULL, *would;
	char other[65];
	int present = service_is_present(plan, other, err);
	size_t len;

	if (present < 0)
		return -1;
	would = present ? "check" : other[0] ? "replace" : "inject";
	ret->json = describe(plan, ref, "dry-run", release);
	json_object_set_new(ret->json, "would", json_string(would));
	snprintf(ret->line, sizeof(ret->line),
		"%s: would %s%s '%s' (%zu bytes, sha256 %.12s) at '%s'%s, chosen by rule "
		"%.200s:%d",
		ref, plan->must_start ? "start the container and " : "",
		present || !other[0] ? would : "replace another version with", plan->payload.name,
		plan->payload.size, plan->payload.sha256, plan->conf->path,
		plan->as_user ? " as the container's user" : "", plan->conf->file,
		plan->rule->line);
	plan_trees(plan, ret);
	len = strlen(ret->line);
	snprintf(ret->line + len, sizeof(ret->line) - len, "; nothing was changed");
	return 0;
}

/* What stood at one of our names, under the name that it has now. */
static void tell_aside(const struct receipt_install *receipt, const char *ref, json_t *json)
{
	json_t *list = json_array();

	for (size_t i = 0; i < receipt->aside_count; i++) {
		json_array_append_new(list, out_string(receipt->aside[i]));
		out_note(ref, "what was in the way is now '%s'; 'sbinject remove' puts it back",
			receipt->aside[i]);
	}
	if (receipt->aside_count)
		json_object_set(json, "aside", list);
	json_decref(list);
}

/* Such a client would put a program of its own in the link's place. */
static void warn_of_link(
	const struct plan *plan, const struct receipt_install *receipt, const char *ref)
{
	if (receipt->placed == PLACED_LINK && plan_is_for_inspect_ai(plan))
		out_note(ref,
			"files at its path cannot be executed or have no room, so a link is there; "
			"inspect_ai 0.3.263 and later do not use a link");
}

/* What the client will miss when it uses the service. */
static void tell_missing(const struct plan *plan, const struct receipt_install *receipt,
	const char *ref, json_t *json)
{
	json_t *list = json_array();

	for (size_t i = 0; plan->host && plan->host->needs[i]; i++) {
		const char *need = host_need_name(plan->host->needs[i]);

		if (!(receipt->missing >> i & 1))
			continue;
		json_array_append_new(list, json_string(need));
		out_note(ref, "%s runs '%s' in the container, which does not have it",
			plan->facts.value[SB_FACT_CLIENT], need);
	}
	if (plan->host)
		json_object_set(json, "missing", list);
	json_decref(list);
}

/* The service is a tree: nothing of it can be asked, only its files were proved. */
static void tell_service_tree(const struct plan *plan, const struct receipt_tree *tree,
	const char *ref, int ms, struct cmd_result *ret)
{
	static const char *const done[] = {[WAS_ABSENT] = "injected",
		[WAS_OTHER] = "replaced another version with",
		[WAS_SAME] = "already there:"};

	json_object_set_new(ret->json, "placed", json_string(receipt_placed_word(PLACED_FILE)));
	json_object_set_new(ret->json, "proof", json_string("tree"));
	json_object_set_new(ret->json, "tree", json_string(tree->tree));
	json_object_set_new(ret->json, "ms", json_integer(ms));
	snprintf(ret->line, sizeof(ret->line),
		"%s: %s the tree '%s' (%llu files, digest %.12s) at %s, started, in %d ms", ref,
		done[tree->was], plan->payload.name, (unsigned long long)tree->files, tree->tree,
		plan->conf->path, ms);
}

static void tell_trees(const struct plan *plan, const struct receipt_tree *trees, const char *ref,
	struct cmd_result *ret)
{
	static const char *const words[] = {
		[WAS_ABSENT] = "unpacked", [WAS_OTHER] = "replaced", [WAS_SAME] = "already"};
	json_t *list = json_array();

	for (size_t i = 0; i < plan->tree_count; i++) {
		const struct plan_tree *tree = &plan->trees[i];
		size_t len = strlen(ret->line);
		json_t *json = describe_tree(tree);

		json_object_update_new(json,
			json_pack("{s:s, s:I, s:I}", "result", words[trees[i].was], "files",
				(json_int_t)trees[i].files, "bytes", (json_int_t)trees[i].bytes));
		json_array_append_new(list, json);
		if (trees[i].aside[0])
			out_note(ref,
				"what was in the way is now '%s'; 'sbinject remove' puts it back",
				trees[i].aside);
		if (i || !plan->service_is_tree)
			snprintf(ret->line + len, sizeof(ret->line) - len, "; tree '%s' %s at %s",
				tree->what->name, words[trees[i].was], tree->path);
	}
	if (plan->tree_count)
		json_object_set(ret->json, "trees", list);
	json_decref(list);
}

/* What is only known of our own program. */
static void tell_program(const struct plan *plan, const struct receipt_install *receipt,
	const char *ref, int ms, struct cmd_result *ret)
{
	char where[1300], who[32] = "", arch[40] = "";

	if (receipt->placed == PLACED_NONE)
		json_object_set_new(ret->json, "path", json_null());
	json_object_set_new(ret->json, "placed", json_string(receipt_placed_word(receipt->placed)));
	json_object_set_new(ret->json, "adopted_by", json_string(cmd_adopted_by(receipt->placed)));
	warn_of_link(plan, receipt, ref);
	json_object_set_new(ret->json, "pid", json_integer(receipt->pid));
	json_object_set_new(ret->json, "uid", json_integer(receipt->uid));
	json_object_set_new(ret->json, "ms", json_integer(ms));
	tell_aside(receipt, ref, ret->json);
	tell_missing(plan, receipt, ref, ret->json);
	if (plan->image.arch[0])
		snprintf(arch, sizeof(arch), "%s, ", plan->image.arch);
	if (plan->as_user)
		snprintf(who, sizeof(who), ", uid %lld", receipt->uid);
	snprintf(ret->line, sizeof(ret->line),
		"%s: %s inspect-sandbox-tools %s (%ssha256 %.12s)%s, pid %lld%s, in %d ms", ref,
		outcomes[outcome_of(receipt)].text, receipt->release, arch, receipt->sha256,
		cmd_where(plan, receipt->placed, where, sizeof(where)), receipt->pid, who, ms);
}

static int inject_one(const struct cmd_env *env, struct plan *plan, const char *ref,
	struct cmd_result *ret, struct sb_err *err)
{
	struct receipt_tree trees[2 * CONF_MAX_TREES + 1];
	struct receipt_install receipt;
	int64_t start = sb_now_ms();
	int ms;

	if (cmd_has(env, OPT_DRY_RUN))
		return dry_run(plan, ref, ret, err);
	if (service_inject(plan, &receipt, trees, err) < 0)
		return -1;
	ms = (int)(sb_now_ms() - start);
	ret->json = describe(plan, ref, outcomes[outcome_of(&receipt)].word,
		plan->service_is_tree ? NULL : receipt.release);
	if (plan->service_is_tree)
		tell_service_tree(plan, trees, ref, ms, ret);
	else
		tell_program(plan, &receipt, ref, ms, ret);
	tell_trees(plan, trees, ref, ret);
	return 0;
}

/*
 * "sbinject rm web" must not inject into web: where no command was named, the first of several
 * words has to be a container before anything is done to the others.
 */
static int check_first(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(cmd_session_release) struct cmd_session session = CMD_SESSION_INIT;
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;

	if (cmd_session_open(env, &session, err) < 0)
		return -1;
	if (eng_container_inspect(session.client, env->args[0], &container, err) == 0)
		return 0;
	/* One that there is, whatever is wrong with it, stands for itself. */
	if (err->code != SB_NO_CONTAINER && err->code != SB_USAGE && err->code != SB_INTERRUPTED) {
		sb_err_clear(err);
		return 0;
	}
	if (err->code == SB_NO_CONTAINER)
		sb_err_add(err, "; nothing was done");
	return cmd_hint(env, err);
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (env->bare && env->arg_count > 1 && check_first(env, &err) < 0) {
		out_error(env->args[0], &err);
		return err.code;
	}
	return cmd_each(env, "injecting into", inject_one);
}

const struct cmd cmd_inject = {
	.name = "inject",
	.args = "CONTAINER...",
	.summary = "put the matching tool service into containers and start it",
	.help = "'sbinject CONTAINER' does the same. sbinject inspects each container through\n"
		"the engine, chooses exactly one payload by the rules, uploads it, starts it,\n"
		"and verifies that the running service is the one it chose. If the container\n"
		"already has that payload, it is only checked. A container may be given by\n"
		"name, id or unique id prefix. A failed run leaves nothing behind.\n",
	.opts = OPTS_DELIVER | OPTS_TREES | OPTS_EACH | OPTS_FETCH | OPT(DRY_RUN) | OPT(START),
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 60,
	.run = run,
};
