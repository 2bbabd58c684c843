/* SPDX-License-Identifier: MIT */
#include "payloads/artifact.h"

#include "engine/file.h"
#include "engine/tar.h"
#include "payloads/catalogue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const arches[ARTIFACT_ARCHES] = {"amd64", "arm64"};

/* Ours runs with any; archives came with one for each. */
static const char *const libcs[ARTIFACT_LIBCS] = {"", "-musl"};

void artifacts_release(struct artifacts *artifacts)
{
	for (size_t i = 0; i < ARTIFACT_ARCHES; i++)
		sb_buf_release(&artifacts->packed[i]);
}

static bool is_archive(const struct host *host)
{
	return !strcmp(host->form, "tar.gz");
}

/* A client names its artifacts by the program that it looks for. */
static const char *program_of(const struct host *host)
{
	return strrchr(host->path, '/') + 1;
}

static int pack(const struct host *host, const struct payload *payload, struct sb_buf *packed,
	struct sb_err *err)
{
	const struct eng_tar_member member = {
		program_of(host), 0755, payload->data, payload->size, NULL};

	return eng_tar_write_gzip(&member, 1, packed, err);
}

static void add(struct artifacts *ret, const char *arch, const void *data, size_t size)
{
	size_t count = is_archive(ret->host) ? ARTIFACT_LIBCS : 1;

	for (size_t i = 0; i < count; i++) {
		struct artifact *artifact = &ret->list[ret->count++];

		snprintf(artifact->name, sizeof(artifact->name), "%s-%s%s-v%u",
			program_of(ret->host), arch, libcs[i], ret->host->number);
		artifact->data = data;
		artifact->size = size;
		sha256_hex(data, size, artifact->sha256);
	}
}

int artifacts_make(const struct host *host, struct artifacts *ret, struct sb_err *err)
{
	if (host_check_served(host, err) < 0)
		return -1;
	ret->host = host;
	for (size_t i = 0; i < ARTIFACT_ARCHES; i++) {
		const struct payload *payload = payload_for_arch(arches[i]);

		if (!payload)
			continue;
		if (!is_archive(host)) {
			add(ret, arches[i], payload->data, payload->size);
			continue;
		}
		if (pack(host, payload, &ret->packed[i], err) < 0)
			return -1;
		add(ret, arches[i], ret->packed[i].data, ret->packed[i].len);
	}
	if (ret->count)
		return 0;
	return sb_err_set(err, SB_UNSUPPORTED,
		"no program for %s, which has artifacts for amd64 and arm64, is built into this "
		"sbinject; 'sbinject payloads' lists what is",
		host->client);
}

static int check_dir(const char *dir, struct sb_err *err)
{
	struct stat there;

	if (stat(dir, &there) < 0)
		return sb_err_set(err, SB_FAILED, "cannot write into the directory '%s': %s", dir,
			strerror(errno));
	if (!S_ISDIR(there.st_mode))
		return sb_err_set(err, SB_FAILED, "'%s' is not a directory", dir);
	return 0;
}

static int forget_unpacked(const char *path, struct sb_err *err)
{
	sb_autobuf struct sb_buf unpacked = SB_BUF_INIT(SB_MAX_CONFIG);

	if (sb_buf_addf(&unpacked, err, "%s.tar", path) < 0)
		return -1;
	if (unlink(unpacked.data) == 0 || errno == ENOENT)
		return 0;
	return sb_err_set(err, SB_FAILED,
		"cannot delete '%s', which would be used instead of '%s': %s", unpacked.data, path,
		strerror(errno));
}

int artifact_write(const struct artifacts *artifacts, size_t i, const char *dir,
	struct sb_buf *path, struct sb_err *err)
{
	const struct artifact *artifact = &artifacts->list[i];

	if (check_dir(dir, err) < 0 || sb_buf_addf(path, err, "%s/%s", dir, artifact->name) < 0 ||
		sb_file_replace(path->data, artifact->data, artifact->size, err) < 0)
		return -1;
	return is_archive(artifacts->host) ? forget_unpacked(path->data, err) : 0;
}
