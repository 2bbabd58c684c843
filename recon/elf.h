/* SPDX-License-Identifier: MIT */
/*
 * What an ELF program says about the machine and the C library that it was made for. Pure: takes
 * the first bytes of a file, hostile ones included, and does no input or output. Sections, symbols
 * and notes are not looked at.
 */
#ifndef RECON_ELF_H
#define RECON_ELF_H

#include "engine/base.h"

#include <stdbool.h>

enum elf_type { ELF_OTHER, ELF_EXEC, ELF_DYN };

/* Unknown: the program headers are not all within the bytes given, or make no sense. */
enum elf_linkage { ELF_LINKAGE_UNKNOWN, ELF_STATIC, ELF_DYNAMIC };

struct elf_info {
	unsigned bits; /* 32 or 64 */
	bool big_endian;
	unsigned machine;    /* e_machine */
	const char *arch;    /* constant: the OCI word of the machine, "" if it has none */
	const char *variant; /* constant: "v8" for arm64; "" if the header does not say */
	enum elf_type type;
	enum elf_linkage linkage;
	char interp[256]; /* PT_INTERP: an absolute path of printable ASCII; "" without a sane one
			   */
};

/* Parse the beginning of a file. 1: not an ELF file, *ret untouched. */
int elf_parse(const void *data, size_t len, struct elf_info *ret) sb_must_check;

#endif
