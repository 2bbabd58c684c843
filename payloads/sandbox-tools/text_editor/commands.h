/* SPDX-License-Identifier: MIT */
/* The commands, each with a path that has been resolved and checked. What they say is in the
   reply. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_COMMANDS_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_COMMANDS_H

#include <string.h>

#include "payloads/sandbox-tools/text_editor/path.h"
#include "payloads/sandbox-tools/text_editor/scan.h"
#include "payloads/sandbox-tools/text_editor/show.h"
#include "payloads/sandbox-tools/text_editor/types.h"

void view_file(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply);
void view_directory(const struct editor_path *path, struct editor_reply *reply);
void create_file(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply);
void replace_text(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply);
void insert_text(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply);
void undo_edit(const struct editor_path *path, struct editor_reply *reply);

/* ---- what they share ---- */

static inline struct text text_of(const char *string)
{
	return (struct text){string, strlen(string)};
}

/* The whole file, checked by a scan that keeps nothing: 0, or -1 with the reply. */
int load_text(const struct editor_path *path, struct buf *raw, struct scan *scan,
	struct editor_reply *reply);
void fail_reading(struct editor_reply *reply, int error, const struct scan *scan,
	const struct editor_path *path);

/* An edit: what stands at [start, end) of the file gives way to 'text'. */
struct edit {
	size_t start, end;
	struct text text;
};

/* Writes the edited file, remembers what it was and reports the edit, with some lines of the
   result. */
struct edit_report {
	struct show show;
	const char *advice;
};
void carry_out(const struct editor_path *path, const struct buf *raw, const struct edit *edit,
	const struct edit_report *report, struct editor_reply *reply);
int64_t count_newlines(struct text text);
/* Appends 'text' with 'line_end' for every '\n' that is not part of "\r\n". */
int add_with_line_ends(struct buf *out, struct text text, const char *line_end);

#endif
