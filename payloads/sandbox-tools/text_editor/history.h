/* SPDX-License-Identifier: MIT */
/*
 * What files were before they were edited: the last edits of each, in a directory of the user's own
 * (0700, below the temporary directory), one file for each edit. Data only, and never another
 * user's. The history is a convenience: when it cannot be used stderr says so and edits go on.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_HISTORY_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_HISTORY_H

#include <stdbool.h>

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/text_editor/types.h"

#define HISTORY_DEPTH 10
#define HISTORY_ENTRY_MAX ((size_t)64 << 20)   /* a larger file's edits cannot be undone */
#define HISTORY_TOTAL_MAX ((size_t)512 << 20)  /* of all files; the oldest edits go first */
#define HISTORY_COUNT_MAX 1000		       /* edits of all files; the same */
#define HISTORY_DIR ".inspect-sandbox-editor-" /* and the uid */

struct history_entry {
	bool existed;	 /* false: the edit created the file */
	struct buf text; /* its content before the edit */
	unsigned number; /* which one it is */
};

/* Remembers a state of the file 'path'; NULL: it did not exist. */
void history_push(const char *path, const struct text *before);
/* The newest state: 1, 0 when there is none (or none that can be used), -ENOMEM. */
int history_last(const char *path, struct history_entry *ret);
/* Forgets the entry history_last() gave. */
void history_drop(const char *path, const struct history_entry *entry);
/* Deletes every user's history in a directory where anybody may write, or as much of it as the
   TREE_SWEEP_MS of payloads/lib/tree.h allow: number of things removed. */
int history_erase(const char *parent);
/* Does history_push() and the others in another directory than the temporary one; for tests. */
void history_use(const char *parent);

#endif
