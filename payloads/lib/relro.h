/* SPDX-License-Identifier: MIT */
/* What a loader does for programs that are linked dynamically, and musl for none that is static. */
#ifndef PAYLOADS_LIB_RELRO_H
#define PAYLOADS_LIB_RELRO_H

/* Makes what only the start of the program had to write to read-only. Twice does no harm. */
void relro_seal(void);

#endif
