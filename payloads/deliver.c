/* SPDX-License-Identifier: MIT */
#include "payloads/deliver.h"

#include "engine/log.h"
#include "engine/text.h"
#include "payloads/graft.h"
#include "payloads/lib/wire.h"
#include "payloads/receipt.h"

#include <stdio.h>
#include <string.h>

enum { START_TIMEOUT_MS = 20 * 1000 }; /* the service may take to answer */

static json_t *string_list(char *const *words)
{
	json_t *list = json_array();

	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

/* ---- inject ---- */

static json_t *install_question(const struct visit *visit, const void *ctx)
{
	const struct plan *plan = visit->plan;
	const char *cwd = plan->container.cwd;

	bool as_root = !visit->as_user;

	(void)ctx;
	return json_pack("{s:s, s:s, s:s, s:b, s:s*, s:s*, s:o, s:o, s:i}", WIRE_SHA256,
		plan->payload.sha256, WIRE_PATH, plan->conf->path, WIRE_CWD,
		*cwd == '/' ? cwd : "/", WIRE_OWN_HOME, (int)visit->as_user, WIRE_KEEP,
		as_root && plan->keep[0] ? plan->keep : NULL, WIRE_STAGED,
		as_root && visit->uploaded ? visit->name : NULL, WIRE_LINKS,
		string_list(plan->conf->links), WIRE_START, string_list(plan->conf->start),
		WIRE_TIMEOUT, eng_time_left(plan->client, START_TIMEOUT_MS));
}

/* *err stays the reason to be told. */
static int take_back(struct plan *plan, struct sb_err *err)
{
	struct sb_err failure = SB_ERR_INIT;
	bool removed;

	if (deliver_remove(plan, &removed, &failure) < 0)
		return sb_err_add(err, "; what had been injected is still there: %s", failure.text);
	sb_log(SB_NOTE, "removed what had been placed");
	return -1;
}

/*
 * An interrupt came while the program was at work, and it has finished: what it made from nothing
 * is taken back; a service that was there before has been checked or replaced, which is no loss.
 */
static int settle(struct plan *plan, const struct deliver_receipt *receipt, struct sb_err *err)
{
	if (receipt->was == WAS_USERS)
		return -1;
	if (receipt->was == WAS_ABSENT)
		return take_back(plan, err);
	sb_err_clear(err);
	return 0;
}

/* Before an upload as the container's user: root's service has to go, and a user's is noted. */
static int make_way(struct visit *visit, bool *ret_removed, struct sb_err *err)
{
	struct plan *plan = visit->plan;
	struct deliver_found there;
	int found = deliver_find(plan->client, plan->container.id, plan->home_path, &there, err);

	if (found)
		return found < 0 ? -1 : 0;
	if (!there.as_user)
		return deliver_remove(plan, ret_removed, err);
	strcpy(visit->before, there.sha256);
	return 0;
}

/* ctx: whether another service was removed for it. */
static int bring_to_install(struct visit *visit, void *ctx, struct sb_err *err)
{
	if (visit->as_user && make_way(visit, ctx, err) < 0)
		return -1;
	return visit_upload(visit, WHEN_ALWAYS, err);
}

static int inject_once(
	struct plan *plan, struct deliver_receipt *ret, bool *ret_removed, struct sb_err *err)
{
	const struct errand errand = {
		WIRE_INSTALL, install_question, bring_to_install, ret_removed};
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

int deliver_inject(struct plan *plan, struct deliver_receipt *ret, struct sb_err *err)
{
	bool removed = false;

	if (inject_once(plan, ret, &removed, err) < 0)
		return -1;
	if (ret->was == WAS_USERS && (deliver_remove(plan, &removed, err) < 0 ||
					     inject_once(plan, ret, &removed, err) < 0))
		return -1;
	if (ret->was == WAS_USERS)
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s/" WIRE_USER_NAME "' is there again and again", plan->home_path);
	if (removed)
		ret->was = WAS_OTHER;
	return 0;
}

/* ---- afterwards ---- */

int deliver_find(struct eng_client *client, const char *id, const char *home_path,
	struct deliver_found *ret, struct sb_err *err)
{
	static const char user_dir[] = "/" WIRE_USER_NAME;
	struct eng_stat stat;
	const char *name;
	char path[256];
	int found;

	snprintf(path, sizeof(path), "%s/" WIRE_CURRENT_NAME, home_path);
	found = eng_archive_stat(client, id, path, &stat, err);
	if (found)
		return found;
	name = strrchr(stat.link, '/');
	if (stat.type != ENG_LINK || !name || !sb_is_hex64(++name))
		return 1;
	memcpy(ret->sha256, name, sizeof(ret->sha256));
	name -= sizeof(user_dir);
	ret->as_user = name > stat.link && !strncmp(name, user_dir, sizeof(user_dir) - 1);
	return 0;
}

int deliver_is_present(struct plan *plan, char other[65], struct sb_err *err)
{
	struct deliver_found there;
	int found;

	other[0] = '\0';
	if (plan->home.beyond) {
		/* Only where this user has been before can it be told without a helper container.
		 */
		found = visit_is_ready(plan, err);
		return found == 0 && graft_check(plan, err) < 0 ? -1 : found;
	}
	found = deliver_find(plan->client, plan->container.id, plan->home_path, &there, err);

	if (found)
		return found < 0 ? -1 : 0;
	if (there.as_user == plan->as_user && !strcmp(there.sha256, plan->payload.sha256))
		return 1;
	strcpy(other, there.sha256);
	return 0;
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
	return sb_err_set(err, SB_NO_SERVICE, "not injected; 'sbinject inject' does it");
}

static int meet_beyond(struct plan *plan, struct visit *visit, struct sb_err *err)
{
	int ret;

	if (!plan->may_graft)
		return sb_err_set(err, SB_NO_SERVICE,
			"not injected by this release and user; 'sbinject inject --graft' does it");
	ret = visit_upload(visit, WHEN_CURRENT, err);
	return ret == 1 ? fail_absent(plan, visit->current, err) : ret;
}

static int bring_by_archive(struct visit *visit, struct sb_err *err)
{
	struct plan *plan = visit->plan;
	char other[65];
	int present = deliver_is_present(plan, other, err);

	if (present <= 0)
		return present < 0 ? -1 : fail_absent(plan, other, err);
	strcpy(visit->before, plan->payload.sha256);
	return visit_upload(visit, WHEN_ALWAYS, err);
}

/* For one visit to a container that has been injected. */
static int bring_to_meet(struct visit *visit, void *ctx, struct sb_err *err)
{
	struct plan *plan = visit->plan;

	(void)ctx;
	if (plan->home.beyond)
		return meet_beyond(plan, visit, err);
	eng_hold_begin(plan->client);
	return eng_hold_end(plan->client, bring_by_archive(visit, err), err);
}

static json_t *status_question(const struct visit *visit, const void *ctx)
{
	(void)ctx;
	return json_pack("{s:s}", WIRE_PATH, visit->plan->conf->path);
}

int deliver_status(struct plan *plan, struct deliver_status *ret, struct sb_err *err)
{
	const struct errand errand = {WIRE_STATUS, status_question, bring_to_meet, NULL};
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	json_auto_t *receipt = NULL;

	memset(ret, 0, sizeof(*ret));
	if (visit_ask(plan, plan->as_user, &errand, &visit, &receipt, err) != 0 ||
		err->code != SB_OK)
		return -1;
	return receipt_read_status(receipt, ret, err);
}

int deliver_has_home(struct plan *plan, struct sb_err *err)
{
	struct eng_stat stat;
	int found;

	if (plan->home.beyond)
		return visit_is_ready(plan, err);
	found = eng_archive_stat(plan->client, plan->container.id, plan->home_path, &stat, err);
	return found < 0 ? -1 : found == 0;
}

/* USERS_SERVICE: root asked and removed nothing, for the service is the container's user's. */
enum { REMOVED, USERS_SERVICE, NOTHING_THERE };

static json_t *uninstall_question(const struct visit *visit, const void *user_gone)
{
	const struct plan *plan = visit->plan;

	return json_pack("{s:s, s:o, s:b}", WIRE_PATH, plan->conf->path, WIRE_LINKS,
		string_list(plan->conf->links), WIRE_USER_GONE, (int)*(const bool *)user_gone);
}

static int bring_to_remove(struct visit *visit, void *ctx, struct sb_err *err)
{
	struct plan *plan = visit->plan;
	int there = plan->home.beyond ? 1 : deliver_has_home(plan, err);

	(void)ctx;
	if (there <= 0)
		return there < 0 ? -1 : 1;
	strcpy(visit->before, visit->as_user ? plan->payload.sha256 : "");
	return visit_upload(visit, WHEN_HOME, err);
}

static int uninstall(struct plan *plan, bool as_user, bool user_gone, struct sb_err *err)
{
	const struct errand errand = {
		WIRE_UNINSTALL, uninstall_question, bring_to_remove, &user_gone};
	sb_auto(visit_end) struct visit visit = VISIT_INIT;
	json_auto_t *receipt = NULL;
	int outcome = visit_ask(plan, as_user, &errand, &visit, &receipt, err);

	if (outcome)
		return outcome < 0 ? -1 : NOTHING_THERE;
	if (err->code != SB_OK)
		return -1;
	return sb_json_str(receipt, WIRE_WAS) ? USERS_SERVICE : REMOVED;
}

int deliver_remove(struct plan *plan, bool *ret_removed, struct sb_err *err)
{
	struct deliver_found there = {.as_user = false};
	int outcome;

	*ret_removed = false;
	/* Root would find out, at the price of another exec. */
	if (plan->as_user &&
		deliver_find(plan->client, plan->container.id, plan->home_path, &there, err) < 0)
		return -1;
	outcome = there.as_user ? USERS_SERVICE : uninstall(plan, false, false, err);
	*ret_removed = outcome == REMOVED || outcome == USERS_SERVICE;
	if (outcome != USERS_SERVICE)
		return outcome < 0 ? -1 : 0;
	if (uninstall(plan, true, true, err) < 0 || uninstall(plan, false, true, err) < 0)
		return -1;
	return 0;
}

int deliver_open(struct plan *plan, const char *command, struct visit *ret, struct sb_err *err)
{
	const struct errand errand = {.command = command, .bring = bring_to_meet};

	return visit_open(plan, plan->as_user, &errand, ret, err);
}
