/* SPDX-License-Identifier: MIT */
/* The table of MCP sessions. */
#include "payloads/sandbox-tools/mcp/controller.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "payloads/lib/base.h"
#include "payloads/sandbox-tools/mcp/session.h"

struct mcp {
	struct mcp_host host;
	int64_t next_id;
	struct mcp_session *sessions, *dying;
};

size_t mcp_line_max(const char *value)
{
	unsigned long long number;
	char *end;

	if (!value)
		return MCP_LINE_MAX;
	errno = 0;
	number = strtoull(value, &end, 10);
	while (isspace((unsigned char)*end))
		end++;
	if (end == value || *end || errno || number == 0 || number > MCP_LINE_MAX * 4) {
		fprintf(stderr,
			"%s is not a usable number of bytes; using %zu instead of '%.80s'\n",
			MCP_LINE_VARIABLE, MCP_LINE_MAX, value);
		return MCP_LINE_MAX;
	}
	return (size_t)number;
}

struct mcp *mcp_open(struct loop *loop, struct children *children)
{
	struct mcp *mcp = calloc(1, sizeof(*mcp));

	if (mcp)
		mcp->host =
			(struct mcp_host){loop, children, mcp_line_max(getenv(MCP_LINE_VARIABLE))};
	return mcp;
}

static void link_session(struct mcp_session **list, struct mcp_session *session)
{
	session->next = *list;
	session->link = list;
	if (session->next)
		session->next->link = &session->next;
	*list = session;
}

static void unlink_session(struct mcp_session *session)
{
	*session->link = session->next;
	if (session->next)
		session->next->link = session->link;
}

void mcp_skip_id(struct mcp *mcp)
{
	mcp->next_id++;
}

int mcp_launch(struct mcp *mcp, const struct mcp_launch *launch, int64_t *ret_id)
{
	struct mcp_session *session = calloc(1, sizeof(*session));
	int64_t id = mcp->next_id++;
	int r;

	if (!session)
		return -ENOMEM;
	session->host = &mcp->host;
	session->id = id;
	r = mcp_session_start(session, launch);
	if (r < 0) {
		free(session);
		return r;
	}
	link_session(&mcp->sessions, session);
	*ret_id = id;
	return 0;
}

struct mcp_session *mcp_find(struct mcp *mcp, int64_t id)
{
	struct mcp_session *session = mcp->sessions;

	while (session && session->id != id)
		session = session->next;
	return session;
}

static void free_session(struct mcp_session *session)
{
	unlink_session(session);
	mcp_session_close(session);
	free(session);
}

static void on_ended(void *session)
{
	free_session(session);
}

void mcp_kill(struct mcp *mcp, struct mcp_session *session, struct rpc_call *call)
{
	unlink_session(session);
	link_session(&mcp->dying, session);
	mcp_session_kill(session, call, on_ended);
}

void mcp_stop(struct mcp *mcp)
{
	struct mcp_session *const lists[] = {mcp->sessions, mcp->dying};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (struct mcp_session *session = lists[i]; session; session = session->next)
			mcp_session_stop(session);
}

void mcp_close(struct mcp *mcp)
{
	while (mcp->sessions)
		free_session(mcp->sessions);
	while (mcp->dying)
		free_session(mcp->dying);
	free(mcp);
}
