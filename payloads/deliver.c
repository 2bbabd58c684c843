/* SPDX-License-Identifier: MIT */
#include "payloads/deliver.h"

#include "engine/clock.h"
#include "engine/log.h"
#include "engine/tar.h"
#include "engine/text.h"
#include "payloads/receipt.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
	START_TIMEOUT_MS = 20 * 1000,	/* the service may take to answer */
	CLEANUP_TIMEOUT_MS = 20 * 1000, /* to undo what a failed run placed */
	SETTLE_MS = 5 * 1000,		/* an interrupted run may take to finish inside */
};

/* One upload: its nonce ties the receipt to it, its name is in nobody's reach before it exists. */
struct stage {
	bool answered; /* the program reported: what it placed is its own business */
	char nonce[33];
	char name[64 + 1 + 32 + 1]; /* "<sha256>.<nonce>" */
};

static int new_stage(const char *sha256, struct stage *ret, struct sb_err *err)
{
	unsigned char bytes[16];

	ret->answered = false;
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return sb_err_set(err, SB_FAILED, "the system gives no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret->nonce + 2 * i, 3, "%02x", bytes[i]);
	snprintf(ret->name, sizeof(ret->name), "%s.%s", sha256, ret->nonce);
	return 0;
}

static int upload(const struct plan *plan, const void *data, size_t size, const char *name,
	struct sb_err *err)
{
	sb_autobuf struct sb_buf tar = SB_BUF_INIT(SB_MAX_PAYLOAD + 65536);
	char file[128];
	const struct eng_tar_member members[] = {
		{".sbinject/", 0700, NULL, 0},
		{file, 0755, data, size},
	};

	snprintf(file, sizeof(file), ".sbinject/%s", name);
	if (eng_tar_write(members, SB_ARRAY_SIZE(members), &tar, err) < 0)
		return -1;
	return eng_archive_put(
		plan->client, plan->container.id, plan->home.dir, tar.data, tar.len, err);
}

static int run(const struct plan *plan, const char *name, const char *command,
	struct eng_exec **ret, struct sb_err *err)
{
	char path[256];
	const char *argv[] = {path, command, NULL};
	struct eng_exec_opts opts = {.argv = argv};

	snprintf(path, sizeof(path), "%s/%s", plan->home_path, name);
	return eng_exec_start(plan->client, plan->container.id, &opts, ret, err);
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
	{"no such file or directory", SB_NO_SERVICE,
		"this release's is not there; 'sbinject inject' brings it"},
	{"is not running", SB_NO_CONTAINER, "the container stopped"},
	{"not in running state", SB_NO_CONTAINER, "the container stopped"},
	{"cannot allocate memory", SB_UNSUPPORTED, "there is no memory left"},
	{"resource temporarily unavailable", SB_UNSUPPORTED, "its limit of processes is reached"},
	{"no space left", SB_UNSUPPORTED, "there is no space left"},
};

/* The first line of what came, printable; engines say why a start failed in the stream itself. */
static void first_words(struct eng_exec *exec, const struct sb_buf *out, char *text, size_t size)
{
	const struct sb_buf *from = out->len ? out : eng_exec_stderr(exec);
	const char *line = sb_buf_str(from);

	sb_text_clean(text, size, line, strcspn(line, "\r\n"));
}

int deliver_explain(
	struct plan *plan, struct eng_exec *exec, const struct sb_buf *out, struct sb_err *err)
{
	char text[300];
	int status;

	first_words(exec, out, text, sizeof(text));
	for (size_t i = 0; i < SB_ARRAY_SIZE(exec_causes); i++)
		if (strcasestr(text, exec_causes[i].words))
			return sb_err_set(err, exec_causes[i].code,
				"cannot run the payload in the container: %s (%s: %s)",
				exec_causes[i].cause, eng_client_kind_name(plan->client), text);
	if (eng_exec_status(exec, &status, err) < 0)
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

static int read_line(struct eng_exec *exec, struct sb_buf *out, struct sb_err *err)
{
	for (;;) {
		int ret;

		if (out->len && memchr(out->data, '\n', out->len))
			return 0;
		ret = eng_exec_read(exec, -1, out, err);
		if (ret)
			return ret;
	}
}

/* Send one line to a started program and take its receipt. */
static json_t *converse(struct plan *plan, struct eng_exec *exec, const json_t *question,
	struct stage *stage, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	sb_autofree char *line = json_dumps(question, JSON_COMPACT);
	int ret;

	if (!line) {
		sb_err_nomem(err);
		return NULL;
	}
	/* A program that never started takes no input either: what it printed tells why. */
	if (eng_exec_write(exec, line, strlen(line), err) < 0 ||
		eng_exec_write(exec, "\n", 1, err) < 0)
		return NULL;
	ret = read_line(exec, &out, err);
	if (ret > 0)
		deliver_explain(plan, exec, &out, err);
	if (ret)
		return NULL;
	sb_log(SB_TRACE_EXEC, "receipt %.*s", (int)strcspn(out.data, "\n"), out.data);
	stage->answered = true;
	return receipt_parse(out.data, strcspn(out.data, "\n"), stage->nonce, err);
}

static json_t *ask(struct plan *plan, const char *name, const char *command, json_t *question,
	struct stage *stage, struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = NULL;

	if (!question) {
		sb_err_nomem(err);
		return NULL;
	}
	if (run(plan, name, command, &exec, err) < 0)
		return NULL;
	return converse(plan, exec, question, stage, err);
}

/* ---- undoing ---- */

/*
 * The same architecture as the payload's can fail to run; the engine's own then still does. The
 * bytes are a payload's, whichever can be executed here.
 */
static const struct payload *cleaner(const struct plan *plan)
{
	return plan_is_foreign(plan) ? payload_by_arch(payload_own_arch()) : NULL;
}

/*
 * Upload a cleaner beside what a failed run left and let it delete both; and the whole
 * installation, if that run had made it from nothing but its receipt was lost.
 */
static int discard(struct plan *plan, const struct stage *failed, struct sb_err *err)
{
	const struct payload *other = cleaner(plan);
	const void *data = other ? other->data : plan->payload.data;
	size_t size = other ? other->size : plan->payload.size;
	json_auto_t *question = NULL, *receipt = NULL;
	struct stage stage;

	if (new_stage(other ? other->sha256 : plan->payload.sha256, &stage, err) < 0 ||
		upload(plan, data, size, stage.name, err) < 0)
		return -1;
	question = json_pack("{s:s, s:s, s:[s, s], s:s}", "nonce", stage.nonce, "home",
		plan->home_path, "discard", failed->name, stage.name, "born", failed->nonce);
	receipt = ask(plan, stage.name, "uninstall", question, &stage, err);
	return receipt ? 0 : -1;
}

/*
 * Undo a failed run; *why stays the reason to be told, with a word added if undoing failed too.
 * Returns -1.
 */
static int undo(struct plan *plan, const struct stage *failed, struct sb_err *why)
{
	struct sb_err err = SB_ERR_INIT;

	eng_begin_cleanup(plan->client, CLEANUP_TIMEOUT_MS);
	if (discard(plan, failed, &err) == 0)
		sb_log(SB_NOTE, "removed what had been placed");
	else if (err.code != SB_NO_CONTAINER)
		sb_err_add(why, "; '%s' may be left inside ('sbinject remove' deletes it): %s",
			plan->home_path, err.text);
	return -1;
}

/* ---- inject ---- */

/* 1: this payload is in place already. */
static int is_present(struct plan *plan, struct sb_err *err)
{
	struct eng_stat stat;
	char path[256];
	bool trusted;
	int ret;

	if (plan_trusts_home(plan, &trusted, err) < 0)
		return -1;
	if (!trusted)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", plan->home_path, plan->payload.sha256);
	ret = eng_archive_stat(plan->client, plan->container.id, path, &stat, err);
	if (ret < 0)
		return -1;
	return ret == 0 && stat.type == ENG_FILE && stat.size == plan->payload.size;
}

static json_t *string_list(char *const *words)
{
	json_t *list = json_array();

	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static json_t *install_question(const struct plan *plan, const struct stage *stage, bool staged)
{
	const char *cwd = plan->container.cwd;
	json_t *question = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:i}", "nonce",
		stage->nonce, "cwd", *cwd == '/' ? cwd : "/", "sha256", plan->payload.sha256,
		"home", plan->home_path, "path", plan->conf->path, "links",
		string_list(plan->conf->links), "start", string_list(plan->conf->start),
		"timeout_ms", eng_time_left(plan->client, START_TIMEOUT_MS));

	if (staged && json_object_set_new(question, "staged", json_string(stage->name)) < 0) {
		json_decref(question);
		return NULL;
	}
	return question;
}

/*
 * An interrupted installation goes on inside; wait for it, and take back what it made if there
 * was nothing before.
 */
static void settle(struct plan *plan, struct eng_exec *exec, const struct stage *stage)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	struct sb_err ignored = SB_ERR_INIT;
	json_auto_t *receipt = NULL;
	const char *was;
	bool removed;

	eng_begin_cleanup(plan->client, SETTLE_MS);
	if (read_line(exec, &out, &ignored) == 0)
		receipt = receipt_parse(out.data, strcspn(out.data, "\n"), stage->nonce, &ignored);
	was = sb_json_str(receipt, "was");
	eng_begin_cleanup(plan->client, CLEANUP_TIMEOUT_MS);
	if (was && !strcmp(was, "absent") && deliver_remove(plan, &removed, &ignored) == 0)
		sb_log(SB_NOTE, "removed what had been placed");
}

