/* SPDX-License-Identifier: MIT */
/* The table of tools, and what is no tool's. */
#include "payloads/sandbox-tools/tools.h"

#include <stddef.h>

#include "payloads/sandbox-tools/server/server.h"

#define TOOLS_ADDRESS(name) &tool_##name,
const struct tool *const tools[] = {TOOLS(TOOLS_ADDRESS) NULL};

static void version(struct rpc_call *call)
{
	rpc_call_result(call, json_string(RELEASE));
}

static const struct rpc_method program_methods[] = {
	{"version", RPC_IN_PROCESS | RPC_IN_SERVER, version},
	{NULL, 0, NULL},
};

const struct rpc_method *tools_find_method(const char *name, unsigned place)
{
	const struct rpc_method *found = rpc_method_find(program_methods, name, place);

	if (!found)
		found = rpc_method_find(server_methods, name, place);
	for (const struct tool *const *tool = tools; *tool && !found; tool++)
		if ((*tool)->methods)
			found = rpc_method_find((*tool)->methods, name, place);
	return found;
}
