/* SPDX-License-Identifier: MIT */
#include "payloads/plan.h"

#include "engine/caps.h"
#include "engine/clock.h"
#include "engine/log.h"
#include "payloads/lib/wire.h"
#include "payloads/upstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAUSED_MS = 5 * 1000,
	LOOK_PAUSE_MS = 50,
};

void plan_release(struct plan *plan)
{
	eng_container_release(&plan->container);
	payload_bytes_release(&plan->payload);
	for (size_t i = 0; i < plan->tree_count; i++)
		store_found_release(&plan->trees[i].archive);
	free(plan->trees);
}

bool plan_is_foreign(const struct plan *plan)
{
	return plan->image.arch[0] && strcmp(plan->image.arch, plan->engine_arch) != 0;
}

bool plan_is_for_inspect_ai(const struct plan *plan)
{
	static const char name[] = "inspect_ai";

	return !strncmp(plan->facts.value[SB_FACT_CLIENT], name, strlen(name));
}

const char *plan_host_link(const struct plan *plan)
{
	const char *path = plan->host ? plan->host->path : NULL;

	if (!path || !strcmp(path, plan->conf->path))
		return NULL;
	for (char *const *link = plan->conf->links; link && *link; link++)
		if (!strcmp(*link, path))
			return NULL;
	return path;
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
		{"sha256", require->sha256, plan_sha256(plan)},
	};

	if (require->release && (!*plan->payload.release || plan->service_is_tree))
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

/* The path has two components at least. */
static void find_user_home(struct plan *plan)
{
	const char *path = plan->conf->path;
	const char *dir = memrchr(path, '/', (size_t)(strrchr(path, '/') - path));

	snprintf(plan->user_home, sizeof(plan->user_home), "%.*s/" WIRE_USER_HOME_NAME,
		(int)(dir - path), path);
}

/* Where programs go in it, by the engine's records. */
static int choose_home(struct plan *plan, struct sb_err *err)
{
	if (recon_home(&plan->container, eng_client_kind(plan->client), &plan->home, err) < 0)
		return -1;
	if (plan->must_start && (plan->home.shared || plan->home.beyond))
		return sb_err_set(err, SB_NO_CONTAINER,
			"container '%s' is not running, and its root is read-only: start it first, "
			"'--start' cannot",
			plan->container.name);
	snprintf(plan->home_path, sizeof(plan->home_path), "%s/" WIRE_HOME_NAME,
		strcmp(plan->home.dir, "/") ? plan->home.dir : "");
	find_user_home(plan);
	return 0;
}

/* A home that others can write to, or that only a helper reaches, is for root's program alone. */
static bool is_for_root_only(const struct recon_home *home)
{
	return home->shared || home->beyond;
}

static enum conf_service asked_service(const struct plan *plan)
{
	if (plan->rule->service != CONF_UNSAID)
		return plan->rule->service;
	return plan_is_for_inspect_ai(plan) ? CONF_AUTO : CONF_ROOT;
}

static bool auto_is_root(const struct plan *plan)
{
	enum conf_service wanted = plan->host ? plan->host->service : CONF_AUTO;

	if (is_for_root_only(&plan->home) || wanted == CONF_ROOT)
		return true;
	return wanted == CONF_AUTO && eng_caps_can_switch(plan->container.root_caps);
}

static int choose_owner(struct plan *plan, struct sb_err *err)
{
	enum conf_service asked = asked_service(plan);

	if (asked == CONF_ROOT || eng_container_is_roots(&plan->container))
		return 0;
	if (asked == CONF_AUTO && auto_is_root(plan))
		return 0;
	if (is_for_root_only(&plan->home))
		return sb_err_set(err, SB_UNSUPPORTED,
			"the rule at %s:%d wants 'service: user', which is not possible in a "
			"container whose root is read-only; use 'service: root'",
			plan->conf->file, plan->rule->line);
	plan->as_user = true;
	return 0;
}

/* Where others can write, even that name may have been watched and used. */
static void choose_names(struct plan *plan, const struct key *key)
{
	if (plan->home.shared)
		return;
	key_name(key, plan->payload.sha256, plan->container.id, false, plan->keep);
	key_name(key, plan->payload.sha256, plan->container.id, true, plan->keep_user);
}

static int choose_host(struct plan *plan, const char *client, struct sb_err *err)
{
	if (host_find(client, &plan->host, err) < 0)
		return -1;
	return plan->host ? host_check_served(plan->host, err) : 0;
}

const char *plan_sha256(const struct plan *plan)
{
	return plan->service_is_tree ? plan->trees[0].sha256 : plan->payload.sha256;
}

/* What a tree is unpacked by is always our own program. */
static int load_payload(struct plan *plan, struct sb_err *err)
{
	const struct conf_payload *use = plan->rule->use;
	const char *arch = plan->facts.value[SB_FACT_ARCH];
	const struct payload *own;
	struct conf_payload embedded = {.source = CONF_EMBEDDED};

	plan->service_is_tree = use->format == CONF_TREE;
	if (!plan->service_is_tree)
		return payload_load(use, &plan->payload, err);
	own = payload_for_arch(arch);
	if (!own)
		return sb_err_set(err, SB_UNSUPPORTED,
			"no program for the architecture '%s' is built into this sbinject", arch);
	embedded.name = (char *)own->name;
	if (payload_load(&embedded, &plan->payload, err) < 0)
		return -1;
	plan->payload.name = use->name;
	return 0;
}