static int install(struct plan *plan, struct stage *stage, bool staged, struct deliver_receipt *ret,
	struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = NULL;
	json_auto_t *question = install_question(plan, stage, staged), *receipt = NULL;

	if (!question)
		return sb_err_nomem(err);
	if (run(plan, staged ? stage->name : plan->payload.sha256, "install", &exec, err) < 0)
		return -1;
	receipt = converse(plan, exec, question, stage, err);
	if (receipt)
		return receipt_read_install(receipt, plan->payload.sha256, ret, err);
	if (err->code == SB_INTERRUPTED)
		settle(plan, exec, stage);
	return -1;
}

int deliver_inject(struct plan *plan, struct deliver_receipt *ret, struct sb_err *err)
{
	struct stage stage;
	int present = is_present(plan, err);

	if (present < 0 || new_stage(plan->payload.sha256, &stage, err) < 0)
		return -1;
	ret->uploaded = !present;
	if (!present && upload(plan, plan->payload.data, plan->payload.size, stage.name, err) < 0)
		return undo(plan, &stage, err);
	if (install(plan, &stage, !present, ret, err) == 0)
		return 0;
	return present || stage.answered ? -1 : undo(plan, &stage, err);
}

/* ---- afterwards ---- */

int deliver_find(struct eng_client *client, const char *id, const char *home_path, char ret[65],
	struct sb_err *err)
{
	struct eng_stat stat;
	const char *name;
	char path[256];
	int found;

