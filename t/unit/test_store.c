/* SPDX-License-Identifier: MIT */
/* The tiers in which a pinned archive is looked for, and the cache that one is put into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/clock.h"
#include "engine/file.h"
#include "engine/interrupt.h"
#include "payloads/bundle.h"
#include "payloads/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char good[] = "the bytes that are pinned", bad[] = "other bytes";
static char sha256[SHA256_HEX], wrong[SHA256_HEX];
static char dir[] = "/tmp/sbinject-unit-XXXXXX", file[64], cached[160], part[168];
static struct store_want want;

static int begin(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	sha256_hex(good, strlen(good), sha256);
	sha256_hex(bad, strlen(bad), wrong);
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(cached, sizeof(cached), "%s/sbinject/sha256/%s", dir, sha256);
	snprintf(part, sizeof(part), "%s.part", cached);
	setenv("XDG_CACHE_HOME", dir, 1);
	unsetenv("SBINJECT_BUNDLE");
	want = (struct store_want){.name = "thing", .sha256 = sha256, .size = 84600000};
	eng_interrupted = 0;
	return 0;
}

static int delete (const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static int end(void **state)
{
	(void)state;
	return nftw(dir, delete, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text)
{
	sb_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(sb_file_put(fd, path, text, strlen(text), &err), 0);
}

static struct store_dir open_cache(void)
{
	struct store_dir cache = STORE_DIR_INIT;
	struct sb_err err = SB_ERR_INIT;

	if (store_dir_cache(&cache, &err) < 0)
		fail_msg("%s", err.text);
	return cache;
}

static void make_cache(void)
{
	struct store_dir cache = open_cache();

	store_dir_release(&cache);
}

/* That it is found there, whole. */
static void assert_found(enum store_tier tier, const char *place)
{
	sb_auto(store_found_release) struct store_found found = STORE_FOUND_INIT;
	struct sb_err err = SB_ERR_INIT;
	char text[sizeof(good)] = "";

	if (store_find(&want, &found, &err) != 0)
		fail_msg("not found: %s", err.text);
	assert_int_equal(found.tier, tier);
	assert_string_equal(found.place, place);
	assert_int_equal(found.bytes.size, strlen(good));
	assert_int_equal(
		pread(found.bytes.fd, text, strlen(good), (off_t)found.bytes.offset), strlen(good));
	assert_string_equal(text, good);
}

static void assert_refused(enum sb_code code, const char *const words[])
{
	struct store_found found = STORE_FOUND_INIT;
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(store_find(&want, &found, &err), -1);
	assert_int_equal(err.code, code);
	for (; *words; words++)
		if (!strstr(err.text, *words))
			fail_msg("'%s' is not in: %s", *words, err.text);
	assert_int_equal(found.bytes.fd, -1);
}

static void test_store_find__looks_into_the_tiers_in_order(void **state)
{
	(void)state;
	make_cache();
	put(cached, good);
	assert_found(STORE_CACHE, cached);
	want.path = file;
	assert_found(STORE_CACHE, cached);
	put(file, good);
	assert_found(STORE_FILE, file);
}

static void test_store_find__reads_a_file_again_that_is_not_taken(void **state)
{
	char other[SHA256_HEX];

	(void)state;
	sha256_hex(bad, strlen(bad), other);
	put(file, good);
	want.path = file;
	want.sha256 = other;
	assert_refused(SB_MISMATCH, (const char *const[]){file, NULL});
	want.taken = true;
	assert_found(STORE_FILE, file);
}

/* A bundle of the right bytes under a digest, which need not be theirs. */
static void put_bundle(const char *path, const char *text)
{
	sb_autoclose int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char source[80], of_text[SHA256_HEX];
	struct bundle_item item = {.name = "thing", .sha256 = of_text, .path = source};
	struct sb_err err = SB_ERR_INIT;

	snprintf(source, sizeof(source), "%s/source", dir);
	put(source, text);
	sha256_hex(text, strlen(text), of_text);
	assert_int_equal(sb_file_open(source, &item.bytes.fd, &err), 0);
	item.bytes.size = strlen(text);
	if (bundle_write(fd, path, &item, 1, &err) < 0)
		fail_msg("%s", err.text);
	close(item.bytes.fd);
}

