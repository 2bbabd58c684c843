/* SPDX-License-Identifier: MIT */
/*
 * Pausing a container for requests of the archive API, where the engine has the race of race.h. For
 * those who make the requests, engine.h says what it does.
 */
#include "engine/client.h"
#include "engine/clock.h"
#include "engine/guard.h"
#include "engine/log.h"
#include "engine/pause.h"
#include "engine/race.h"

#include <stdio.h>
#include <string.h>

enum {
	BUSY_MS = 10 * 1000, /* another run's pause, or the start of a program, may take */
	WAIT_MS = 20,
	IDLE_MS = 1000,		/* until what was made to be started is started */
	HOLD_MS = 30 * 1000,	/* for all requests of one pause, well before the guard ends it */
	UNPAUSE_MS = 10 * 1000, /* on top of what the client is allowed */
};

/* ---- whether ---- */

static int has_race(struct eng_client *client, bool *ret, struct sb_err *err)
{
	const char *since;

	*ret = eng_race_in_version(client->kind, client->version, &since);
	if (!*ret || !since)
		return 0;
	if (eng_ask_version(client, err) < 0)
		return -1;
	*ret = eng_race_in_build(since, client->built);
	return 0;
}

void eng_note_seen(struct eng_client *client, const struct eng_container *container)
{
	memcpy(client->seen.id, container->id, sizeof(client->seen.id));
	client->seen.has_mounts = container->mount_count > 0;
	client->seen.runs = eng_container_runs(container);
}

static int look_at(struct eng_client *client, const char *id, struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;

	return strcmp(client->seen.id, id) ? eng_container_inspect(client, id, &container, err) : 0;
}

int eng_is_exposed(struct eng_client *client, const char *id, bool *ret, struct sb_err *err)
{
	const char *since;

	*ret = false;
	if (!eng_race_in_version(client->kind, client->version, &since))
		return 0;
	if (look_at(client, id, err) < 0)
		return -1;
	return client->seen.runs && client->seen.has_mounts ? has_race(client, ret, err) : 0;
}

int eng_may_be_paused_by_us(struct eng_client *client, const struct eng_container *container,
	bool *ret, struct sb_err *err)
{
	*ret = false;
	if (strcmp(container->state, "paused") != 0 || container->mount_count == 0)
		return 0;
	return has_race(client, ret, err);
}

void eng_set_caution(struct eng_client *client, enum eng_caution caution)
{
	client->caution = caution;
}

/* ---- pausing ---- */

static int pause_it(struct eng_client *client, const char *id, struct sb_err *err)
{
	int64_t until = sb_deadline(BUSY_MS);
	int ret;

	while ((ret = eng_pause(client, id, err)) == 1) {
		if (sb_left_ms(until, 1) == 0)
			return sb_err_set(err, SB_UNSUPPORTED,
				"the container cannot be paused: it is already paused, or "
				"docker failed to freeze it");
		sb_sleep_ms(WAIT_MS);
	}
	return ret;
}

/* ---- programs that are being started ---- */

enum exec_state { EXEC_RUNS, EXEC_STARTS, EXEC_WAITS };

static int exec_state(
	struct eng_client *client, const char *id, enum exec_state *ret, struct sb_err *err)
{
	sb_auto(eng_http_reply_release) struct eng_http_reply reply = ENG_HTTP_REPLY_INIT;
	sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_HEADERS);
	json_auto_t *doc = NULL;

	*ret = EXEC_RUNS;
	if (eng_path_begin(client, &path, err) < 0 || sb_buf_adds(&path, "/exec/", err) < 0 ||
		eng_http_escape(&path, id, err) < 0 || sb_buf_adds(&path, "/json", err) < 0 ||
		eng_get_json(client, path.data, &doc, &reply, err) < 0)
		return -1;
	if (!doc || sb_json_int(doc, "Pid", 0) > 0 || json_is_integer(sb_json_at(doc, "ExitCode")))
		return 0;
	*ret = sb_json_bool(doc, "Running") ? EXEC_STARTS : EXEC_WAITS;
	return 0;
}

