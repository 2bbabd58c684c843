/* SPDX-License-Identifier: MIT */
#include "payloads/service.h"

#include "engine/log.h"

#include <string.h>

enum { START_TIMEOUT_MS = 20 * 1000 }; /* the service may take to answer */

static json_t *string_list(const char *const *words)
{
	json_t *list = json_array();

	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static json_t *links_of(const struct plan *plan)
{
	json_t *list = string_list((const char *const *)plan->conf->links);
	const char *link = plan_host_link(plan);

	if (link)
		json_array_append_new(list, json_string(link));
	return list;
}

/* ---- inject ---- */

static json_t *install_question(const struct carry *carry, const void *ctx)
{
	const struct plan *plan = carry->plan;
	const char *cwd = plan->container.cwd;

	bool as_root = !carry_is_for_user(carry);

	(void)ctx;
	return json_pack("{s:s, s:s, s:s, s:b, s:s*, s:s*, s:o, s:o, s:o*, s:i}", WIRE_SHA256,
		plan->payload.sha256, WIRE_PATH, plan->conf->path, WIRE_CWD,
		*cwd == '/' ? cwd : "/", WIRE_OWN_HOME, (int)!as_root, WIRE_KEEP,
		as_root && plan->keep[0] ? plan->keep : NULL, WIRE_STAGED,
		as_root && carry->uploaded ? carry->name : NULL, WIRE_LINKS, links_of(plan),
		WIRE_START, string_list((const char *const *)plan->conf->start), WIRE_NEEDS,
		plan->host ? string_list(plan->host->needs) : NULL, WIRE_TIMEOUT,
		eng_time_left(plan->client, START_TIMEOUT_MS));
}

/* Nothing was done, because of another service. */
static bool must_go(enum wire_was was)
{
	return was == WAS_USERS || was == WAS_KIND;
}

/* *err stays the reason to be told. */
static int take_back(struct plan *plan, struct sb_err *err)
{
	struct sb_err failure = SB_ERR_INIT;
	bool removed;

	if (service_remove(plan, &removed, &failure) < 0)
		return sb_err_add(err, "; what had been injected is still there: %s", failure.text);
	sb_log(SB_NOTE, "removed what had been placed");
	return -1;
}

/*
 * An interrupt came while the program was at work, and it has finished: what it made from nothing
 * is taken back; a service that was there before has been checked or replaced, which is no loss.
 */
static int settle(struct plan *plan, const struct receipt_install *receipt, struct sb_err *err)
{
	if (must_go(receipt->was))
		return -1;
	if (receipt->was == WAS_ABSENT)
		return take_back(plan, err);
	sb_err_clear(err);
	return 0;
}

/* Before an upload as the container's user: root's service has to go, and a user's is noted. */
static int make_way(struct carry *carry, bool *ret_removed, struct sb_err *err)
{
	struct plan *plan = carry->plan;
	struct carry_found there;
	int found = carry_look(plan->client, plan->container.id, plan->home_path, &there, err);

	if (found)
		return found < 0 ? -1 : 0;
	if (!there.as_user)
		return service_remove(plan, ret_removed, err);
	strcpy(carry->before, there.sha256);
	return 0;
}

/* ctx: whether another service was removed for it. */
static int bring_to_install(struct carry *carry, void *ctx, struct sb_err *err)
{
	if (carry_is_for_user(carry) && make_way(carry, ctx, err) < 0)
		return -1;
	return carry_bring(carry, WHEN_ALWAYS, err);
}

/* What is to be removed. */
struct removal {
	bool all;
	bool service;
	const struct receipt_tree *trees; /* of the plan's: those that were absent */
	size_t count;
};
static int remove_some(
	struct plan *plan, const struct removal *what, bool *ret_removed, struct sb_err *err);

static int inject_once(
	struct plan *plan, struct receipt_install *ret, bool *ret_removed, struct sb_err *err)
{
	const struct errand errand = {
		WIRE_INSTALL, install_question, bring_to_install, ret_removed, NULL, NULL};
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	json_auto_t *receipt = NULL;
	struct sb_err odd = SB_ERR_INIT;

	if (visit_ask(plan, plan->as_user, &errand, &visit, &receipt, err) != 0)
		return -1;
	ret->was = WAS_OTHER;
	if (receipt_read_install(receipt, plan->payload.sha256, ret, &odd) < 0) {
		*err = odd;
		if (ret->was == WAS_ABSENT)
			return take_back(plan, err);
		return sb_err_add(err, "; it is left as it is ('sbinject remove' deletes it)");
	}
	return err->code == SB_INTERRUPTED ? settle(plan, ret, err) : 0;
}

static int inject_tree(struct plan *plan, size_t i, struct receipt_tree *ret, bool *ret_removed,
	struct sb_err *err)
{
	const struct unpack_way way = {bring_to_install, ret_removed};

	return unpack_tree(plan, &plan->trees[i], &way, ret, err);
}

/* Trees of this run that were not there before, and the service, if it was not. */
static int take_back_all(struct plan *plan, enum wire_was service, const struct receipt_tree *trees,
	size_t count, struct sb_err *err)
{
	const struct removal removal = {
		.service = service == WAS_ABSENT, .trees = trees, .count = count};
	struct sb_err failure = SB_ERR_INIT;
	bool removed;

	visit_begin_undo(plan);
	if (remove_some(plan, &removal, &removed, &failure) < 0)
		return sb_err_add(err, "; what had been injected is still there: %s", failure.text);
	sb_log(SB_NOTE, "removed what had been placed");
	return -1;
}

static int inject_service(struct plan *plan, struct receipt_install *ret,
	struct receipt_tree *trees, bool *ret_removed, struct sb_err *err)
{
	if (!plan->service_is_tree)
		return inject_once(plan, ret, ret_removed, err);
	memset(ret, 0, sizeof(*ret));
	if (inject_tree(plan, 0, trees, ret_removed, err) < 0)
		return trees->was == WAS_ABSENT ? take_back_all(plan, trees->was, trees, 0, err)
						: -1;
	ret->was = trees->was;
	return 0;
}

/* What stood in the way has been removed before; something new may be there. */
static int check_unpacked(
	const struct plan *plan, size_t i, const struct receipt_tree *tree, struct sb_err *err)
{
	if (!must_go(tree->was))
		return 0;
	return sb_err_set(err, SB_UNSUPPORTED,
		"tree '%s': a service that was injected meanwhile is in its way; run this again when "
		"the other run has ended",
		plan->trees[i].what->name);
}

int service_inject(struct plan *plan, struct receipt_install *ret, struct receipt_tree *trees,
	struct sb_err *err)
{
	bool removed = false;

	if (inject_service(plan, ret, trees, &removed, err) < 0)
		return -1;
	if (must_go(ret->was)) {
		const struct removal other = {.service = true, .all = ret->was == WAS_USERS};

		if (remove_some(plan, &other, &removed, err) < 0 ||
			inject_service(plan, ret, trees, &removed, err) < 0)
			return -1;
	}
	if (must_go(ret->was))
		return sb_err_set(err, SB_UNSUPPORTED,
			"another service was injected again while this one was removed; run this "
			"again when the other run has ended");
	for (size_t i = plan->service_is_tree; i < plan->tree_count; i++)
		if (inject_tree(plan, i, &trees[i], &removed, err) < 0 ||
			check_unpacked(plan, i, &trees[i], err) < 0)
			return take_back_all(plan, ret->was, trees, i + 1, err);
	if (removed)
		ret->was = WAS_OTHER;
	return 0;
}

/* ---- afterwards ---- */

int service_is_present(struct plan *plan, char other[65], struct sb_err *err)
{
	struct carry carry;
	int present;

	carry_begin(&carry, plan, plan->as_user, "");
	present = carry_check(&carry, WHEN_CURRENT, err);
	strcpy(other, carry.current);
	return present;
}

int service_has_home(struct plan *plan, struct sb_err *err)
{
	struct carry carry;

	carry_begin(&carry, plan, plan->as_user, "");
	return carry_check(&carry, WHEN_HOME, err);
}

/* What is there instead of this payload. */
static int fail_absent(const struct plan *plan, const char *other, struct sb_err *err)
{
	if (!strcmp(other, plan->payload.sha256))
		return sb_err_set(err, SB_MISMATCH,
			"it is there as %s, but the rules ask for %s; 'sbinject inject' changes that",
			plan->as_user ? "root" : "the container's own user",
			plan->as_user ? "the container's own user" : "root");
	if (other[0])
		return sb_err_set(err, SB_MISMATCH,
			"another version is there (sha256 %.12s, this sbinject has %.12s); "
			"'sbinject inject' replaces it",
			other, plan->payload.sha256);
	return sb_err_set(err, SB_NO_SERVICE, "not injected; run 'sbinject inject' first");
}

/* For one visit to a container that has been injected. */
static int bring_to_meet(struct carry *carry, void *ctx, struct sb_err *err)
{
	const struct plan *plan = carry->plan;
	int ret;

	(void)ctx;
	if (plan->home.beyond && !plan->may_graft)
		return sb_err_set(err, SB_NO_SERVICE,
			"not injected by this release and user; run 'sbinject inject --graft' first");
	ret = carry_bring(carry, WHEN_CURRENT, err);
	return ret == 1 ? fail_absent(plan, carry->current, err) : ret;
}

static json_t *status_question(const struct carry *carry, const void *ctx)
{
	(void)ctx;
	return json_pack("{s:s}", WIRE_PATH, carry->plan->conf->path);
}

int service_status(struct plan *plan, struct receipt_status *ret, struct sb_err *err)
{
	const struct errand errand = {
		WIRE_STATUS, status_question, bring_to_meet, NULL, NULL, NULL};
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	json_auto_t *receipt = NULL;

	memset(ret, 0, sizeof(*ret));
	if (visit_ask(plan, plan->as_user, &errand, &visit, &receipt, err) != 0 ||
		err->code != SB_OK)
		return -1;
	return receipt_read_status(receipt, ret, err);
}

/* USERS_SERVICE: root asked and removed nothing, for the service is the container's user's. */
enum { REMOVED, USERS_SERVICE, NOTHING_THERE };

struct uninstalling {
	const struct removal *what;
	bool user_gone;
};

static json_t *tree_paths(const struct plan *plan, const struct removal *what)
{
	json_t *list = json_array();

	for (size_t i = plan->service_is_tree; i < what->count; i++)
		if (what->trees[i].was == WAS_ABSENT)
			json_array_append_new(list, json_string(plan->trees[i].path));
	return list;
}

static json_t *uninstall_question(const struct carry *carry, const void *ctx)
{
	const struct uninstalling *un = ctx;
	const struct plan *plan = carry->plan;

	return json_pack("{s:s, s:o, s:b, s:b, s:o*}", WIRE_PATH, plan->conf->path, WIRE_LINKS,
		links_of(plan), WIRE_USER_GONE, (int)un->user_gone, WIRE_SERVICE_ONLY,
		(int)!un->what->all, WIRE_TREES,
		un->what->all || un->what->service ? NULL : tree_paths(plan, un->what));
}

static int bring_to_remove(struct carry *carry, void *ctx, struct sb_err *err)
{
	(void)ctx;
	return carry_bring(carry, WHEN_HOME, err);
}

static int uninstall(
	struct plan *plan, bool as_user, const struct uninstalling *un, struct sb_err *err)
{
	const struct errand errand = {
		WIRE_UNINSTALL, uninstall_question, bring_to_remove, (void *)un, NULL, NULL};
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	json_auto_t *receipt = NULL;
	int outcome = visit_ask(plan, as_user, &errand, &visit, &receipt, err);

	if (outcome)
		return outcome < 0 ? -1 : NOTHING_THERE;
	if (err->code != SB_OK)
		return -1;
	return sb_json_str(receipt, WIRE_WAS) ? USERS_SERVICE : REMOVED;
}

static int remove_in_steps(
	struct plan *plan, const struct removal *what, bool *ret_removed, struct sb_err *err)
{
	const struct uninstalling first = {what, false}, second = {what, true};
	struct carry_found there = {.as_user = false};
	int outcome;

	*ret_removed = false;
	/* Root would find out, at the price of another exec. */
	if (plan->as_user &&
		carry_look(plan->client, plan->container.id, plan->home_path, &there, err) < 0)
		return -1;
	if (!what->all && !what->service)
		return uninstall(plan, there.as_user, &first, err) < 0 ? -1 : 0;
	outcome = there.as_user ? USERS_SERVICE : uninstall(plan, false, &first, err);
	*ret_removed = outcome == REMOVED || outcome == USERS_SERVICE;
	if (outcome != USERS_SERVICE)
		return outcome < 0 ? -1 : 0;
	if (uninstall(plan, true, &second, err) < 0 || uninstall(plan, false, &second, err) < 0)
		return -1;
	return 0;
}

static bool has_trees(const struct plan *plan, const struct removal *what)
{
	for (size_t i = plan->service_is_tree; i < what->count; i++)
		if (what->trees[i].was == WAS_ABSENT)
			return true;
	return false;
}

/* Trees first: with the service and the last of them, the home goes. */
static int remove_some(
	struct plan *plan, const struct removal *what, bool *ret_removed, struct sb_err *err)
{
	const struct removal trees = {.trees = what->trees, .count = what->count};

	if (has_trees(plan, what) && remove_in_steps(plan, &trees, ret_removed, err) < 0)
		return -1;
	return what->all || what->service ? remove_in_steps(plan, what, ret_removed, err) : 0;
}

int service_remove(struct plan *plan, bool *ret_removed, struct sb_err *err)
{
	const struct removal all = {.all = true};

	return remove_in_steps(plan, &all, ret_removed, err);
}

const struct receipt_tree_found *service_find_tree(
	const struct receipt_status *status, const struct plan_tree *tree)
{
	for (size_t i = 0; i < status->tree_count; i++)
		if (!strcmp(status->trees[i].path, tree->path) &&
			!strcmp(status->trees[i].tree, tree->tree))
			return &status->trees[i];
	return NULL;
}

int service_open(struct plan *plan, bool runs_commands, struct visit *ret, struct sb_err *err)
{
	sb_auto(commands_release) struct commands commands = COMMANDS_INIT;
	const struct errand errand = {.command = WIRE_PIPE,
		.bring = bring_to_meet,
		.commands = runs_commands ? &commands : NULL};

	if (plan->service_is_tree)
		return sb_err_set(err, SB_UNSUPPORTED,
			"the service of this container is the tree '%s'; 'call' and 'pipe' speak with "
			"inspect-sandbox-tools only",
			plan->payload.name);
	if (runs_commands && commands_describe(plan, &commands, err) < 0)
		return -1;
	return visit_open(plan, plan->as_user, &errand, ret, err);
}
