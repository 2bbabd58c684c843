/* SPDX-License-Identifier: MIT */
#include "payloads/talk.h"

#include "engine/log.h"
#include "engine/refusal.h"
#include "engine/text.h"
#include "payloads/lib/wire.h"
#include "payloads/presence.h"
#include "payloads/receipt.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void talk_repeat(struct talk *talk)
{
	talk_end(talk);
	talk->tried = talk->answered = false;
}

int talk_prepare(struct talk *talk, struct sb_err *err)
{
	unsigned char bytes[16];

	talk_repeat(talk);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return sb_err_set(err, SB_FAILED, "the system gives no random bytes");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(talk->nonce + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

int talk_run(
	struct talk *talk, enum eng_exec_user user, const char *const *argv, struct sb_err *err)
{
	struct plan *plan = talk->plan;

	if (plan->must_start &&
		eng_container_start(plan->client, plan->container.id, SB_NO_CONTAINER, err) < 0)
		return -1;
	plan->must_start = false;
	talk->tried = true;
	return eng_exec_start(plan->client, plan->container.id, user, argv, &talk->exec, err);
}

void talk_end(struct talk *talk)
{
	eng_exec_close(sb_steal(talk->exec));
	sb_buf_release(&talk->early);
	talk->early = (struct sb_buf)SB_BUF_INIT(SB_MAX_RECEIPT);
	free(sb_steal(talk->instead));
}

/* ---- what a program that did not start looks like ---- */

/* Engines say why a start failed in the stream itself, and the cause at its end. The caller frees
   it. */
static char *first_line(const struct talk *talk, const char *came)
{
	const char *line = *came ? came : sb_buf_str(eng_exec_stderr(talk->exec));

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

int talk_explain(struct talk *talk, const char *came, struct sb_err *err)
{
	const struct plan *plan = talk->plan;
	sb_autofree char *line = first_line(talk, came);
	const char *colon;
	char text[300];
	int status;

	sb_err_clear(err);
	if (!line)
		return sb_err_nomem(err);
	sb_text_clean(text, sizeof(text), line, strlen(line));
	colon = text[0] ? ": " : "";
	/* first, because a runtime misses this or that file of a container that is dying */
	if (presence_has_ended(plan))
		return sb_err_set(err, SB_NO_CONTAINER,
			"the container stopped before the payload's answer%s%s", colon, text);
	if (explain_words(plan, line, text, err) < 0 ||
		eng_exec_status(talk->exec, &status, err) < 0)
		return -1;
	/* Some runtimes lose the words of a failed execve. */
	if (plan_is_foreign(plan))
		return sb_err_set(err, SB_UNSUPPORTED,
			"cannot run the payload in the container: it is for %s, and emulation of "
			"that architecture does not work here%s%s",
			plan->image.arch, colon, text);
	if (status == 0)
		return sb_err_set(
			err, SB_NO_ENGINE, "the engine's stream ended before the payload's answer");
	return sb_err_set(err, SB_NO_SERVICE,
		"the payload ended with status %d instead of answering%s%s", status, colon, text);
}

/* ---- the answer ---- */

/*
 * The line that our program answers with. One that is no JSON is an engine's word on why nothing
 * was started; it has more to say.
 */
static int read_answer(struct talk *talk, struct sb_buf *out, struct sb_err *err)
{
	int ret = talk->early.len ? sb_buf_add(out, talk->early.data, talk->early.len, err) : 0;

	sb_buf_reset(&talk->early);
	while (ret == 0 && !(out->len && out->data[0] == '{' && memchr(out->data, '\n', out->len)))
		ret = eng_exec_read(talk->exec, -1, out, err);
	if (ret <= 0)
		return ret;
	free(talk->instead);
	talk->instead = first_line(talk, sb_buf_str(out));
	if (!talk->instead)
		return sb_err_nomem(err);
	return sb_err_set(err, SB_NO_SERVICE,
		"what was run in the container is not there, or not the payload%s%s",
		*talk->instead ? ": " : "", talk->instead);
}

json_t *talk_take(struct talk *talk, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	size_t len;

	if (read_answer(talk, &out, err) < 0)
		return NULL;
	len = strcspn(out.data, "\n");
	sb_log(SB_TRACE_EXEC, "receipt %.*s", (int)len, out.data);
	return receipt_parse(out.data, len, talk->nonce, &talk->answered, err);
}

/* ---- the question ---- */

static int send_line(struct talk *talk, const json_t *doc, struct sb_err *err)
{
	sb_autofree char *line = json_dumps(doc, JSON_COMPACT);

	if (!line)
		return sb_err_nomem(err);
	/* A program that never started takes no input either: what it printed says why. */
	if (eng_exec_write(talk->exec, line, strlen(line), err) < 0 ||
		eng_exec_write(talk->exec, "\n", 1, err) < 0)
		return -1;
	return 0;
}

json_t *talk_ask(struct talk *talk, json_t *question, struct sb_err *err)
{
	json_auto_t *asked = question;

	if (!asked || json_object_set_new(asked, WIRE_NONCE, json_string(talk->nonce)) < 0) {
		sb_err_nomem(err);
		return NULL;
	}
	return send_line(talk, asked, err) < 0 ? NULL : talk_take(talk, err);
}

int talk_send(struct talk *talk, const void *data, size_t len, struct sb_err *err)
{
	return eng_exec_write_until(talk->exec, data, len, &talk->early, err);
}

int talk_greet(struct talk *talk, struct sb_err *err)
{
	sb_autobuf struct sb_buf out = SB_BUF_INIT(SB_MAX_RECEIPT);
	json_auto_t *asked = json_pack("{s:s, s:s, s:s}", "jsonrpc", "2.0", "id", talk->nonce,
			    "method", WIRE_GREET),
		    *answer = NULL;
	const char *id;

	if (!asked)
		return sb_err_nomem(err);
	if (send_line(talk, asked, err) < 0 || read_answer(talk, &out, err) < 0)
		return -1;
	answer = json_loadb(out.data, strcspn(out.data, "\n"), 0, NULL);
	id = sb_json_str(answer, "id");
	if (!id || strcmp(id, talk->nonce) != 0)
		return sb_err_set(
			err, SB_MISMATCH, "what answered in the container is not our program");
	talk->answered = true;
	return 0;
}
