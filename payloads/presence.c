/* SPDX-License-Identifier: MIT */
#include "payloads/presence.h"

#include "engine/clock.h"

#include <string.h>

enum {
	LOOKS = 6, /* whether the container still runs, after a failure */
	LOOK_PAUSE_MS = 50,
};

static bool ran(const struct plan *plan)
{
	return plan->container.id && eng_container_runs(&plan->container);
}

static const char *started_at(const struct eng_container *container)
{
	const char *text = sb_json_str(container->doc, "State.StartedAt");

	return text ? text : "";
}

enum presence presence_now(const struct plan *plan)
{
	sb_auto(eng_container_release) struct eng_container now = ENG_CONTAINER_INIT;
	struct sb_err err = SB_ERR_INIT;

	if (eng_container_inspect(plan->client, plan->container.id, &now, &err) < 0)
		return err.code == SB_NO_CONTAINER ? PRESENCE_GONE : PRESENCE_RUNS;
	if (!strcmp(now.state, "paused"))
		return PRESENCE_RUNS;
	if (!eng_container_runs(&now))
		return strcmp(now.state, "removing") && strcmp(now.state, "dead") ? PRESENCE_STOPPED
										  : PRESENCE_GONE;
	return ran(plan) && strcmp(started_at(&now), started_at(&plan->container))
		       ? PRESENCE_RUNS_ANEW
		       : PRESENCE_RUNS;
}

bool presence_has_ended(const struct plan *plan)
{
	for (int i = 0; i < LOOKS; i++) {
		if (i > 0)
			sb_sleep_ms(LOOK_PAUSE_MS);
		if (presence_now(plan) != PRESENCE_RUNS)
			return true;
	}
	return false;
}

/* Docker gives no reason for what it cannot do where a file has the home's name. */
static bool is_home_taken(const struct plan *plan)
{
	struct sb_err ignored = SB_ERR_INIT;
	struct eng_stat stat;

	return plan->home_path[0] && !plan->home.beyond &&
	       eng_archive_stat(
		       plan->client, plan->container.id, plan->home_path, &stat, &ignored) == 0 &&
	       stat.type != ENG_DIR;
}

int presence_explain(const struct plan *plan, struct sb_err *err)
{
	if (err->code != SB_FAILED || !ran(plan))
		return -1;
	if (presence_has_ended(plan)) {
		err->code = SB_NO_CONTAINER;
		sb_err_add(err, "; the container stopped meanwhile");
	} else if (is_home_taken(plan)) {
		err->code = SB_UNSUPPORTED;
		sb_err_wrap(err, "'%s' in the container is no directory", plan->home_path);
	}
	return -1;
}
