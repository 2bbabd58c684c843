/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail when the test arms them. Included once by a test that is linked with
 * "wrap: malloc calloc realloc strdup".
 */
#ifndef T_UNIT_FAIL_ALLOC_H
#define T_UNIT_FAIL_ALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static long left;	    /* allocations until one fails, when armed */
static bool armed, lasting; /* lasting: all after it fail as well */
static bool tripped;	    /* one has failed */

static bool fails(void)
{
	bool now = armed && (left == 0 || (lasting && left < 0));

	if (armed)
		left--;
	tripped |= now;
	if (now)
		errno = ENOMEM;
	return now;
}

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
