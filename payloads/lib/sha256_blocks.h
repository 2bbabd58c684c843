/* SPDX-License-Identifier: MIT */
/*
 * What SHA-256 does to its blocks of 64 bytes, in every way that this machine has; for sha256.c,
 * and for tests, which compare the ways. Nothing is allocated, nothing fails.
 */
#ifndef PAYLOADS_LIB_SHA256_BLOCKS_H
#define PAYLOADS_LIB_SHA256_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Takes 'count' blocks, of any alignment, into the state. */
typedef void sha256_blocks_fn(uint32_t state[8], const uint8_t *blocks, size_t count);

/* The fastest way that this processor has. */
sha256_blocks_fn sha256_blocks;
/* In plain C. */
sha256_blocks_fn sha256_blocks_plain;
/* With the instructions for it (x86: SHA-NI; arm64: SHA2); NULL where this processor has none, or
   where the compiler knows none. */
sha256_blocks_fn *sha256_blocks_special(void);

#endif
