/* SPDX-License-Identifier: MIT */
/* Bytes to lines. */
#include "payloads/sandbox-tools/text_editor/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LF, CRLF, CR };

static int keep(struct scan *scan, const char *data, size_t len)
{
	if (scan->kept_chars == EDITOR_SHOWN_MAX) {
		scan->clipped = true;
		return 0;
	}
	scan->kept_chars++;
	return buf_add(&scan->kept, data, len);
}

static int end_line(struct scan *scan)
{
	int r = 0;

	if (scan->lines >= scan->first && scan->lines < scan->last)
		r = keep(scan, "\n", 1);
	scan->lines++;
	return r;
}

static int take_character(struct scan *scan, const char *data, size_t len)
{
	bool after_cr = scan->after_cr;

	scan->after_cr = *data == '\r';
	if (*data == '\n' && after_cr) {
		scan->ends[CR]--;
		scan->ends[CRLF]++;
		return 0;
	}
	if (*data == '\n' || *data == '\r') {
		scan->ends[*data == '\n' ? LF : CR]++;
		return end_line(scan);
	}
	if (scan->lines < scan->first || scan->lines > scan->last)
		return 0;
	return keep(scan, data, len);
}

/* Says where 'len' bytes from 'start' on make no sense, the first of which is 'c'. */
static int refuse(struct scan *scan, uint64_t start, unsigned len, unsigned c, const char *why)
{
	if (len == 1)
		snprintf(scan->why, sizeof(scan->why),
			"'utf-8' codec can't decode byte 0x%02x in position %" PRIu64 ": %s", c,
			start, why);
	else
		snprintf(scan->why, sizeof(scan->why),
			"'utf-8' codec can't decode bytes in position %" PRIu64 "-%" PRIu64 ": %s",
			start, start + len - 1, why);
	return -EILSEQ;
}

int scan_feed(struct scan *scan, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)data[i];
		unsigned have = scan->chars.need ? scan->chars.have : 0;
		int r = chars_step(&scan->chars, c);

		if (r < 0 && have == 0)
			return refuse(scan, scan->at, 1, c, "invalid start byte");
		if (r < 0)
			return refuse(scan, scan->at - have, have,
				(unsigned char)scan->character[0], "invalid continuation byte");
		scan->character[have] = (char)c;
		scan->at++;
		if (r > 0)
			r = take_character(scan, scan->character, have + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

int scan_end(struct scan *scan)
{
	unsigned have = scan->chars.have;

	if (scan->chars.need == 0)
		return 0;
	return refuse(scan, scan->at - have, have, (unsigned char)scan->character[0],
		"unexpected end of data");
}

void scan_release(struct scan *scan)
{
	buf_release(&scan->kept);
}

const char *scan_line_end(const struct scan *scan)
{
	const uint64_t *n = scan->ends;

	if (n[CRLF] > n[LF] && n[CRLF] >= n[CR])
		return "\r\n";
	return n[CR] > n[LF] ? "\r" : "\n";
}
