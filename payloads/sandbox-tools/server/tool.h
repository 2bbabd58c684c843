/* SPDX-License-Identifier: MIT */
/*
 * A tool: its methods, what it keeps in the server between calls, and what it leaves behind in
 * files. It is one const object at the end of a file of its folder, called tool_ and the name of
 * the folder, and listed in tools.h. Nothing else knows it.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_TOOL_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_TOOL_H

#include "payloads/sandbox-tools/rpc/rpc.h"

struct place;
struct server;

/* Where tools may have left files, when the program is removed: one of three, the others NULL. */
struct tool_traces {
	const struct place *place; /* the server directory, open */
	const char *tmpdir;	   /* the temporary directory, where anybody may write */
	/* The name of the program's directory in the open directory 'parent': releases of old left
	   files beside it. */
	const char *beside;
	int parent;
};

/* Every member may be NULL. */
struct tool {
	const struct rpc_method *methods; /* ended by a NULL name */
	/* Makes its state in the server: NULL when there is no memory. */
	void *(*open)(struct server *server);
	/* Shutdown begins: answer every call that waits for something. The children still live. */
	void (*stop)(void *state);
	/* All children are gone, and so are their owners' callbacks: free everything. */
	void (*close)(void *state);
	/* Deletes its files there: number of things removed. */
	int (*erase)(const struct tool_traces *where);
};

/* The tool's state in the server that works on the call; made by open() when it is first asked for.
   NULL, and the call is answered, when there is no memory for it. */
void *server_tool(struct rpc_call *call, const struct tool *tool);
/* Calls stop() of all tools that have a state. */
void server_stop_tools(struct server *server);
/* Calls close() of them; then none has a state. */
void server_close_tools(struct server *server);

#endif
