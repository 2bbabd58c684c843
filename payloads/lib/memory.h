/* SPDX-License-Identifier: MIT */
/*
 * How much memory there is. When a control group exceeds its limit, the kernel kills a process in
 * it; malloc(3) does not fail before. So this reads the limits of our control group, of version 1
 * or 2, as /sys/fs/cgroup shows them to a process in it.
 */
#ifndef PAYLOADS_LIB_MEMORY_H
#define PAYLOADS_LIB_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_ANY SIZE_MAX

/* Memory that several things use together, and the most they should use. */
struct memory_share {
	size_t used, max;
};

/* The least limit of our own group and those above it; MEMORY_ANY if there is none. */
size_t memory_limit(void);
/* The same with another /proc/self/cgroup and /sys/fs/cgroup. */
size_t memory_limit_in(const char *groups, const char *mount);
/* 'most', or 1/'part' of 'memory' where that is less, in whole KiB, but never less than
   MEMORY_LEAST. */
#define MEMORY_LEAST ((size_t)64 << 10)
size_t memory_part(size_t memory, size_t part, size_t most);
/* "10 MiB", "1025 bytes". */
void memory_format(size_t size, char *text, size_t room);

#endif
