/* SPDX-License-Identifier: MIT */
/*
 * ELF files made by hand: a header, two segments (PT_LOAD and, if wanted, PT_INTERP) and the path
 * of the loader. For test_elf.c and test_recon.c.
 */
#ifndef T_UNIT_TEST_RECON_ELF_H
#define T_UNIT_TEST_RECON_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ELF_IMAGE_SIZE = 512, ELF_IMAGE_INTERP_AT = 256 };

struct elf_image {
	unsigned char data[ELF_IMAGE_SIZE];
	bool big_endian;
	unsigned bits;
};

static inline void elf_image_put(struct elf_image *image, size_t at, size_t size, uint64_t value)
{
	for (size_t i = 0; i < size; i++)
		image->data[at + (image->big_endian ? size - 1 - i : i)] =
			(unsigned char)(value >> (8 * i));
}

/* Fields of the header and of segment 1 that the tests break. */
static inline void elf_image_phoff(struct elf_image *image, uint64_t value)
{
	elf_image_put(image, image->bits == 64 ? 32 : 28, image->bits / 8, value);
}

static inline void elf_image_phentsize(struct elf_image *image, unsigned value)
{
	elf_image_put(image, image->bits == 64 ? 54 : 42, 2, value);
}

static inline void elf_image_phnum(struct elf_image *image, unsigned value)
{
	elf_image_put(image, image->bits == 64 ? 56 : 44, 2, value);
}

static inline size_t elf_image_segment(const struct elf_image *image, size_t index)
{
	return image->bits == 64 ? 64 + 56 * index : 52 + 32 * index;
}

static inline void elf_image_interp(struct elf_image *image, uint64_t offset, uint64_t size)
{
	size_t at = elf_image_segment(image, 1), word = image->bits / 8;

	elf_image_put(image, at, 4, 3);
	elf_image_put(image, at + (word == 8 ? 8 : 4), word, offset);
	elf_image_put(image, at + (word == 8 ? 32 : 16), word, size);
}

static inline struct elf_image elf_image_make(
	unsigned bits, bool big_endian, unsigned machine, const char *interp)
{
	struct elf_image image = {.big_endian = big_endian, .bits = bits};

	memcpy(image.data, "\177ELF", 4);
	image.data[4] = bits == 64 ? 2 : 1;
	image.data[5] = big_endian ? 2 : 1;
	image.data[6] = 1;
	elf_image_put(&image, 16, 2, 2);
	elf_image_put(&image, 18, 2, machine);
	elf_image_phoff(&image, elf_image_segment(&image, 0));
	elf_image_phentsize(&image, bits == 64 ? 56 : 32);
	elf_image_phnum(&image, 2);
	elf_image_put(&image, elf_image_segment(&image, 0), 4, 1);
	elf_image_put(&image, elf_image_segment(&image, 1), 4, 1);
	if (interp) {
		memcpy(image.data + ELF_IMAGE_INTERP_AT, interp, strlen(interp) + 1);
		elf_image_interp(&image, ELF_IMAGE_INTERP_AT, strlen(interp) + 1);
	}
	return image;
}

#endif
