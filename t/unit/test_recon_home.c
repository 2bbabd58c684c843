/* SPDX-License-Identifier: MIT */
/* Where a payload can be put, by the engine's records alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recon/place.h"
#include "recon/recon.h"

static const char docker_tmpfs[] = "a tmpfs that docker cannot reach";
static const char bind_mount[] = "a bind mount: data on the host";
static const char volume[] = "a volume: data that outlives the container";

static struct eng_mount tmpfs(const char *destination, bool writable, bool noexec)
{
	return (struct eng_mount){ENG_MOUNT_TMPFS, destination, "", writable, noexec};
}

static struct eng_mount data(enum eng_mount_type type, const char *destination)
{
	return (struct eng_mount){type, destination, "", true, false};
}

struct scene {
	struct eng_mount mounts[4];
	struct eng_container container;
};

static void set(struct scene *scene, const char *state, bool read_only, size_t mounts)
{
	scene->container = (struct eng_container){
		.state = state,
		.read_only = read_only,
		.mounts = scene->mounts,
		.mount_count = mounts,
	};
}

static void check_home(const struct scene *scene, const char *dir)
{
	struct recon_home home = {0};
	struct sb_err err = SB_ERR_INIT;

	if (recon_home(&scene->container, ENG_PODMAN, &home, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(home.dir, dir);
	assert_true(home.shared);
	assert_int_equal(err.code, SB_OK);
}

static void test_recon_home__is_the_root_where_it_is_writable(void **state)
{
	struct scene scene = {.mounts = {tmpfs("/tmp", true, false), data(ENG_MOUNT_BIND, "/srv")}};

	(void)state;
	for (unsigned engine = ENG_DOCKER; engine <= ENG_PODMAN; engine++) {
		struct recon_home home = {0};
		struct sb_err err = SB_ERR_INIT;

		set(&scene, "running", false, 2);
		assert_int_equal(recon_home(&scene.container, engine, &home, &err), 0);
		assert_string_equal(home.dir, "/");
		assert_false(home.shared);
	}
}

static void test_recon_home__is_not_below_a_mount_that_hides_it(void **state)
{
	static const struct {
		enum eng_kind engine;
		struct eng_mount mount;
		const char *why; /* NULL: it will do */
	} rows[] = {
		{ENG_DOCKER, {ENG_MOUNT_TMPFS, "/.sbinject", "", true, false},
			"a tmpfs that docker cannot reach"},
		{ENG_PODMAN, {ENG_MOUNT_TMPFS, "/.sbinject", "", true, false}, NULL},
		{ENG_PODMAN, {ENG_MOUNT_TMPFS, "/.sbinject", "", true, true}, "mounted noexec"},
		{ENG_DOCKER, {ENG_MOUNT_BIND, "/.sbinject", "", true, false},
			"a bind mount: data on the host"},
		{ENG_DOCKER, {ENG_MOUNT_BIND, "/.sbinject/x", "", true, false}, NULL},
		{ENG_DOCKER, {ENG_MOUNT_BIND, "/.sbinjection", "", true, false}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct scene scene = {.mounts = {rows[i].mount}};
		struct recon_home home = {0};
		struct sb_err err = SB_ERR_INIT;

		set(&scene, "running", false, 1);
		assert_int_equal(recon_home(&scene.container, rows[i].engine, &home, &err),
			rows[i].why ? -1 : 0);
		assert_int_equal(err.code, rows[i].why ? SB_UNSUPPORTED : SB_OK);
		if (rows[i].why)
			assert_non_null(strstr(err.text, rows[i].why));
	}
}

static void test_recon_home__is_beyond_the_archive_on_docker_with_a_read_only_root(void **state)
{
	struct scene scene = {.mounts = {tmpfs("/dev/shm", true, false),
				      data(ENG_MOUNT_VOLUME, "/v"), data(ENG_MOUNT_BIND, "/devs")}};
	struct recon_home home = {0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	set(&scene, "running", true, 3);
	assert_int_equal(recon_home(&scene.container, ENG_DOCKER, &home, &err), 0);
	assert_string_equal(home.dir, "/dev");
	assert_true(home.beyond);
	assert_false(home.shared);
}

/* The host's /dev, for instance. */
static void test_recon_home__is_not_in_a_dev_of_others(void **state)
{
	static const char *const places[] = {"/dev", "/dev/", "/dev/.sbinject"};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(places); i++) {
		struct scene scene = {.mounts = {data(ENG_MOUNT_BIND, places[i])}};
		struct recon_home home = {0};
		struct sb_err err = SB_ERR_INIT;

		set(&scene, "running", true, 1);
		assert_int_equal(recon_home(&scene.container, ENG_DOCKER, &home, &err), -1);
		assert_int_equal(err.code, SB_UNSUPPORTED);
		assert_non_null(strstr(err.text, "'/dev' is a mount"));
		assert_null(home.dir);
	}
}

