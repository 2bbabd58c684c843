/* SPDX-License-Identifier: MIT */
/* From the server_params of a host to what can be started: looks the command up, puts argument
   vector and environment together. Starts nothing. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_LAUNCH_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_LAUNCH_H

#include <jansson.h>

#include "payloads/sandbox-tools/mcp/types.h"

/* 'params' has been checked for types and names; 'user' (NULL: nobody else) gets its home unless
   the params have another one. 0, or -1 with the exception's text in 'fail'. Borrows both; release
   it in either case. */
int mcp_launch_read(struct mcp_launch *launch, const json_t *params, const struct user *user,
	struct fail *fail);
void mcp_launch_release(struct mcp_launch *launch);

#endif
