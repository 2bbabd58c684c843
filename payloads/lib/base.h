/* SPDX-License-Identifier: MIT */
/* The few macros that every file may use. */
#ifndef PAYLOADS_LIB_BASE_H
#define PAYLOADS_LIB_BASE_H

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The struct 'type' whose 'member' is at 'pointer'. */
#define container_of(pointer, type, member) \
	((type *)(void *)(((char *)(pointer)) - offsetof(type, member)))

#endif
