/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a file, and text to find and replace in it. Whatever is no UTF-8 is
   refused; the rest is the same text in any pieces; an edit touches nothing but what was found.
   First byte: size of the pieces; second: does the caller know tabs; then file, old and new text,
   with 0xff between them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "payloads/sandbox-tools/text_editor/match.h"
#include "payloads/sandbox-tools/text_editor/show.h"
#include "payloads/sandbox-tools/text_editor/tabs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST ((size_t)1 << 26)

static void need(bool truth)
{
	if (!truth)
		abort();
}

static bool same(struct text a, const struct buf *b)
{
	return a.len == b->len && (a.len == 0 || memcmp(a.data, b->data, a.len) == 0);
}

static struct text as_text(const struct buf *buf)
{
	return (struct text){buf->len > 0 ? buf->data : "", buf->len};
}

/* ---- reading ---- */

static int scan_pieces(struct scan *scan, struct text text, size_t piece)
{
	int r = 0;

	for (size_t at = 0; at < text.len && r == 0; at += piece)
		r = scan_feed(scan, text.data + at, text.len - at < piece ? text.len - at : piece);
	return r < 0 ? r : scan_end(scan);
}

/* Is it text? Then it is so in any pieces. */
static bool check_scan(struct text text, size_t piece, const char **ret_line_end)
{
	struct scan a = SCAN_INIT(2, 5), b = SCAN_INIT(2, 5);
	int r = scan_pieces(&a, text, text.len + 1), s = scan_pieces(&b, text, piece);

	need(r == s && a.lines == b.lines && same(as_text(&a.kept), &b.kept));
	need(strcmp(a.why, b.why) == 0 && (r == 0) == (a.why[0] == '\0'));
	*ret_line_end = scan_line_end(&a);
	scan_release(&a);
	scan_release(&b);
	return r == 0;
}

static void check_show(struct text text)
{
	struct editor_reply reply = {.text = BUF_INIT(MOST)};

	show_pieces(&reply, &text, 1, &(struct show){1, SHOW_TO_END, "", "/x"});
	need(reply.error == 0 && !reply.failed && reply.text.len > 0);
	need(reply.text.data[reply.text.len - 1] == '\n');
	buf_release(&reply.text);
}

/* ---- finding ---- */

/* The file as it is shown, line ends included; 'tabs' as spaces too. */
static struct buf shown(struct text raw)
{
	struct buf plain = BUF_INIT(MOST), out = BUF_INIT(MOST);

	for (size_t i = 0; i < raw.len; i++) {
		if (raw.data[i] == '\n' && i > 0 && raw.data[i - 1] == '\r')
			continue;
		need(buf_add(&plain, raw.data[i] == '\r' ? "\n" : raw.data + i, 1) == 0);
	}
	need(tab_expand(&out, as_text(&plain)) == 0);
	buf_release(&plain);
	return out;
}

/* The slow way to count what match_find() counts. */
static uint64_t count(const struct buf *in, const struct buf *wanted, uint64_t *ret_first)
{
	uint64_t n = 0;

	for (size_t at = 0; at + wanted->len <= in->len; at++)
		if (memcmp(in->data + at, wanted->data, wanted->len) == 0) {
			if (n++ == 0)
				*ret_first = at;
			at += wanted->len - 1;
		}
	return n;
}

/* ---- replacing ---- */

/* Where in the file the byte is that shows the text's byte 'at', or makes it with others. */
static size_t raw_offset(struct text raw, uint64_t at)
{
	size_t column = 0, i;
	uint64_t shown_so_far = 0;

	for (i = 0; i < raw.len; i++) {
		size_t next = tab_column(column, raw.data[i]), width = 1;

		if (raw.data[i] == '\t')
			width = next - column;
		if (raw.data[i] == '\n' && i > 0 && raw.data[i - 1] == '\r')
			width = 0;
		if (shown_so_far + width > at)
			break;
		shown_so_far += width;
		column = next;
	}
	return i;
}

static bool has(struct text text, char c)
{
	return text.len > 0 && memchr(text.data, c, text.len);
}

/* Where columns and line ends play no part: the new text, in the place of the old one. */
static void check_result(struct text raw, const struct change_opts *o, const struct change *change)
{
	struct buf result = BUF_INIT(MOST), before, after;
	size_t end = (size_t)(o->at + o->text.len);

	if (has(raw, '\r') || has(o->text, '\r') || has(o->text, '\t'))
		return;
	need(buf_add(&result, raw.data, change->start) == 0 &&
		buf_add(&result, change->text.data, change->text.len) == 0 &&
		buf_add(&result, raw.data + change->end, raw.len - change->end) == 0);
	before = shown(raw);
	after = shown(as_text(&result));
	need(after.len >= end);
	need(o->at == 0 || memcmp(after.data, before.data, (size_t)o->at) == 0);
	need(o->text.len == 0 || memcmp(after.data + o->at, o->text.data, o->text.len) == 0);
	buf_release(&result);
	buf_release(&before);
	buf_release(&after);
}

static void check_change(struct text raw, const struct change_opts *opts)
{
	struct change change = {.text = BUF_INIT(MOST)};
	size_t from = raw_offset(raw, opts->at), to = raw_offset(raw, opts->at + opts->len - 1);

	need(change_make(raw, opts, &change) == 0);
	need(change.start <= change.end && change.end <= raw.len);
	/* one more for the LF of a CRLF */
	need(change.start >= from && change.end <= to + 2);
	need(change.text.len <= 2 * opts->text.len + 2 * TAB_WIDTH);
	check_result(raw, opts, &change);
	buf_release(&change.text);
}

static void check_edit(
	struct text raw, struct text old, struct text fresh, const char *line_end, bool knows_tabs)
{
	struct buf wanted = BUF_INIT(MOST), lines = BUF_INIT(MOST), all = shown(raw);
	struct match match = {.lines = &lines};
	uint64_t first = 0;

	need(tab_expand(&wanted, old) == 0);
	need(match_find(raw, as_text(&wanted), &match) == 0);
	need(match.count == count(&all, &wanted, &first));
	need(match.count == 0 || match.at == first);
	if (match.count > 0) {
		const struct change_opts opts = {match.at, wanted.len, fresh, line_end, knows_tabs};

		check_change(raw, &opts);
	}
	buf_release(&wanted);
	buf_release(&lines);
	buf_release(&all);
}

/* What stands before the next 0xff, in memory of its own. */
static struct text next(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size > 0 ? memchr(*data, 0xff, *size) : NULL;
	size_t len = end ? (size_t)(end - *data) : *size, step = end ? len + 1 : len;
	char *copy = malloc(len > 0 ? len : 1);

	need(copy != NULL);
	if (len > 0)
		memcpy(copy, *data, len);
	*data += step;
	*size -= step;
	return (struct text){copy, len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *line_end, *ignored;
	struct text raw, old, fresh;
	bool knows_tabs;
	size_t piece;

	if (size < 2)
		return 0;
	piece = data[0] + 1u;
	knows_tabs = data[1] & 1;
	data += 2;
	size -= 2;
	raw = next(&data, &size);
	old = next(&data, &size);
	fresh = next(&data, &size);
	if (check_scan(raw, piece, &line_end)) {
		check_show(raw);
		if (old.len > 0 && check_scan(old, piece, &ignored) &&
			check_scan(fresh, piece, &ignored))
			check_edit(raw, old, fresh, line_end, knows_tabs);
	}
	free((char *)raw.data);
	free((char *)old.data);
	free((char *)fresh.data);
	return 0;
}
