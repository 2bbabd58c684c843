/* SPDX-License-Identifier: MIT */
#include "payloads/lib/relro.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the program, which comes first, and of a static one is all. */
static int seal(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size, (void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;

		if (part->p_type == PT_GNU_RELRO)
			mprotect((void *)(start & -page), (end & -page) - (start & -page),
				PROT_READ);
	}
	return 1;
}

void relro_seal(void)
{
	dl_iterate_phdr(seal, NULL);
}
