/* SPDX-License-Identifier: MIT */
/* Base64. */
#include "payloads/lib/base64.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_size(size_t len)
{
	return (len + 2) / 3 * 4;
}

void base64_encode(char *out, const void *data, size_t len)
{
	const unsigned char *in = data;

	for (; len > 0; in += 3, out += 4) {
		unsigned bits = (unsigned)in[0] << 16 | (len > 1 ? (unsigned)in[1] << 8 : 0) |
				(len > 2 ? in[2] : 0);

		out[0] = digits[bits >> 18];
		out[1] = digits[bits >> 12 & 63];
		out[2] = len > 1 ? digits[bits >> 6 & 63] : '=';
		out[3] = len > 2 ? digits[bits & 63] : '=';
		if (len <= 3)
			break;
		len -= 3;
	}
}

static int value_of(char digit)
{
	if (digit >= 'A' && digit <= 'Z')
		return digit - 'A';
	if (digit >= 'a' && digit <= 'z')
		return digit - 'a' + 26;
	if (digit >= '0' && digit <= '9')
		return digit - '0' + 52;
	return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

/* The bits of up to four digits, as if there were four; -1 if one is none. */
static long decode_group(const char *text, size_t count)
{
	long bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i < count ? value_of(text[i]) : 0;

		if (value < 0)
			return -1;
		bits = bits << 6 | value;
	}
	return bits;
}

ssize_t base64_decode(void *out, const char *text, size_t len)
{
	unsigned char *to = out;
	size_t padding = 0, bytes;

	if (len % 4)
		return -EINVAL;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	bytes = len / 4 * 3 - padding;
	for (size_t done = 0; done < bytes; text += 4, done += 3) {
		size_t count = bytes - done < 3 ? bytes - done : 3;
		long bits = decode_group(text, count + 1);

		if (bits < 0 || (bits & ((1L << 8 * (3 - count)) - 1)))
			return -EINVAL;
		for (size_t i = 0; i < count; i++)
			to[done + i] = (unsigned char)(bits >> (16 - 8 * i));
	}
	return (ssize_t)bytes;
}
