/* SPDX-License-Identifier: MIT */
/* The one list of tools, and with it of all JSON-RPC methods of the program. */
#ifndef PAYLOADS_SANDBOX_TOOLS_TOOLS_H
#define PAYLOADS_SANDBOX_TOOLS_TOOLS_H

#include "payloads/sandbox-tools/rpc/rpc.h"
#include "payloads/sandbox-tools/server/tool.h"

/* A tool is a folder, and one line here. */
#define TOOLS(X)        \
	X(text_editor)  \
	X(bash_session) \
	X(mcp)          \
	X(exec_remote)  \
	X(chunk)

#define TOOLS_DECLARE(name) extern const struct tool tool_##name;
TOOLS(TOOLS_DECLARE)
#undef TOOLS_DECLARE

extern const struct tool *const tools[]; /* ended by NULL */

/* The method of that name, of a tool or of the program itself, that runs at 'place' (RPC_IN_PROCESS
   or RPC_IN_SERVER), or NULL. */
const struct rpc_method *tools_find_method(const char *name, unsigned place);

#endif
