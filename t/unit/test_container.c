/* SPDX-License-Identifier: MIT */
/* wrap: malloc calloc realloc strdup */
/*
 * Answers to inspect, in the shapes in which the engines give them, and in shapes that none should.
 * With every allocation failing in turn, this and the other pure halves give an error and no leak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/client.h"
#include "engine/tar.h"
#include "payloads/receipt.h"
#include "t/unit/fail_alloc.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- what the engines answer ---- */

static const char docker_20_10[] =
	"{\"Id\":\"" ID "\",\"Created\":\"2026-11-18T09:00:00Z\",\"Path\":\"sleep\","
	"\"Args\":[\"inf\"],\"State\":{\"Status\":\"running\",\"Running\":true,\"Paused\":false,"
	"\"Restarting\":false,\"OOMKilled\":false,\"Dead\":false,\"Pid\":4711,\"ExitCode\":0},"
	"\"Image\":\"sha256:" ID "\",\"Name\":\"/box\",\"Platform\":\"linux\","
	"\"HostConfig\":{\"Binds\":[\"/srv:/data:ro\"],\"ReadonlyRootfs\":false,"
	"\"Privileged\":false,\"Tmpfs\":{\"/run\":\"\",\"/scratch\":\"exec,size=64k\"}},"
	"\"GraphDriver\":{\"Data\":{\"MergedDir\":\"/var/lib/docker/overlay2/x/merged\"},"
	"\"Name\":\"overlay2\"},"
	"\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/srv\",\"Destination\":\"/data\","
	"\"Mode\":\"ro\",\"RW\":false,\"Propagation\":\"rprivate\"},"
	"{\"Type\":\"volume\",\"Name\":\"v\",\"Source\":\"/x\",\"Destination\":\"/vol\","
	"\"Driver\":\"local\",\"Mode\":\"z\",\"RW\":true,\"Propagation\":\"\"},"
	"{\"Type\":\"tmpfs\",\"Source\":\"\",\"Destination\":\"/tmp\",\"Mode\":\"\",\"RW\":true},"
	"{\"Type\":\"npipe\",\"Source\":\"x\",\"Destination\":\"/p\",\"Mode\":\"\",\"RW\":true}],"
	"\"Config\":{\"User\":\"app:app\",\"Env\":null,\"Entrypoint\":null,\"Image\":\"debian:12\","
	"\"Labels\":{\"role\":\"sandbox\"}}}";

static json_t *parse(const char *text)
{
	json_t *doc = json_loads(text, 0, NULL);

	assert_non_null(doc);
	return doc;
}

static void test_eng_container_parse__reads_docker_20_10(void **state)
{
	sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
	json_auto_t *doc = parse(docker_20_10);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(eng_container_parse(ENG_DOCKER, doc, &c, &err), 0);
	assert_string_equal(c.id, ID);
	assert_string_equal(c.name, "box");
	assert_string_equal(c.state, "running");
	assert_string_equal(c.image_id, "sha256:" ID);
	assert_string_equal(c.image, "debian:12");
	assert_string_equal(c.user, "app:app");
	assert_string_equal(c.path, "sleep");
	assert_string_equal(c.arch, "");
	assert_string_equal(sb_json_str(c.labels, "role"), "sandbox");
	assert_false(c.read_only);
	assert_false(c.privileged);
	assert_int_equal(c.mount_count, 6);
}

static void test_eng_container_parse__lists_mounts_and_tmpfs(void **state)
{
	static const struct {
		const char *destination, *options;
		enum eng_mount_type type;
		bool writable, docker_noexec, podman_noexec;
	} rows[] = {
		{"/data", "ro", ENG_MOUNT_BIND, false, false, false},
		{"/vol", "z", ENG_MOUNT_VOLUME, true, false, false},
		{"/tmp", "", ENG_MOUNT_TMPFS, true, true, false},
		{"/p", "", ENG_MOUNT_OTHER, true, false, false},
		{"/run", "", ENG_MOUNT_TMPFS, true, true, false},
		{"/scratch", "exec,size=64k", ENG_MOUNT_TMPFS, true, false, false},
	};
	json_auto_t *doc = parse(docker_20_10);
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	for (int kind = ENG_DOCKER; kind <= ENG_PODMAN; kind++) {
		sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;

		assert_int_equal(eng_container_parse(kind, doc, &c, &err), 0);
		assert_int_equal(c.mount_count, SB_ARRAY_SIZE(rows));
		for (size_t i = 0; i < c.mount_count; i++) {
			assert_string_equal(c.mounts[i].destination, rows[i].destination);
			assert_string_equal(c.mounts[i].options, rows[i].options);
			assert_int_equal(c.mounts[i].type, rows[i].type);
			assert_int_equal(c.mounts[i].writable, rows[i].writable);
			assert_int_equal(c.mounts[i].noexec,
				kind == ENG_DOCKER ? rows[i].docker_noexec : rows[i].podman_noexec);
		}
	}
}

