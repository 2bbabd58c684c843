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

static int status_one(const struct cmd_env *env, struct plan *plan, const char *ref,
	struct cmd_result *ret, struct sb_err *err)
{
	struct receipt_status status;
	char where[1300];

	(void)env;
	if (service_status(plan, &status, err) < 0 || check_health(plan, &status, err) < 0)
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
	return 0;
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
	.opts = OPTS_DELIVER | OPTS_EACH,
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 30,
	.run = run,
};
