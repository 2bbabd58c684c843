/* SPDX-License-Identifier: MIT */
/* wrap: malloc calloc realloc strdup */
/* Our programs under the names and in the forms of each range of releases, and in a directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "payloads/artifact.h"
#include "payloads/catalogue.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "t/unit/fail_alloc.h"

static const struct host *host_of(const char *client)
{
	struct sb_err err = SB_ERR_INIT;
	const struct host *host;

	assert_int_equal(host_find(client, &host, &err), 0);
	assert_non_null(host);
	return host;
}

static void test_artifacts_make__uses_the_names_of_the_release(void **state)
{
	static const struct {
		const char *client, *names[4];
	} rows[] = {
		{"inspect_ai 0.3.133",
			{"inspect-sandbox-tools-amd64-v2", "inspect-sandbox-tools-arm64-v2"}},
		{"inspect_ai 0.3.239",
			{"inspect-sandbox-tools-amd64-v18", "inspect-sandbox-tools-arm64-v18"}},
		{"inspect_ai 0.3.240",
			{"inspect-sandbox-tools-amd64-v19", "inspect-sandbox-tools-amd64-musl-v19",
				"inspect-sandbox-tools-arm64-v19",
				"inspect-sandbox-tools-arm64-musl-v19"}},
		{"inspect_ai 0.3.285",
			{"inspect-sandbox-tools-amd64-v35", "inspect-sandbox-tools-amd64-musl-v35",
				"inspect-sandbox-tools-arm64-v35",
				"inspect-sandbox-tools-arm64-musl-v35"}},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(artifacts_release) struct artifacts all = ARTIFACTS_INIT;
		struct sb_err err = SB_ERR_INIT;
		size_t next = 0;

		assert_int_equal(artifacts_make(host_of(rows[i].client), &all, &err), 0);
		for (size_t j = 0; j < 4 && rows[i].names[j]; j++) {
			const char *arch = strstr(rows[i].names[j], "amd64") ? "amd64" : "arm64";

			if (!payload_for_arch(arch))
				continue;
			assert_true(next < all.count);
			assert_string_equal(all.list[next++].name, rows[i].names[j]);
		}
		assert_int_equal(next, all.count);
	}
}

static void test_artifacts_make__makes_the_same_bytes_each_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < host_count(); i++) {
		sb_auto(artifacts_release) struct artifacts one = ARTIFACTS_INIT,
							    two = ARTIFACTS_INIT;
		struct sb_err err = SB_ERR_INIT;

		if (!host_at(i)->path)
			continue;
		assert_int_equal(artifacts_make(host_at(i), &one, &err), 0);
		assert_int_equal(artifacts_make(host_at(i), &two, &err), 0);
		assert_true(one.count > 0);
		for (size_t j = 0; j < one.count; j++) {
			const struct artifact *artifact = &one.list[j];
			char sha256[SHA256_HEX];

			sha256_hex(artifact->data, artifact->size, sha256);
			assert_string_equal(artifact->sha256, sha256);
			assert_string_equal(two.list[j].sha256, sha256);
		}
	}
}

static void test_artifacts_make__refuses_what_is_not_served(void **state)
{
	sb_auto(artifacts_release) struct artifacts all = ARTIFACTS_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(artifacts_make(host_of("inspect_ai 0.3.132"), &all, &err), -1);
	assert_int_equal(err.code, SB_UNSUPPORTED);
	assert_non_null(strstr(err.text, "it runs inspect-tool-support"));
}

static void test_artifacts_make__survives_each_failing_allocation(void **state)
{
	int rc = -1;

	(void)state;
	for (long n = 0; rc < 0; n++) {
		sb_auto(artifacts_release) struct artifacts all = ARTIFACTS_INIT;
		struct sb_err err = SB_ERR_INIT;

		armed = true;
		left = n;
		rc = artifacts_make(host_of("inspect_ai 0.3.285"), &all, &err);
		armed = false;
		if (rc < 0)
			assert_int_equal(err.code, SB_FAILED);
		assert_in_range(n, 0, 100);
	}
}

/* ---- writing ---- */

