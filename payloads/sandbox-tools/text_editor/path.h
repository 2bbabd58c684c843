/* SPDX-License-Identifier: MIT */
/* From the path of a request to the file it means, as Python's Path.resolve() does it. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_PATH_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_PATH_H

#include <sys/stat.h>

#include "payloads/sandbox-tools/text_editor/types.h"

/*
 * 'dir' and 'leaf' are what to open, link, rename and delete with; 'name' is what to show. Looked
 * up again, the name could by then lead through a link that somebody has put there since.
 */
struct editor_path {
	char *name; /* owned: absolute, without links, '.' and '..'; the last parts need not exist
		     */
	const char *leaf; /* the last of them, "." for "/" */
	int dir;	  /* where it is; -errno if there is no such directory */
	int file;	  /* whatever it is, open with O_PATH; negative if there is none */
	struct stat st;	  /* of it */
};

#define EDITOR_PATH_INIT                            \
	{                                           \
		.name = NULL, .dir = -1, .file = -1 \
	}

/* Resolves and checks the path for the command: 0, or -1 with the reply saying what is wrong. */
int path_resolve(
	struct editor_path *path, const struct editor_request *req, struct editor_reply *reply);
void path_release(struct editor_path *path);

#endif
