/* SPDX-License-Identifier: MIT */
#include "payloads/visit.h"

#include "engine/log.h"
#include "engine/tar.h"
#include "engine/text.h"
#include "payloads/graft.h"
#include "payloads/receipt.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { SETTLE_MS = 5 * 1000 }; /* an interrupted program may take to finish inside */

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
		snprintf(visit->name, sizeof(visit->name), "user/%s/%s", plan->payload.sha256,
			plan->keep_user[0] ? plan->keep_user : "program");
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

	ret = run(visit, "version", err);
	while (ret == 0)
		ret = eng_exec_read(visit->exec, -1, &out, err);
	if (ret > 0)
		ret = eng_exec_status(visit->exec, &status, err);
	eng_exec_close(sb_steal(visit->exec));
	return ret < 0 ? -1 : status == 0;
}

int visit_begin(struct plan *plan, bool as_user, struct visit *ret, struct sb_err *err)
{
	const char *keep = as_user ? plan->keep_user : plan->keep;
	struct eng_stat stat;
	char path[256];
	int found;

	*ret = (struct visit){.plan = plan, .as_user = as_user};
	if (new_nonce(ret, err) < 0)
		return -1;
	if (!keep[0])
		return 0;
	name_program(ret);
	if (plan->home.beyond)
		return is_ready_inside(ret, err);
	snprintf(path, sizeof(path), "%s/%s", plan->home_path, ret->name);
	found = eng_archive_stat(plan->client, plan->container.id, path, &stat, err);
	if (found < 0)
		return -1;
	return !found && stat.type == ENG_FILE && stat.size == plan->payload.size;
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
		{".sbinject/", 0700, NULL, 0, NULL},
		{file, 0755, program->data, program->size, NULL},
	};

	name_delivery(visit, program);
	snprintf(file, sizeof(file), "%s%s", beside ? "" : ".sbinject/", visit->name);
	return put(visit->plan, members + beside, SB_ARRAY_SIZE(members) - beside, err);
}

/* Says of `sha256` that it is there, for those who only look. */
static void name_current(const char *sha256, char link[80])
{
	snprintf(link, 80, "user/%.64s", sha256);
}

static int put_for_user(
	struct visit *visit, const struct graft_program *program, struct sb_err *err)
{
	char dir[100], file[180], link[80];
	const struct eng_tar_member members[] = {
		{".sbinject/", 0711, NULL, 0, NULL},
		{".sbinject/user/", 0711, NULL, 0, NULL},
		{dir, 0711, NULL, 0, NULL},
		{file, 0755, program->data, program->size, NULL},
		{".sbinject/current", 0777, NULL, 0, link},
	};

	name_current(visit->plan->payload.sha256, link);
	snprintf(dir, sizeof(dir), ".sbinject/%s/", link);
	name_program(visit);
	snprintf(file, sizeof(file), ".sbinject/%s", visit->name);
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

static int put_program(struct visit *visit, const struct graft_program *program,
	enum visit_when when, struct sb_err *err)
{
	const struct plan *plan = visit->plan;
	int ret;

