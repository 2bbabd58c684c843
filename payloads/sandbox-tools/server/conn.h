/* SPDX-License-Identifier: MIT */
/*
 * Connections of the server: frames in, method calls, frames out. If a connection goes away, its
 * requests go on; their replies are dropped. If a client does not read its replies, its other
 * requests wait, and if too much is queued, the connection is closed.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_CONN_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_CONN_H

#include "payloads/sandbox-tools/server/server.h"

#define CONN_MAX 4096 /* if that is no more than half of the descriptors */
#define CONN_HALF_MAX                                                                       \
	((size_t)512 << 20) /* of unfinished requests; who was silent for longest is closed \
			     */
#define CONN_UNSENT_MAX ((size_t)8 << 20) /* no request is begun while so much waits to be sent */
#define CONN_CALLS_MAX 4096		  /* nor while so many requests of it are under way */
#define CONN_UNSENT_ALL_MAX                                                                 \
	((size_t)256 << 20) /* over all connections; who has not read for longest is closed \
			     */

/* Takes over an accepted descriptor and says hello; closes it when there is no memory. */
void conn_open(struct server *server, int fd);
/* The same, but says that there is no room, and closes it. */
void conn_refuse(int fd);
/* Reads no more; closes every connection that waits for nothing. */
void conn_quiesce(struct server *server);
/* Closes every connection. */
void conn_close_all(struct server *server);

#endif
