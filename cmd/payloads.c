/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void print_all(void)
{
	for (size_t i = 0; i < payload_count(); i++) {
		const struct payload *p = payload_at(i);
		json_auto_t *json = json_pack("{s:s, s:s, s:s, s:i, s:i, s:s}", "name", p->name,
			"arch", p->arch, "release", payload_release, "wire", PAYLOAD_WIRE, "size",
			(int)p->size, "sha256", p->sha256);
		char line[256];

		snprintf(line, sizeof(line), "%-14s %-8s %-8s %7zu  %s", p->name, p->arch,
			payload_release, p->size, p->sha256);
		out_result(line, json);
	}
}

static int write_all(int fd, const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int extract(const char *name, const char *path, struct sb_err *err)
{
	const struct payload *payload = payload_by_name(name);
	sb_autoclose int opened = -1;
	int fd = STDOUT_FILENO;

	if (!payload)
		return sb_err_set(err, SB_USAGE,
			"no payload '%s' is built in; 'sbinject payloads' lists what is", name);
	if (!path && isatty(STDOUT_FILENO))
		return sb_err_set(err, SB_USAGE,
			"a program is not for a terminal; use --output FILE or a pipe");
	if (path)
		fd = opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0 || write_all(fd, payload->data, payload->size) < 0)
		return sb_err_set(err, SB_FAILED, "cannot write '%s': %s", path ? path : "stdout",
			strerror(errno));
	return 0;
}

static enum sb_code run(const struct cmd_env *env)
{
	struct sb_err err = SB_ERR_INIT;

	if (!cmd_has(env, OPT_EXTRACT))
		print_all();
	else if (extract(env->opts.text[OPT_EXTRACT], env->opts.text[OPT_OUTPUT], &err) < 0)
		out_error(NULL, &err);
	return err.code;
}

const struct cmd cmd_payloads = {
	.name = "payloads",
	.args = "",
	.summary = "what is embedded: name, architecture, release, size, sha256",
	.help = "Needs no engine. The digests can be checked by anyone who builds the same source: "
		"the\n"
		"payloads come out bit for bit the same.\n",
	.opts = OPTS_ANY | OPT(JSON) | OPT(EXTRACT) | OPT(OUTPUT),
	.min_args = 0,
	.max_args = 0,
	.run = run,
};