struct dir {
	char path[64];
	struct artifacts all;
};

static void open_dir(struct dir *dir)
{
	struct sb_err err = SB_ERR_INIT;

	*dir = (struct dir){"/tmp/test_artifact-XXXXXX", ARTIFACTS_INIT};
	assert_non_null(mkdtemp(dir->path));
	assert_int_equal(artifacts_make(host_of("inspect_ai 0.3.285"), &dir->all, &err), 0);
}

static void close_dir(struct dir *dir)
{
	assert_int_equal(rmdir(dir->path), 0);
	artifacts_release(&dir->all);
}

/* The file of that name with an ending, made if it is to be. */
static const char *beside(const struct dir *dir, const char *ending, bool make)
{
	static char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s%s", dir->path, dir->all.list[0].name, ending);
	if (make) {
		fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		close(fd);
	}
	return path;
}

static void test_artifact_write__replaces_what_was_there(void **state)
{
	sb_autobuf struct sb_buf path = SB_BUF_INIT(1000), data = SB_BUF_INIT(1 << 20);
	struct sb_err err = SB_ERR_INIT;
	struct stat there;
	struct dir dir;

	(void)state;
	open_dir(&dir);
	beside(&dir, ".tar", true);
	assert_int_equal(symlink("target", beside(&dir, "", false)), 0);
	assert_int_equal(artifact_write(&dir.all, 0, dir.path, &path, &err), 0);
	assert_string_equal(path.data, beside(&dir, "", false));
	assert_int_equal(lstat(path.data, &there), 0);
	assert_true(S_ISREG(there.st_mode));
	assert_int_equal(there.st_mode & 07777, 0755);
	assert_int_equal(sb_buf_read_file(&data, path.data, &err), 0);
	assert_int_equal(data.len, dir.all.list[0].size);
	assert_memory_equal(data.data, dir.all.list[0].data, data.len);
	assert_int_equal(access(beside(&dir, ".tar", false), F_OK), -1);
	assert_int_equal(unlink(path.data), 0);
	close_dir(&dir);
}

static void test_artifact_write__says_what_it_cannot_do(void **state)
{
	sb_autobuf struct sb_buf one = SB_BUF_INIT(1000), two = SB_BUF_INIT(1000),
				 three = SB_BUF_INIT(1000);
	struct sb_err err = SB_ERR_INIT;
	struct dir dir;

	(void)state;
	open_dir(&dir);
	assert_int_equal(artifact_write(&dir.all, 0, "", &one, &err), -1);
	assert_string_equal(
		err.text, "cannot write into the directory '': No such file or directory");
	sb_err_clear(&err);
	assert_int_equal(artifact_write(&dir.all, 0, "/dev/null", &two, &err), -1);
	assert_string_equal(err.text, "'/dev/null' is not a directory");
	sb_err_clear(&err);
	/* What it unpacked cannot be deleted. */
	assert_int_equal(mkdir(beside(&dir, ".tar", false), 0755), 0);
	assert_int_equal(artifact_write(&dir.all, 0, dir.path, &three, &err), -1);
	assert_int_equal(err.code, SB_FAILED);
	assert_non_null(strstr(err.text, "which would be used instead of"));
	assert_int_equal(rmdir(beside(&dir, ".tar", false)), 0);
	assert_int_equal(unlink(beside(&dir, "", false)), 0);
	close_dir(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_artifacts_make__uses_the_names_of_the_release),
		cmocka_unit_test(test_artifacts_make__makes_the_same_bytes_each_time),
		cmocka_unit_test(test_artifacts_make__refuses_what_is_not_served),
		cmocka_unit_test(test_artifacts_make__survives_each_failing_allocation),
		cmocka_unit_test(test_artifact_write__replaces_what_was_there),
		cmocka_unit_test(test_artifact_write__says_what_it_cannot_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
