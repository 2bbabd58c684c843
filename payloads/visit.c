/* SPDX-License-Identifier: MIT */
#include "payloads/visit.h"

#include "engine/clock.h"
#include "engine/log.h"
#include "engine/refusal.h"
#include "engine/tar.h"
#include "engine/text.h"
#include "payloads/graft.h"
#include "payloads/lib/wire.h"
#include "payloads/receipt.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
	SETTLE_MS = 5 * 1000, /* an interrupted program may take to finish inside */
	TRIES = 6,	      /* how often another run can take away what is about to be run */
	TRY_PAUSE_MS = 50,
};

void visit_end(struct visit *visit)
{
	graft_end(sb_steal(visit->graft), false);
	eng_exec_close(sb_steal(visit->exec));
}

static int new_nonce(struct visit *visit, struct sb_err *err)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return sb_err_set(err, SB_FAILED, "the system gives no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(visit->nonce + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Of what stands ready; without a name for that, of an upload for the container's user. */
static void name_program(struct visit *visit)
{
	const struct plan *plan = visit->plan;

	if (visit->as_user)
		snprintf(visit->name, sizeof(visit->name), WIRE_USER_NAME "/%s/%s",
			plan->payload.sha256, plan->keep_user[0] ? plan->keep_user : "program");
	else
		snprintf(visit->name, sizeof(visit->name), "%s", plan->keep);
}

/*
 * Where others can write, the home may be theirs, and then they could exchange what is put into it
 * before it is run: there the program comes alone, and makes the home itself.
 */
static bool is_beside(const struct visit *visit)
{
	return visit->uploaded && visit->plan->home.shared;
}

static int run(struct visit *visit, const char *command, struct sb_err *err)
{
	struct plan *plan = visit->plan;
	char path[256];
	const char *argv[] = {path, command, NULL};

	if (plan->must_start &&
		eng_container_start(plan->client, plan->container.id, SB_NO_CONTAINER, err) < 0)
		return -1;
	plan->must_start = false;
	visit->exec_tried = true;
	snprintf(path, sizeof(path), "%s/%s", is_beside(visit) ? plan->home.dir : plan->home_path,
		visit->name);
	return eng_exec_start(plan->client, plan->container.id,
		visit->as_user ? ENG_AS_USER : ENG_AS_ROOT, argv, &visit->exec, err);
}

/* Where the engine cannot look, running it tells. */
static int is_ready_inside(struct visit *visit, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_FRAME_TEXT);
	int ret, status = -1;

	ret = run(visit, WIRE_GREET, err);
	while (ret == 0)
		ret = eng_exec_read(visit->exec, -1, &out, err);
	if (ret > 0)
		ret = eng_exec_status(visit->exec, &status, err);
	eng_exec_close(sb_steal(visit->exec));
	visit->exec_tried = false;
	return ret < 0 ? -1 : status == 0;
}

static int look_at_kept(const struct visit *visit, struct sb_err *err)
{
	const struct plan *plan = visit->plan;
	struct eng_stat stat;
	char path[256];
	int found;

	snprintf(path, sizeof(path), "%s/%s", plan->home_path, visit->name);
	found = eng_archive_stat(plan->client, plan->container.id, path, &stat, err);
	if (found < 0)
		return -1;
	return !found && stat.type == ENG_FILE && stat.size == plan->payload.size;
}

/*
 * 1: it will be run. To look costs 1 to 4 ms, a program that is not there 30 to 100 ms; where
 * looking means a pause, it is run without.
 */
static int find_ready(struct visit *visit, struct sb_err *err)
{
	struct plan *plan = visit->plan;
	bool exposed;

	if (!(visit->as_user ? plan->keep_user : plan->keep)[0])
		return 0;
	name_program(visit);
	if (plan->home.beyond)
		return is_ready_inside(visit, err);
	if (eng_is_exposed(plan->client, plan->container.id, &exposed, err) < 0)
		return -1;
	return exposed ? 1 : look_at_kept(visit, err);
}