	if (plan->home.beyond) {
		name_delivery(visit, program);
		ret = graft_begin(visit, program, when, err);
		visit->uploaded = ret == 0;
		return ret;
	}
	if (check_shared(plan, err) < 0)
		return -1;
	visit->uploaded = true;
	if (visit->as_user)
		return put_for_user(visit, program, err);
	return put_for_root(visit, program, err);
}

/* ---- what a program that did not start looks like ---- */

static const struct {
	const char *words;
	enum sb_code code;
	const char *cause;
} exec_causes[] = {
	{"exec format error", SB_UNSUPPORTED,
		"it is for another architecture than the container can run"},
	{"permission denied", SB_UNSUPPORTED,
		"executing is not permitted (a noexec mount, or a security policy)"},
	{"operation not permitted", SB_UNSUPPORTED, "a security policy forbids it"},
	{"no such file or directory", SB_UNSUPPORTED, "it is gone, or a mount hides it"},
	{"is not running", SB_NO_CONTAINER, "the container stopped"},
	{"not in running state", SB_NO_CONTAINER, "the container stopped"},
	{"cannot allocate memory", SB_UNSUPPORTED, "there is no memory left"},
	{"resource temporarily unavailable", SB_UNSUPPORTED, "its limit of processes is reached"},
	{"no space left", SB_UNSUPPORTED, "there is no space left"},
};

/* The first line of what came, printable; engines say why a start failed in the stream itself. */
static void first_words(struct visit *visit, const struct sb_buf *out, char *text, size_t size)
{
	const struct sb_buf *from = out->len ? out : eng_exec_stderr(visit->exec);
	const char *line = sb_buf_str(from);

	sb_text_clean(text, size, line, strcspn(line, "\r\n"));
}

int visit_explain(struct visit *visit, const struct sb_buf *out, struct sb_err *err)
{
	const struct plan *plan = visit->plan;
	char text[300];
	int status;

	first_words(visit, out, text, sizeof(text));
	/* first, because a runtime misses this or that file of a container that is dying */
	if (plan_has_ended(plan))
		return sb_err_set(err, SB_NO_CONTAINER,
			"the container stopped before the payload's answer%s%s",
			text[0] ? ": " : "", text);
	for (size_t i = 0; i < SB_ARRAY_SIZE(exec_causes); i++)
		if (strcasestr(text, exec_causes[i].words))
			return sb_err_set(err, exec_causes[i].code,
				"cannot run the payload in the container: %s (%s: %s)",
				exec_causes[i].cause, eng_client_kind_name(plan->client), text);
	if (eng_exec_status(visit->exec, &status, err) < 0)
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

/* ---- one question, one receipt ---- */

static int read_line(struct visit *visit, struct sb_buf *out, struct sb_err *err)
{
	for (;;) {
		int ret;

		if (out->len && memchr(out->data, '\n', out->len))
			return 0;
		ret = eng_exec_read(visit->exec, -1, out, err);
		if (ret)
			return ret;
	}
}

/* A line that is no JSON is an engine's word on why nothing was started; it has more to say. */
static json_t *take_receipt(struct visit *visit, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	json_t *receipt;
	int ret = read_line(visit, &out, err);

	while (ret == 0 && out.data[0] != '{')
		ret = eng_exec_read(visit->exec, -1, &out, err);
	if (ret > 0)
		visit_explain(visit, &out, err);
	if (ret)
		return NULL;
	sb_log(SB_TRACE_EXEC, "receipt %.*s", (int)strcspn(out.data, "\n"), out.data);
	receipt = receipt_parse(
		out.data, strcspn(out.data, "\n"), visit->nonce, &visit->answered, err);
	return receipt;
}

static int send_question(struct visit *visit, json_t *question, struct sb_err *err)
{
	const char *home = visit->as_user ? visit->plan->user_home : visit->plan->home_path;
	sb_autofree char *line = NULL;

	if (json_object_set_new(question, "nonce", json_string(visit->nonce)) < 0 ||
		json_object_set_new(question, "home", json_string(home)) < 0 ||
		json_object_set_new(question, "beside", json_boolean(is_beside(visit))) < 0)
		return sb_err_nomem(err);
	line = json_dumps(question, JSON_COMPACT);
	if (!line)
		return sb_err_nomem(err);
	/* A program that never started takes no input either: what it printed tells why. */
	if (eng_exec_write(visit->exec, line, strlen(line), err) < 0 ||
		eng_exec_write(visit->exec, "\n", 1, err) < 0)
		return -1;
	return 0;
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
	return put_program(cleaner, &program, VISIT_IF_HOME, err);
}

/* *ret_stands: there still is an installation, which another run has made. */
static int clean(struct visit *cleaner, json_t *question, bool *ret_stands, struct sb_err *err)
{
	json_auto_t *receipt = NULL;

	if (run(cleaner, "uninstall", err) == 0)
		receipt = visit_converse(cleaner, question, err);
	else
		json_decref(question);
	*ret_stands = receipt && sb_json_bool(receipt, "stands");
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
		json_pack("{s:[s, s], s:s}", "discard", failed->name, cleaner.name, "born",
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
		clean(&cleaner, json_pack("{s:[], s:s}", "discard", "born", failed->nonce),
			ret_stands, &err) < 0)
		sb_log(SB_NOTE, "as the container's user: %s", err.text);
}

static int discard_for_user(const struct visit *failed, struct sb_err *err)
{
	sb_auto(visit_end) struct visit cleaner = {.plan = failed->plan};
	char link[80];
	const struct eng_tar_member current = {".sbinject/current", 0777, NULL, 0, link};
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
	return clean(&cleaner, json_pack("{s:[s], s:b}", "discard", cleaner.name, "user_gone", 1),
		&stands, err);
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

	begin_undo(failed->plan);
	graft_end(sb_steal(failed->graft), true);
	/* A container that has stopped keeps what it has: nothing can be deleted from outside. */
	if (plan_presence(failed->plan) == PLAN_STOPPED)
		sb_err_add(why,
			"; '%s' is left in it until it runs and 'sbinject remove' deletes it",
			failed->plan->home_path);
	else if ((failed->as_user ? discard_for_user : discard)(failed, &err) == 0)
		sb_log(SB_NOTE, "removed what had been placed");
	else if (err.code != SB_NO_CONTAINER)
		sb_err_add(why, "; '%s' may be left inside ('sbinject remove' deletes it): %s",
			failed->plan->home_path, err.text);
}

int visit_upload(struct visit *visit, enum visit_when when, struct sb_err *err)
{
	const struct payload_bytes *payload = &visit->plan->payload;
	const struct graft_program program = {payload->sha256, payload->data, payload->size};
	int ret = put_program(visit, &program, when, err);

	if (ret < 0 && visit->uploaded)
		undo(visit, err);
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

json_t *visit_ask(struct visit *visit, const char *command, json_t *question, struct sb_err *err)
{
	json_t *receipt = NULL;

	if (run(visit, command, err) == 0)
		receipt = visit_converse(visit, question, err);
	else
		json_decref(question);
	/* An interrupted program goes on inside; what it made is known once it has reported. */
	if (!receipt && err->code == SB_INTERRUPTED)
		receipt = late_receipt(visit);
	if (!receipt && visit->uploaded && (!visit->answered || visit->as_user))
		undo(visit, err);
	graft_end(sb_steal(visit->graft), false);
	return receipt;
}

int visit_open(struct visit *visit, const char *command, struct sb_err *err)
{
	if (run(visit, command, err) == 0)
		return 0;
	if (visit->uploaded)
		undo(visit, err);
	return -1;
}
