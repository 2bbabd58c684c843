/* SPDX-License-Identifier: MIT */
/* create, insert, undo_edit, and how every edit ends. */
#include "payloads/lib/base.h"
#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/file.h"
#include "payloads/sandbox-tools/text_editor/history.h"
#include "payloads/sandbox-tools/text_editor/show.h"

int load_text(const struct editor_path *path, struct buf *raw, struct scan *scan,
	struct editor_reply *reply)
{
	int r = file_load(path, raw);

	if (r == 0)
		r = scan_feed(scan, raw->data, raw->len);
	if (r == 0)
		r = scan_end(scan);
	if (r < 0)
		fail_reading(reply, r, scan, path);
	return r < 0 ? -1 : 0;
}

int add_with_line_ends(struct buf *out, struct text text, const char *line_end)
{
	const char *at = text.data, *end = text.data + text.len, *start = at;
	int r = 0;

	if (strcmp(line_end, "\n") == 0)
		return buf_add(out, text.data, text.len);
	for (; at < end && r == 0; at++) {
		if (*at != '\n' || (at > text.data && at[-1] == '\r'))
			continue;
		r = buf_add(out, start, (size_t)(at - start));
		if (r == 0)
			r = buf_add_str(out, line_end);
		start = at + 1;
	}
	return r < 0 ? r : buf_add(out, start, (size_t)(end - start));
}

int64_t count_newlines(struct text text)
{
	int64_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.data[i] == '\n';
	return n;
}

/* A lone CR and a lone LF that come together would be one line end: what keeps them two. */
static struct text keep_apart(char before, char after, const char *by)
{
	return before == '\r' && after == '\n' ? text_of(by) : text_of("");
}

void carry_out(const struct editor_path *path, const struct buf *raw, const struct edit *edit,
	const struct edit_report *report, struct editor_reply *reply)
{
	const char *data = raw->len > 0 ? raw->data : "";
	const struct text before = {data, raw->len}, text = edit->text;
	char left = edit->start > 0 ? data[edit->start - 1] : '\0';
	char right = edit->end < raw->len ? data[edit->end] : '\0';
	const struct text pieces[] = {
		{data, edit->start},
		keep_apart(left, text.len > 0 ? text.data[0] : right, "\r"),
		text,
		keep_apart(text.len > 0 ? text.data[text.len - 1] : '\0', right, "\n"),
		{data + edit->end, raw->len - edit->end},
	};
	const size_t count = ARRAY_SIZE(pieces);
	const struct file_content content = {pieces, count, edit->start};
	int r = file_replace(path, &content);

	if (r < 0) {
		reply_fail_io(reply, r, path->name, "write to");
		return;
	}
	history_push(path->name, &before);
	reply_add(reply, "The file ");
	reply_add_escaped(reply, text_of(path->name));
	reply_add(reply, " has been edited. ");
	show_pieces(reply, pieces, count, &report->show);
	reply_add(reply, report->advice);
}

/* ---- create ---- */

void create_file(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply)
{
	const struct file_content content = {&req->file_text, 1, 0};
	int r = file_create(path, &content);

	if (r < 0) {
		reply_fail_io(reply, r, path->name, "write to");
		return;
	}
	history_push(path->name, NULL);
	reply_add(reply, "File created successfully at: ");
	reply_add_escaped(reply, text_of(path->name));
}

/* ---- insert ---- */

/* Where the line after line 'line' starts; behind the end for the last one. */
static size_t find_line_end(const struct buf *raw, int64_t line)
{
	size_t at = 0;

	for (; line > 0 && at < raw->len; at++) {
		char c = raw->data[at];

		if (c == '\n' || (c == '\r' && !(at + 1 < raw->len && raw->data[at + 1] == '\n')))
			line--;
	}
	return at;
}

static void insert_at(const struct editor_request *req, const struct editor_path *path,
	const struct buf *raw, const struct scan *scan, struct editor_reply *reply)
{
	int64_t line = req->insert_line, first = line > 4 ? line - 3 : 1;
	const char *line_end = scan_line_end(scan);
	const struct edit_report report = {{first, line + count_newlines(req->new_str) + 1 + 4,
						   "a snippet of the edited file", ""},
		"Review the changes and make sure they are as expected (correct indentation, "
		"no duplicate lines, etc). Edit the file again if necessary."};
	struct buf text = BUF_INIT(FILE_SIZE_MAX);
	struct edit edit = {.start = find_line_end(raw, line)};
	int r = 0;

	edit.end = edit.start;
	/* the last line has no end: the new ones come behind one of their own */
	if (line == scan->lines)
		r = buf_add_str(&text, line_end);
	if (r == 0)
		r = add_with_line_ends(&text, req->new_str, line_end);
	if (r == 0 && line != scan->lines)
		r = buf_add_str(&text, line_end);
	edit.text = (struct text){text.data, text.len};
	if (r == 0)
		carry_out(path, raw, &edit, &report, reply);
	else
		reply->error = r;
	buf_release(&text);
}

void insert_text(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply)
{
	struct buf raw = BUF_INIT(FILE_SIZE_MAX);
	struct scan scan = SCAN_INIT(0, -1);

	if (load_text(path, &raw, &scan, reply) == 0) {
		if (req->insert_line < 0 || req->insert_line > scan.lines) {
			reply_fail(reply, "Invalid `insert_line` parameter: ");
			reply_add_number(reply, req->insert_line);
			reply_add(reply,
				". It should be within the range of lines of the file: [0, ");
			reply_add_number(reply, scan.lines);
			reply_add(reply, "]");
		} else {
			insert_at(req, path, &raw, &scan, reply);
		}
	}
	scan_release(&scan);
	buf_release(&raw);
}

/* ---- undo_edit ---- */

static int restore(
	const struct editor_path *path, const struct history_entry *entry, const struct text *text)
{
	const struct file_content content = {text, 1, 0};

	if (entry->existed)
		return file_replace(path, &content);
	return file_delete(path);
}

void undo_edit(const struct editor_path *path, struct editor_reply *reply)
{
	struct history_entry entry;
	struct text text;
	int r = history_last(path->name, &entry);

	if (r <= 0) {
		reply->error = r;
		reply_fail(reply, "No edit history found for ");
		reply_add_escaped(reply, text_of(path->name));
		reply_add(reply, ". The text editor only retains the last 10 edits per file.");
		return;
	}
	text = (struct text){entry.text.len > 0 ? entry.text.data : "", entry.text.len};
	r = restore(path, &entry, &text);
	if (r < 0) {
		reply_fail_io(reply, r, path->name, "write to");
	} else if (!entry.existed) {
		reply_add(reply, "File deleted at: ");
		reply_add_escaped(reply, text_of(path->name));
	} else {
		reply_add(reply, "Last edit to ");
		reply_add_escaped(reply, text_of(path->name));
		reply_add(reply, " undone successfully. ");
		show_pieces(reply, &text, 1, &(struct show){1, SHOW_TO_END, "", path->name});
	}
	if (r == 0)
		history_drop(path->name, &entry);
	buf_release(&entry.text);
}
