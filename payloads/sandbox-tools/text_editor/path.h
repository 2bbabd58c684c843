/* SPDX-License-Identifier: MIT */
/* From the path of a request to the file it means, as Python's Path.resolve() does it. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_PATH_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_PATH_H

#include <sys/stat.h>

#include "payloads/sandbox-tools/text_editor/types.h"

struct editor_path {
	char *name; /* owned: absolute, without links, '.' and '..'; the last parts need not exist
		     */
	bool exists;
	struct stat st; /* if it exists */
};

#define EDITOR_PATH_INIT     \
	{                    \
		.name = NULL \
	}

/* Resolves and checks the path for the command: 0, or -1 with the reply saying what is wrong. */
int path_resolve(
	struct editor_path *path, const struct editor_request *req, struct editor_reply *reply);
void path_release(struct editor_path *path);

#endif
