/* SPDX-License-Identifier: MIT */
/* SHA-256: padding and pieces; what is done to a block is in sha256_blocks.c. */
#include "payloads/lib/sha256.h"

#include "payloads/lib/sha256_blocks.h"

#include <string.h>

void sha256_init(struct sha256 *ctx)
{
	static const uint32_t start[8] = {
		0x6a09e667,
		0xbb67ae85,
		0x3c6ef372,
		0xa54ff53a,
		0x510e527f,
		0x9b05688c,
		0x1f83d9ab,
		0x5be0cd19,
	};

	memcpy(ctx->state, start, sizeof(start));
	ctx->total = 0;
}

/* Up to a block's end; what it took of the data. */
static size_t fill_block(struct sha256 *ctx, const uint8_t *data, size_t len)
{
	size_t fill = ctx->total % 64, n = len < 64 - fill ? len : 64 - fill;

	memcpy(ctx->block + fill, data, n);
	ctx->total += n;
	if (ctx->total % 64 == 0)
		sha256_blocks(ctx->state, ctx->block, 1);
	return n;
}

void sha256_add(struct sha256 *ctx, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		size_t n = len - len % 64;

		if (n > 0 && ctx->total % 64 == 0) {
			sha256_blocks(ctx->state, p, n / 64);
			ctx->total += n;
		} else {
			n = fill_block(ctx, p, len);
		}
		p += n;
		len -= n;
	}
}

void sha256_end(struct sha256 *ctx, uint8_t digest[SHA256_BYTES])
{
	static const uint8_t padding[64] = {0x80};
	uint64_t bits = ctx->total * 8;
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(ctx, padding, 1 + (119 - ctx->total % 64) % 64);
	sha256_add(ctx, length, sizeof(length));
	for (int i = 0; i < SHA256_BYTES; i++)
		digest[i] = (uint8_t)(ctx->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_end_hex(struct sha256 *ctx, char hex[SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t digest[SHA256_BYTES];

	sha256_end(ctx, digest);
	for (int i = 0; i < SHA256_BYTES; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[SHA256_HEX - 1] = '\0';
}

void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX])
{
	struct sha256 ctx;

	sha256_init(&ctx);
	sha256_add(&ctx, data, len);
	sha256_end_hex(&ctx, hex);
}
