/* SPDX-License-Identifier: MIT */
#include "payloads/plan.h"

#include "engine/clock.h"
#include "engine/log.h"
#include "payloads/lib/wire.h"

#include <stdio.h>
#include <string.h>

enum {
	LOOKS = 6, /* whether the container still runs, after a failure */
	LOOK_PAUSE_MS = 50,
	PAUSED_MS = 5 * 1000,
};

void plan_release(struct plan *plan)
{
	eng_container_release(&plan->container);
	payload_bytes_release(&plan->payload);
}

bool plan_is_foreign(const struct plan *plan)
{
	return plan->image.arch[0] && strcmp(plan->image.arch, plan->engine_arch) != 0;
}

const char *plan_service(const struct plan *plan)
{
	return conf_service_name(plan->as_user ? CONF_USER : CONF_ROOT);
}

/* An image for this machine behind a local socket is the normal case, not worth a request; but a
   socket can be forwarded. */
static int find_engine_arch(struct plan *plan, struct sb_err *err)
{
	const char *said;

	plan->engine_arch = payload_own_arch();
	if (!plan->image.arch[0] || (eng_client_endpoint(plan->client)->socket &&
					    !strcmp(plan->image.arch, plan->engine_arch)))
		return 0;
	if (eng_client_arch(plan->client, &said, err) < 0)
		return -1;
	if (*said)
		plan->engine_arch = said;
	return 0;
}

static int find_facts(struct plan *plan, const struct plan_opts *opts, struct sb_err *err)
{
	struct recon_engine_ctx ctx = {plan->client, plan->container.id};
	struct recon_io io = recon_engine_io(&ctx);

	if (eng_image_inspect(plan->client, &plan->container, &plan->image, err) < 0)
		return -1;
	recon_platform(&plan->container, &plan->image);
	/* A foreign one is worth reading a file before something is put in that cannot run. */
	if (find_engine_arch(plan, err) < 0 ||
		recon_facts(&io, &plan->container, &plan->image, conf_facts(opts->conf),
			plan_is_foreign(plan), &plan->facts, err) < 0)
		return -1;
	sb_fact_put(&plan->facts, SB_FACT_ENGINE, eng_client_kind_name(plan->client));
	sb_fact_put(&plan->facts, SB_FACT_CLIENT, opts->client ? opts->client : "");
	plan->facts.labels = plan->container.labels;
	return 0;
}

/* A pause by another run is short; one that lasts is the user's. */
static int inspect_awake(
	struct eng_client *client, const char *ref, struct eng_container *ret, struct sb_err *err)
{
	int64_t until = sb_deadline(PAUSED_MS);
	bool may_be_ours;

	for (;;) {
		if (eng_container_inspect(client, ref, ret, err) < 0 ||
			eng_may_be_paused_by_us(client, ret, &may_be_ours, err) < 0)
			return -1;
		if (!may_be_ours || sb_left_ms(until, 1) == 0)
			return 0;
		eng_container_release(ret);
		sb_sleep_ms(LOOK_PAUSE_MS);
	}
}

int plan_look(struct eng_client *client, const struct plan_opts *opts, const char *ref,
	struct plan *ret, struct sb_err *err)
{
	ret->client = client;
	ret->conf = opts->conf;
	eng_set_caution(client, opts->no_pause ? ENG_DARE : ENG_PAUSE);
	if (inspect_awake(client, ref, &ret->container, err) < 0)
		return -1;
	eng_hold_begin(client);
	return eng_hold_end(client, find_facts(ret, opts, err), err);
}

static int check_require(
	const struct plan *plan, const struct plan_require *require, struct sb_err *err)
{
	char wire[16];
	const struct {
		const char *what, *wanted, *have;
	} checks[] = {
		{"release", require->release, plan->payload.release},
		{"wire", require->wire, wire},
		{"sha256", require->sha256, plan->payload.sha256},
	};

	if (require->release && !*plan->payload.release)
		return sb_err_set(err, SB_MISMATCH,
			"--require release=%s: payload '%s' is a file, whose release is not known before it "
			"runs; use --require sha256=",
			require->release, plan->payload.name);
	snprintf(wire, sizeof(wire), "%d", WIRE_VERSION);
	for (size_t i = 0; i < SB_ARRAY_SIZE(checks); i++)
		if (checks[i].wanted && strcmp(checks[i].wanted, checks[i].have) != 0)
			return sb_err_set(err, SB_MISMATCH,
				"--require %s=%s: payload '%s' of this sbinject has %s %s",
				checks[i].what, checks[i].wanted, plan->payload.name,
				checks[i].what, checks[i].have);
	return 0;
}

