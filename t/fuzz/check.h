/* SPDX-License-Identifier: MIT */
/* What every harness wants of an error: that it is one, and fit for a terminal. */
#ifndef T_FUZZ_CHECK_H
#define T_FUZZ_CHECK_H

#include "engine/err.h"

#include <string.h>

static inline void check_error(const struct sb_err *err)
{
	if (err->code == SB_OK || !memchr(err->text, 0, sizeof(err->text)))
		abort();
	for (const unsigned char *u = (const unsigned char *)err->text; *u; u++)
		if (*u < 0x20 || *u == 0x7f || (*u == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0))
			abort();
}

#endif
