/* SPDX-License-Identifier: MIT */
/* The listening socket: binding it, and accepting clients that may use the service. */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_LISTEN_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_LISTEN_H

#include "payloads/sandbox-tools/server/server.h"

/* Binds the socket in the server directory in place of whatever has its name, for us alone unless
   the directory is shared, and accepts: 0 or -1 with 'fail'. */
int listen_open(struct server *server, struct fail *fail);
/* Does the socket's name in the directory still lead to our socket? 1, 0, or -ENOENT if the name is
   free. */
int listen_look(const struct server *server);
/* Stops accepting; the path stays. */
void listen_close(struct server *server);
/* Removes the socket's name if it still is that of our socket. */
void listen_remove_name(struct server *server);

#endif
