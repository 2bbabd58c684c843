/* SPDX-License-Identifier: MIT */
#include "payloads/visit.h"

#include "engine/clock.h"
#include "engine/log.h"
#include "engine/refusal.h"
#include "payloads/graft.h"
#include "payloads/presence.h"

#include <string.h>

enum {
	SETTLE_MS = 5 * 1000, /* an interrupted program may take to finish inside */
	TRIES = 6,	      /* how often another run can take away what is about to be run */
	TRY_PAUSE_MS = 50,
};

static void begin(struct visit *visit, struct plan *plan, bool as_user)
{
	*visit = (struct visit){.talk = {.plan = plan}};
	carry_begin(&visit->carry, plan, as_user, visit->talk.nonce);
}

void visit_end(struct visit *visit)
{
	carry_end(&visit->carry, false);
	talk_end(&visit->talk);
}

/* ---- one conversation ---- */

static int run(struct visit *visit, const char *command, const struct commands *commands,
	struct sb_err *err)
{
	enum eng_exec_user user =
		commands && commands->by_default ? ENG_AS_USER : carry_user(&visit->carry);
	char path[CARRY_PATH_SIZE];
	const char *argv[] = {path, command, commands ? commands->argument : NULL, NULL};

	carry_path(&visit->carry, path);
	return talk_run(&visit->talk, user, argv, err);
}

/* Put a question (stolen), with what each one says. */
static json_t *converse(struct visit *visit, json_t *question, struct sb_err *err)
{
	json_auto_t *asked = question;

	if (!asked ||
		json_object_set_new(asked, WIRE_HOME, json_string(carry_home(&visit->carry))) < 0 ||
		json_object_set_new(
			asked, WIRE_BESIDE, json_boolean(carry_is_beside(&visit->carry))) < 0) {
		sb_err_nomem(err);
		return NULL;
	}
	return talk_ask(&visit->talk, sb_steal(asked), err);
}

/* The stream ended without an answer; whether another try may do better comes first. */
static int explain_end(struct visit *visit, struct sb_err *err)
{
	const char *instead = visit->talk.instead;

	visit->lost = !visit->carry.uploaded || eng_refusal_is_passing(instead);
	return visit->lost && visit->tries < TRIES ? -1 : talk_explain(&visit->talk, instead, err);
}

/* ---- undoing ---- */

static int put_cleaner(struct visit *cleaner, struct sb_err *err)
{
	if (talk_prepare(&cleaner->talk, err) < 0)
		return -1;
	return carry_bring_cleaner(&cleaner->carry, err);
}

/* *ret_stands: there still is an installation, which another run has made. */
static int clean(struct visit *cleaner, json_t *question, bool *ret_stands, struct sb_err *err)
{
	json_auto_t *asked = question, *receipt = NULL;

	if (run(cleaner, WIRE_UNINSTALL, NULL, err) == 0)
		receipt = converse(cleaner, sb_steal(asked), err);
	if (!receipt && cleaner->talk.instead)
		explain_end(cleaner, err);
	*ret_stands = receipt && sb_json_bool(receipt, WIRE_STANDS);
	return receipt ? 0 : -1;
}

/*
 * Upload a cleaner beside what a failed visit left and let it delete both; and the whole
 * installation, if that visit had made it from nothing but its receipt was lost.
 */
static int discard(const struct visit *failed, struct sb_err *err)
{
	sb_auto(visit_end) struct visit cleaner;
	bool stands;
	int ret;

	begin(&cleaner, failed->talk.plan, false);
	ret = put_cleaner(&cleaner, err);
	if (ret)
		return ret < 0 ? -1 : 0;
	return clean(&cleaner,
		json_pack("{s:[s, s], s:s}", WIRE_DISCARD, failed->carry.name, cleaner.carry.name,
			WIRE_BORN, failed->talk.nonce),
		&stands, err);
}

