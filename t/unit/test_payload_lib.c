/* SPDX-License-Identifier: MIT */
/* The in-container programs' base: digests, frames, buffers, directory steps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"
#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/quote.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/tree.h"

static void test_sha256_hex__knows_the_standard_vectors(void **state)
{
	static const struct {
		const char *text, *hex;
	} vectors[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
			"cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	char hex[SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
		assert_string_equal(hex, vectors[i].hex);
	}
}

static void test_sha256_add__does_not_care_about_pieces(void **state)
{
	char text[1000], whole[SHA256_HEX], pieces[SHA256_HEX];
	struct sha256 ctx;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t len = 0; len < 200; len++) {
		sha256_hex(text, len, whole);
		for (size_t step = 1; step < 70; step += 3) {
			sha256_init(&ctx);
			for (size_t at = 0; at < len; at += step)
				sha256_add(&ctx, text + at, len - at < step ? len - at : step);
			sha256_end_hex(&ctx, pieces);
			assert_string_equal(pieces, whole);
		}
	}
	sha256_init(&ctx);
	for (int i = 0; i < 1000; i++)
		sha256_add(&ctx, text, 1000);
	sha256_end_hex(&ctx, pieces);
	assert_string_equal(
		pieces, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_buf__grows_to_its_limit_and_no_further(void **state)
{
	struct buf buf = BUF_INIT(10000);
	char piece[3000];

	(void)state;
	memset(piece, 'x', sizeof(piece));
	for (int i = 0; i < 3; i++)
		assert_int_equal(buf_add(&buf, piece, sizeof(piece)), 0);
	assert_int_equal(buf_add(&buf, piece, sizeof(piece)), -EMSGSIZE);
	assert_int_equal(buf.len, 9000);
	buf_drop(&buf, 8999);
	assert_int_equal(buf_add(&buf, piece, sizeof(piece)), 0);
	assert_int_equal(buf.len, 3001);
	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -EMSGSIZE);
	buf_release(&buf);
	assert_int_equal(buf_add_str(&buf, "again"), 0);
	buf_drop(&buf, 5);
	assert_int_equal(buf.len, 0);
	buf_release(&buf);
}

/* Appends a character as UTF-8. */
static void add_utf8(struct buf *out, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	unsigned char first = more ? (unsigned char)(0xff00u >> (more + 1)) : 0, byte;

	byte = (unsigned char)(first | c >> 6 * more);
	assert_int_equal(buf_add(out, &byte, 1), 0);
	for (; more > 0; more--) {
		byte = 0x80 | (c >> 6 * (more - 1) & 0x3f);
		assert_int_equal(buf_add(out, &byte, 1), 0);
	}
}

static void test_quote_add__writes_every_character_as_jansson_does(void **state)
{
	struct buf text = BUF_INIT(1 << 24), out = BUF_INIT(1 << 24), chars = BUF_INIT(1 << 24);
	json_t *value;
	char *wanted;

	(void)state;
	assert_int_equal(buf_add_str(&chars, "\""), 0);
	for (uint32_t c = 0; c < 0x110000; c++) {
		if (c >= 0xd800 && c < 0xe000)
			continue;
		add_utf8(&text, c);
		assert_int_equal(quote_add_char(&chars, c), 0);
	}
	assert_int_equal(buf_add_str(&chars, "\""), 0);
	value = json_stringn(text.data, text.len);
	wanted = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	assert_non_null(wanted);
	assert_int_equal(quote_add(&out, text.data, text.len), 0);
	assert_int_equal(out.len, strlen(wanted));
	assert_memory_equal(out.data, wanted, out.len);
	assert_int_equal(chars.len, out.len);
	assert_memory_equal(chars.data, wanted, out.len);
	free(wanted);
	json_decref(value);
	buf_release(&text);
	buf_release(&out);
	buf_release(&chars);
}

static void test_quote_add__adds_all_or_nothing(void **state)
{
	struct buf out = BUF_INIT(9);

	(void)state;
	assert_int_equal(quote_add(&out, NULL, 0), 0);
	assert_int_equal(quote_add(&out, "\0", 1), -EMSGSIZE);
	assert_int_equal(quote_add(&out, "12345", 5), 0);
	assert_int_equal(out.len, 9);
	assert_memory_equal(out.data, "\"\"\"12345\"", 9);
	buf_release(&out);
}

