/* SPDX-License-Identifier: MIT */
/* The method table. */
#include "payloads/sandbox-tools/methods.h"

static void version(struct rpc_call *call)
{
	rpc_call_result(call, json_string(RELEASE));
}

const struct rpc_method sandbox_methods[] = {
	{"version", RPC_IN_PROCESS | RPC_IN_SERVER, version},
	{"remote_version", RPC_IN_SERVER, server_remote_version},
	{"sandbox_tools_shutdown", RPC_IN_SERVER | RPC_NO_PARAMS, server_shutdown},
	{"sandbox_tools_describe", RPC_IN_SERVER, server_describe},
	{NULL, 0, NULL},
};
