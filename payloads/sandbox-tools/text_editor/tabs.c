/* SPDX-License-Identifier: MIT */
/* Tabs to spaces. */
#include "payloads/sandbox-tools/text_editor/tabs.h"

int tab_expand(struct buf *out, struct text text)
{
	static const char spaces[TAB_WIDTH + 1] = "        ";
	size_t column = 0, start = 0;
	int r = 0;

	for (size_t i = 0; i < text.len && r == 0; i++) {
		size_t next = tab_column(column, text.data[i]);

		if (text.data[i] == '\t') {
			r = buf_add(out, text.data + start, i - start);
			if (r == 0)
				r = buf_add(out, spaces, next - column);
			start = i + 1;
		}
		column = next;
	}
	return r < 0 ? r : buf_add(out, text.data + start, text.len - start);
}
