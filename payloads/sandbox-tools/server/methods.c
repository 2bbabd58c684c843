/* SPDX-License-Identifier: MIT */
/* The methods about the server itself. */
#include "payloads/lib/wire.h"
#include "payloads/sandbox-tools/server/server.h"

#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"

static void remote_version(struct rpc_call *call)
{
	const struct server *server = call->host;

	rpc_call_result(call, json_sprintf("Server: %s (%ld)", server->argv0, (long)getpid()));
}

static void shut_down(struct rpc_call *call)
{
	struct server *server = call->host;

	rpc_call_result(call, json_null());
	server_stop_in(server, 0);
}

/* Private to this program and sbinject: what runs here, see service_describe(). */
static void describe(struct rpc_call *call)
{
	struct server *server = call->host;

	if (!server->digest[0] && server->self >= 0 && sys_digest(server->self, server->digest) < 0)
		server->digest[0] = '\0';
	rpc_call_result(
		call, json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:b}", WIRE_SHA256, server->digest,
			      WIRE_RELEASE, RELEASE, WIRE_WIRE, WIRE_VERSION, WIRE_PID,
			      (json_int_t)getpid(), WIRE_UID, (json_int_t)geteuid(), WIRE_UPTIME,
			      (json_int_t)(io_now() - server->born), WIRE_CAN_SWITCH,
			      (int)sys_can_switch_user()));
}

const struct rpc_method server_methods[] = {
	{"remote_version", RPC_IN_SERVER, remote_version},
	{"sandbox_tools_shutdown", RPC_IN_SERVER | RPC_NO_PARAMS, shut_down},
	{"sandbox_tools_describe", RPC_IN_SERVER, describe},
	{NULL, 0, NULL},
};
