/* SPDX-License-Identifier: MIT */
/* str_replace. */
#include <errno.h>

#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/file.h"
#include "payloads/sandbox-tools/text_editor/match.h"
#include "payloads/sandbox-tools/text_editor/tabs.h"

#define LINES_MAX ((size_t)1 << 20) /* bytes of line numbers in a message */

static void fail_count(struct editor_reply *reply, const struct editor_path *path,
	struct text wanted, const struct match *match)
{
	if (match->count == 0) {
		reply_fail(reply, "No replacement was performed, old_str `");
		reply_add_escaped(reply, wanted);
		reply_add(reply, "` did not appear verbatim in ");
		reply_add_escaped(reply, text_of(path->name));
		reply_add(reply, ".");
		return;
	}
	reply_fail(reply, "No replacement was performed. Multiple occurrences of old_str `");
	reply_add_escaped(reply, wanted);
	reply_add(reply, "` in lines [");
	reply_add_text(reply, match->lines->data, match->lines->len);
	reply_add(reply, "]. Please ensure it is unique");
}

static void replace_match(const struct editor_request *req, const struct editor_path *path,
	const struct buf *raw, const struct change_opts *opts, int64_t line,
	struct editor_reply *reply)
{
	const struct edit_report report = {
		{line > 4 ? line - 3 : 1, line + 4 + count_newlines(req->new_str) + 1,
			"a snippet of ", path->name},
		"Review the changes and make sure they are as expected. Edit the file again if "
		"necessary."};
	struct change change = {.text = BUF_INIT(FILE_SIZE_MAX)};
	int r = change_make((struct text){raw->data, raw->len}, opts, &change);

	if (r == 0) {
		struct edit edit = {change.start, change.end,
			{change.text.len > 0 ? change.text.data : "", change.text.len}};

		carry_out(path, raw, &edit, &report, reply);
	} else {
		reply->error = r;
	}
	buf_release(&change.text);
}

static void replace_in(const struct editor_request *req, const struct editor_path *path,
	const struct buf *raw, const char *line_end, struct text wanted, struct editor_reply *reply)
{
	struct buf lines = BUF_INIT(LINES_MAX);
	struct match match = {.lines = &lines};
	int r = match_find((struct text){raw->len > 0 ? raw->data : "", raw->len}, wanted, &match);

	/* a list too long to be told is cut off */
	if (r == -EMSGSIZE)
		r = 0;
	if (r < 0) {
		reply->error = r;
	} else if (match.count != 1) {
		fail_count(reply, path, wanted, &match);
	} else {
		const struct change_opts opts = {match.at, wanted.len, req->new_str, line_end,
			memchr(req->old_str.data, '\t', req->old_str.len) != NULL};

		replace_match(req, path, raw, &opts, match.line, reply);
	}
	buf_release(&lines);
}

void replace_text(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply)
{
	struct buf raw = BUF_INIT(FILE_SIZE_MAX), wanted = BUF_INIT(FILE_SIZE_MAX);
	struct scan scan = SCAN_INIT(0, -1);

	if (load_text(path, &raw, &scan, reply) == 0) {
		int r = tab_expand(&wanted, req->old_str);

		if (r == 0)
			replace_in(req, path, &raw, scan_line_end(&scan),
				(struct text){wanted.data, wanted.len}, reply);
		else
			reply->error = r;
	}
	scan_release(&scan);
	buf_release(&wanted);
	buf_release(&raw);
}
