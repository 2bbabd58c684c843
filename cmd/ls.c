/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "payloads/deliver.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5 };

struct row {
	char id[16], name[128], image[128], state[24], service[64];
	char full_id[65], sha256[65];
};

/* Where homes can be; the others only on Podman, where the root is read-only. */
static const char *const homes[] = {
	"/.sbinject", "/run/.sbinject", "/tmp/.sbinject", "/var/tmp/.sbinject"};

static int find_service(struct eng_client *client, const char *id, char ret[65], struct sb_err *err)
{
	size_t count = eng_client_kind(client) == ENG_PODMAN ? SB_ARRAY_SIZE(homes) : 1;
	int found = 1;

	for (size_t i = 0; found == 1 && i < count; i++)
		found = deliver_find(client, id, homes[i], ret, err);
	return found;
}

static void describe_service(struct row *row)
{
	bool ours = false;

	for (size_t i = 0; i < payload_count(); i++)
		ours |= !strcmp(payload_at(i)->sha256, row->sha256);
	if (!row->sha256[0])
		strcpy(row->service, "-");
	else if (ours)
		snprintf(row->service, sizeof(row->service), "%.12s (%s)", row->sha256,
			payload_release);
	else
		snprintf(row->service, sizeof(row->service), "%.12s (other release)", row->sha256);
}

static void copy_text(char *dst, size_t size, const char *text)
{
	snprintf(dst, size, "%s", text ? text : "?");
}

static int fill_row(
	struct eng_client *client, const json_t *entry, struct row *row, struct sb_err *err)
{
	const char *name = json_string_value(json_array_get(sb_json_at(entry, "Names"), 0));
	const char *id = sb_json_str(entry, "Id");

	memset(row, 0, sizeof(*row));
	if (!id || strlen(id) != 64 || strspn(id, "0123456789abcdef") != 64)
		return sb_err_set(err, SB_FAILED, "the engine lists a container without an id");
	memcpy(row->full_id, id, 65);
	snprintf(row->id, sizeof(row->id), "%.12s", id);
	copy_text(row->name, sizeof(row->name), name && *name == '/' ? name + 1 : name);
	copy_text(row->image, sizeof(row->image), sb_json_str(entry, "Image"));
	copy_text(row->state, sizeof(row->state), sb_json_str(entry, "State"));
	if (find_service(client, id, row->sha256, err) < 0)
		return -1;
	describe_service(row);
	return 0;
}

static void print_json(const struct row *row)
{
	json_auto_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "id", row->full_id, "name",
		row->name, "image", row->image, "state", row->state, "sha256",
		row->sha256[0] ? row->sha256 : NULL);

	out_result("", json);
}

static int print_table(const struct row *rows, size_t count, struct sb_err *err)
{
	sb_autofree const char **cells = calloc((count + 1) * COLUMNS, sizeof(*cells));

	if (!cells)
		return sb_err_nomem(err);
	memcpy(cells, (const char *[]){"ID", "NAME", "IMAGE", "STATE", "SERVICE"},
		COLUMNS * sizeof(*cells));
	for (size_t i = 0; i < count; i++)
		memcpy(cells + (i + 1) * COLUMNS,
			(const char *[]){rows[i].id, rows[i].name, rows[i].image, rows[i].state,
				rows[i].service},
			COLUMNS * sizeof(*cells));
	out_table(cells, COLUMNS, count + 1);
	return 0;
}

static int list(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(cmd_session_release) struct cmd_session session = CMD_SESSION_INIT;
	sb_autofree struct row *rows = NULL;
	json_auto_t *containers = NULL;
	const json_t *entry;
	size_t i;

	if (cmd_session_open(env, &session, err) < 0 ||
		eng_container_list(session.client, cmd_has(env, OPT_ALL), &containers, err) < 0)
		return -1;
	rows = calloc(json_array_size(containers) + 1, sizeof(*rows));
	if (!rows)
		return sb_err_nomem(err);
	json_array_foreach (containers, i, entry) {
		if (fill_row(session.client, entry, &rows[i], err) < 0)
			return -1;
		if (cmd_has(env, OPT_JSON))
			print_json(&rows[i]);
	}
	if (cmd_has(env, OPT_JSON))
		return 0;
	return print_table(rows, json_array_size(containers), err);
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
	.summary = "containers of this engine, and which of them carry the service",
	.help = "Runs nothing inside: the engine alone tells whether the service has been placed. "
		"Whether\n"
		"it answers is told by 'sbinject status'.\n",
	.opts = OPTS_ENGINE | OPT(ALL) | OPT(JSON),
	.min_args = 0,
	.max_args = 0,
	.default_timeout_s = 60,
	.run = run,
};
