/* SPDX-License-Identifier: MIT */
/* The ELF parser: machines of both sizes and byte orders, and files made to break it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recon/elf.h"
#include "t/unit/test_recon_elf.h"

static struct elf_info parse(const void *data, size_t len)
{
	/* A copy of exactly that size, so that the sanitizer sees each byte read beyond it. */
	unsigned char *copy = malloc(len ? len : 1);
	struct elf_info info;

	assert_non_null(copy);
	memcpy(copy, data, len);
	assert_int_equal(elf_parse(copy, len, &info), 0);
	free(copy);
	return info;
}

static struct elf_info parse_image(const struct elf_image *image)
{
	return parse(image->data, sizeof(image->data));
}

static void test_elf_parse__names_the_machine(void **state)
{
	static const struct {
		unsigned bits;
		bool big_endian;
		unsigned machine;
		const char *arch, *variant;
	} rows[] = {
		{64, false, 62, "amd64", ""},
		{32, false, 62, "amd64", ""},
		{32, false, 3, "386", ""},
		{64, false, 3, "", ""},
		{64, false, 183, "arm64", "v8"},
		{64, true, 183, "", ""},
		{32, false, 40, "arm", ""},
		{32, true, 40, "", ""},
		{64, false, 21, "ppc64le", ""},
		{64, true, 21, "ppc64", ""},
		{64, true, 22, "s390x", ""},
		{32, true, 22, "", ""},
		{64, false, 243, "riscv64", ""},
		{32, false, 243, "", ""},
		{64, false, 8, "mips64le", ""},
		{64, false, 258, "loong64", ""},
		{64, false, 0xfff0, "", ""},
	};

	(void)state;
	for (size_t i = 0; i < SB_ARRAY_SIZE(rows); i++) {
		struct elf_image image = elf_image_make(
			rows[i].bits, rows[i].big_endian, rows[i].machine, "/lib/ld.so");
		struct elf_info info = parse_image(&image);

		assert_string_equal(info.arch, rows[i].arch);
		assert_string_equal(info.variant, rows[i].variant);
		assert_int_equal(info.bits, rows[i].bits);
		assert_int_equal(info.big_endian, rows[i].big_endian);
		assert_int_equal(info.machine, rows[i].machine);
		assert_int_equal(info.type, ELF_EXEC);
		assert_int_equal(info.linkage, ELF_DYNAMIC);
		assert_string_equal(info.interp, "/lib/ld.so");
	}
}

static void test_elf_parse__tells_static_from_dynamic(void **state)
{
	struct elf_image image = elf_image_make(64, false, 62, NULL);
	struct elf_info info = parse_image(&image);

	(void)state;
	assert_int_equal(info.linkage, ELF_STATIC);
	assert_string_equal(info.interp, "");
	elf_image_put(&image, 16, 2, 3);
	assert_int_equal(parse_image(&image).type, ELF_DYN);
	elf_image_put(&image, 16, 2, 1);
	assert_int_equal(parse_image(&image).type, ELF_OTHER);
}

static void test_elf_parse__refuses_what_is_no_elf(void **state)
{
	struct elf_image image = elf_image_make(64, false, 62, NULL);
	struct elf_info info;

	(void)state;
	assert_int_equal(elf_parse("", 0, &info), 1);
	assert_int_equal(elf_parse("\177ELF", 4, &info), 1);
	assert_int_equal(elf_parse("#!/bin/sh\nexit 0\n", 17, &info), 1);
	for (size_t len = 0; len < 64; len++)
		assert_int_equal(elf_parse(image.data, len, &info), 1);
	for (unsigned class = 0; class < 256; class ++) {
		image.data[4] = (unsigned char)class;
		assert_int_equal(
			elf_parse(image.data, sizeof(image.data), &info), class != 1 && class != 2);
	}
	image = elf_image_make(64, false, 62, NULL);
	image.data[5] = 0;
	assert_int_equal(elf_parse(image.data, sizeof(image.data), &info), 1);
	image.data[5] = 3;
	assert_int_equal(elf_parse(image.data, sizeof(image.data), &info), 1);
}

static void test_elf_parse__says_unknown_for_broken_segment_tables(void **state)
{
	static const uint64_t offsets[] = {
		0xffffffff,
		0xffffffe0,
		UINT64_MAX,
		UINT64_MAX - 55,
		UINT64_MAX - 63,
		512,
		457,
	};
	static const unsigned sizes[] = {0, 1, 31, 33, 55, 57, 64, 65535};

	(void)state;
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		struct elf_image good = elf_image_make(bits, bits == 32, 8, "/lib/ld.so"), bad;

		for (size_t i = 0; i < SB_ARRAY_SIZE(offsets); i++) {
			bad = good;
			elf_image_phoff(&bad, offsets[i]);
			/* Of the 32-bit table, the last one leaves room for one segment. */
			if (bits == 32 && offsets[i] == 457)
				continue;
			assert_int_equal(parse_image(&bad).linkage, ELF_LINKAGE_UNKNOWN);
			assert_string_equal(parse_image(&bad).interp, "");
		}
		for (size_t i = 0; i < SB_ARRAY_SIZE(sizes); i++) {
			bad = good;
			elf_image_phentsize(&bad, sizes[i]);
			assert_int_equal(parse_image(&bad).linkage, ELF_LINKAGE_UNKNOWN);
		}
		bad = elf_image_make(bits, false, 62, NULL);
		elf_image_phnum(&bad, 0);
		assert_int_equal(parse_image(&bad).linkage, ELF_LINKAGE_UNKNOWN);
		elf_image_phnum(&bad, 65535);
		assert_int_equal(parse_image(&bad).linkage, ELF_LINKAGE_UNKNOWN);
		elf_image_phnum(&good, 65535);
		assert_int_equal(parse_image(&good).linkage, ELF_DYNAMIC);
	}
}

