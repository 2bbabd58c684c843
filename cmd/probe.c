/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_ROWS = 128 };

/* The report as rows of two cells. The values are owned. */
struct sheet {
	const char *cells[2 * MAX_ROWS];
	size_t rows;
};

static void sheet_release(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->rows; i++)
		free((char *)sheet->cells[2 * i + 1]);
}

/* Add a row, unless its value is empty. */
static sb_printf(3, 4) void add_row(struct sheet *sheet, const char *key, const char *fmt, ...)
{
	char *value = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&value, fmt, args);
	va_end(args);
	if (len <= 0 || sheet->rows == MAX_ROWS) {
		if (len >= 0)
			free(value);
		return;
	}
	sheet->cells[2 * sheet->rows] = key;
	sheet->cells[2 * sheet->rows + 1] = value;
	sheet->rows++;
}

static const char *const mount_words[] = {
	[ENG_MOUNT_BIND] = "bind",
	[ENG_MOUNT_VOLUME] = "volume",
	[ENG_MOUNT_TMPFS] = "tmpfs",
	[ENG_MOUNT_OTHER] = "other",
};

static json_t *facts_json(const struct sb_facts *facts)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < SB_FACT_LABEL; i++)
		if (facts->value[i][0])
			json_object_set_new(object, sb_fact_name(i), json_string(facts->value[i]));
	if (facts->labels && json_object_size(facts->labels))
		json_object_set(object, "labels", facts->labels);
	return object;
}

static json_t *mounts_json(const struct eng_container *container)
{
	json_t *list = json_array();

	for (size_t i = 0; i < container->mount_count; i++) {
		const struct eng_mount *m = &container->mounts[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:b, s:b}", "path", m->destination, "type",
				      mount_words[m->type], "options", m->options, "writable",
				      (int)m->writable, "noexec", (int)m->noexec));
	}
	return list;
}

static json_t *places_json(const struct recon_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->place_count; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:b, s:s}", "path", report->places[i].path, "usable",
				      (int)report->places[i].usable, "why", report->places[i].why));
	return list;
}

static json_t *shells_json(const struct recon_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; report->shells[i]; i++)
		json_array_append_new(list, json_string(report->shells[i]));
	return list;
}

static json_t *report_json(
	const struct plan *plan, const struct recon_report *report, const char *ref)
{
	const struct eng_container *c = &plan->container;

	return json_pack("{s:o, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:s, s:s, s:s, "
			 "s:s, s:s, s:o, s:o, s:o}",
		"container", out_string(ref), "id", c->id, "name", c->name, "ok", 1, "state",
		c->state, "engine", eng_client_kind_name(plan->client), "engine_version",
		eng_client_version(plan->client), "user", c->user, "read_only", (int)c->read_only,
		"privileged", (int)c->privileged, "facts", facts_json(&report->facts), "program",
		report->elf_path, "program_arch", report->elf_arch, "interpreter", report->interp,
		"contradiction", report->contradiction, "pretty_name", report->pretty_name,
		"shells", shells_json(report), "mounts", mounts_json(c), "places",
		places_json(report));
}

static void fill_facts(
	struct sheet *sheet, const struct plan *plan, const struct recon_report *report)
{
	const struct eng_container *c = &plan->container;

	add_row(sheet, "container", "%s", c->name);
	add_row(sheet, "id", "%s", c->id);
	add_row(sheet, "state", "%s", c->state);
	add_row(sheet, "engine", "%s %s", eng_client_kind_name(plan->client),
		eng_client_version(plan->client));
	for (unsigned i = 0; i < SB_FACT_ENGINE; i++)
		add_row(sheet, sb_fact_name(i), "%s", report->facts.value[i]);
	add_row(sheet, "pretty name", "%s", report->pretty_name);
	add_row(sheet, "program", "%s", report->elf_path);
	add_row(sheet, "program's arch", "%s", report->elf_arch);
	add_row(sheet, "interpreter", "%s", report->interp);
	add_row(sheet, "CONTRADICTION", "%s", report->contradiction);
	add_row(sheet, "user", "%s", c->user[0] ? c->user : "root (the default)");
	add_row(sheet, "root file system", "%s", c->read_only ? "read-only" : "writable");
	for (size_t i = 0; report->shells[i]; i++)
		add_row(sheet, "shell", "%s", report->shells[i]);
	if (!report->shells[0])
		add_row(sheet, "shell", "none");
}

static void fill_places(
	struct sheet *sheet, const struct plan *plan, const struct recon_report *report)
{
	const struct eng_container *c = &plan->container;

	for (size_t i = 0; i < c->mount_count; i++) {
		const struct eng_mount *m = &c->mounts[i];

		add_row(sheet, "mount", "%s (%s%s%s)", m->destination, mount_words[m->type],
			m->writable ? "" : ", read-only", m->noexec ? ", noexec" : "");
	}
	for (size_t i = 0; i < report->place_count; i++) {
		const struct recon_place *p = &report->places[i];

		add_row(sheet, "place", "%s: %s", p->path, p->usable ? "usable" : p->why);
	}
}

static void print_sheet(const struct plan *plan, const struct recon_report *report)
{
	sb_auto(sheet_release) struct sheet sheet = {.rows = 0};

	fill_facts(&sheet, plan, report);
	fill_places(&sheet, plan, report);
	out_table(sheet.cells, 2, sheet.rows);
}

static int probe(const struct cmd_env *env, struct sb_err *err)
{
	sb_auto(cmd_session_release) struct cmd_session session = CMD_SESSION_INIT;
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	struct recon_report report;
	struct recon_engine_ctx ctx;
	struct recon_io io;

	if (cmd_session_open(env, &session, err) < 0)
		return -1;
	plan.client = session.client;
	if (eng_container_inspect(session.client, env->args[0], &plan.container, err) < 0 ||
		eng_image_inspect(session.client, &plan.container, &plan.image, err) < 0)
		return -1;
	ctx = (struct recon_engine_ctx){session.client, plan.container.id};
	io = recon_engine_io(&ctx);
	eng_set_caution(session.client, cmd_has(env, OPT_NO_PAUSE) ? ENG_DARE : ENG_PAUSE);
	eng_hold_begin(session.client);
	if (eng_hold_end(session.client,
		    recon_probe(&io, &plan.container, &plan.image, eng_client_kind(session.client),
			    &report, err),
		    err) < 0)
		return -1;
	if (cmd_has(env, OPT_JSON)) {
		json_auto_t *json = report_json(&plan, &report, env->args[0]);

		out_result("", json);
		return 0;
	}
	print_sheet(&plan, &report);
	return 0;
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (probe(env, &err) < 0)
		out_error(env->args[0], &err);
	return err.code;
}

const struct cmd cmd_probe = {
	.name = "probe",
	.args = "CONTAINER",
	.summary = "show all that can be learned about a container",
	.help = "Reads everything through the engine. Changes nothing and executes nothing in\n"
		"the container, so it works for stopped and paused containers, too.\n",
	.opts = OPTS_ENGINE | OPT(NO_PAUSE) | OPT(JSON),
	.min_args = 1,
	.max_args = 1,
	.default_timeout_s = 60,
	.run = run,
};