static void test_recon_home__is_a_tmpfs_of_podman(void **state)
{
	static const struct {
		struct eng_mount mounts[3];
		size_t count;
		const char *dir;
	} rows[] = {
		{.count = 0, .dir = "/run"},
		{{{ENG_MOUNT_TMPFS, "/run", "", true, false}}, 1, "/run"},
		{{{ENG_MOUNT_TMPFS, "/run/", "", true, true}}, 1, "/tmp"},
		{{{ENG_MOUNT_TMPFS, "/run", "", false, false}}, 1, "/tmp"},
		{{{ENG_MOUNT_VOLUME, "/run", "", true, false}}, 1, "/tmp"},
		{{{ENG_MOUNT_BIND, "/var/run", "", true, false}}, 1, "/tmp"},
		{{{ENG_MOUNT_BIND, "/run/secrets", "", true, false}}, 1, "/run"},
		{{{ENG_MOUNT_BIND, "/running", "", true, false}}, 1, "/run"},
		{{{ENG_MOUNT_BIND, "/run", "", false, false},
			 {ENG_MOUNT_TMPFS, "/tmp", "", true, true}},
			2, "/var/tmp"},
		{{{ENG_MOUNT_TMPFS, "/run", "", true, true},
			 {ENG_MOUNT_TMPFS, "/tmp", "", true, true},
			 {ENG_MOUNT_VOLUME, "/var", "", true, false}},
			3, "/var/tmp"},
		{{{ENG_MOUNT_TMPFS, "/run", "uid=1000,gid=1000,rw,nosuid", true, false}}, 1,
			"/tmp"},
		{{{ENG_MOUNT_TMPFS, "/run", "rw,nosuid,uid=65532", true, false},
			 {ENG_MOUNT_TMPFS, "/tmp/", "uid=01", true, false}},
			2, "/var/tmp"},
		{{{ENG_MOUNT_TMPFS, "/run", "uid=0,gid=1000,rw", true, false}}, 1, "/run"},
		/* Two at one place: both have to do. */
		{{{ENG_MOUNT_TMPFS, "/run", "", true, false},
			 {ENG_MOUNT_TMPFS, "/run", "", true, true}},
			2, "/tmp"},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct scene scene;

		memcpy(scene.mounts, rows[i].mounts, sizeof(rows[i].mounts));
		set(&scene, "running", true, rows[i].count);
		check_home(&scene, rows[i].dir);
	}
}

static void test_recon_home__names_all_causes_on_podman(void **state)
{
	struct scene scene = {.mounts = {tmpfs("/run", true, true), data(ENG_MOUNT_BIND, "/tmp"),
				      tmpfs("/var/tmp", false, false)}};
	struct recon_home home = {0};
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	set(&scene, "running", true, 3);
	assert_int_equal(recon_home(&scene.container, ENG_PODMAN, &home, &err), -1);
	assert_int_equal(err.code, SB_UNSUPPORTED);
	assert_string_equal(err.text,
		"the root file system is read-only and no directory in it can hold a program: '/run' is "
		"mounted noexec, '/tmp' is a bind mount: data on the host, '/var/tmp' is mounted "
		"read-only; start the container without --read-only");
	set(&scene, "paused", true, 0);
	sb_err_clear(&err);
	assert_int_equal(recon_home(&scene.container, ENG_PODMAN, &home, &err), -1);
	assert_int_equal(err.code, SB_UNSUPPORTED);
}