int visit_is_ready(struct plan *plan, struct sb_err *err)
{
	sb_auto(visit_end) struct visit visit = {.plan = plan};

	return find_ready(&visit, err);
}

static int put(const struct plan *plan, const struct eng_tar_member *members, size_t count,
	struct sb_err *err)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(SB_MAX_PAYLOAD + 65536);

	if (eng_tar_write(members, count, &tar, err) < 0)
		return -1;
	return eng_archive_put(
		plan->client, plan->container.id, plan->home.dir, tar.data, tar.len, err);
}

static void name_delivery(struct visit *visit, const struct graft_program *program)
{
	snprintf(visit->name, sizeof(visit->name), "%s.%s", program->sha256, visit->nonce);
}

static int put_for_root(
	struct visit *visit, const struct graft_program *program, struct sb_err *err)
{
	size_t beside = is_beside(visit) ? 1 : 0;
	char file[180];
	const struct eng_tar_member members[] = {
		{WIRE_HOME_NAME "/", 0700, NULL, 0, NULL},
		{file, 0755, program->data, program->size, NULL},
	};

	name_delivery(visit, program);
	snprintf(file, sizeof(file), "%s%s", beside ? "" : WIRE_HOME_NAME "/", visit->name);
	return put(visit->plan, members + beside, SB_ARRAY_SIZE(members) - beside, err);
}

/* Says of `sha256` that it is there, for those who only look. */
static void name_current(const char *sha256, char link[80])
{
	snprintf(link, 80, WIRE_USER_NAME "/%.64s", sha256);
}

static int put_for_user(
	struct visit *visit, const struct graft_program *program, struct sb_err *err)
{
	const char *path = visit->plan->conf->path;
	char dir[100], file[180], link[80], server[120], place[PATH_MAX];
	const struct eng_tar_member members[] = {
		{WIRE_HOME_NAME "/", 0711, NULL, 0, NULL},
		{WIRE_HOME_NAME "/" WIRE_USER_NAME "/", 0711, NULL, 0, NULL},
		{dir, 0711, NULL, 0, NULL},
		{file, 0755, program->data, program->size, NULL},
		{server, 0777, NULL, 0, place},
		{WIRE_HOME_NAME "/" WIRE_CURRENT_NAME, 0777, NULL, 0, link},
	};

	/* The user cannot say there himself where his service is. */
	snprintf(place, sizeof(place), "%.*s/" WIRE_SERVER_NAME, (int)(strrchr(path, '/') - path),
		path);
	name_current(visit->plan->payload.sha256, link);
	snprintf(dir, sizeof(dir), WIRE_HOME_NAME "/%s/", link);
	snprintf(server, sizeof(server), WIRE_HOME_NAME "/%s/" WIRE_SERVER_NAME, link);
	name_program(visit);
	snprintf(file, sizeof(file), WIRE_HOME_NAME "/%s", visit->name);
	return put(visit->plan, members, SB_ARRAY_SIZE(members), err);
}

/* Only a sticky directory keeps the others from renaming what is not theirs. That it is root's is
   in the records (recon_home); that it still is, the program looks at. */
static int check_shared(const struct plan *plan, struct sb_err *err)
{
	struct eng_stat stat;
	int found;

	if (!plan->home.shared)
		return 0;
	found = eng_archive_stat(plan->client, plan->container.id, plan->home.dir, &stat, err);
	if (found < 0)
		return -1;
	if (found || stat.type != ENG_DIR || ((stat.mode & 022) && !(stat.mode & 01000)))
		return sb_err_set(err, SB_UNSUPPORTED,
			"'%s' is the place for a program here, but others could replace it there: the "
			"directory is not sticky",
			plan->home.dir);
	return 0;
}

static int put_by_archive(
	struct visit *visit, const struct graft_program *program, struct sb_err *err)
{
	if (check_shared(visit->plan, err) < 0 ||
		eng_hold_for(visit->plan->client, visit->plan->container.id, err) < 0)
		return -1;
	visit->uploaded = true;
	return (visit->as_user ? put_for_user : put_for_root)(visit, program, err);
}

