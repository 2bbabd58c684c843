/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/file.h"
#include "payloads/artifact.h"
#include "payloads/lib/wire.h"

#include <stdio.h>

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

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	int failed = 0;

	if (cmd_has(env, OPT_EXTRACT) && cmd_has(env, OPT_FOR))
		failed = sb_err_set(&err, SB_USAGE, "--extract and --for cannot be combined");
	else if (cmd_has(env, OPT_EXTRACT))
		failed = extract(env->opts.text[OPT_EXTRACT], env->opts.text[OPT_OUTPUT],
			cmd_has(env, OPT_JSON), &err);
	else if (cmd_has(env, OPT_FOR))
		failed = write_artifacts(env, env->opts.text[OPT_OUTPUT], &err);
	else if (cmd_has(env, OPT_OUTPUT))
		failed =
			sb_err_set(&err, SB_USAGE, "--output needs --extract NAME or --for CLIENT");
	else
		print_all();
	if (failed < 0)
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
		"directory 'binaries' of inspect_ai, they make it inject our program.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(EXTRACT) | OPT(FOR) | OPT(OUTPUT),
	.min_args = 0,
	.max_args = 0,
	.run = run,
};