static void test_frame_find__takes_frames_apart(void **state)
{
	struct buf buf = BUF_INIT(100000), part;
	struct frame frame;

	(void)state;
	assert_int_equal(frame_add(&buf, 7, "hello", 5), 0);
	assert_int_equal(frame_add(&buf, 0xfffffffe, "", 0), 0);
	for (size_t len = 0; len < FRAME_HEAD_SIZE + 5; len++) {
		part = buf;
		part.len = len;
		assert_int_equal(frame_find(&part, 5, &frame), 0);
	}
	assert_int_equal(frame_find(&buf, 4, &frame), -EMSGSIZE);
	assert_int_equal(frame_find(&buf, 5, &frame), 1);
	assert_int_equal(frame.tag, 7);
	assert_int_equal(frame.len, 5);
	assert_memory_equal(frame.data, "hello", 5);
	buf_drop(&buf, FRAME_HEAD_SIZE + frame.len);
	assert_int_equal(frame_find(&buf, 0, &frame), 1);
	assert_true(frame.tag == 0xfffffffe);
	assert_int_equal(frame.len, 0);
	buf_release(&buf);
}

static void test_frame_check_hello__refuses_strangers(void **state)
{
	uint8_t hello[FRAME_HELLO_SIZE];
	uint32_t pid;

	(void)state;
	frame_put_hello(hello, 4711);
	assert_int_equal(frame_check_hello(hello, &pid), 0);
	assert_int_equal(pid, 4711);
	hello[11]++;
	assert_int_equal(frame_check_hello(hello, &pid), -EPROTO);
	memcpy(hello, "HTTP/1.1 400 Bad", FRAME_HELLO_SIZE);
	assert_int_equal(frame_check_hello(hello, &pid), -EPROTO);
}

static void test_frame_receive__ends_in_time(void **state)
{
	struct buf reply = BUF_INIT(1000);
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(frame_receive(ends[0], &reply, 1000, io_in(20)), -ETIMEDOUT);
	assert_int_equal(frame_send(ends[1], 1, "abc", 3, io_in(1000)), 0);
	assert_int_equal(frame_receive(ends[0], &reply, 1000, io_in(1000)), 0);
	assert_int_equal(reply.len, 3);
	assert_int_equal(frame_send(ends[1], 1, "abc", 3, io_in(1000)), 0);
	assert_int_equal(frame_receive(ends[0], &reply, 2, io_in(1000)), -EMSGSIZE);
	close(ends[1]);
	assert_int_equal(frame_receive(ends[0], &reply, 1000, io_in(1000)), -ENODATA);
	close(ends[0]);
	buf_release(&reply);
}

static void test_fail_sys__says_what_and_why(void **state)
{
	struct fail fail = FAIL_INIT;

	(void)state;
	assert_int_equal(fail_sys(&fail, -ENOENT, "cannot open '%s'", "/x"), -1);
	assert_string_equal(fail.text, "cannot open '/x': No such file or directory");
	assert_int_equal(fail.error, ENOENT);
	fail_code(&fail, "digest", "%01000d", 1);
	assert_int_equal(strlen(fail.text), sizeof(fail.text) - 1);
	assert_string_equal(fail.code, "digest");
	fail_sys(&fail, EIO, "%01000d", 1);
	assert_int_equal(strlen(fail.text), sizeof(fail.text) - 1);
}

static void test_tree_open_parent__refuses_crooked_paths(void **state)
{
	static const char *const bad[] = {
		"", "x", "/", "//x", "/tmp/", "/../x", "/./x", "/tmp/..", "/tmp/.", "/tmp//x"};
	char leaf[NAME_MAX + 1];
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tree_open_parent(bad[i], leaf, NULL), -EINVAL);
	assert_int_equal(tree_open_parent("/no-such-directory/x", leaf, NULL), -ENOENT);
	fd = tree_open_parent("/tmp/..x", leaf, NULL);
	assert_true(fd >= 0);
	assert_string_equal(leaf, "..x");
	close(fd);
}

