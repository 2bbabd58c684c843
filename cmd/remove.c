/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/deliver.h"

#include <stdio.h>

static int remove_one(const struct cmd_env *env, struct eng_client *client, const struct conf *conf,
	const char *ref, struct cmd_result *ret, struct sb_err *err)
{
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	struct plan_opts opts = cmd_plan_opts(env, conf);
	bool removed = false;

	if (plan_make(client, &opts, ref, &plan, err) < 0)
		return -1;
	if (!cmd_has(env, OPT_DRY_RUN) && deliver_remove(&plan, &removed, err) < 0)
		return -1;
	ret->json = json_pack("{s:s, s:s, s:b, s:s}", "container", ref, "id", plan.container.id,
		"ok", 1, "result",
		cmd_has(env, OPT_DRY_RUN) ? "dry-run"
		: removed		  ? "removed"
					  : "absent");
	snprintf(ret->line, sizeof(ret->line), "%s: %s", ref,
		cmd_has(env, OPT_DRY_RUN)
			? "would stop the service and delete its files; nothing was changed"
		: removed ? "stopped the service and deleted its files"
			  : "nothing to remove");
	return 0;
}

static enum sb_code run(const struct cmd_env *env)
{
	return cmd_each(env, "removing from", remove_one);
}

const struct cmd cmd_remove = {
	.name = "remove",
	.args = "CONTAINER...",
	.summary = "stop the service and everything it started, delete its files",
	.help = "The file system is left as it was before the first injection, and so is a "
		"container that\n"
		"never had one. Works for what any release of sbinject has placed.\n",
	.opts = OPTS_RULES | OPTS_EACH | OPT(DRY_RUN),
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 120,
	.run = run,
};
