/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/service.h"
#include "payloads/lib/wire.h"

#include <stdio.h>
#include <string.h>

static int check_health(
	const struct plan *plan, const struct receipt_status *status, struct sb_err *err)
{
	if (!status->running)
		return sb_err_set(err, SB_NO_SERVICE,
			"the service is installed, but not running; run 'sbinject inject' to "
			"start it");
	if (strcmp(status->sha256, plan->payload.sha256) != 0)
		return sb_err_set(err, SB_MISMATCH,
			"another version of the service is running (sha256 %.12s); run "
			"'sbinject inject' to replace it",
			status->sha256);
	if (!status->path_ok)
		return sb_err_set(err, SB_NO_SERVICE,
			"the service is running, but '%s' is not its program; run 'sbinject "
			"inject' to repair that",
			plan->conf->path);
	return 0;
}

static json_t *list_trees(const struct receipt_status *status)
{
	json_t *list = json_array();

	for (size_t i = 0; i < status->tree_count; i++) {
		const struct receipt_tree_found *tree = &status->trees[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:b, s:o}", "name", tree->name, "path",
				      tree->path, "service", (int)tree->service, "tree",
				      tree->tree[0] ? json_string(tree->tree) : json_null()));
	}
	return list;
}

/* Those that are there, and those that ought to be. */
static int check_trees(const struct plan *plan, const struct receipt_status *status,
	struct cmd_result *ret, struct sb_err *err)
{
	for (size_t i = 0; i < plan->tree_count; i++)
		if (!service_find_tree(status, &plan->trees[i]))
			return sb_err_set(err, SB_MISMATCH,
				"the tree '%s' is not at '%s', or has changed; run 'sbinject inject' "
				"to put it there",
				plan->trees[i].what->name, plan->trees[i].path);
	for (size_t i = 0; i < status->tree_count; i++) {
		const struct receipt_tree_found *tree = &status->trees[i];
		size_t len = strlen(ret->line);

		if (!tree->tree[0])
			return sb_err_set(err, SB_MISMATCH,
				"the tree '%s' at '%s' has changed; run 'sbinject inject' with it to "
				"put it back",
				tree->name, tree->path);
		if (!tree->service)
			snprintf(ret->line + len, sizeof(ret->line) - len, "; tree '%s' at %s",
				tree->name, tree->path);
	}
	if (status->tree_count)
		json_object_set_new(ret->json, "trees", list_trees(status));
	return 0;
}

static int status_of_tree(const struct plan *plan, const struct receipt_status *status,
	const char *ref, struct cmd_result *ret, struct sb_err *err)
{
	ret->json = json_pack("{s:o, s:s, s:b, s:b, s:s, s:s, s:s, s:s}", "container",
		out_string(ref), "id", plan->container.id, "ok", 1, "healthy", 1, "payload",
		plan->payload.name, "path", plan->conf->path, "proof", "tree", "tree",
		plan->trees[0].tree);
	snprintf(ret->line, sizeof(ret->line),
		"%s: the tree '%s' is whole (digest %.12s) at %s; whether it answers only its client "
		"can tell",
		ref, plan->payload.name, plan->trees[0].tree, plan->conf->path);
	return check_trees(plan, status, ret, err);
}

static int status_one(const struct cmd_env *env, struct plan *plan, const char *ref,
	struct cmd_result *ret, struct sb_err *err)
{
	struct receipt_status status;
	char where[1300];

	(void)env;
	if (service_status(plan, &status, err) < 0)
		return -1;
	if (plan->service_is_tree)
		return status_of_tree(plan, &status, ref, ret, err);
	if (check_health(plan, &status, err) < 0)
		return -1;
	ret->json = json_pack(
		"{s:o, s:s, s:b, s:b, s:s, s:o, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b}",
		"container", out_string(ref), "id", plan->container.id, "ok", 1, "healthy", 1,
		"service", plan_service(plan), "path",
		status.placed == PLACED_NONE ? json_null() : out_string(plan->conf->path), "placed",
		receipt_placed_word(status.placed), "adopted_by", cmd_adopted_by(status.placed),
		"release", status.release, "sha256", status.sha256, "pid", (json_int_t)status.pid,
		"uid", (json_int_t)status.uid, "uptime_ms", (json_int_t)status.uptime_ms,
		"can_switch_user", (int)status.can_switch);
	snprintf(ret->line, sizeof(ret->line),
		"%s: healthy: inspect-sandbox-tools %s (sha256 %.12s)%s, pid %lld, uid %lld, up %lld s%s",
		ref, status.release, status.sha256,
		cmd_where(plan, status.placed, where, sizeof(where)), status.pid, status.uid,
		status.uptime_ms / 1000,
		status.can_switch ? "" : "; it cannot run tools as other users");
	return check_trees(plan, &status, ret, err);
}

static enum sb_code run(const struct cmd_env *env)
{
	return cmd_each(env, "asking", status_one);
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "CONTAINER...",
	.summary = "check that the service is there, is the right one and answers",
	.help = "Starts and changes nothing. Exit code 0: healthy. 7: not injected, or the\n"
		"service does not run. 6: not the version that this sbinject would inject.\n",
	.opts = OPTS_DELIVER | OPTS_TREES | OPTS_EACH,
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 30,
	.run = run,
};