/* What the user may have made, which is nothing if its program does not even start. */
static void discard_users_part(const struct visit *failed, bool *ret_stands)
{
	sb_auto(visit_end) struct visit cleaner;
	struct sb_err err = SB_ERR_INIT;

	begin(&cleaner, failed->talk.plan, true);
	*ret_stands = false;
	if (put_cleaner(&cleaner, &err) < 0 ||
		clean(&cleaner,
			json_pack("{s:[], s:s}", WIRE_DISCARD, WIRE_BORN, failed->talk.nonce),
			ret_stands, &err) < 0)
		sb_log(SB_NOTE, "as the container's user: %s", err.text);
}

static int discard_for_user(struct visit *failed, struct sb_err *err)
{
	sb_auto(visit_end) struct visit cleaner;
	bool stands;

	begin(&cleaner, failed->talk.plan, false);
	discard_users_part(failed, &stands);
	/* The program of a service that was there before stays, and may have been there, too. */
	if (failed->carry.before[0])
		return carry_restore_current(&failed->carry, failed->carry.before, err);
	if (stands)
		return 0;
	if (put_cleaner(&cleaner, err) < 0)
		return -1;
	return clean(&cleaner,
		json_pack("{s:[s], s:b}", WIRE_DISCARD, cleaner.carry.name, WIRE_USER_GONE, 1),
		&stands, err);
}

/* In the end there must be time to delete the helper container that undoing may need, too. */
void visit_begin_undo(const struct plan *plan)
{
	eng_begin_cleanup(plan->client, plan->home.beyond ? GRAFT_END_MS : 0);
}

/* *why stays the reason to be reported, with a word added if undoing failed too. */
static void undo(struct visit *failed, struct sb_err *why)
{
	const struct plan *plan = failed->talk.plan;
	struct sb_err err = SB_ERR_INIT;
	enum presence presence;

	visit_begin_undo(plan);
	carry_end(&failed->carry, true);
	presence = presence_now(plan);
	/* A container that has stopped keeps what it has: nothing can be deleted from outside. */
	if (presence == PRESENCE_STOPPED)
		sb_err_add(why,
			"; '%s' is left in it until it runs and 'sbinject remove' deletes it",
			plan->home_path);
	else if ((carry_is_for_user(&failed->carry) ? discard_for_user(failed, &err)
						    : discard(failed, &err)) == 0)
		sb_log(SB_NOTE, "removed what had been placed");
	else if (err.code != SB_NO_CONTAINER || presence != PRESENCE_GONE)
		sb_err_add(why, "; '%s' may be left inside ('sbinject remove' deletes it): %s",
			plan->home_path, err.text);
}

/* ---- one try ---- */

static json_t *late_receipt(struct visit *visit)
{
	const struct plan *plan = visit->talk.plan;
	struct sb_err ignored = SB_ERR_INIT;
	json_t *receipt = NULL;

	eng_begin_cleanup(plan->client, ENG_CLEANUP_MS - SETTLE_MS);
	if (visit->talk.exec)
		receipt = talk_take(&visit->talk, &ignored);
	visit_begin_undo(plan);
	return receipt;
}

static int ask(struct visit *visit, const struct errand *errand, json_t **ret, struct sb_err *err)
{
	if (run(visit, errand->command, errand->commands, err) == 0)
		*ret = converse(visit, errand->question(&visit->carry, errand->ctx), err);
	if (*ret && errand->go_on && errand->go_on(&visit->talk, ret, errand->ctx, err) < 0)
		json_decref(sb_steal(*ret));
	if (!*ret && visit->talk.instead)
		explain_end(visit, err);
	/* An interrupted program goes on inside; what it made is known once it has reported. */
	if (!*ret && err->code == SB_INTERRUPTED)
		*ret = late_receipt(visit);
	return *ret ? 0 : -1;
}

