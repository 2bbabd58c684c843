/* SPDX-License-Identifier: MIT */
/*
 * Looks after the files of a server that runs: makes again what somebody removed, so that no job is
 * lost with it; ends the server when its place is another's, or its program was removed, too.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_GUARD_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_GUARD_H

#include "payloads/sandbox-tools/server/server.h"

/* Begins. Never fails: without inotify it looks every second. */
void guard_begin(struct server *server);
void guard_end(struct server *server);

#endif
