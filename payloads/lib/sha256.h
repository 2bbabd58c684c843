/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4). Shared by the host program and the in-container programs, so it depends
 * on nothing but the C library's string functions. It reads no files: feed it bytes.
 */
#ifndef PAYLOADS_LIB_SHA256_H
#define PAYLOADS_LIB_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_HEX 65 /* 64 lower case digits and a NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t total;
	uint8_t block[64];
};

void sha256_init(struct sha256 *ctx);
void sha256_add(struct sha256 *ctx, const void *data, size_t len);
/* Finishes; 'ctx' must be initialised again before another use. */
void sha256_end(struct sha256 *ctx, uint8_t digest[SHA256_BYTES]);
/* The same as text. */
void sha256_end_hex(struct sha256 *ctx, char hex[SHA256_HEX]);
/* Digest of one piece of memory, as text. */
void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX]);

#endif
