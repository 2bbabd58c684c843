/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/buf.h"
#include "engine/interrupt.h"
#include "payloads/lib/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static int write_all(int fd, const unsigned char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && (errno != EINTR || eng_interrupted))
			return -1;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int fail_write(const char *path, struct sb_err *err)
{
	if (eng_interrupted)
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	return sb_err_set(err, SB_FAILED, "cannot write '%s': %s", path, strerror(errno));
}

static int write_and_close(int fd, const struct payload *payload)
{
	int failed = write_all(fd, payload->data, payload->size), error = errno;

	if (close(fd) < 0 && !failed)
		return -1;
	errno = error;
	return failed;
}

/* The file is there whole and executable, or is as it was. */
static int write_file(
	const char *path, const char *shown, const struct payload *payload, struct sb_err *err)
{
	sb_autobuf struct sb_buf temporary = SB_BUF_INIT(SB_MAX_CONFIG);
	const char *slash = strrchr(path, '/');
	int fd;

	if (sb_buf_add(&temporary, path, slash ? (size_t)(slash + 1 - path) : 0, err) < 0 ||
		sb_buf_adds(&temporary, ".sbinject-XXXXXX", err) < 0)
		return -1;
	fd = mkostemp(temporary.data, O_CLOEXEC);
	if (fd < 0)
		return fail_write(shown, err);
	if (fchmod(fd, 0755) < 0 || write_and_close(fd, payload) < 0 ||
		rename(temporary.data, path) < 0) {
		fail_write(shown, err);
		unlink(temporary.data);
		return -1;
	}
	return 0;
}

static int write_path(const char *path, const struct payload *payload, struct sb_err *err)
{
	sb_autofree char *real = realpath(path, NULL);
	struct stat there;
	int fd;

	if (stat(path, &there) < 0)
		return errno == ENOENT && *path ? write_file(path, path, payload, err)
						: fail_write(path, err);
	/* Through a link, to keep it. */
	if (S_ISREG(there.st_mode) && real)
		return write_file(real, path, payload, err);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return fd < 0 || write_and_close(fd, payload) < 0 ? fail_write(path, err) : 0;
}

static int extract(const char *name, const char *path, bool json, struct sb_err *err)
{
	const struct payload *payload = payload_by_name(name);

	if (!payload)
		return sb_err_set(err, SB_USAGE,
			"no payload '%s' is built in; 'sbinject payloads' lists those that are",
			name);
	if (path) {
		if (write_path(path, payload, err) < 0)
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
	if (write_all(STDOUT_FILENO, payload->data, payload->size) < 0)
		return fail_write("stdout", err);
	return 0;
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
