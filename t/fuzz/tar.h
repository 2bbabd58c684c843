/* SPDX-License-Identifier: MIT */
/* For harnesses that read tar archives: hardly any input has the right checksums by itself. */
#ifndef T_FUZZ_TAR_H
#define T_FUZZ_TAR_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, SUM_AT = 148, SUM_LEN = 8 };

static inline void tar_mend_header(unsigned char *head)
{
	char text[SUM_LEN + 1];
	unsigned sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= SUM_AT && i < SUM_AT + SUM_LEN ? ' ' : head[i];
	snprintf(text, sizeof(text), "%06o", sum);
	memcpy(head + SUM_AT, text, 7);
	head[SUM_AT + 7] = ' ';
}

/* Put right the checksum of each block that may be a header. */
static inline void tar_mend(unsigned char *tar, size_t size)
{
	for (size_t at = 0; at + BLOCK <= size; at += BLOCK)
		if (tar[at + SUM_AT])
			tar_mend_header(tar + at);
}

#endif