static void test_tree_remove__follows_no_link_and_keeps_the_time(void **state)
{
	char dir[] = "/tmp/test_payload_lib.XXXXXX";
	struct stat before, after;
	int fd, i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(fd, "keep", 0700), 0);
	assert_int_equal(mkdirat(fd, "keep/inside", 0700), 0);
	assert_int_equal(mkdirat(fd, "a", 0700), 0);
	assert_int_equal(mkdirat(fd, "a/b", 0700), 0);
	assert_int_equal(symlinkat("../keep", fd, "a/link"), 0);
	assert_int_equal(mkfifoat(fd, "a/b/fifo", 0600), 0);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(tree_remove(fd, "a", 3), -E2BIG);
	assert_int_equal(tree_remove(fd, "a", 100), 0);
	assert_int_equal(tree_remove(fd, "a", 100), -ENOENT);
	assert_int_equal(tree_mkdir(fd, "c", 0700), 0);
	assert_int_equal(tree_clear(fd, "c"), 0);
	assert_int_equal(tree_clear(fd, "c"), 0);
	assert_int_equal(fstat(fd, &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_int_equal(faccessat(fd, "keep/inside", F_OK, 0), 0);
	assert_int_equal(mkdirat(fd, "deep", 0700), 0);
	for (i = 0; i < 300; i++) {
		assert_int_equal(mkdirat(fd, "wrap", 0700), 0);
		assert_int_equal(renameat(fd, "deep", fd, "wrap/deep"), 0);
		assert_int_equal(renameat(fd, "wrap", fd, "deep"), 0);
	}
	assert_int_equal(tree_remove(fd, "deep", 100), -E2BIG);
	assert_int_equal(tree_remove(fd, "deep", 1000), 0);
	assert_int_equal(tree_remove(fd, "keep", 1000), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

static void test_tree_renew_dir__replaces_anything(void **state)
{
	char dir[] = "/tmp/test_payload_lib.XXXXXX";
	struct stat st;
	int fd, new;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (int what = 0; what < 5; what++) {
		if (what == 1)
			assert_int_equal(symlinkat("nowhere", fd, "x"), 0);
		if (what == 2)
			assert_int_equal(mkfifoat(fd, "x", 0600), 0);
		if (what >= 3)
			assert_int_equal(mkdirat(fd, "x", 0755), 0);
		if (what == 4)
			assert_int_equal(mkdirat(fd, "x/inside", 0755), 0);
		new = tree_renew_dir(fd, "x", 0711);
		assert_true(new >= 0);
		assert_int_equal(fstat(new, &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0711);
		close(new);
		assert_int_equal(unlinkat(fd, "x", AT_REMOVEDIR), 0);
	}
	assert_int_equal(mkdirat(fd, ".sbinject-cleared-0123456789abcdef", 0755), 0);
	assert_int_equal(mkdirat(fd, ".sbinject-cleared-other", 0755), 0);
	assert_int_equal(tree_sweep(fd), 1);
	assert_int_equal(unlinkat(fd, ".sbinject-cleared-other", AT_REMOVEDIR), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256_hex__knows_the_standard_vectors),
		cmocka_unit_test(test_sha256_add__does_not_care_about_pieces),
		cmocka_unit_test(test_buf__grows_to_its_limit_and_no_further),
		cmocka_unit_test(test_quote_add__writes_every_character_as_jansson_does),
		cmocka_unit_test(test_quote_add__adds_all_or_nothing),
		cmocka_unit_test(test_frame_find__takes_frames_apart),
		cmocka_unit_test(test_frame_check_hello__refuses_strangers),
		cmocka_unit_test(test_frame_receive__ends_in_time),
		cmocka_unit_test(test_fail_sys__says_what_and_why),
		cmocka_unit_test(test_tree_open_parent__refuses_crooked_paths),
		cmocka_unit_test(test_tree_remove__follows_no_link_and_keeps_the_time),
		cmocka_unit_test(test_tree_renew_dir__replaces_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