static void test_eng_container_parse__reads_tmpfs_options(void **state)
{
	static const struct {
		const char *options;
		bool writable, docker_noexec, podman_noexec;
	} rows[] = {
		{"\"rw,noexec,nosuid\"", true, true, true},
		{"\"rw,exec\"", true, false, false},
		{"\"ro\"", false, true, false},
		{"\"size=64k,ro\"", false, true, false},
		{"\"root,exec=1\"", true, true, false},
		{"\",,\"", true, true, false},
		{"null", true, true, false},
		{"7", true, true, false},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows) * 2; i++) {
		sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
		json_auto_t *doc = json_pack("{s:s, s:{s:{s:o}}}", "Id", ID, "HostConfig", "Tmpfs",
			"/t", json_loads(rows[i / 2].options, JSON_DECODE_ANY, NULL));
		enum eng_kind kind = i % 2 ? ENG_PODMAN : ENG_DOCKER;
		struct sb_err err = SB_ERR_INIT;

		assert_non_null(doc);
		assert_int_equal(eng_container_parse(kind, doc, &c, &err), 0);
		assert_int_equal(c.mount_count, 1);
		assert_string_equal(c.mounts[0].destination, "/t");
		assert_non_null(c.mounts[0].options);
		assert_int_equal(c.mounts[0].writable, rows[i / 2].writable);
		assert_int_equal(c.mounts[0].noexec,
			i % 2 ? rows[i / 2].podman_noexec : rows[i / 2].docker_noexec);
	}
}

/* 28.5 with the containerd store, and 29 where GraphDriver and empty members are gone. */
static void test_eng_container_parse__reads_docker_28_and_29(void **state)
{
	static const char *const texts[] = {
		"{\"Id\":\"" ID "\",\"Path\":\"/bin/sh\",\"State\":{\"Status\":\"running\","
		"\"Running\":true},\"Image\":\"sha256:" ID "\",\"Name\":\"/b\",\"Driver\":"
		"\"overlayfs\",\"GraphDriver\":{\"Data\":null,\"Name\":\"overlayfs\"},"
		"\"HostConfig\":{\"ReadonlyRootfs\":true,\"Privileged\":true,\"Tmpfs\":null},"
		"\"Mounts\":[],\"Config\":{\"User\":\"\",\"Labels\":{},\"Image\":\"a\"},"
		"\"ImageManifestDescriptor\":{\"mediaType\":\"x\",\"platform\":"
		"{\"architecture\":\"arm64\",\"os\":\"linux\",\"variant\":\"v8\"}}}",
		"{\"Id\":\"" ID "\",\"Path\":\"/bin/sh\",\"State\":{\"Status\":\"running\","
		"\"Running\":true},\"Image\":\"sha256:" ID "\",\"Name\":\"/b\","
		"\"Storage\":{\"RootFS\":{\"Snapshot\":{\"Name\":\"overlayfs\"}}},"
		"\"HostConfig\":{\"ReadonlyRootfs\":true,\"Privileged\":true},"
		"\"Mounts\":null,\"Config\":{\"Image\":\"a\"},"
		"\"ImageManifestDescriptor\":{\"platform\":{\"architecture\":\"arm64\","
		"\"os\":\"linux\"}}}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
		json_auto_t *doc = parse(texts[i]);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_container_parse(ENG_DOCKER, doc, &c, &err), 0);
		assert_string_equal(c.state, "running");
		assert_string_equal(c.user, "");
		assert_string_equal(c.arch, "arm64");
		assert_true(c.read_only);
		assert_true(c.privileged);
		assert_int_equal(c.mount_count, 0);
	}
}

