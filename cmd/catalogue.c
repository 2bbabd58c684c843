/* SPDX-License-Identifier: MIT */
#include "cmd/catalogue.h"

#include "cmd/choice.h"
#include "cmd/out.h"

#include <stdio.h>
#include <string.h>

/* One line of the list. */
struct line {
	const char *name, *kind, *arch, *version, *where, *sha256;
	const char *path, *serves; /* NULL: none */
	uint64_t size;		   /* 0: not known */
};

static void print(const struct line *line)
{
	json_auto_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:I, s:s, s:s, s:o*}", "name",
		line->name, "kind", line->kind, "arch", line->arch, "version", line->version,
		"serves", line->serves, "size", (json_int_t)line->size, "sha256", line->sha256,
		"where", line->where, "path", line->path ? out_string(line->path) : NULL);
	char text[256], size[24] = "-";

	if (line->size)
		snprintf(size, sizeof(size), "%llu", (unsigned long long)line->size);
	snprintf(text, sizeof(text), "%-24s %-7s %-6s %-6s %9s %-8s %s", line->name, line->kind,
		line->arch, line->version, size, line->where, line->sha256);
	out_result(text, json);
}

static void print_embedded(const struct payload *payload)
{
	print(&(struct line){
		.name = payload->name,
		.kind = "program",
		.arch = payload->arch,
		.version = payload_release,
		.where = "embedded",
		.sha256 = payload->sha256,
		.size = payload->size,
	});
}

static int print_upstream(const struct cmd_env *env, const struct upstream *one, struct sb_err *err)
{
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	struct store_want want = choice_want(env, one);
	char version[16], serves[HOST_TEXT_SIZE];
	int missing;

	out_progress("looking for %s", one->name);
	missing = store_find(&want, &found, err);
	if (missing < 0)
		return -1;
	snprintf(version, sizeof(version), "%u", one->number);
	print(&(struct line){
		.name = one->name,
		.kind = strcmp(one->form, "executable") ? "tree" : "program",
		.arch = one->arch,
		.version = version,
		.where = missing ? "remote" : store_tier_name(found.tier),
		.sha256 = one->sha256,
		.path = missing ? NULL : found.place,
		.serves = choice_serves(one, serves),
		.size = missing ? one->size : found.bytes.size,
	});
	return 0;
}

int catalogue_print(const struct cmd_env *env, struct sb_err *err)
{
	for (size_t i = 0; i < payload_count(); i++)
		print_embedded(payload_at(i));
	for (size_t i = 0; i < upstream_count(); i++) {
		struct sb_err why = SB_ERR_INIT;

		if (print_upstream(env, upstream_at(i), &why) == 0)
			continue;
		if (err->code == SB_OK)
			*err = why;
		else
			out_error(NULL, &why);
		if (why.code != SB_MISMATCH)
			break;
	}
	return err->code == SB_OK ? 0 : -1;
}
