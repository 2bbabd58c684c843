/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail when the test's fails() says so. Included once by a test that is linked
 * with "wrap: malloc calloc realloc strdup".
 */
#ifndef T_UNIT_FAIL_ALLOC_H
#define T_UNIT_FAIL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

static bool fails(void);

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

#endif