static int put_program(struct visit *visit, const struct graft_program *program,
	enum wire_when when, struct sb_err *err)
{
	const struct plan *plan = visit->plan;
	int ret;

	if (plan->home.beyond) {
		name_delivery(visit, program);
		ret = graft_begin(visit, program, when, err);
		visit->uploaded = ret == 0;
		return ret;
	}
	eng_hold_begin(plan->client);
	return eng_hold_end(plan->client, put_by_archive(visit, program, err), err);
}

/* ---- what a program that did not start looks like ---- */

/* The first line of what came, which is the caller's; engines say why a start failed in the stream
   itself, and the cause at its end. */
static char *first_line(struct visit *visit, const struct sb_buf *out)
{
	const struct sb_buf *from = out->len ? out : eng_exec_stderr(visit->exec);
	const char *line = sb_buf_str(from);

	return strndup(line, strcspn(line, "\r\n"));
}

static int explain_words(
	const struct plan *plan, const char *line, const char *text, struct sb_err *err)
{
	const struct eng_refusal *why = eng_refusal_find(ENG_AT_RUN, 0, line);

	if (!why->cause)
		return 0;
	return sb_err_set(err, why->code, "cannot run the payload in the container: %s (%s: %s)",
		why->cause, eng_client_kind_name(plan->client), text);
}

int visit_explain(struct visit *visit, const struct sb_buf *out, struct sb_err *err)
{
	const struct plan *plan = visit->plan;
	sb_autofree char *line = first_line(visit, out);
	char text[300];
	int status;

	if (!line)
		return sb_err_nomem(err);
	sb_text_clean(text, sizeof(text), line, strlen(line));
	/* first, because a runtime misses this or that file of a container that is dying */
	if (plan_has_ended(plan))
		return sb_err_set(err, SB_NO_CONTAINER,
			"the container stopped before the payload's answer%s%s",
			text[0] ? ": " : "", text);
	if (explain_words(plan, line, text, err) < 0 ||
		eng_exec_status(visit->exec, &status, err) < 0)
		return -1;
	/* Some runtimes lose the words of a failed execve. */
	if (plan_is_foreign(plan))
		return sb_err_set(err, SB_UNSUPPORTED,
			"cannot run the payload in the container: it is for %s, and emulation of "
			"that architecture does not work here%s%s",
			plan->image.arch, text[0] ? ": " : "", text);
	if (status == 0)
		return sb_err_set(
			err, SB_NO_ENGINE, "the engine's stream ended before the payload's answer");
	return sb_err_set(err, SB_NO_SERVICE,
		"the payload ended with status %d instead of answering%s%s", status,
		text[0] ? ": " : "", text);
}

/* The same for one visit of several: whether another one may do better comes first. */
static int explain_end(struct visit *visit, const struct sb_buf *out, struct sb_err *err)
{
	sb_autofree char *line = first_line(visit, out);

	visit->lost = !visit->uploaded || (line && eng_refusal_is_passing(line));
	if (!line || !visit->lost || visit->tries >= TRIES)
		return visit_explain(visit, out, err);
	return sb_err_set(err, SB_NO_SERVICE,
		"what was run in the container is not there, or not the payload%s%s",
		*line ? ": " : "", line);
}

/* ---- one question, one receipt ---- */

/*
 * The line that our program answers with. One that is no JSON is an engine's word on why nothing
 * was started; it has more to say.
 */
static int read_answer(struct visit *visit, struct sb_buf *out, struct sb_err *err)
{
	int ret = 0;

	while (ret == 0 && !(out->len && out->data[0] == '{' && memchr(out->data, '\n', out->len)))
		ret = eng_exec_read(visit->exec, -1, out, err);
	return ret > 0 ? explain_end(visit, out, err) : ret;
}