static void test_elf_parse__survives_65535_segments(void **state)
{
	size_t len = 64 + 56 * 65535u;
	unsigned char *data = calloc(1, len);
	struct elf_image head = elf_image_make(64, false, 62, NULL);

	(void)state;
	assert_non_null(data);
	memcpy(data, head.data, 64);
	data[56] = 0xfe;
	data[57] = 0xff;
	assert_int_equal(parse(data, len).linkage, ELF_STATIC);
	/* 0xffff stands for "more, and counted elsewhere". */
	data[56] = 0xff;
	assert_int_equal(parse(data, len).linkage, ELF_LINKAGE_UNKNOWN);
	free(data);
}

static void test_elf_parse__drops_an_insane_interp(void **state)
{
	static const struct {
		uint64_t offset, size;
	} places[] = {
		{ELF_IMAGE_INTERP_AT, 10},		      /* no NUL within */
		{ELF_IMAGE_INTERP_AT, 0}, {512, 1}, {513, 0}, /* nothing; at, after the end */
		{ELF_IMAGE_INTERP_AT, 257},		      /* beyond the end */
		{ELF_IMAGE_INTERP_AT, UINT32_MAX}, {UINT32_MAX, 11}, {UINT64_MAX, 11},
		{UINT64_MAX - 5, 11}, {ELF_IMAGE_INTERP_AT, UINT64_MAX},
		{ELF_IMAGE_INTERP_AT + 1, 10},	/* not absolute */
		{ELF_IMAGE_INTERP_AT + 10, 11}, /* empty */
	};
	static const char *const paths[] = {
		"", "lib/ld.so", "/lib/\033[2J", "/l\nb", "/l\177b", "/l\377b"};

	(void)state;
	for (unsigned bits = 32; bits <= 64; bits += 32) {
		struct elf_image image = elf_image_make(bits, false, 62, "/lib/ld.so");

		for (size_t i = 0; i < SB_ARRAY_SIZE(places); i++) {
			elf_image_interp(&image, places[i].offset, places[i].size);
			assert_int_equal(parse_image(&image).linkage, ELF_DYNAMIC);
			assert_string_equal(parse_image(&image).interp, "");
		}
		for (size_t i = 0; i < SB_ARRAY_SIZE(paths); i++) {
			image = elf_image_make(bits, false, 62, paths[i]);
			assert_int_equal(parse_image(&image).linkage, ELF_DYNAMIC);
			assert_string_equal(parse_image(&image).interp, "");
		}
	}
}

static void test_elf_parse__takes_an_interp_of_255_bytes_and_no_more(void **state)
{
	unsigned char data[1024] = {0};
	struct elf_image image = elf_image_make(64, false, 62, "/");

	(void)state;
	elf_image_interp(&image, 512, 300);
	memcpy(data, image.data, sizeof(image.data));
	memset(data + 512, '/', 255);
	assert_int_equal(strlen(parse(data, sizeof(data)).interp), 255);
	data[512 + 255] = '/';
	assert_string_equal(parse(data, sizeof(data)).interp, "");
}

static void test_elf_parse__survives_every_truncation(void **state)
{
	struct elf_image image = elf_image_make(64, true, 22, "/lib/ld64.so.1");

	(void)state;
	for (size_t len = 64; len < sizeof(image.data); len++) {
		struct elf_info info = parse(image.data, len);

		assert_string_equal(info.arch, "s390x");
		assert_int_equal(
			info.linkage, len < 64 + 2 * 56 ? ELF_LINKAGE_UNKNOWN : ELF_DYNAMIC);
		assert_string_equal(
			info.interp, len < ELF_IMAGE_INTERP_AT + 15 ? "" : "/lib/ld64.so.1");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elf_parse__names_the_machine),
		cmocka_unit_test(test_elf_parse__tells_static_from_dynamic),
		cmocka_unit_test(test_elf_parse__refuses_what_is_no_elf),
		cmocka_unit_test(test_elf_parse__says_unknown_for_broken_segment_tables),
		cmocka_unit_test(test_elf_parse__survives_65535_segments),
		cmocka_unit_test(test_elf_parse__drops_an_insane_interp),
		cmocka_unit_test(test_elf_parse__takes_an_interp_of_255_bytes_and_no_more),
		cmocka_unit_test(test_elf_parse__survives_every_truncation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