static int greet(struct visit *visit, const struct errand *errand, json_t **ret, struct sb_err *err)
{
	(void)ret;
	if (run(visit, errand->command, errand->commands, err) < 0)
		return -1;
	if (talk_greet(&visit->talk, err) == 0)
		return 0;
	return visit->talk.instead ? explain_end(visit, err) : -1;
}

/* ---- one try after the other ---- */

/* Of a failure, whether it is about the one program that was run, and not about all. One that
   reports has undone what it did. */
static bool is_about_it(const struct visit *visit, const struct sb_err *err)
{
	if (visit->talk.answered)
		return err->code == SB_FAILED && eng_refusal_is_passing(err->text);
	if (!visit->talk.tried)
		return visit->carry.may_pass;
	if (visit->carry.uploaded)
		return eng_refusal_is_passing(err->text);
	return err->code != SB_INTERRUPTED && err->code != SB_NO_CONTAINER &&
	       err->code != SB_NO_ENGINE;
}

/* What was uploaded into a container that has stopped would stay in it. */
static bool is_worth_another(struct visit *visit, struct sb_err *err)
{
	const struct plan *plan = visit->talk.plan;
	bool ended;

	visit->lost |= is_about_it(visit, err);
	if (!visit->lost || visit->carry.graft || visit->tries >= TRIES ||
		eng_is_interrupted(plan->client) || eng_time_left(plan->client, 1) == 0)
		return false;
	/* An engine learns of an end late; that nothing is there is no sign of one. */
	ended = eng_refusal_is_passing(err->text) ? presence_now(plan) != PRESENCE_RUNS
						  : presence_has_ended(plan);
	if (ended) {
		sb_err_wrap(err, "the container stopped before the payload's answer");
		err->code = SB_NO_CONTAINER;
	}
	return !ended;
}

/* The next one has another nonce, unless it has to find what this one has put there. */
static int begin_anew(struct visit *visit, struct sb_err *err)
{
	sb_log(SB_NOTE, "%s; bringing it anew", err->text);
	sb_err_clear(err);
	if (visit->tries > 0)
		sb_sleep_ms(TRY_PAUSE_MS);
	visit->tries++;
	visit->lost = visit->carry.may_pass = false;
	if (!visit->carry.uploaded)
		return talk_prepare(&visit->talk, err);
	talk_repeat(&visit->talk);
	return 0;
}

typedef int (*try_fn)(
	struct visit *visit, const struct errand *errand, json_t **ret, struct sb_err *err);

/* `ready`: the program is there already. */
static int try_once(struct visit *visit, const struct errand *errand, bool ready, try_fn once,
	json_t **ret, struct sb_err *err)
{
	int outcome = ready ? 0 : errand->bring(&visit->carry, errand->ctx, err);

	return outcome ? outcome : once(visit, errand, ret, err);
}

static int go(struct visit *visit, const struct errand *errand, try_fn once, json_t **ret,
	struct sb_err *err)
{
	int ready, outcome;

	if (talk_prepare(&visit->talk, err) < 0 || (ready = carry_find(&visit->carry, err)) < 0)
		return -1;
	while ((outcome = try_once(visit, errand, ready, once, ret, err)) < 0 &&
		is_worth_another(visit, err)) {
		ready = false;
		if (begin_anew(visit, err) < 0)
			break;
	}
	if (outcome < 0 && visit->carry.uploaded &&
		(!visit->talk.answered || carry_is_for_user(&visit->carry)))
		undo(visit, err);
	return outcome;
}

int visit_ask(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	json_t **ret_receipt, struct sb_err *err)
{
	int outcome;

	begin(ret, plan, as_user);
	*ret_receipt = NULL;
	outcome = go(ret, errand, ask, ret_receipt, err);
	carry_end(&ret->carry, false);
	return outcome;
}

int visit_open(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	struct sb_err *err)
{
	begin(ret, plan, as_user);
	return go(ret, errand, greet, NULL, err);
}
