/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/service.h"

#include <stdio.h>

static int remove_one(const struct cmd_env *env, struct plan *plan, const char *ref,
	struct cmd_result *ret, struct sb_err *err)
{
	bool dry = cmd_has(env, OPT_DRY_RUN), there;

	if (dry) {
		int found = service_has_home(plan, err);

		if (found < 0)
			return -1;
		there = found == 1;
	} else if (service_remove(plan, &there, err) < 0) {
		return -1;
	}
	ret->json = json_pack("{s:o, s:s, s:b, s:s}", "container", out_string(ref), "id",
		plan->container.id, "ok", 1, "result",
		dry	? "dry-run"
		: there ? "removed"
			: "absent");
	if (dry)
		json_object_set_new(ret->json, "would", json_string(there ? "remove" : "nothing"));
	snprintf(ret->line, sizeof(ret->line), "%s: %s", ref,
		!there ? "nothing to remove"
		: dry  ? "would stop the service and delete its files; nothing was changed"
		       : "stopped the service and deleted its files");
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
	.help = "Leaves the file system as it was before the first injection. If there was\n"
		"none, changes nothing and succeeds. Removes what any release of sbinject has\n"
		"placed.\n",
	.opts = OPTS_DELIVER | OPTS_EACH | OPT(DRY_RUN),
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 120,
	.run = run,
};
