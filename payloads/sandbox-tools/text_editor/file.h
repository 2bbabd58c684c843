/* SPDX-License-Identifier: MIT */
/* Reading and replacing files: regular ones, and the null device. Never blocks on anything else and
   never follows a link;
   errors are -errno, -ESTALE for a path that has become another file since it was resolved. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_FILE_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_FILE_H

#include <stddef.h>

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/text_editor/path.h"
#include "payloads/sandbox-tools/text_editor/types.h"

#define FILE_SIZE_MAX ((size_t)1 << 30)

/* Opens a file for reading: descriptor or -errno (-EINVAL: a pipe, a socket or another device). */
int file_open(const struct editor_path *path);
/* Appends all of it. -EFBIG past FILE_SIZE_MAX. */
int file_load(const struct editor_path *path, struct buf *ret);

/* New content, made of pieces. The first 'same' bytes are what the file begins with already. */
struct file_content {
	const struct text *pieces;
	size_t count;
	size_t same;
};

/* A new file; -EEXIST if there is one by now. It appears with all of its content or not at all. */
int file_create(const struct editor_path *path, const struct file_content *content);
/* Replaces an existing file's content in one step, keeping mode, owner and extended attributes.
   Where that is impossible (no right to write to the directory or to give the file to its owner,
   another hard link, a mount) the file is written in place. */
int file_replace(const struct editor_path *path, const struct file_content *content);
/* Deletes it. */
int file_delete(const struct editor_path *path);

#endif
