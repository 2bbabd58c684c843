/* SPDX-License-Identifier: MIT */
/* Request targets, in their origin and absolute forms. */
#include "payloads/sandbox-tools/model_proxy/target.h"

#include <stdbool.h>
#include <string.h>

#include "payloads/lib/hex.h"
#include "payloads/lib/utf8.h"

static bool is_in_scheme(char c, bool first)
{
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	return letter || (!first && ((c >= '0' && c <= '9') || (c && strchr("+-.", c))));
}

/* The length of "scheme:", 0 if there is none. */
static size_t scheme_length(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && is_in_scheme(text[i], i == 0))
		i++;
	return i > 0 && i < len && text[i] == ':' ? i + 1 : 0;
}

/* Of the characters up to the first of 'set'. */
static size_t length_until(const char *text, size_t len, const char *set)
{
	size_t i = 0;

	while (i < len && !(text[i] && strchr(set, text[i])))
		i++;
	return i;
}

/* The byte at 'text', perhaps escaped; how many characters it has goes to 'ret_used'. */
static unsigned char decode_byte(const char *text, size_t len, size_t *ret_used)
{
	int high = len > 2 && *text == '%' ? hex_value(text[1]) : -1;
	int low = high >= 0 ? hex_value(text[2]) : -1;

	*ret_used = low >= 0 ? 3 : 1;
	return low >= 0 ? (unsigned char)(high * 16 + low) : (unsigned char)*text;
}

int target_decode(const char *target, size_t len, struct buf *out)
{
	size_t skip = scheme_length(target, len), used;
	struct utf8 utf8 = {.len = 0};
	int r = 0;

	target += skip;
	len -= skip;
	if (len >= 2 && memcmp(target, "//", 2) == 0) {
		skip = 2 + length_until(target + 2, len - 2, "/?#");
		target += skip;
		len -= skip;
	}
	len = length_until(target, len, "?#");
	for (; r == 0 && len > 0; target += used, len -= used) {
		unsigned char c = decode_byte(target, len, &used);

		r = utf8_decode(&utf8, &c, 1, false, out);
	}
	return r < 0 ? r : utf8_decode(&utf8, "", 0, true, out);
}
