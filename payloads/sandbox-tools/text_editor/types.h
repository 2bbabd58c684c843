/* SPDX-License-Identifier: MIT */
/* What the text editor is asked and what it answers, checked and free of JSON. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_TYPES_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"

#define EDITOR_SHOWN_MAX 16000 /* characters of a file in one answer */

/* Bytes somebody else owns; valid UTF-8 unless said otherwise, U+0000 included. */
struct text {
	const char *data;
	size_t len;
};

enum editor_command {
	EDITOR_VIEW,
	EDITOR_CREATE,
	EDITOR_STR_REPLACE,
	EDITOR_INSERT,
	EDITOR_UNDO_EDIT,
};

struct editor_request {
	enum editor_command command;
	struct text path;
	size_t range_len; /* of view_range; 0: none */
	int64_t range[2];
	struct text file_text; /* create */
	struct text old_str;   /* str_replace */
	struct text new_str;   /* str_replace, insert */
	int64_t insert_line;
};

/* An answer under construction. What is added after a failure of any kind is dropped, so callers
   need not check. */
struct editor_reply {
	struct buf text;
	bool failed; /* 'text' is an error for the model */
	int error;   /* -errno: not even that could be written */
};

/* Adds a string; the second replaces what was there and marks the failure. */
void reply_add(struct editor_reply *reply, const char *text);
void reply_fail(struct editor_reply *reply, const char *text);
void reply_add_text(struct editor_reply *reply, const char *data, size_t len);
void reply_add_number(struct editor_reply *reply, int64_t number);
/* Bytes that may not be UTF-8 and may not be U+0000, made so that they are text. */
void reply_add_escaped(struct editor_reply *reply, struct text text);
/* As Python quotes a string. */
void reply_add_quoted(struct editor_reply *reply, struct text text);
/* "[Errno 2] No such file or directory: '<path>'" */
void reply_add_errno(struct editor_reply *reply, int error, const char *path);
/* "Ran into <error> while trying to <what> <path>"; 'error' is negative errno. */
void reply_fail_io(struct editor_reply *reply, int error, const char *path, const char *what);

#endif
