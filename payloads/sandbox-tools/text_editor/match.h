/* SPDX-License-Identifier: MIT */
/*
 * Finding text in a file the way it is shown (tabs as spaces, every line end as '\n') and replacing
 * it in the file the way it is. Pure.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_MATCH_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_MATCH_H

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/text_editor/types.h"

struct match {
	uint64_t count;	   /* occurrences that do not overlap */
	int64_t line;	   /* of the first one, from 0 */
	uint64_t at;	   /* of the first one, in the text as shown */
	struct buf *lines; /* "1, 5, 7": lines with an occurrence, if one cannot span lines */
};

/* Looks for 'wanted', which is as shown and not empty. 'lines' may be NULL. 0, -ENOMEM. */
int match_find(struct text raw, struct text wanted, struct match *match);

/* What to do to the raw bytes. */
struct change {
	size_t start, end; /* these go */
	struct buf text;   /* this comes; owned */
};

struct change_opts {
	uint64_t at, len; /* what to replace, in the text as shown */
	struct text text; /* by what */
	const char *line_end;
	bool knows_tabs; /* whoever asks has seen the tabs: spaces for a tab mean spaces */
};

/* Works out the smallest change: what the new text has in common with the old at its beginning and
   end stays as it is, with its tabs and line ends. A tab that is replaced in part becomes the
   spaces of its other part. 0 or -ENOMEM/-EMSGSIZE. */
int change_make(struct text raw, const struct change_opts *opts, struct change *ret);

#endif
