/* SPDX-License-Identifier: MIT */
/* The secret that is kept between runs. */
/* wrap: fsync linkat */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/buf.h"
#include "payloads/key.h"

#include <fcntl.h>
#include <sys/stat.h>

static char dir[] = "/tmp/sbinject-unit-XXXXXX", path[64];
static bool synced;

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat st;

	synced = fstat(fd, &st) == 0 && st.st_size == 32;
	return 0;
}

int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	assert_true(synced);
	return __real_linkat(from_dir, from, to_dir, to, flags);
}

static int begin(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	setenv("XDG_STATE_HOME", dir, 1);
	snprintf(path, sizeof(path), "%s/sbinject/key", dir);
	synced = false;
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	*strrchr(path, '/') = '\0';
	return rmdir(path) < 0 || rmdir(dir) < 0 ? -1 : 0;
}

static struct key load(void)
{
	struct key key = {.known = true};

	key_load(&key);
	return key;
}

static void put(const char *data, size_t len, mode_t mode)
{
	sb_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_int_equal(write(fd, data, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void test_key_load__makes_one_and_keeps_it(void **state)
{
	struct key first = load(), again = load();
	struct stat st;

	(void)state;
	assert_true(first.known);
	assert_true(again.known);
	assert_memory_equal(first.bytes, again.bytes, sizeof(first.bytes));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_nlink, 1);
}

static void test_key_load__replaces_what_a_crash_left(void **state)
{
	static const size_t sizes[] = {0, 1, 31, 33};
	char data[33] = "";

	(void)state;
	load();
	for (size_t i = 0; i < SB_ARRAY_SIZE(sizes); i++) {
		struct key fresh;

		put(data, sizes[i], 0600);
		fresh = load();
		assert_true(fresh.known);
		assert_memory_equal(fresh.bytes, load().bytes, sizeof(fresh.bytes));
	}
}

static void test_key_load__takes_none_that_others_could_know(void **state)
{
	sb_autobuf struct sb_buf kept = SB_BUF_INIT(100);
	struct sb_err err = SB_ERR_INIT;
	char data[32] = "known to others";

	(void)state;
	load();
	put(data, sizeof(data), 0644);
	assert_false(load().known);
	assert_int_equal(sb_buf_read_file(&kept, path, &err), 0);
	assert_memory_equal(kept.data, data, sizeof(data));
	unlink(path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_false(load().known);
}

/* A user's home, as root is led to by "sudo -E". */
static void assert_left_alone(const char *place, const char *data, size_t len)
{
	sb_autobuf struct sb_buf kept = SB_BUF_INIT(100);
	struct sb_err err = SB_ERR_INIT;
	char file[96];

	assert_false(load().known);
	snprintf(file, sizeof(file), "%s/key", place);
	assert_int_equal(sb_buf_read_file(&kept, file, &err), 0);
	assert_int_equal(kept.len, len);
	assert_memory_equal(kept.data, data, len);
}

static void test_key_load__follows_no_link(void **state)
{
	static const char data[] = "not a key, but somebody's";
	char own[64], aside[64];

	(void)state;
	load();
	put(data, sizeof(data), 0600);
	snprintf(own, sizeof(own), "%s/sbinject", dir);
	snprintf(aside, sizeof(aside), "%s/aside", dir);
	assert_int_equal(rename(own, aside), 0);
	assert_int_equal(symlink(aside, own), 0);
	assert_left_alone(aside, data, sizeof(data));
	assert_int_equal(unlink(own), 0);
	assert_int_equal(rename(aside, own), 0);
}

static void test_key_load__takes_no_directory_that_others_can_write_to(void **state)
{
	char own[64];

	(void)state;
	assert_true(load().known);
	snprintf(own, sizeof(own), "%s/sbinject", dir);
	for (mode_t mode = 02; mode <= 020; mode += 016) {
		assert_int_equal(chmod(own, 0700 | mode), 0);
		assert_false(load().known);
	}
	put("", 0, 0600);
	assert_left_alone(own, "", 0);
	assert_int_equal(chmod(own, 0755), 0);
	assert_true(load().known);
}

static void test_key_load__takes_no_directory_of_another_user(void **state)
{
	char own[64];

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(own, sizeof(own), "%s/sbinject", dir);
	assert_int_equal(chown(dir, 54321, 54321), 0);
	assert_false(load().known);
	assert_int_equal(access(own, F_OK), -1);
	assert_int_equal(chown(dir, 0, 0), 0);
	assert_true(load().known);
	assert_int_equal(chown(own, 54321, 54321), 0);
	put("", 0, 0600);
	assert_left_alone(own, "", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_key_load__follows_no_link, begin, end),
		cmocka_unit_test_setup_teardown(
			test_key_load__takes_no_directory_that_others_can_write_to, begin, end),
		cmocka_unit_test_setup_teardown(
			test_key_load__takes_no_directory_of_another_user, begin, end),
		cmocka_unit_test_setup_teardown(test_key_load__makes_one_and_keeps_it, begin, end),
		cmocka_unit_test_setup_teardown(
			test_key_load__replaces_what_a_crash_left, begin, end),
		cmocka_unit_test_setup_teardown(
			test_key_load__takes_none_that_others_could_know, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
