/* SPDX-License-Identifier: MIT */
/*
 * The listening socket and its path: binding it, accepting, and noticing when the path is
 * removed or taken by somebody else.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_LISTEN_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_LISTEN_H

#include "payloads/sandbox-tools/server/server.h"

/* Binds the socket in place of whatever has its name, mode 0666, and accepts: 0 or -1 with
   'fail'. */
int listen_open(struct server *server, struct fail *fail);
/* Watches directory and path; a lost path is bound again, a path or directory that is somebody
   else's now ends the server. Never fails: it falls back to looking every second. */
void listen_guard(struct server *server);
/* Stops accepting; the path stays. */
void listen_close(struct server *server);
/* Removes the socket's path if it still is our socket. */
void listen_remove_path(struct server *server);

#endif
