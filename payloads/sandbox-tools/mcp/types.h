/* SPDX-License-Identifier: MIT */
/* What the parts of the MCP relay share. */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_TYPES_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/loop.h"
#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/mcp/encoding.h"
#include "payloads/sandbox-tools/rpc/rpc.h"

/* Of a message of a server, unless the variable says so. */
#define MCP_LINE_MAX ((size_t)256 << 20)
#define MCP_LINE_VARIABLE "INSPECT_MCP_READLINE_LIMIT_BYTES"
#define MCP_UNSENT_MAX ((size_t)256 << 20) /* of messages a server has not read yet */
#define MCP_GRACE_MS 30000		   /* between TERM and KILL */
#define MCP_KILL_ANSWER_MS 10000	   /* a kill is answered then at the latest */

/* How to start an MCP server; the strings of argv and cwd are borrowed. */
struct mcp_launch {
	char *command;		 /* owned: the file to execute */
	char **argv;		 /* with the command */
	struct child_env vars;	 /* owned */
	char **env;		 /* of them; NULL: the server's */
	const struct user *user; /* to switch to, NULL: nobody */
	const char *cwd;
	enum encoding encoding;
	enum encoding_errors errors;
};

/* A request that waits for its reply. */
struct mcp_pending {
	struct rpc_call *call;
	struct mcp_pending *next;
	char key[]; /* the id as JSON text, each id in one spelling only */
};

/* Where the sessions live. */
struct mcp_host {
	struct loop *loop;
	struct children *children;
	size_t line_max;
};

struct mcp_session {
	int64_t id;
	const struct mcp_host *host;
	struct child child;
	struct loop_watch from, to; /* its stdout and stdin; -1 when closed */
	struct buf line;	    /* read, but without newline yet */
	size_t searched;	    /* of it, for a newline */
	struct buf unsent;
	enum encoding encoding;
	enum encoding_errors errors;
	struct mcp_pending *pending; /* oldest first */
	struct rpc_call *killer;     /* who waits for its end */
	struct loop_timer patience;  /* of the killer */
	bool killed;
	struct mcp_session *next, **link; /* the controller's */
};

#endif
