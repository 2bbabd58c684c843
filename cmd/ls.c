/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/log.h"
#include "engine/text.h"
#include "payloads/service.h"
#include "payloads/lib/wire.h"

#include <stdio.h>
#include <string.h>

enum {
	COLUMNS = 5,
	ROW_TIMEOUT_MS = 5000, /* without --timeout */
};

/* The pointers are into the engine's list. */
struct row {
	const char *full_id, *name, *image, *state;
	char id[16], service[64], sha256[65];
	bool unknown; /* what it carries: the engine did not tell */
};

/* Where homes can be; the others only on Podman, where the root is read-only. */
static const char *const homes[] = {"/" WIRE_HOME_NAME, "/run/" WIRE_HOME_NAME,
	"/tmp/" WIRE_HOME_NAME, "/var/tmp/" WIRE_HOME_NAME};

static int find_service(
	struct eng_client *client, const char *id, struct carry_found *ret, struct sb_err *err)
{
	size_t count = eng_client_kind(client) == ENG_PODMAN ? SB_ARRAY_SIZE(homes) : 1;
	int found = 1;

	for (size_t i = 0; found == 1 && i < count; i++)
		found = carry_look(client, id, homes[i], ret, err);
	return found;
}

/* Where docker itself sees nothing: in the /dev of a container whose root is read-only. */
static bool may_be_grafted(struct eng_client *client, const char *id)
{
	sb_auto(eng_container_release) struct eng_container container = ENG_CONTAINER_INIT;
	struct sb_err ignored = SB_ERR_INIT;

	return eng_client_kind(client) == ENG_DOCKER &&
	       eng_container_inspect(client, id, &container, &ignored) == 0 && container.read_only;
}

/* One container that cannot be looked into must not hide the others; an engine that died must. */
static int look(struct cmd_session *session, int timeout_ms, struct row *row, struct sb_err *err)
{
	struct carry_found there = {.as_user = false};
	struct sb_err local = SB_ERR_INIT;
	int found;

	eng_begin_work(session->client, timeout_ms);
	found = find_service(session->client, row->full_id, &there, &local);
	if (found >= 0) {
		strcpy(row->sha256, there.sha256);
		row->unknown = found == 1 && may_be_grafted(session->client, row->full_id);
		if (row->unknown)
			sb_log(SB_NOTE,
				"%s: docker cannot look into a container whose root is "
				"read-only; use 'sbinject status'",
				row->name);
		return 0;
	}
	if (local.code == SB_NO_ENGINE) {
		/* Does it answer others? Opening asks. */
		eng_close(sb_steal(session->client));
		if (eng_open(&session->endpoint, timeout_ms, &session->client, err) < 0)
			return -1;
		eng_set_caution(session->client, ENG_REFUSE);
	} else if (local.code != SB_FAILED && local.code != SB_UNSUPPORTED) {
		*err = local;
		return -1;
	}
	sb_log(SB_NOTE, "%s: %s", row->name, local.text);
	row->unknown = true;
	return 0;
}

static void describe_service(struct row *row)
{
	bool ours = false;

	for (size_t i = 0; i < payload_count(); i++)
		ours |= !strcmp(payload_at(i)->sha256, row->sha256);
	if (!row->sha256[0])
		strcpy(row->service, row->unknown ? "?" : "-");
	else if (ours)
		snprintf(row->service, sizeof(row->service), "%.12s (%s)", row->sha256,
			payload_release);
	else
		snprintf(row->service, sizeof(row->service), "%.12s (other release)", row->sha256);
}

/* Those with a second slash are what other containers call it by their links. */
static const char *own_name(const json_t *names)
{
	const char *first = sb_json_text(json_array_get(names, 0)), *text;
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name) {
		text = sb_json_text(name);
		if (text && !strchr(text + (*text == '/'), '/'))
			return text + (*text == '/');
	}
	return first ? first : "?";
}

static const char *known(const char *text)
{
	return text ? text : "?";
}

