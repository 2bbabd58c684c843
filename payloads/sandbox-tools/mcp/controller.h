/* SPDX-License-Identifier: MIT */
/*
 * The MCP servers of the process by their ids. Knows neither how calls arrive nor what they look
 * like; the sessions answer them.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_CONTROLLER_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_CONTROLLER_H

#include "payloads/sandbox-tools/mcp/types.h"

struct mcp;

/* NULL when there is no memory. Reads the line limit from the environment. */
struct mcp *mcp_open(struct loop *loop, struct children *children);
/* Starts a server: 0 and its id, or -errno. An id is used up in either case. */
int mcp_launch(struct mcp *mcp, const struct mcp_launch *launch, int64_t *ret_id);
/* For a launch that never gets that far. */
void mcp_skip_id(struct mcp *mcp);
/* NULL when there is none, or it has been killed. */
struct mcp_session *mcp_find(struct mcp *mcp, int64_t id);
/* The session is not found any more; the call is answered when it has ended. */
void mcp_kill(struct mcp *mcp, struct mcp_session *session, struct rpc_call *call);
/* Answers everybody who waits. */
void mcp_stop(struct mcp *mcp);
void mcp_close(struct mcp *mcp);

/* The value of MCP_LINE_VARIABLE as a limit; the default, and a line on stderr, when it is no
   positive integer. */
size_t mcp_line_max(const char *value);

#endif
