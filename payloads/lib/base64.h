/* SPDX-License-Identifier: MIT */
/* Base64 with padding and without line breaks, RFC 4648. Pure. */
#ifndef PAYLOADS_LIB_BASE64_H
#define PAYLOADS_LIB_BASE64_H

#include <stddef.h>
#include <sys/types.h>

/* How many digits 'len' bytes become. */
size_t base64_size(size_t len);
/* Writes that many digits, without a NUL. */
void base64_encode(char *out, const void *data, size_t len);
/* Writes the bytes, three for four digits at most, to 'out', which may be 'text' itself: how many,
   or -EINVAL for anything that is not exactly what base64_encode() writes. */
ssize_t base64_decode(void *out, const char *text, size_t len);

#endif