	snprintf(path, sizeof(path), "%s/current", home_path);
	found = eng_archive_stat(client, id, path, &stat, err);
	if (found)
		return found;
	name = strrchr(stat.link, '/');
	if (stat.type != ENG_LINK || !name || strlen(++name) != 64 ||
		strspn(name, "0123456789abcdef") != 64)
		return 1;
	memcpy(ret, name, 65);
	return 0;
}

int deliver_status(struct plan *plan, struct deliver_status *ret, struct sb_err *err)
{
	sb_auto(eng_exec_closep) struct eng_exec *exec = NULL;
	json_auto_t *question = NULL, *receipt = NULL;
	struct stage stage;
	int found;

	memset(ret, 0, sizeof(*ret));
	found = deliver_find(plan->client, plan->container.id, plan->home_path, ret->other, err);
	if (found)
		return found < 0 ? -1 : 0;
	if (strcmp(ret->other, plan->payload.sha256) != 0)
		return 0;
	ret->other[0] = '\0';
	if (new_stage(plan->payload.sha256, &stage, err) < 0 ||
		deliver_open(plan, "status", &exec, err) < 0)
		return -1;
	question = json_pack("{s:s, s:s, s:s}", "nonce", stage.nonce, "home", plan->home_path,
		"path", plan->conf->path);
	receipt = question ? converse(plan, exec, question, &stage, err) : NULL;
	if (!receipt || receipt_read_status(receipt, ret, err) < 0)
		return question ? -1 : sb_err_nomem(err);
	ret->present = true;
	return 0;
}

int deliver_remove(struct plan *plan, bool *ret_removed, struct sb_err *err)
{
	json_auto_t *question = NULL, *receipt = NULL;
	struct eng_stat stat;
	struct stage stage;
	int found = eng_archive_stat(plan->client, plan->container.id, plan->home_path, &stat, err);
	int present;

	*ret_removed = found == 0;
	if (found)
		return found < 0 ? -1 : 0;
	present = is_present(plan, err);
	if (present < 0 || new_stage(plan->payload.sha256, &stage, err) < 0)
		return -1;
	if (!present && upload(plan, plan->payload.data, plan->payload.size, stage.name, err) < 0)
		return -1;
	question = json_pack("{s:s, s:s, s:s, s:o}", "nonce", stage.nonce, "home", plan->home_path,
		"path", plan->conf->path, "links", string_list(plan->conf->links));
	receipt = ask(plan, present ? plan->payload.sha256 : stage.name, "uninstall", question,
		&stage, err);
	return receipt ? 0 : -1;
}

int deliver_open(struct plan *plan, const char *command, struct eng_exec **ret, struct sb_err *err)
{
	struct stage stage;
	bool trusted;

	if (plan_trusts_home(plan, &trusted, err) < 0)
		return -1;
	if (trusted)
		return run(plan, plan->payload.sha256, command, ret, err);
	/* A copy that nobody could prepare for; it deletes itself when it is started. */
	if (new_stage(plan->payload.sha256, &stage, err) < 0 ||
		upload(plan, plan->payload.data, plan->payload.size, stage.name, err) < 0)
		return -1;
	return run(plan, stage.name, command, ret, err);
}
