/* SPDX-License-Identifier: MIT */
/*
 * What MCP servers say on stderr goes to the error log of our server, which it must not fill up:
 * it passes through us, and the log is emptied when it gets too long. Nobody but the log's readers
 * depends on it, so whatever cannot be had is done without.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_MCP_STDERR_H
#define PAYLOADS_SANDBOX_TOOLS_MCP_STDERR_H

#include "payloads/lib/loop.h"

/* A descriptor for one child's stderr: our own (2) where that is no file, else a pipe that is read
   until its last writer has gone, or where that cannot be had, what swallows everything. -errno
   when there is not even that. */
int mcp_stderr_open(struct loop *loop);
/* Closes what mcp_stderr_open() returned, if it is a descriptor. */
void mcp_stderr_close(int fd);

#endif
