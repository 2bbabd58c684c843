/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/catalogue.h"
#include "cmd/out.h"
#include "engine/file.h"
#include "payloads/artifact.h"
#include "payloads/lib/wire.h"

#include <stdio.h>
#include <string.h>

static void print_payload(const struct payload *p)
{
	json_auto_t *json = json_pack("{s:s, s:s, s:s, s:i, s:i, s:s}", "name", p->name, "arch",
		p->arch, "release", payload_release, "wire", WIRE_VERSION, "size", (int)p->size,
		"sha256", p->sha256);
	char line[256];

	snprintf(line, sizeof(line), "%-14s %-8s %-8s %7zu  %s", p->name, p->arch, payload_release,
		p->size, p->sha256);
	out_result(line, json);
}

static void print_all(void)
{
	for (size_t i = 0; i < payload_count(); i++)
		print_payload(payload_at(i));
}

static int extract(const char *name, const char *path, bool json, struct sb_err *err)
{
	const struct payload *payload = payload_by_name(name);

	if (!payload)
		return sb_err_set(err, SB_USAGE,
			"no payload '%s' is built in; 'sbinject payloads' lists those that are",
			name);
	if (path) {
		if (sb_file_write(path, payload->data, payload->size, err) < 0)
			return -1;
		if (json)
			print_payload(payload);
		return 0;
	}
	if (json)
		return sb_err_set(err, SB_USAGE, "--extract with --json needs --output FILE");
	if (isatty(STDOUT_FILENO))
		return sb_err_set(err, SB_USAGE,
			"refusing to write a binary to a terminal; use --output FILE or a pipe");
	return sb_file_put(STDOUT_FILENO, "stdout", payload->data, payload->size, err);
}

/* `path`: where it has been written, or NULL. */
static void print_artifact(const struct artifacts *all, size_t i, const char *path)
{
	const struct artifact *artifact = &all->list[i];
	json_auto_t *json = json_pack("{s:s, s:o, s:s, s:i, s:i, s:s}", "name", artifact->name,
		"path", path ? out_string(path) : json_null(), "form", all->host->form, "number",
		(int)all->host->number, "size", (int)artifact->size, "sha256", artifact->sha256);
	char line[256];

	snprintf(line, sizeof(line), "%-36s %-10s %7zu  %s", artifact->name, all->host->form,
		artifact->size, artifact->sha256);
	out_result(line, json);
}

/* Into the directory; NULL: only list them. */
static int write_artifacts(const struct cmd_env *env, const char *dir, struct sb_err *err)
{
	sb_auto(artifacts_release) struct artifacts all = ARTIFACTS_INIT;
	const struct host *host;

	if (cmd_find_for(env, &host, err) < 0 || artifacts_make(host, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.count; i++) {
		sb_autobuf struct sb_buf path = SB_BUF_INIT(SB_MAX_CONFIG);

		if (dir && artifact_write(&all, i, dir, &path, err) < 0)
			return -1;
		print_artifact(&all, i, path.data);
	}
	return 0;
}

static void print_facts(const char *file, const struct cmd_tree_facts *facts)
{
	char lines[4][320];

	snprintf(lines[0], sizeof(lines[0]), "# %.200s: %llu files, %llu bytes", file, facts->files,
		facts->bytes);
	strcpy(lines[1], "format: tar");
	snprintf(lines[2], sizeof(lines[2]), "sha256: %s", facts->sha256);
	snprintf(lines[3], sizeof(lines[3]), "tree: %s", facts->tree);
	for (size_t i = 0; i < SB_ARRAY_SIZE(lines); i++)
		out_result(lines[i], NULL);
}

static int describe(const struct cmd_env *env, struct sb_err *err)
{
	const char *file = env->opts.text[OPT_DESCRIBE];
	json_auto_t *json = NULL;
	struct cmd_tree_facts facts;

	if (cmd_tree_describe(file, &facts, err) < 0)
		return -1;
	json = json_pack("{s:o, s:s, s:s, s:s, s:I, s:I, s:I}", "file", out_string(file), "format",
		"tar", "sha256", facts.sha256, "tree", facts.tree, "size", (json_int_t)facts.size,
		"files", (json_int_t)facts.files, "bytes", (json_int_t)facts.bytes);
	if (cmd_has(env, OPT_JSON))
		out_result("", json);
	else
		print_facts(file, &facts);
	return 0;
}

static int extract_one(const struct cmd_env *env, struct sb_err *err)
{
	return extract(env->opts.text[OPT_EXTRACT], env->opts.text[OPT_OUTPUT],
		cmd_has(env, OPT_JSON), err);
}

static int write_all_artifacts(const struct cmd_env *env, struct sb_err *err)
{
	return write_artifacts(env, env->opts.text[OPT_OUTPUT], err);
}

static int list(const struct cmd_env *env, struct sb_err *err)
{
	if (cmd_has(env, OPT_OUTPUT))
		return sb_err_set(err, SB_USAGE, "--output needs --extract NAME or --for CLIENT");
	if (cmd_has(env, OPT_BUNDLE))
		return sb_err_set(err, SB_USAGE, "--bundle needs --all");
	print_all();
	return 0;
}

static int do_asked(const struct cmd_env *env, struct sb_err *err)
{
	static const struct {
		enum opt_id id;
		int (*run)(const struct cmd_env *env, struct sb_err *err);
	} modes[] = {{OPT_EXTRACT, extract_one}, {OPT_FOR, write_all_artifacts},
		{OPT_DESCRIBE, describe}, {OPT_ALL, catalogue_print}};
	size_t chosen = SB_ARRAY_SIZE(modes);

	for (size_t i = 0; i < SB_ARRAY_SIZE(modes); i++) {
		if (!cmd_has(env, modes[i].id))
			continue;
		if (chosen < SB_ARRAY_SIZE(modes))
			return sb_err_set(err, SB_USAGE, "--%s and --%s cannot be combined",
				opt_specs[modes[chosen].id].name, opt_specs[modes[i].id].name);
		chosen = i;
	}
	return chosen < SB_ARRAY_SIZE(modes) ? modes[chosen].run(env, err) : list(env, err);
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (do_asked(env, &err) < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_payloads = {
	.name = "payloads",
	.args = "",
	.summary = "list the embedded payloads, or write them out",
	.help = "Lists name, architecture, release, size and SHA-256. Needs no engine. To\n"
		"verify a digest, build the same source with the same compiler: the payloads\n"
		"come out bit for bit the same.\n"
		"\n"
		"With --for, lists name, form, size and SHA-256 of the files that this release\n"
		"takes for its own program, with ours in them; --output writes them. In the\n"
		"directory 'binaries' of inspect_ai, they make it inject our program.\n"
		"\n"
		"With --describe, reads a tar archive and prints what pins it in a rules file.\n"
		"\n"
		"With --all, lists the catalogue, too: programs of inspect_ai's own, which\n"
		"'sbinject fetch' can get. Name, kind, architecture, version, size, where each\n"
		"is (embedded, bundle, cache or remote), and SHA-256, which is verified.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(EXTRACT) | OPT(FOR) | OPT(DESCRIBE) | OPT(OUTPUT) |
		OPT(ALL) | OPT(BUNDLE),
	.min_args = 0,
	.max_args = 0,
	.run = run,
};
