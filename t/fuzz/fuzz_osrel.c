/* SPDX-License-Identifier: MIT */
/* Any bytes as an os-release file. */
#include "recon/osrel.h"

#include "engine/text.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_identifiers(const char *text, size_t size, const char *also)
{
	if (!memchr(text, 0, size))
		abort();
	for (; *text; text++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *text) &&
			!strchr(also, *text))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osrel osrel;
	size_t left;

	memset(&osrel, 0xa5, sizeof(osrel));
	osrel_parse(data, size, &osrel);
	check_identifiers(osrel.id, sizeof(osrel.id), "");
	check_identifiers(osrel.id_like, sizeof(osrel.id_like), " ");
	check_identifiers(osrel.version_id, sizeof(osrel.version_id), "");
	left = strnlen(osrel.pretty_name, sizeof(osrel.pretty_name));
	if (left == sizeof(osrel.pretty_name))
		abort();
	for (const char *c = osrel.pretty_name; left > 0;) {
		size_t n = sb_text_char(c, left);

		if (n == 0)
			abort();
		c += n;
		left -= n;
	}
	return 0;
}
