/* SPDX-License-Identifier: MIT */
/* The life of the server process: what stands above all its parts. */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_RUN_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_RUN_H

#include "payloads/sandbox-tools/rpc/rpc.h"

/* Runs the server to its end: exit status. 'ready' is where the starter waits for "ok\n" or a
   reason, -1 when nobody does. Leaves the environment without our own variables. */
int server_run(const char *argv0, rpc_finder *find, int ready);

#endif