static int fill_row(const json_t *entry, struct row *row, struct sb_err *err)
{
	const char *id = sb_json_str(entry, "Id");

	if (!id || !sb_is_hex64(id))
		return sb_err_set(err, SB_FAILED, "the engine lists a container without an id");
	row->full_id = id;
	snprintf(row->id, sizeof(row->id), "%.12s", id);
	row->name = own_name(sb_json_at(entry, "Names"));
	row->image = known(sb_json_str(entry, "Image"));
	row->state = known(sb_json_str(entry, "State"));
	return 0;
}

static void print_json(const struct row *row)
{
	json_auto_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:o*}", "id", row->full_id,
		"name", row->name, "image", row->image, "state", row->state, "sha256",
		row->sha256[0] ? row->sha256 : NULL, "unknown", row->unknown ? json_true() : NULL);

	out_result("", json);
}

static int print_table(const struct row *rows, size_t count, size_t columns, struct sb_err *err)
{
	size_t header = columns > 1 ? 1 : 0;
	sb_autofree const char **cells = calloc((count + 1) * COLUMNS, sizeof(*cells));

	if (!cells)
		return sb_err_nomem(err);
	if (header)
		memcpy(cells, (const char *[]){"ID", "NAME", "IMAGE", "STATE", "SERVICE"},
			columns * sizeof(*cells));
	for (size_t i = 0; i < count; i++) {
		const char **cell = cells + (i + header) * columns;

		if (columns == 1)
			*cell = rows[i].name;
		else
			memcpy(cell,
				(const char *[]){rows[i].id, rows[i].name, rows[i].image,
					rows[i].state, rows[i].service},
				columns * sizeof(*cells));
	}
	out_table(cells, columns, count + header);
	return 0;
}

/* Nothing is paused for a list. */
static int open_session(const struct cmd_env *env, struct cmd_session *ret, struct sb_err *err)
{
	if (cmd_session_open(env, ret, err) < 0)
		return -1;
	eng_set_caution(ret->client, ENG_REFUSE);
	return 0;
}

static int list(const struct cmd_env *env, struct sb_err *err)
{
	int row_timeout_ms = cmd_has(env, OPT_TIMEOUT) ? cmd_timeout_ms(env) : ROW_TIMEOUT_MS;
	bool names_only = cmd_has(env, OPT_QUIET), looks = cmd_has(env, OPT_LOOK) && !names_only;
	sb_auto(cmd_session_release) struct cmd_session session = CMD_SESSION_INIT;
	sb_autofree struct row *rows = NULL;
	json_auto_t *containers = NULL;
	const json_t *entry;
	size_t i;

	if (open_session(env, &session, err) < 0 ||
		eng_container_list(session.client, cmd_has(env, OPT_ALL), &containers, err) < 0)
		return -1;
	rows = calloc(json_array_size(containers) + 1, sizeof(*rows));
	if (!rows)
		return sb_err_nomem(err);
	json_array_foreach (containers, i, entry) {
		if (fill_row(entry, &rows[i], err) < 0 ||
			(looks && look(&session, row_timeout_ms, &rows[i], err) < 0))
			return -1;
		describe_service(&rows[i]);
		if (cmd_has(env, OPT_JSON))
			print_json(&rows[i]);
	}
	if (cmd_has(env, OPT_JSON))
		return 0;
	return print_table(rows, json_array_size(containers),
		names_only ? 1
		: looks	   ? COLUMNS
			   : COLUMNS - 1,
		err);
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (list(env, &err) < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_ls = {
	.name = "ls",
	.args = "",
	.summary = "list containers; with --look, show which have the service",
	.help = "Runs nothing in the containers. With --look, it asks the engine whether each\n"
		"container has the service; '?' under SERVICE means that the engine could not\n"
		"tell. To see whether a service answers, use 'sbinject status'.\n",
	.opts = OPTS_ENGINE | OPT(ALL) | OPT(LOOK) | OPT(JSON) | OPT(QUIET),
	.min_args = 0,
	.max_args = 0,
	.default_timeout_s = 60,
	.run = run,
};