static json_t *take_receipt(struct visit *visit, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	json_t *receipt;

	if (read_answer(visit, &out, err) < 0)
		return NULL;
	sb_log(SB_TRACE_EXEC, "receipt %.*s", (int)strcspn(out.data, "\n"), out.data);
	receipt = receipt_parse(
		out.data, strcspn(out.data, "\n"), visit->nonce, &visit->answered, err);
	return receipt;
}

static int send_line(struct visit *visit, const json_t *doc, struct sb_err *err)
{
	sb_autofree char *line = json_dumps(doc, JSON_COMPACT);

	if (!line)
		return sb_err_nomem(err);
	/* A program that never started takes no input either: what it printed tells why. */
	if (eng_exec_write(visit->exec, line, strlen(line), err) < 0 ||
		eng_exec_write(visit->exec, "\n", 1, err) < 0)
		return -1;
	return 0;
}

static int send_question(struct visit *visit, json_t *question, struct sb_err *err)
{
	const char *home = visit->as_user ? visit->plan->user_home : visit->plan->home_path;

	if (json_object_set_new(question, WIRE_NONCE, json_string(visit->nonce)) < 0 ||
		json_object_set_new(question, WIRE_HOME, json_string(home)) < 0 ||
		json_object_set_new(question, WIRE_BESIDE, json_boolean(is_beside(visit))) < 0)
		return sb_err_nomem(err);
	return send_line(visit, question, err);
}

json_t *visit_converse(struct visit *visit, json_t *question, struct sb_err *err)
{
	json_auto_t *asked = question;

	if (!asked) {
		sb_err_nomem(err);
		return NULL;
	}
	return send_question(visit, asked, err) < 0 ? NULL : take_receipt(visit, err);
}

/* ---- undoing ---- */

/* The payload itself may not be able to run here, while that for the engine's machine is. */
static int put_cleaner(struct visit *cleaner, struct sb_err *err)
{
	const struct plan *plan = cleaner->plan;
	const struct payload *other =
		plan_is_foreign(plan) ? payload_for_arch(plan->engine_arch) : NULL;
	const struct graft_program program = {other ? other->sha256 : plan->payload.sha256,
		other ? other->data : plan->payload.data, other ? other->size : plan->payload.size};

	if (new_nonce(cleaner, err) < 0)
		return -1;
	return put_program(cleaner, &program, WHEN_HOME, err);
}

/* *ret_stands: there still is an installation, which another run has made. */
static int clean(struct visit *cleaner, json_t *question, bool *ret_stands, struct sb_err *err)
{
	json_auto_t *receipt = NULL;

	if (run(cleaner, WIRE_UNINSTALL, err) == 0)
		receipt = visit_converse(cleaner, question, err);
	else
		json_decref(question);
	*ret_stands = receipt && sb_json_bool(receipt, WIRE_STANDS);
	return receipt ? 0 : -1;
}

/*
 * Upload a cleaner beside what a failed visit left and let it delete both; and the whole
 * installation, if that visit had made it from nothing but its receipt was lost.
 */
static int discard(const struct visit *failed, struct sb_err *err)
{
	sb_auto(visit_end) struct visit cleaner = {.plan = failed->plan};
	int ret = put_cleaner(&cleaner, err);
	bool stands;

	if (ret)
		return ret < 0 ? -1 : 0;
	return clean(&cleaner,
		json_pack("{s:[s, s], s:s}", WIRE_DISCARD, failed->name, cleaner.name, WIRE_BORN,
			failed->nonce),
		&stands, err);
}

/* What the user may have made, which is nothing if its program does not even start. */
static void discard_users_part(const struct visit *failed, bool *ret_stands)
{
	sb_auto(visit_end) struct visit cleaner = {.plan = failed->plan, .as_user = true};
	struct sb_err err = SB_ERR_INIT;

	*ret_stands = false;
	if (put_cleaner(&cleaner, &err) < 0 ||
		clean(&cleaner, json_pack("{s:[], s:s}", WIRE_DISCARD, WIRE_BORN, failed->nonce),
			ret_stands, &err) < 0)
		sb_log(SB_NOTE, "as the container's user: %s", err.text);
}

