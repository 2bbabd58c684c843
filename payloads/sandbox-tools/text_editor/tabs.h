/* SPDX-License-Identifier: MIT */
/* Tab stops every eight columns, a column being a character. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_TABS_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_TABS_H

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/text_editor/types.h"

#define TAB_WIDTH 8

/* The column after byte 'c' of a text that is at column 'column'. */
static inline size_t tab_column(size_t column, char c)
{
	if (c == '\n' || c == '\r')
		return 0;
	if (c == '\t')
		return column + TAB_WIDTH - column % TAB_WIDTH;
	return ((unsigned char)c & 0xc0) == 0x80 ? column : column + 1;
}

/* Appends the text with spaces for its tabs: 0, -ENOMEM, -EMSGSIZE. */
int tab_expand(struct buf *out, struct text text);

#endif
