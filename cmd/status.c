/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/deliver.h"

#include <stdio.h>
#include <string.h>

static bool is_healthy(const struct plan *plan, const struct deliver_status *status)
{
	return status->present && status->path_ok && status->running &&
	       !strcmp(status->sha256, plan->payload.sha256);
}

static json_t *describe(
	const struct plan *plan, const char *ref, const struct deliver_status *status)
{
	json_t *json = json_pack("{s:s, s:s, s:b, s:b, s:b, s:b, s:s, s:s}", "container", ref, "id",
		plan->container.id, "ok", 1, "present", (int)status->present, "healthy",
		(int)is_healthy(plan, status), "running", (int)status->running, "path",
		plan->conf->path, "expected_sha256", plan->payload.sha256);

	if (status->other[0])
		json_object_set_new(json, "other_sha256", json_string(status->other));
	if (status->present) {
		json_object_set_new(json, "release", json_string(status->release));
		json_object_set_new(json, "path_ok", json_boolean(status->path_ok));
	}
	if (status->running) {
		json_object_set_new(json, "sha256", json_string(status->sha256));
		json_object_set_new(json, "pid", json_integer(status->pid));
		json_object_set_new(json, "uid", json_integer(status->uid));
		json_object_set_new(json, "uptime_ms", json_integer(status->uptime_ms));
		json_object_set_new(json, "can_switch_user", json_boolean(status->can_switch));
	}
	return json;
}

static int fail_unhealthy(
	const struct plan *plan, const struct deliver_status *status, struct sb_err *err)
{
	if (status->other[0])
		return sb_err_set(err, SB_MISMATCH,
			"another version is there (sha256 %.12s, this sbinject has %.12s); "
			"'sbinject inject' replaces it",
			status->other, plan->payload.sha256);
	if (!status->present)
		return sb_err_set(err, SB_NO_SERVICE, "not injected; 'sbinject inject' does it");
	if (!status->running)
		return sb_err_set(err, SB_NO_SERVICE,
			"the files are there, but the service does not run; 'sbinject inject' "
			"starts "
			"it again");
	if (strcmp(status->sha256, plan->payload.sha256) != 0)
		return sb_err_set(err, SB_MISMATCH,
			"the service that runs is another version (sha256 %.12s); 'sbinject "
			"inject' "
			"replaces it",
			status->sha256);
	return sb_err_set(err, SB_NO_SERVICE,
		"the service runs, but '%s' is not it; 'sbinject inject' repairs that",
		plan->conf->path);
}

static int status_one(const struct cmd_env *env, struct eng_client *client, const struct conf *conf,
	const char *ref, struct cmd_result *ret, struct sb_err *err)
{
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	struct plan_opts opts = cmd_plan_opts(env, conf);
	struct deliver_status status;

	if (plan_make(client, &opts, ref, &plan, err) < 0 ||
		deliver_status(&plan, &status, err) < 0)
		return -1;
	if (!is_healthy(&plan, &status))
		return fail_unhealthy(&plan, &status, err);
	ret->json = describe(&plan, ref, &status);
	snprintf(ret->line, sizeof(ret->line),
		"%s: healthy: inspect-sandbox-tools %s (sha256 %.12s) at %s, pid %lld, uid %lld, "
		"up "
		"%lld s%s",
		ref, status.release, status.sha256, plan.conf->path, status.pid, status.uid,
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
	.summary = "is it there, is it the right one, does the service answer",
	.help = "Starts and changes nothing. Exit 0: healthy. 7: not injected, or the service does "
		"not\n"
		"run. 6: it is another version than this sbinject would inject.\n",
	.opts = OPTS_RULES | OPTS_EACH,
	.min_args = 1,
	.max_args = -1,
	.default_timeout_s = 30,
	.run = run,
};
