/* SPDX-License-Identifier: MIT */
#include "recon/elf.h"

#include <stdint.h>
#include <string.h>

enum { EI_CLASS_AT = 4, EI_DATA_AT = 5, TYPE_AT = 16, MACHINE_AT = 18 };
enum { TYPE_EXEC = 2, TYPE_DYN = 3, SEGMENT_INTERP = 3, PHNUM_ELSEWHERE = 0xffff };

/* Where the fields are, by class. `word` is the size of offsets. */
struct layout {
	size_t word, header, phoff, phentsize, phnum, segment, offset, filesz;
};

static const struct layout layout32 = {4, 52, 28, 42, 44, 32, 4, 16};
static const struct layout layout64 = {8, 64, 32, 54, 56, 56, 8, 32};

struct machine {
	unsigned machine;
	unsigned bits; /* 0: either */
	bool big_endian;
	const char *arch, *variant;
};

static const struct machine machines[] = {
	{3, 32, false, "386", ""},
	{62, 0, false, "amd64", ""}, /* 32 bits are x32, which only an amd64 runs */
	{183, 0, false, "arm64", "v8"},
	{40, 32, false, "arm", ""}, /* v6 and v7 differ in a section at the end of the file */
	{21, 64, false, "ppc64le", ""},
	{21, 64, true, "ppc64", ""},
	{22, 64, true, "s390x", ""},
	{243, 64, false, "riscv64", ""},
	{8, 64, false, "mips64le", ""},
	{8, 64, true, "mips64", ""},
	{8, 32, false, "mipsle", ""},
	{8, 32, true, "mips", ""},
	{258, 64, false, "loong64", ""},
};

struct image {
	const unsigned char *data;
	size_t len;
	bool big_endian;
	const struct layout *layout;
};

/* The number of `size` bytes at `at`, which the caller knows to be within the image. */
static uint64_t number(const struct image *image, size_t at, size_t size)
{
	uint64_t n = 0;

	for (size_t i = 0; i < size; i++)
		n = n << 8 | image->data[at + (image->big_endian ? i : size - 1 - i)];
	return n;
}

static bool within(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->len && size <= image->len - offset;
}

static void set_machine(struct elf_info *info)
{
	info->arch = info->variant = "";
	for (size_t i = 0; i < SB_ARRAY_SIZE(machines); i++) {
		const struct machine *m = &machines[i];

		if (m->machine == info->machine && m->big_endian == info->big_endian &&
			(!m->bits || m->bits == info->bits)) {
			info->arch = m->arch;
			info->variant = m->variant;
			return;
		}
	}
}

static void set_interp(const struct image *image, size_t segment, struct elf_info *info)
{
	const struct layout *layout = image->layout;
	uint64_t offset = number(image, segment + layout->offset, layout->word);
	uint64_t size = number(image, segment + layout->filesz, layout->word);
	const char *path;
	size_t len;

	if (!within(image, offset, size))
		return;
	path = (const char *)image->data + offset;
	len = strnlen(path, size);
	if (len == 0 || len == size || len >= sizeof(info->interp) || path[0] != '/')
		return;
	for (size_t i = 0; i < len; i++)
		if (path[i] < 0x20 || path[i] > 0x7e)
			return;
	memcpy(info->interp, path, len + 1);
}

static void walk_segments(const struct image *image, struct elf_info *info)
{
	const struct layout *layout = image->layout;
	uint64_t at = number(image, layout->phoff, layout->word);
	uint64_t count = number(image, layout->phnum, 2);

	if (number(image, layout->phentsize, 2) != layout->segment)
		return;
	for (uint64_t i = 0; i < count; i++, at += layout->segment) {
		if (!within(image, at, layout->segment))
			return;
		if (number(image, (size_t)at, 4) == SEGMENT_INTERP) {
			info->linkage = ELF_DYNAMIC;
			set_interp(image, (size_t)at, info);
			return;
		}
	}
	if (count > 0 && count != PHNUM_ELSEWHERE)
		info->linkage = ELF_STATIC;
}

int elf_parse(const void *data, size_t len, struct elf_info *ret)
{
	struct image image = {data, len, false, NULL};
	struct elf_info info = {0};
	unsigned class, encoding;
	uint64_t type;

	if (len < TYPE_AT || memcmp(data, "\177ELF", 4) != 0)
		return 1;
	class = image.data[EI_CLASS_AT];
	encoding = image.data[EI_DATA_AT];
	if (class < 1 || class > 2 || encoding < 1 || encoding > 2)
		return 1;
	image.layout = class == 1 ? &layout32 : &layout64;
	image.big_endian = encoding == 2;
	if (len < image.layout->header)
		return 1;
	info.bits = class == 1 ? 32 : 64;
	info.big_endian = image.big_endian;
	info.machine = (unsigned)number(&image, MACHINE_AT, 2);
	type = number(&image, TYPE_AT, 2);
	info.type = type == TYPE_EXEC ? ELF_EXEC : type == TYPE_DYN ? ELF_DYN : ELF_OTHER;
	set_machine(&info);
	walk_segments(&image, &info);
	*ret = info;
	return 0;
}
