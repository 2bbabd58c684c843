/* SPDX-License-Identifier: MIT */
/* Terminal sequences and what is left without them. */
#include "payloads/sandbox-tools/bash_session/terminal.h"

#include <stdbool.h>

#define ESC '\033'

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Length of a sequence that starts with ESC [: numbers, and a letter. */
static size_t control_sequence(const char *p, const char *end)
{
	const char *q = p + 2;

	while (q < end && ((*q >= '0' && *q <= '9') || *q == ';'))
		q++;
	return q < end && is_letter(*q) ? (size_t)(q + 1 - p) : 0;
}

/* Length of the sequence that starts with the ESC at 'p', 0 when it is none we know. */
static size_t sequence(const char *p, const char *end)
{
	const char *q = p + 2;

	if (end - p < 2)
		return 0;
	if (p[1] == '[')
		return control_sequence(p, end);
	if (p[1] == '(')
		return q < end && (*q == 'A' || *q == 'B' || (*q >= '0' && *q <= '2')) ? 3 : 0;
	return p[1] >= '@' && p[1] <= '_' ? 2 : 0;
}

static bool is_control(char c)
{
	return ((unsigned char)c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\177';
}

size_t terminal_strip(char *text, size_t len)
{
	const char *end = text + len;
	char *to = text;

	for (const char *p = text; p < end; p++) {
		size_t skip = *p == ESC ? sequence(p, end) : 0;

		if (skip > 0)
			p += skip - 1;
		else if (!is_control(*p))
			*to++ = *p;
	}
	return (size_t)(to - text);
}
