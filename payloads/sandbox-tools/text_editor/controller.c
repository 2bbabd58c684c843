/* SPDX-License-Identifier: MIT */
/* Which command does what, after the checks they share. */
#include "payloads/sandbox-tools/text_editor/controller.h"

#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/path.h"

void editor_run(const struct editor_request *req, struct editor_reply *reply)
{
	struct editor_path path = EDITOR_PATH_INIT;

	if (req->command == EDITOR_STR_REPLACE && req->old_str.len == 0) {
		reply_fail(reply,
			"str_replace: The `old_str` parameter cannot be empty. Consider using the "
			"`insert` command instead.");
		return;
	}
	if (path_resolve(&path, req, reply) == 0) {
		switch (req->command) {
		case EDITOR_VIEW:
			if (S_ISDIR(path.st.st_mode))
				view_directory(&path, reply);
			else
				view_file(req, &path, reply);
			break;
		case EDITOR_CREATE:
			create_file(req, &path, reply);
			break;
		case EDITOR_STR_REPLACE:
			replace_text(req, &path, reply);
			break;
		case EDITOR_INSERT:
			insert_text(req, &path, reply);
			break;
		case EDITOR_UNDO_EDIT:
			undo_edit(&path, reply);
			break;
		}
	}
	path_release(&path);
}