static void test_recon_place_why_not__knows_what_engines_reach(void **state)
{
	static const struct {
		enum eng_kind engine;
		const char *state;
		bool read_only;
		struct eng_mount mount;
		const char *dir, *why;
	} rows[] = {
#define NONE {ENG_MOUNT_OTHER, "/none", "", false, false}
		{ENG_DOCKER, "running", false, NONE, "/", NULL},
		{ENG_DOCKER, "paused", false, NONE, "/tmp", NULL},
		{ENG_DOCKER, "running", true, NONE, "/", "the root file system is read-only"},
		{ENG_DOCKER, "running", true, NONE, "/tmp", "the root file system is read-only"},
		{ENG_DOCKER, "running", false, NONE, "/dev/shm", docker_tmpfs},
		{ENG_DOCKER, "running", false, NONE, "/dev", "made by the engine for devices"},
		{ENG_DOCKER, "running", false, NONE, "/proc/1", "not for files"},
		{ENG_DOCKER, "running", false, NONE, "/device", NULL},
		{ENG_PODMAN, "running", false, NONE, "/dev/shm", "mounted noexec"},
		{ENG_PODMAN, "paused", false, NONE, "/run", NULL},
		{ENG_PODMAN, "running", true, NONE, "/", "the root file system is read-only"},
		{ENG_PODMAN, "running", true, NONE, "/opt", "the root file system is read-only"},
		{ENG_PODMAN, "running", true, NONE, "/var/tmp/x", NULL},
		{ENG_PODMAN, "paused", true, NONE, "/tmp",
			"a tmpfs that podman can reach only while the container runs"},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_TMPFS, "/tmp", "", true, false}, "/tmp",
			docker_tmpfs},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_TMPFS, "/tmp", "", true, false}, "/tmp/x",
			docker_tmpfs},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_TMPFS, "/tmp", "", true, false}, "/tmpx",
			NULL},
		{ENG_PODMAN, "running", false, {ENG_MOUNT_TMPFS, "/tmp", "", true, false}, "/tmp",
			NULL},
		{ENG_PODMAN, "running", false, {ENG_MOUNT_TMPFS, "/tmp", "", true, true}, "/tmp",
			"mounted noexec"},
		{ENG_PODMAN, "running", false, {ENG_MOUNT_TMPFS, "/tmp", "uid=1", true, false},
			"/tmp", "owned by a user who could replace the program"},
		{ENG_PODMAN, "paused", false, {ENG_MOUNT_TMPFS, "/tmp", "", true, false}, "/tmp",
			"a tmpfs that podman can reach only while the container runs"},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_VOLUME, "/dev/shm", "", true, false},
			"/dev/shm", volume},
		{ENG_DOCKER, "running", true, {ENG_MOUNT_BIND, "/srv", "", true, false}, "/srv",
			bind_mount},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_BIND, "/srv", "", false, false}, "/srv",
			"mounted read-only"},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_OTHER, "/srv", "", true, false}, "/srv",
			"a mount of unknown kind"},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_OTHER, "/", "", false, false}, "/", NULL},
		{ENG_DOCKER, "running", false, {ENG_MOUNT_OTHER, "", "", false, false}, "/", NULL},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct scene scene = {.mounts = {rows[i].mount}};
		const char *why;

		set(&scene, rows[i].state, rows[i].read_only, 1);
		why = recon_place_why_not(&scene.container, rows[i].engine, rows[i].dir);
		if (rows[i].why)
			assert_string_equal(why ? why : "usable", rows[i].why);
		else
			assert_null(why);
	}
}

static void test_recon_place_list__lists_each_place_once(void **state)
{
	static const struct {
		const char *path, *why;
	} expected[] = {
		{"/", ""},
		{"/var/tmp", ""},
		{"/tmp", docker_tmpfs},
		{"/run", ""},
		{"/dev/shm", docker_tmpfs},
		{"/opt", ""},
		{"/data", volume},
	};
	struct scene scene = {
		.mounts = {tmpfs("/tmp", true, false), data(ENG_MOUNT_VOLUME, "/data"),
			data(ENG_MOUNT_VOLUME, "/data")}};
	struct recon_place places[16];

	(void)state;
	set(&scene, "running", false, 3);
	assert_int_equal(recon_place_list(&scene.container, ENG_DOCKER, places, 16),
		SB_ARRAY_SIZE(expected));
	for (size_t i = 0; i < SB_ARRAY_SIZE(expected); i++) {
		assert_string_equal(places[i].path, expected[i].path);
		assert_string_equal(places[i].why, expected[i].why);
		assert_int_equal(places[i].usable, expected[i].why[0] == '\0');
	}
	for (size_t max = 0; max < 7; max++)
		assert_int_equal(recon_place_list(&scene.container, ENG_DOCKER, places, max), max);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recon_home__is_the_root_where_it_is_writable),
		cmocka_unit_test(
			test_recon_home__is_beyond_the_archive_on_docker_with_a_read_only_root),
		cmocka_unit_test(test_recon_home__is_not_in_a_dev_of_others),
		cmocka_unit_test(test_recon_home__is_not_below_a_mount_that_hides_it),
		cmocka_unit_test(test_recon_home__is_a_tmpfs_of_podman),
		cmocka_unit_test(test_recon_home__names_all_causes_on_podman),
		cmocka_unit_test(test_recon_place_why_not__knows_what_engines_reach),
		cmocka_unit_test(test_recon_place_list__lists_each_place_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
