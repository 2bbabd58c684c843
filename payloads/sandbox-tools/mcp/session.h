/* SPDX-License-Identifier: MIT */
/*
 * One MCP server: its process, the messages to it, the lines from it and who waits for which. Calls
 * are answered here, now or later.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_SESSION_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_SESSION_H

#include "payloads/lib/jsontext.h"
#include "payloads/sandbox-tools/mcp/types.h"

/* Starts the process: 0 or -errno. 'session' has host set and nothing else. */
int mcp_session_start(struct mcp_session *session, const struct mcp_launch *launch);
/* 'request' is a whole valid request. */
void mcp_session_request(
	struct mcp_session *session, struct rpc_call *call, const struct jsontext *request);
void mcp_session_notify(
	struct mcp_session *session, struct rpc_call *call, const struct jsontext *notification);
/* Fails what is pending and ends the process with all it has started. 'call' is answered when
   nothing of it is left, or after MCP_KILL_ANSWER_MS; 'ended' is called when the session may be
   closed. */
void mcp_session_kill(
	struct mcp_session *session, struct rpc_call *call, void (*ended)(void *session));
/* Answers everybody who waits, and closes the server's stdin, which asks it to end. */
void mcp_session_stop(struct mcp_session *session);
/* Frees everything inside; the process, if any, goes on. */
void mcp_session_close(struct mcp_session *session);

#endif
