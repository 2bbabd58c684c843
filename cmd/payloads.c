/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/file.h"
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

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;
	int failed = 0;

	if (cmd_has(env, OPT_EXTRACT))
		failed = extract(env->opts.text[OPT_EXTRACT], env->opts.text[OPT_OUTPUT],
			cmd_has(env, OPT_JSON), &err);
	else if (cmd_has(env, OPT_OUTPUT))
		failed = sb_err_set(&err, SB_USAGE, "--output needs --extract NAME");
	else
		print_all();
	if (failed < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_payloads = {
	.name = "payloads",
	.args = "",
	.summary = "list the embedded payloads, or extract one",
	.help = "Lists name, architecture, release, size and SHA-256. Needs no engine. To\n"
		"verify a digest, build the same source with the same compiler: the payloads\n"
		"come out bit for bit the same.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(EXTRACT) | OPT(OUTPUT),
	.min_args = 0,
	.max_args = 0,
	.run = run,
};
