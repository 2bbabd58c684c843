/* SPDX-License-Identifier: MIT */
/* Hexadecimal digits. */
#ifndef PAYLOADS_LIB_HEX_H
#define PAYLOADS_LIB_HEX_H

/* The value of a digit of either case, -1 for any other character. */
static inline int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= ' ';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