static void test_store_find__looks_into_bundles(void **state)
{
	char other[80];

	(void)state;
	make_cache();
	snprintf(other, sizeof(other), "%s/other.sbb", dir);
	put(cached, good);
	put_bundle(file, good);
	put_bundle(other, bad);
	setenv("SBINJECT_BUNDLE", file, 1);
	assert_found(STORE_BUNDLE, file);
	want.bundle = other;
	assert_found(STORE_BUNDLE, file);
	setenv("SBINJECT_BUNDLE", other, 1);
	assert_found(STORE_CACHE, cached);
	setenv("SBINJECT_BUNDLE", "", 1);
	assert_found(STORE_CACHE, cached);
	want.bundle = "/nowhere/at.all";
	assert_refused(SB_USAGE, (const char *const[]){"'/nowhere/at.all'", "--bundle", NULL});
	want.bundle = cached;
	assert_refused(SB_MISMATCH, (const char *const[]){cached, "no bundle", NULL});
}

/* What is changed in a bundle, a good cache does not make up for. */
static void test_store_find__takes_no_wrong_member(void **state)
{
	sb_autoclose int fd = -1;

	(void)state;
	make_cache();
	put(cached, good);
	put_bundle(file, good);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	/* Behind the two blocks of the manifest, and a header. */
	assert_int_equal(pwrite(fd, "X", 1, 3 * 512), 1);
	want.bundle = file;
	assert_refused(
		SB_MISMATCH, (const char *const[]){"'thing'", file, "(bundle)", sha256, NULL});
}

static void test_store_find__goes_on_from_no_wrong_bytes(void **state)
{
	(void)state;
	make_cache();
	put(cached, good);
	put(file, bad);
	want.path = file;
	assert_refused(
		SB_MISMATCH, (const char *const[]){"'thing'", file, "(file)", sha256, wrong, NULL});
	want.path = NULL;
	put(cached, bad);
	assert_refused(SB_MISMATCH,
		(const char *const[]){"'thing'", cached, "(cache)", sha256, wrong, "delete", NULL});
	put(cached, "");
	assert_refused(SB_MISMATCH, (const char *const[]){cached, NULL});
}

static void test_store_find__waits_for_no_fifo(void **state)
{
	(void)state;
	make_cache();
	assert_int_equal(mkfifo(cached, 0600), 0);
	assert_refused(SB_USAGE, (const char *const[]){"'thing'", cached, NULL});
}

static void test_store_need__says_what_to_do(void **state)
{
	struct store_found found = STORE_FOUND_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	assert_int_equal(store_need(&want, &found, &err), -1);
	assert_int_equal(err.code, SB_UNSUPPORTED);
	assert_string_equal(err.text,
		"payload 'thing' (85 MB) is not here: run 'sbinject fetch thing', or take it along "
		"with 'sbinject bundle'");
	sb_err_clear(&err);
	want.size = 0;
	assert_int_equal(store_need(&want, &found, &err), -1);
	assert_non_null(strstr(err.text, "payload 'thing' is not here"));
	sb_err_clear(&err);
	want.path = "/nonexistent/file";
	assert_int_equal(store_need(&want, &found, &err), -1);
	assert_int_equal(err.code, SB_USAGE);
	assert_string_equal(err.text, "payload 'thing': no such file '/nonexistent/file'");
	sb_err_clear(&err);
	want.path = NULL;
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(store_need(&want, &found, &err), -1);
	assert_int_equal(err.code, SB_UNSUPPORTED);
}

/* ---- the cache ---- */

