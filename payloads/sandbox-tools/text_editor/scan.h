/* SPDX-License-Identifier: MIT */
/*
 * One pass over a file's bytes as text: checks the encoding, turns every line end into '\n', counts
 * lines and keeps some of them, as many characters as can be shown. Constant memory.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_SCAN_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_SCAN_H

#include "payloads/sandbox-tools/text_editor/types.h"
#include "payloads/sandbox-tools/text_editor/chars.h"

struct scan {
	int64_t first, last; /* lines to keep, from 1; set by the caller before the first byte */
	struct buf kept;
	size_t kept_chars;
	bool clipped;	  /* more characters than can be shown */
	int64_t lines;	  /* seen so far, at least 1 */
	uint64_t ends[3]; /* line ends by kind: LF, CRLF, CR */

	uint64_t at; /* bytes seen */
	struct chars chars;
	char character[4];
	bool after_cr;
	char why[96]; /* after -EILSEQ: what Python would say */
};

#define SCAN_INIT(from, to)                                                                       \
	{                                                                                         \
		.first = (from), .last = (to), .kept = BUF_INIT(5 * EDITOR_SHOWN_MAX), .lines = 1 \
	}

/* 0, -EILSEQ, -ENOMEM. */
int scan_feed(struct scan *scan, const char *data, size_t len);
/* To be called at the end: the last character may be incomplete, the last CR be one by itself. */
int scan_end(struct scan *scan);
void scan_release(struct scan *scan);
/* The kind of line end most lines have, as text. */
const char *scan_line_end(const struct scan *scan);

#endif