static int discard_for_user(const struct visit *failed, struct sb_err *err)
{
	sb_auto(visit_end) struct visit cleaner = {.plan = failed->plan};
	char link[80];
	const struct eng_tar_member current = {
		WIRE_HOME_NAME "/" WIRE_CURRENT_NAME, 0777, NULL, 0, link};
	bool stands;

	discard_users_part(failed, &stands);
	/* The program of a service that was there before stays, and may have been there, too. */
	name_current(failed->before, link);
	if (failed->before[0])
		return put(failed->plan, &current, 1, err);
	if (stands)
		return 0;
	if (put_cleaner(&cleaner, err) < 0)
		return -1;
	return clean(&cleaner,
		json_pack("{s:[s], s:b}", WIRE_DISCARD, cleaner.name, WIRE_USER_GONE, 1), &stands,
		err);
}

/* In the end there must be time to delete the helper container that undoing may need, too. */
static void begin_undo(const struct plan *plan)
{
	eng_begin_cleanup(plan->client, plan->home.beyond ? GRAFT_END_MS : 0);
}

/* *why stays the reason to be told, with a word added if undoing failed too. */
static void undo(struct visit *failed, struct sb_err *why)
{
	struct sb_err err = SB_ERR_INIT;
	enum plan_presence presence;

	begin_undo(failed->plan);
	graft_end(sb_steal(failed->graft), true);
	presence = plan_presence(failed->plan);
	/* A container that has stopped keeps what it has: nothing can be deleted from outside. */
	if (presence == PLAN_STOPPED)
		sb_err_add(why,
			"; '%s' is left in it until it runs and 'sbinject remove' deletes it",
			failed->plan->home_path);
	else if ((failed->as_user ? discard_for_user : discard)(failed, &err) == 0)
		sb_log(SB_NOTE, "removed what had been placed");
	else if (err.code != SB_NO_CONTAINER || presence != PLAN_GONE)
		sb_err_add(why, "; '%s' may be left inside ('sbinject remove' deletes it): %s",
			failed->plan->home_path, err.text);
}

int visit_upload(struct visit *visit, enum wire_when when, struct sb_err *err)
{
	const struct payload_bytes *payload = &visit->plan->payload;
	const struct graft_program program = {payload->sha256, payload->data, payload->size};
	int ret = put_program(visit, &program, when, err);

	visit->lost = ret < 0 && err->code == SB_FAILED && eng_refusal_is_passing(err->text);
	/* A helper container takes back what it brought. */
	if (ret)
		graft_end(sb_steal(visit->graft), true);
	return ret;
}

static json_t *late_receipt(struct visit *visit)
{
	struct sb_err ignored = SB_ERR_INIT;
	json_t *receipt = NULL;

	eng_begin_cleanup(visit->plan->client, ENG_CLEANUP_MS - SETTLE_MS);
	if (visit->exec)
		receipt = take_receipt(visit, &ignored);
	begin_undo(visit->plan);
	return receipt;
}

/* ---- one visit after the other ---- */

/* Put the question, once. */
static int ask(struct visit *visit, const struct errand *errand, json_t **ret, struct sb_err *err)
{
	if (run(visit, errand->command, err) == 0)
		*ret = visit_converse(visit, errand->question(visit, errand->ctx), err);
	/* An interrupted program goes on inside; what it made is known once it has reported. */
	if (!*ret && err->code == SB_INTERRUPTED)
		*ret = late_receipt(visit);
	return *ret ? 0 : -1;
}