/* As the engine reads it: a user, and after a colon a group, each by name or number. */
static bool is_root(const char *user)
{
	size_t len = strcspn(user, ":");

	return strspn(user, "0") == len || (len == 4 && !strncmp(user, "root", len));
}

/* The path has two components at least. */
static void find_user_home(struct plan *plan)
{
	const char *path = plan->conf->path;
	const char *dir = memrchr(path, '/', (size_t)(strrchr(path, '/') - path));

	snprintf(plan->user_home, sizeof(plan->user_home), "%.*s/" WIRE_USER_HOME_NAME,
		(int)(dir - path), path);
}

int plan_make(struct eng_client *client, const struct plan_opts *opts, const char *ref,
	struct plan *ret, struct sb_err *err)
{
	if (plan_look(client, opts, ref, ret, err) < 0)
		return -1;
	ret->must_start = opts->start && eng_container_can_start(&ret->container);
	if (!ret->must_start && eng_container_need_running(&ret->container, err) < 0)
		return -1;
	ret->rule = rule_match(opts->conf, &ret->facts, err);
	if (!ret->rule || payload_load(ret->rule->use, &ret->payload, err) < 0 ||
		check_require(ret, &opts->require, err) < 0 ||
		recon_home(&ret->container, eng_client_kind(client), &ret->home, err) < 0)
		return -1;
	if (ret->must_start && (ret->home.shared || ret->home.beyond))
		return sb_err_set(err, SB_NO_CONTAINER,
			"container '%s' is not running, and its root is read-only: start it first, "
			"'--start' cannot",
			ret->container.name);
	snprintf(ret->home_path, sizeof(ret->home_path), "%s/" WIRE_HOME_NAME,
		strcmp(ret->home.dir, "/") ? ret->home.dir : "");
	ret->may_graft = opts->graft || ret->rule->graft;
	ret->as_user = ret->rule->service == CONF_USER && !is_root(ret->container.user);
	find_user_home(ret);
	if (ret->as_user && (ret->home.shared || ret->home.beyond))
		return sb_err_set(err, SB_UNSUPPORTED,
			"the rule at %s:%d wants 'service: user', which is not possible in a "
			"container whose root is read-only; use 'service: root'",
			opts->conf->file, ret->rule->line);
	/* Where others can write, even that name may have been watched and used. */
	if (!ret->home.shared) {
		key_name(opts->key, ret->payload.sha256, ret->container.id, false, ret->keep);
		key_name(opts->key, ret->payload.sha256, ret->container.id, true, ret->keep_user);
	}
	sb_log(SB_NOTE, "rule at %s:%d: payload '%s' (sha256 %.12s) for %s, home '%s'",
		opts->conf->file, ret->rule->line, ret->payload.name, ret->payload.sha256,
		ret->as_user ? "the container's user" : "root", ret->home_path);
	return 0;
}

/* ---- what has become of the container ---- */

static bool ran(const struct plan *plan)
{
	return plan->container.id && eng_container_runs(&plan->container);
}

static const char *started_at(const struct eng_container *container)
{
	const char *text = sb_json_str(container->doc, "State.StartedAt");

	return text ? text : "";
}

enum plan_presence plan_presence(const struct plan *plan)
{
	sb_auto(eng_container_release) struct eng_container now = ENG_CONTAINER_INIT;
	struct sb_err err = SB_ERR_INIT;

	if (eng_container_inspect(plan->client, plan->container.id, &now, &err) < 0)
		return err.code == SB_NO_CONTAINER ? PLAN_GONE : PLAN_RUNS;
	if (!strcmp(now.state, "paused"))
		return PLAN_RUNS;
	if (!eng_container_runs(&now))
		return strcmp(now.state, "removing") && strcmp(now.state, "dead") ? PLAN_STOPPED
										  : PLAN_GONE;
	return ran(plan) && strcmp(started_at(&now), started_at(&plan->container)) ? PLAN_RUNS_ANEW
										   : PLAN_RUNS;
}

/* An engine learns of the death of a container's processes one by one. */
bool plan_has_ended(const struct plan *plan)
{
	for (int i = 0; i < LOOKS; i++) {
		if (i > 0)
			sb_sleep_ms(LOOK_PAUSE_MS);
		if (plan_presence(plan) != PLAN_RUNS)
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

int plan_explain(const struct plan *plan, struct sb_err *err)
{
	if (err->code != SB_FAILED || !ran(plan))
		return -1;
	if (plan_has_ended(plan)) {
		err->code = SB_NO_CONTAINER;
		sb_err_add(err, "; the container stopped meanwhile");
	} else if (is_home_taken(plan)) {
		err->code = SB_UNSUPPORTED;
		sb_err_wrap(err, "'%s' in the container is no directory", plan->home_path);
	}
	return -1;
}