static void test_eng_container_parse__puts_states_in_dockers_words(void **state)
{
	static const struct {
		const char *json, *word;
	} rows[] = {
		{"{\"Status\":\"running\",\"Running\":true}", "running"},
		{"{\"Status\":\"paused\",\"Running\":true,\"Paused\":true}", "paused"},
		{"{\"Status\":\"running\",\"Running\":true,\"Paused\":true}", "paused"},
		{"{\"Status\":\"restarting\",\"Running\":true,\"Restarting\":true}", "restarting"},
		{"{\"Status\":\"running\",\"Running\":true,\"Restarting\":true}", "restarting"},
		{"{\"Status\":\"exited\",\"Running\":false}", "exited"},
		{"{\"Status\":\"created\"}", "created"},
		{"{\"Status\":\"dead\",\"Dead\":true}", "dead"},
		{"{\"Status\":\"removing\"}", "removing"},
		{"{\"Status\":\"configured\"}", "created"},
		{"{\"Status\":\"stopped\"}", "exited"},
		{"{\"Status\":\"stopping\",\"Running\":true}", "exited"},
		{"{\"Status\":\"Running\"}", "Running"},
		{"{\"Status\":7}", "unknown"},
		{"{\"Status\":null}", "unknown"},
		{"{}", "unknown"},
		{"[]", "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
		json_auto_t *doc = json_pack(
			"{s:s, s:s, s:o}", "Id", ID, "Name", "/n", "State", parse(rows[i].json));
		struct sb_err err = SB_ERR_INIT;
		int need;

		assert_int_equal(eng_container_parse(ENG_PODMAN, doc, &c, &err), 0);
		assert_string_equal(c.state, rows[i].word);
		need = eng_container_need_running(&c, &err);
		assert_int_equal(need, strcmp(rows[i].word, "running") == 0 ? 0 : -1);
		if (need == 0)
			continue;
		assert_int_equal(err.code, SB_NO_CONTAINER);
		assert_non_null(strstr(err.text, rows[i].word));
		assert_non_null(strstr(err.text, "'n'"));
	}
}

static void test_eng_container_parse__takes_wrong_types_for_absent(void **state)
{
	static const char *const wrong[] = {"null", "7", "1.5", "true", "\"x\"", "[]", "{}",
		"[null,7,\"x\",[],{}]", "{\"x\":{\"y\":null}}"};
	static const char *const keys[] = {"State", "Name", "Image", "Path", "Config", "HostConfig",
		"Mounts", "ImageManifestDescriptor"};
	static const char *const inner[] = {"Labels", "User", "Image", "Tmpfs", "ReadonlyRootfs",
		"Privileged", "Status", "platform"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(wrong); i++)
		for (size_t k = 0; k < SB_ARRAY_SIZE(keys); k++)
			for (size_t n = 0; n <= SB_ARRAY_SIZE(inner); n++) {
				sb_auto(eng_container_release) struct eng_container c =
					ENG_CONTAINER_INIT;
				json_t *value = json_loads(wrong[i], JSON_DECODE_ANY, NULL);
				json_auto_t *doc = json_pack("{s:s}", "Id", ID);
				struct sb_err err = SB_ERR_INIT;

				if (n < SB_ARRAY_SIZE(inner))
					value = json_pack("{s:o}", inner[n], value);
				json_object_set_new(doc, keys[k], value);
				assert_int_equal(eng_container_parse(ENG_DOCKER, doc, &c, &err), 0);
				assert_non_null(c.name);
				assert_non_null(c.state);
				assert_non_null(c.image_id);
				assert_non_null(c.image);
				assert_non_null(c.user);
				assert_non_null(c.path);
				assert_non_null(c.arch);
				assert_true(!c.labels || json_is_object(c.labels));
				for (size_t m = 0; m < c.mount_count; m++) {
					assert_non_null(c.mounts[m].destination);
					assert_non_null(c.mounts[m].options);
				}
			}
}

static void test_eng_container_parse__insists_on_an_id(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"{\"Id\":null}",
		"{\"Id\":7}",
		"{\"Id\":\"\"}",
		"{\"Id\":\"0123\"}",
		"{\"Id\":\"" ID "0\"}",
		"{\"Id\":\"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\"}",
		"{\"Id\":\"../.././0123456789abcdef0123456789abcdef0123456789abcdef01234567\"}",
		"{\"id\":\"" ID "\"}",
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(texts); i++) {
		sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
		json_auto_t *doc = parse(texts[i]);
		struct sb_err err = SB_ERR_INIT;

		assert_int_equal(eng_container_parse(ENG_DOCKER, doc, &c, &err), -1);
		assert_int_equal(err.code, SB_FAILED);
	}
}