/* What the one that is furthest from running does. */
static int look_at_execs(
	struct eng_client *client, const char *id, enum exec_state *ret, struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;
	const json_t *exec;
	size_t i;

	*ret = EXEC_RUNS;
	if (eng_container_inspect(client, id, &container, err) < 0)
		return -1;
	json_array_foreach (sb_json_at(container.doc, "ExecIDs"), i, exec) {
		const char *exec_id = sb_json_text(exec);
		enum exec_state state;

		if (!exec_id || exec_state(client, exec_id, &state, err) < 0)
			return -1;
		if (state != EXEC_RUNS)
			*ret = state;
	}
	return 0;
}

/*
 * Docker 20.10 cannot wake up a container again that was frozen while a program was being started
 * in it, nor do anything else with it. What is about to be started gets a moment to be; one that is
 * made and never started must not hold us.
 */
static int await_starts(struct eng_client *client, const char *id, struct sb_err *err)
{
	int64_t until = sb_deadline(BUSY_MS), patience = sb_deadline(IDLE_MS);
	enum exec_state state;

	for (;;) {
		if (look_at_execs(client, id, &state, err) < 0)
			return -1;
		if (state == EXEC_RUNS || (state == EXEC_WAITS && !sb_left_ms(patience, 1)))
			return 0;
		if (sb_left_ms(until, 1) == 0)
			return sb_err_set(err, SB_UNSUPPORTED,
				"the container cannot be paused: docker has not finished "
				"starting a program in it");
		sb_sleep_ms(WAIT_MS);
	}
}

/* ---- one pause for several requests ---- */

static int begin_pause(struct eng_client *client, const char *id, struct sb_err *err)
{
	struct eng_hold *hold = &client->hold;

	if (eng_guard_start(client, id, &hold->guard, err) < 0)
		return sb_err_add(err,
			"; without that process, the container cannot be paused while %s %s "
			"looks into it",
			eng_client_kind_name(client), client->version);
	memcpy(hold->id, id, sizeof(hold->id));
	hold->until = sb_deadline(HOLD_MS);
	if (await_starts(client, id, err) < 0 || eng_guard_arm(&hold->guard, err) < 0)
		return -1;
	sb_log(SB_NOTE, "pausing %.12s while docker %s looks into it (CVE-2026-42306)", id,
		client->version);
	return pause_it(client, id, err);
}

int eng_hold_for(struct eng_client *client, const char *id, struct sb_err *err)
{
	bool exposed;

	if (client->hold.paused)
		return 0;
	if (client->caution == ENG_DARE)
		return 0;
	if (eng_is_exposed(client, id, &exposed, err) < 0)
		return -1;
	if (!exposed)
		return 0;
	if (client->caution == ENG_REFUSE)
		return sb_err_set(err, SB_UNSUPPORTED,
			"docker %s cannot safely look into a running container that has mounts "
			"(CVE-2026-42306)",
			client->version);
	return begin_pause(client, id, err);
}

void eng_hold_begin(struct eng_client *client)
{
	client->hold.depth++;
}

/*
 * An engine may be at a request still that we have given up. It has the container locked until that
 * is done, and the unpausing waits for it.
 */
static bool end_pause(struct eng_client *client, struct sb_err *err)
{
	struct eng_hold *hold = &client->hold;
	int64_t deadline = client->deadline;
	bool undone;

	client->deadline = sb_deadline(UNPAUSE_MS);
	hold->until = SB_NEVER;
	eng_http_ignore_interrupt(client->http, true);
	undone = eng_unpause(client, hold->id, err) >= 0 || err->code == SB_NO_CONTAINER;
	client->deadline = deadline;
	eng_http_ignore_interrupt(client->http, client->cleanup_end != SB_NEVER);
	hold->paused = false;
	return eng_guard_end(&hold->guard, undone) || undone;
}

int eng_hold_end(struct eng_client *client, int ret, struct sb_err *err)
{
	struct eng_hold *hold = &client->hold;
	struct sb_err why = SB_ERR_INIT;

	if (--hold->depth > 0)
		return ret;
	if (!hold->paused && hold->guard.pid)
		(void)eng_guard_end(&hold->guard, true);
	if (!hold->paused || end_pause(client, &why))
		return ret;
	if (ret >= 0)
		(void)sb_err_set(err, SB_FAILED, "the container could not be unpaused");
	return sb_err_add(err, "; it may still be paused: %s", why.text);
}
