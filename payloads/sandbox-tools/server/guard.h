/* SPDX-License-Identifier: MIT */
/*
 * Watches the files of a running server. Restores what somebody removed, so that no job is lost
 * with it; ends the server if its place belongs to another server, or if its program was removed,
 * too.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_GUARD_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_GUARD_H

#include "payloads/sandbox-tools/server/server.h"

/* Begins watching. Never fails: without inotify it looks every second. */
void guard_begin(struct server *server);
void guard_end(struct server *server);

#endif
