/* SPDX-License-Identifier: MIT */
/* The methods about the server itself. */
#include "payloads/sandbox-tools/methods.h"

#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/server/server.h"

void server_remote_version(struct rpc_call *call)
{
	const struct server *server = call->host;

	rpc_call_result(call, json_sprintf("Server: %s (%ld)", server->argv0, (long)getpid()));
}

void server_shutdown(struct rpc_call *call)
{
	struct server *server = call->host;

	rpc_call_result(call, json_null());
	server_stop_in(server, 0);
}

void server_describe(struct rpc_call *call)
{
	struct server *server = call->host;

	if (!server->digest[0] && server->self >= 0 && sys_digest(server->self, server->digest) < 0)
		server->digest[0] = '\0';
	rpc_call_result(call,
		json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:b}", "sha256", server->digest,
			"release", RELEASE, "wire", FRAME_WIRE, "pid", (json_int_t)getpid(), "uid",
			(json_int_t)geteuid(), "uptime_ms", (json_int_t)(io_now() - server->born),
			"can_switch_user", (int)sys_can_switch_user()));
}
