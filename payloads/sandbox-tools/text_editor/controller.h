/* SPDX-License-Identifier: MIT */
/* One editor command from a checked request to the answer. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_CONTROLLER_H
#define PAYLOADS_SANDBOX_TOOLS_TEXT_EDITOR_CONTROLLER_H

#include "payloads/sandbox-tools/text_editor/types.h"

/* The reply starts empty, its buffer with a limit. */
void editor_run(const struct editor_request *req, struct editor_reply *reply);

#endif