static void test_eng_container_release__takes_an_empty_one(void **state)
{
	struct eng_container c = ENG_CONTAINER_INIT;

	(void)state;
	eng_container_release(&c);
	assert_null(c.doc);
}

/* ---- without memory ---- */

static void *fail_or_malloc(size_t size)
{
	return __wrap_malloc(size);
}

static int parse_once(struct sb_err *err)
{
	sb_auto(eng_container_release) struct eng_container c = ENG_CONTAINER_INIT;
	json_auto_t *doc = sb_json_parse(docker_20_10, sizeof(docker_20_10) - 1, "x", err);

	return doc ? eng_container_parse(ENG_DOCKER, doc, &c, err) : -1;
}

static int write_once(struct sb_err *err)
{
	static char data[3000];
	static const struct eng_tar_member members[] = {
		{"dir/", 0700, NULL, 0, NULL},
		{"dir/file", 0755, data, sizeof(data), NULL},
	};
	sb_autobuf struct sb_buf out = SB_BUF_INIT(1 << 20);

	return eng_tar_write(members, SB_ARRAY_SIZE(members), &out, err);
}

static int receipt_once(struct sb_err *err)
{
	static const char line[] = "{\"sbinject\":1,\"nonce\":\"n\",\"ok\":true,\"was\":\"same\","
				   "\"sha256\":\"" ID "\",\"release\":\"0.1.0\",\"pid\":7}";
	bool ours;
	json_auto_t *doc = receipt_parse(line, sizeof(line) - 1, "n", &ours, err);
	struct receipt_install receipt;

	return doc ? receipt_read_install(doc, ID, &receipt, err) : -1;
}

static int stat_once(struct sb_err *err)
{
	struct eng_stat st;

	return eng_stat_parse("eyJtb2RlIjo0MjB9", &st, err);
}

static void test_parsers__survive_each_failing_allocation(void **state)
{
	static int (*const runs[])(struct sb_err * err) = {
		parse_once, write_once, receipt_once, stat_once};

	(void)state;
	json_set_alloc_funcs(fail_or_malloc, free);
	for (size_t i = 0; i < SB_ARRAY_SIZE(runs); i++) {
		int rc = -1;

		for (long n = 0; rc < 0; n++) {
			struct sb_err err = SB_ERR_INIT;

			armed = lasting = true;
			left = n;
			rc = runs[i](&err);
			armed = false;
			assert_int_equal(rc < 0, err.code != SB_OK);
			assert_int_equal(rc < 0, err.text[0] != '\0');
			assert_in_range(n, 0, 1000);
			if (rc == 0)
				assert_int_not_equal(n, 0);
		}
	}
	json_set_alloc_funcs(malloc, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eng_container_parse__reads_docker_20_10),
		cmocka_unit_test(test_eng_container_parse__lists_mounts_and_tmpfs),
		cmocka_unit_test(test_eng_container_parse__reads_tmpfs_options),
		cmocka_unit_test(test_eng_container_parse__reads_docker_28_and_29),
		cmocka_unit_test(test_eng_container_parse__puts_states_in_dockers_words),
		cmocka_unit_test(test_eng_container_parse__takes_wrong_types_for_absent),
		cmocka_unit_test(test_eng_container_parse__insists_on_an_id),
		cmocka_unit_test(test_eng_container_release__takes_an_empty_one),
		cmocka_unit_test(test_parsers__survive_each_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
