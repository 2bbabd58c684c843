/* SPDX-License-Identifier: MIT */
/* Every JSON-RPC method of the program. A new tool declares its methods here and adds its lines
   to the table in methods.c; nothing else knows it. */
#ifndef PAYLOADS_SANDBOX_TOOLS_METHODS_H
#define PAYLOADS_SANDBOX_TOOLS_METHODS_H

#include "payloads/sandbox-tools/rpc/rpc.h"

extern const struct rpc_method sandbox_methods[];

/* text_editor/ */
void text_editor(struct rpc_call *call);

/* server/ */
void server_remote_version(struct rpc_call *call);
void server_shutdown(struct rpc_call *call);
/* Private to this program and sbinject: what runs here, see service_describe(). */
void server_describe(struct rpc_call *call);

/* bash_session/ */
void bash_session_new_session(struct rpc_call *call);
void bash_session(struct rpc_call *call);

/* mcp/ */
void mcp_launch_server(struct rpc_call *call);
void mcp_send_request(struct rpc_call *call);
void mcp_send_notification(struct rpc_call *call);
void mcp_kill_server(struct rpc_call *call);

/* exec_remote/ */
void exec_remote_start(struct rpc_call *call);
void exec_remote_poll(struct rpc_call *call);
void exec_remote_kill(struct rpc_call *call);
void exec_remote_write_stdin(struct rpc_call *call);
void exec_remote_close_stdin(struct rpc_call *call);

#endif
