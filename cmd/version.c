/* SPDX-License-Identifier: MIT */
#include "cmd/version.h"

#include "cmd/out.h"
#include "payloads/catalogue.h"
#include "payloads/lib/wire.h"

/* What is linked in statically, by cmd/linked.sh. */
static const struct linked {
	const char *part, *name, *version, *licence;
} linked[] = {
#include "linked.inc"
	{0},
};

static json_t *payloads_json(void)
{
	json_t *all = json_array();

	for (size_t i = 0; i < payload_count(); i++) {
		const struct payload *p = payload_at(i);

		json_array_append_new(
			all, json_pack("{s:s, s:s, s:I, s:s}", "name", p->name, "arch", p->arch,
				     "size", (json_int_t)p->size, "sha256", p->sha256));
	}
	return all;
}

static json_t *libraries_json(void)
{
	json_t *all = json_array();

	for (const struct linked *l = linked; l->part; l++)
		json_array_append_new(
			all, json_pack("{s:s, s:s, s:s, s:s}", "name", l->name, "version",
				     l->version, "licence", l->licence, "in", l->part));
	return all;
}

static void print_json(void)
{
	json_auto_t *json = json_pack("{s:s, s:i, s:s, s:o, s:o}", "release", payload_release,
		"wire", WIRE_VERSION, "arch", payload_own_arch(), "payloads", payloads_json(),
		"libraries", libraries_json());

	out_result("", json);
}

void version_print(const struct cmd_env *env)
{
	if (cmd_has(env, OPT_JSON)) {
		print_json();
		return;
	}
	out_line("sbinject %s (wire %d)", payload_release, WIRE_VERSION);
	for (size_t i = 0; i < payload_count(); i++)
		out_line("%s %zu bytes sha256 %s", payload_at(i)->name, payload_at(i)->size,
			payload_at(i)->sha256);
	if (!cmd_has(env, OPT_VERBOSE))
		return;
	for (const struct linked *l = linked; l->part; l++)
		out_line("%s: %s %s, licence %s", l->part, l->name, l->version, l->licence);
}
