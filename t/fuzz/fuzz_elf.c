/* SPDX-License-Identifier: MIT */
/* Any bytes as the beginning of a program. */
#include "recon/elf.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_info info;

	memset(&info, 0xa5, sizeof(info));
	if (elf_parse(data, size, &info) != 0)
		return 0;
	if (info.bits != 32 && info.bits != 64)
		abort();
	if (!info.arch || !info.variant || !memchr(info.interp, 0, sizeof(info.interp)))
		abort();
	if (info.interp[0] && (info.interp[0] != '/' || info.linkage != ELF_DYNAMIC))
		abort();
	for (const char *c = info.interp; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			abort();
	return 0;
}
