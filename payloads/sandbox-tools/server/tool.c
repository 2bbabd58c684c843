/* SPDX-License-Identifier: MIT */
/* What tools keep in the server. */
#include "payloads/sandbox-tools/server/tool.h"

#include <stdlib.h>

#include "payloads/sandbox-tools/server/server.h"

struct server_part {
	const struct tool *tool;
	void *state;
	struct server_part *next;
};

static struct server_part *new_part(struct server *server, const struct tool *tool)
{
	struct server_part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->tool = tool;
	part->state = tool->open(server);
	if (!part->state) {
		free(part);
		return NULL;
	}
	part->next = server->parts;
	server->parts = part;
	return part;
}

void *server_tool(struct rpc_call *call, const struct tool *tool)
{
	struct server *server = call->host;
	struct server_part *part = server->parts;

	while (part && part->tool != tool)
		part = part->next;
	if (!part)
		part = new_part(server, tool);
	if (part)
		return part->state;
	rpc_call_error(call, RPC_HANDLER_ERROR, "MemoryError()", NULL);
	return NULL;
}

void server_stop_tools(struct server *server)
{
	for (struct server_part *part = server->parts; part; part = part->next)
		if (part->tool->stop)
			part->tool->stop(part->state);
}

void server_close_tools(struct server *server)
{
	while (server->parts) {
		struct server_part *part = server->parts;

		server->parts = part->next;
		if (part->tool->close)
			part->tool->close(part->state);
		free(part);
	}
}