/* By its digests in the rules, or in the table of what inspect_ai brings. */
static int pin_tree(struct plan_tree *tree, struct sb_err *err)
{
	const struct conf_payload *what = tree->what;
	const struct upstream *upstream;

	tree->sha256 = what->sha256;
	tree->tree = what->tree;
	if (what->source != CONF_UPSTREAM)
		return 0;
	upstream = upstream_by_name(what->name);
	if (!upstream || !upstream->tree)
		return sb_err_set(err, SB_UNSUPPORTED,
			"payload '%s' is %s; 'sbinject payloads --all' lists what there is",
			what->name, upstream ? "no tree" : "none of inspect_ai's");
	tree->sha256 = upstream->sha256;
	tree->tree = upstream->tree;
	if ((*what->sha256 && strcmp(what->sha256, tree->sha256) != 0) ||
		(*what->tree && strcmp(what->tree, tree->tree) != 0))
		return sb_err_set(err, SB_MISMATCH,
			"payload '%s' of this sbinject has sha256 %s and tree %s, which is not what the "
			"rules pin",
			what->name, tree->sha256, tree->tree);
	return 0;
}

static int find_archive(const struct plan_opts *opts, struct plan_tree *tree, struct sb_err *err)
{
	const struct store_want want = {.name = tree->what->name,
		.sha256 = tree->sha256,
		.path = tree->what->path,
		.taken = tree->what->source == CONF_OWN,
		.bundle = opts->bundle};
	struct fetched fetched = FETCHED_INIT;
	int missing;

	if (!opts->fetch)
		return store_need(&want, &tree->archive, err);
	missing = fetch_need(&want, opts->fetch, &fetched, err);
	tree->archive = fetched.found;
	return missing > 0 ? fetch_fail(&want, opts->fetch, err) : missing;
}

static int add_tree(struct plan *plan, const struct conf_payload *what, const char *path,
	const struct plan_opts *opts, struct sb_err *err)
{
	struct plan_tree *tree = &plan->trees[plan->tree_count];

	*tree = (struct plan_tree){.what = what, .path = path, .archive = STORE_FOUND_INIT};
	plan->tree_count++;
	if (pin_tree(tree, err) < 0)
		return -1;
	return opts->unpack ? find_archive(opts, tree, err) : 0;
}

static size_t count_with(const struct conf_rule *rule)
{
	size_t n = 0;

	while (rule->with && rule->with[n])
		n++;
	return n;
}

static bool is_among(
	const struct conf_payload *const *list, size_t count, const struct conf_payload *one)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == one)
			return true;
	return false;
}

/* Those of the rule, then those of the command line. */
static int choose_trees(struct plan *plan, const struct plan_opts *opts, struct sb_err *err)
{
	const struct conf_payload *chosen[2 * CONF_MAX_TREES];
	size_t count = count_with(plan->rule);

	if (opts->tree_count > CONF_MAX_TREES)
		return sb_err_set(err, SB_USAGE, "at most %d trees can be added", CONF_MAX_TREES);
	for (size_t i = 0; i < count; i++)
		chosen[i] = plan->rule->with[i];
	for (size_t i = 0; i < opts->tree_count; i++)
		if (!is_among(chosen, count, opts->trees[i]))
			chosen[count++] = opts->trees[i];
	snprintf(plan->service_dir, sizeof(plan->service_dir), "%.*s",
		(int)(strrchr(plan->conf->path, '/') - plan->conf->path), plan->conf->path);
	plan->trees = calloc(count + 1, sizeof(*plan->trees));
	if (!plan->trees)
		return sb_err_nomem(err);
	if (conf_check_trees(plan->conf, chosen, count, err) < 0)
		return -1;
	if (plan->service_is_tree &&
		add_tree(plan, plan->rule->use, plan->service_dir, opts, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (add_tree(plan, chosen[i], chosen[i]->install, opts, err) < 0)
			return -1;
	return 0;
}

int plan_make(struct eng_client *client, const struct plan_opts *opts, const char *ref,
	struct plan *ret, struct sb_err *err)
{
	if (choose_host(ret, opts->client, err) < 0 || plan_look(client, opts, ref, ret, err) < 0)
		return -1;
	ret->must_start = opts->start && eng_container_can_start(&ret->container);
	if (!ret->must_start && eng_container_need_running(&ret->container, err) < 0)
		return -1;
	ret->rule = rule_match(opts->conf, &ret->facts, err);
	if (!ret->rule || load_payload(ret, err) < 0 || choose_trees(ret, opts, err) < 0 ||
		check_require(ret, &opts->require, err) < 0 || choose_home(ret, err) < 0 ||
		choose_owner(ret, err) < 0)
		return -1;
	ret->may_graft = opts->graft || ret->rule->graft;
	choose_names(ret, opts->key);
	sb_log(SB_NOTE, "rule at %s:%d: payload '%s' (sha256 %.12s) for %s, home '%s'",
		opts->conf->file, ret->rule->line, ret->payload.name, ret->payload.sha256,
		ret->as_user ? "the container's user" : "root", ret->home_path);
	return 0;
}
