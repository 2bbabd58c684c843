/* SPDX-License-Identifier: MIT */
/* Counting what is shared. */
#include "payloads/sandbox-tools/run/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "payloads/lib/memory.h"

#define PART 4 /* of what a control group allows */

struct run_memory *run_memory_open(void)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_ANONYMOUS;
	struct run_memory *memory;

	/* cppcheck-suppress invalidFunctionArg */
	memory = mmap(NULL, sizeof(*memory), prot, flags, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	memory->max = memory_part(memory_limit(), PART, RUNS_MEMORY_MAX);
	return memory;
}

void run_memory_close(struct run_memory *memory)
{
	if (memory)
		munmap(memory, sizeof(*memory));
}

int run_share_take(const struct run_share *share, size_t size)
{
	size_t *used = &share->all->used;

	if (__atomic_add_fetch(used, size, __ATOMIC_RELAXED) > share->all->max) {
		__atomic_sub_fetch(used, size, __ATOMIC_RELAXED);
		return -ENOMEM;
	}
	*share->held += size;
	return 0;
}

void run_share_give(const struct run_share *share)
{
	__atomic_sub_fetch(&share->all->used, *share->held, __ATOMIC_RELAXED);
	*share->held = 0;
}