/* Its first request is ours: only an answer tells that it is our program. */
static int greet(struct visit *visit, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	json_auto_t *asked = json_pack("{s:s, s:s, s:s}", "jsonrpc", "2.0", "id", visit->nonce,
			    "method", WIRE_GREET),
		    *answer = NULL;
	const char *id;

	if (!asked)
		return sb_err_nomem(err);
	if (send_line(visit, asked, err) < 0 || read_answer(visit, &out, err) < 0)
		return -1;
	answer = json_loadb(out.data, strcspn(out.data, "\n"), 0, NULL);
	id = sb_json_str(answer, "id");
	if (!id || strcmp(id, visit->nonce) != 0)
		return sb_err_set(
			err, SB_MISMATCH, "what answered in the container is not our program");
	visit->answered = true;
	return 0;
}

static int open_it(
	struct visit *visit, const struct errand *errand, json_t **ret, struct sb_err *err)
{
	(void)ret;
	return run(visit, errand->command, err) == 0 ? greet(visit, err) : -1;
}

/* Of a failure, whether it is about the one program that was run, and not about all. One that
   reports has undone what it did. */
static bool is_about_it(const struct visit *visit, const struct sb_err *err)
{
	if (visit->answered)
		return err->code == SB_FAILED && eng_refusal_is_passing(err->text);
	if (!visit->exec_tried)
		return false;
	if (visit->uploaded)
		return eng_refusal_is_passing(err->text);
	return err->code != SB_INTERRUPTED && err->code != SB_NO_CONTAINER &&
	       err->code != SB_NO_ENGINE;
}

/* What was uploaded into a container that has stopped would stay in it. */
static bool is_worth_another(struct visit *visit, struct sb_err *err)
{
	struct plan *plan = visit->plan;
	bool ended;

	visit->lost |= is_about_it(visit, err);
	if (!visit->lost || visit->graft || visit->tries >= TRIES ||
		eng_is_interrupted(plan->client) || eng_time_left(plan->client, 1) == 0)
		return false;
	/* An engine learns of an end late; that nothing is there is no sign of one. */
	ended = eng_refusal_is_passing(err->text) ? plan_presence(plan) != PLAN_RUNS
						  : plan_has_ended(plan);
	if (ended) {
		sb_err_wrap(err, "the container stopped before the payload's answer");
		err->code = SB_NO_CONTAINER;
	}
	return !ended;
}

/* The next one has another number, unless it has to find what this one has put there. */
static int begin_anew(struct visit *visit, struct sb_err *err)
{
	sb_log(SB_NOTE, "%s; bringing it anew", err->text);
	sb_err_clear(err);
	eng_exec_close(sb_steal(visit->exec));
	if (visit->tries > 0)
		sb_sleep_ms(TRY_PAUSE_MS);
	visit->tries++;
	visit->lost = visit->exec_tried = visit->answered = false;
	return visit->uploaded ? 0 : new_nonce(visit, err);
}

typedef int (*once_fn)(
	struct visit *visit, const struct errand *errand, json_t **ret, struct sb_err *err);

static int make(struct visit *visit, const struct errand *errand, once_fn once, json_t **ret,
	struct sb_err *err)
{
	int ready = new_nonce(visit, err) < 0 ? -1 : find_ready(visit, err), outcome;

	for (;;) {
		outcome = ready < 0 ? -1 : ready == 0 ? errand->bring(visit, errand->ctx, err) : 0;
		if (outcome == 0)
			outcome = once(visit, errand, ret, err);
		if (outcome >= 0)
			return outcome;
		if (!is_worth_another(visit, err))
			break;
		ready = begin_anew(visit, err);
	}
	if (visit->uploaded && (!visit->answered || visit->as_user))
		undo(visit, err);
	return -1;
}

int visit_ask(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	json_t **ret_receipt, struct sb_err *err)
{
	int outcome;

	*ret = (struct visit){.plan = plan, .as_user = as_user};
	*ret_receipt = NULL;
	outcome = make(ret, errand, ask, ret_receipt, err);
	graft_end(sb_steal(ret->graft), false);
	return outcome;
}

int visit_open(struct plan *plan, bool as_user, const struct errand *errand, struct visit *ret,
	struct sb_err *err)
{
	*ret = (struct visit){.plan = plan, .as_user = as_user};
	return make(ret, errand, open_it, NULL, err);
}
