/* SPDX-License-Identifier: MIT */
/* Numbered output. */
#include "payloads/sandbox-tools/text_editor/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "payloads/sandbox-tools/text_editor/tabs.h"

const char show_clipped[] =
	"<response clipped><NOTE>To save on context only part of this file has been shown to you. "
	"You should retry this tool after you have searched inside the file with `grep -n` in "
	"order to find the line numbers of what you are looking for.</NOTE>";

static void add_line(struct editor_reply *reply, int64_t number, const char *line, size_t len)
{
	char head[32];

	snprintf(head, sizeof(head), "%6" PRId64 "\t", number);
	reply_add(reply, head);
	reply_add_text(reply, line, len);
	reply_add(reply, "\n");
}

static void add_lines(struct editor_reply *reply, const char *text, size_t len, int64_t number)
{
	const char *end = text + len;

	for (;;) {
		const char *newline = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;

		add_line(reply, number++, text, (size_t)((newline ? newline : end) - text));
		if (!newline)
			return;
		text = newline + 1;
	}
}

void show_scan(struct editor_reply *reply, const struct scan *scan, const char *of_before,
	const char *of_path)
{
	struct text kept = {scan->kept.len > 0 ? scan->kept.data : "", scan->kept.len};
	struct buf expanded = BUF_INIT(TAB_WIDTH * scan->kept.limit);
	int r = tab_expand(&expanded, kept);

	if (r == 0 && scan->clipped)
		r = buf_add_str(&expanded, show_clipped);
	reply_add(reply, "Here's the result of running `cat -n` on ");
	reply_add(reply, of_before);
	reply_add_escaped(reply, (struct text){of_path, strlen(of_path)});
	reply_add(reply, ":\n");
	if (r == 0)
		add_lines(reply, expanded.len > 0 ? expanded.data : "", expanded.len, scan->first);
	else
		reply->error = r;
	buf_release(&expanded);
}

void show_pieces(struct editor_reply *reply, const struct text *pieces, size_t count,
	const struct show *show)
{
	struct scan scan = SCAN_INIT(show->first, show->last);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = scan_feed(&scan, pieces[i].data, pieces[i].len);
	if (r == 0)
		show_scan(reply, &scan, show->of_before, show->of_path);
	else
		reply->error = r;
	scan_release(&scan);
}
