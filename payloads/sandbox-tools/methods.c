/* SPDX-License-Identifier: MIT */
/* The method table. */
#include "payloads/sandbox-tools/methods.h"

static void version(struct rpc_call *call)
{
	rpc_call_result(call, json_string(RELEASE));
}

const struct rpc_method sandbox_methods[] = {
	{"version", RPC_IN_PROCESS | RPC_IN_SERVER, version},
	{"text_editor", RPC_IN_PROCESS | RPC_TOOL, text_editor},
	{"remote_version", RPC_IN_SERVER, server_remote_version},
	{"sandbox_tools_shutdown", RPC_IN_SERVER | RPC_NO_PARAMS, server_shutdown},
	{"sandbox_tools_describe", RPC_IN_SERVER, server_describe},
	{"bash_session_new_session", RPC_IN_SERVER, bash_session_new_session},
	{"bash_session", RPC_IN_SERVER, bash_session},
	{"mcp_launch_server", RPC_IN_SERVER, mcp_launch_server},
	{"mcp_send_request", RPC_IN_SERVER, mcp_send_request},
	{"mcp_send_notification", RPC_IN_SERVER, mcp_send_notification},
	{"mcp_kill_server", RPC_IN_SERVER, mcp_kill_server},
	{"exec_remote_start", RPC_IN_SERVER, exec_remote_start},
	{"exec_remote_poll", RPC_IN_SERVER, exec_remote_poll},
	{"exec_remote_kill", RPC_IN_SERVER, exec_remote_kill},
	{"exec_remote_write_stdin", RPC_IN_SERVER, exec_remote_write_stdin},
	{"exec_remote_close_stdin", RPC_IN_SERVER, exec_remote_close_stdin},
	{NULL, 0, NULL},
};