static void test_store_dir_cache__takes_none_of_others(void **state)
{
	struct store_dir cache = open_cache();
	struct sb_err err = SB_ERR_INIT;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(cache.fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(chmod(cache.path, 0722), 0);
	store_dir_release(&cache);
	assert_int_equal(store_dir_cache(&cache, &err), -1);
	assert_int_equal(err.code, SB_FAILED);
	assert_non_null(strstr(err.text, cache.path));
	sb_err_clear(&err);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(store_dir_cache(&cache, &err), -1);
	assert_int_equal(err.code, SB_USAGE);
}

static void begin_slot(const struct store_dir *cache, struct store_slot *slot)
{
	struct sb_err err = SB_ERR_INIT;

	if (store_slot_begin(cache, &want, NULL, slot, &err) != 0)
		fail_msg("%s", err.text);
}

static void add(const struct store_slot *slot, const char *text)
{
	struct sb_err err = SB_ERR_INIT;

	assert_int_equal(sb_file_put(slot->fd, slot->path, text, strlen(text), &err), 0);
}

static void test_store_slot__keeps_what_is_right(void **state)
{
	sb_auto(store_dir_release) struct store_dir cache = open_cache();
	sb_auto(store_slot_release) struct store_slot slot = STORE_SLOT_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	begin_slot(&cache, &slot);
	add(&slot, good);
	assert_int_equal(access(cached, F_OK), -1);
	assert_int_equal(store_slot_keep(&slot, "here", &err), 0);
	assert_found(STORE_CACHE, cached);
	assert_int_equal(access(part, F_OK), -1);
	assert_int_equal(store_slot_begin(&cache, &want, NULL, &slot, &err), 1);
	assert_int_equal(access(part, F_OK), -1);
}

static void test_store_slot__throws_away_what_is_wrong(void **state)
{
	sb_auto(store_dir_release) struct store_dir cache = open_cache();
	struct store_slot slot = STORE_SLOT_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	begin_slot(&cache, &slot);
	add(&slot, bad);
	assert_int_equal(store_slot_keep(&slot, "some place", &err), -1);
	assert_int_equal(err.code, SB_MISMATCH);
	assert_non_null(strstr(err.text, "'some place'"));
	assert_non_null(strstr(err.text, sha256));
	assert_non_null(strstr(err.text, wrong));
	store_slot_release(&slot);
	assert_int_equal(access(part, F_OK), -1);
	assert_int_equal(access(cached, F_OK), -1);
}

static void test_store_slot__leaves_a_part_to_the_next(void **state)
{
	sb_auto(store_dir_release) struct store_dir cache = open_cache();
	struct store_slot slot = STORE_SLOT_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	begin_slot(&cache, &slot);
	add(&slot, "the bytes");
	store_slot_release(&slot);
	begin_slot(&cache, &slot);
	assert_int_equal(lseek(slot.fd, 0, SEEK_END), strlen("the bytes"));
	add(&slot, " that are pinned");
	assert_int_equal(store_slot_keep(&slot, "here", &err), 0);
	assert_found(STORE_CACHE, cached);
}

static int waits;

static void on_wait(const char *name)
{
	assert_string_equal(name, "thing");
	waits++;
}

/* A child that has the slot for a while, and then keeps it or not. */
static pid_t start_other(const struct store_dir *cache, const char *text)
{
	struct store_slot slot = STORE_SLOT_INIT;
	struct sb_err err = SB_ERR_INIT;
	pid_t pid;

	begin_slot(cache, &slot);
	pid = fork();
	if (pid == 0) {
		sb_sleep_ms(250);
		add(&slot, text);
		if (store_slot_keep(&slot, "there", &err) < 0)
			store_slot_release(&slot);
		_exit(0);
	}
	/* The lock is that of the open file, which the child has, too. */
	close(slot.fd);
	return pid;
}

static void test_store_slot__waits_for_another(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {{bad, 0}, {good, 1}};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		sb_auto(store_dir_release) struct store_dir cache = open_cache();
		sb_auto(store_slot_release) struct store_slot slot = STORE_SLOT_INIT;
		struct sb_err err = SB_ERR_INIT;
		pid_t pid = start_other(&cache, rows[i].text);

		waits = 0;
		assert_int_equal(
			store_slot_begin(&cache, &want, on_wait, &slot, &err), rows[i].want);
		assert_int_equal(waits, 1);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
}

static void test_store_slot__can_be_interrupted(void **state)
{
	sb_auto(store_dir_release) struct store_dir cache = open_cache();
	sb_auto(store_slot_release) struct store_slot slot = STORE_SLOT_INIT;
	struct store_slot other = STORE_SLOT_INIT;
	struct sb_err err = SB_ERR_INIT;

	(void)state;
	begin_slot(&cache, &slot);
	eng_interrupted = 1;
	assert_int_equal(store_slot_begin(&cache, &want, NULL, &other, &err), -1);
	eng_interrupted = 0;
	assert_int_equal(err.code, SB_INTERRUPTED);
	assert_int_equal(other.fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_store_find__looks_into_the_tiers_in_order),
		TEST(test_store_find__reads_a_file_again_that_is_not_taken),
		TEST(test_store_find__looks_into_bundles),
		TEST(test_store_find__takes_no_wrong_member),
		TEST(test_store_find__goes_on_from_no_wrong_bytes),
		TEST(test_store_find__waits_for_no_fifo),
		TEST(test_store_need__says_what_to_do),
		TEST(test_store_dir_cache__takes_none_of_others),
		TEST(test_store_slot__keeps_what_is_right),
		TEST(test_store_slot__throws_away_what_is_wrong),
		TEST(test_store_slot__leaves_a_part_to_the_next),
		TEST(test_store_slot__waits_for_another),
		TEST(test_store_slot__can_be_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
