/* SPDX-License-Identifier: MIT */
/* Names of programs. */
#include "payloads/lib/name.h"

#include <string.h>

#include "payloads/lib/sha256.h"
#include "payloads/lib/wire.h"

#define NONCE_LENGTH 32

static size_t hex_length(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

bool name_is_binary(const char *name)
{
	return hex_length(name) == SHA256_HEX - 1 && !name[SHA256_HEX - 1];
}

bool name_is_delivery(const char *name)
{
	const char *nonce = name + SHA256_HEX;

	return hex_length(name) == SHA256_HEX - 1 && name[SHA256_HEX - 1] == '.' &&
	       hex_length(nonce) == NONCE_LENGTH && !nonce[NONCE_LENGTH];
}

bool name_is_kept(const char *name)
{
	return strncmp(name, WIRE_KEPT_PREFIX, strlen(WIRE_KEPT_PREFIX)) == 0 &&
	       name_is_binary(name + strlen(WIRE_KEPT_PREFIX));
}
