/* SPDX-License-Identifier: MIT */
/* Lines with their numbers, the way `cat -n` shows them. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_SHOW_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_SHOW_H

#include "payloads/sandbox-tools/text_editor/scan.h"
#include "payloads/sandbox-tools/text_editor/types.h"

#define SHOW_TO_END INT64_MAX
extern const char show_clipped[]; /* stands where text was cut off */

/* Which lines, and what they are of. */
struct show {
	int64_t first, last;
	const char *of_before, *of_path;
};

/* Adds what the scan kept, numbered from its first line; 'of' says of what. */
void show_scan(struct editor_reply *reply, const struct scan *scan, const char *of_before,
	const char *of_path);
/* The same for lines of a text in pieces, valid UTF-8. */
void show_pieces(struct editor_reply *reply, const struct text *pieces, size_t count,
	const struct show *show);

#endif
