/* SPDX-License-Identifier: MIT */
/* The sub-commands: one const object each, listed in main.c, and the little they share. */
#ifndef PAYLOADS_SANDBOX_TOOLS_CLI_H
#define PAYLOADS_SANDBOX_TOOLS_CLI_H

#include <stddef.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/child/user.h"
#include "payloads/sandbox-tools/rpc/rpc.h"
#include "payloads/sandbox-tools/server/service.h"

/* What a command needs to know about its process. */
struct cli {
	const char *argv0; /* as we were called */
	int argc;	   /* arguments after the sub-command */
	char **argv;
};

struct cli_command {
	const char *name;
	const char *arguments; /* for the usage text, "" if none */
	const char *summary;
	int max_args;
	int (*run)(const struct cli *cli); /* exit status */
};

extern const struct cli_command cli_exec, cli_pipe, cli_start_server, cli_stop_server, cli_server,
	cli_healthcheck, cli_model_proxy, cli_install, cli_uninstall, cli_status, cli_graft,
	cli_unpack;

/* Says 'error: …' on stderr; always 1, the exit status. */
int cli_complain(const struct fail *fail);
/* The one way out for a JSON-RPC reply: text, newline, stdout. An empty text (the answer to a
   notification) is a lone newline. Exit status. */
int cli_print_reply(const char *text, size_t len);
/* The request answered inside this process, appended to 'reply': 0 or -errno if it does not fit
   into memory. */
int cli_answer(const struct rpc_request *req, struct buf *reply);
/* The user an in-process request asks for in "_run_as" (a name or an identity) or, as older hosts
   call it, "_run_as_user" (a name): as user_choose(), but a user whom passwd does not know fails,
   too, and wrong types are FAIL_PARAMS. */
int cli_find_user(const struct rpc_request *req, struct user *ret, struct fail *fail);
/* Becomes that user for good, HOME included. */
int cli_become_user(const struct user *user, struct fail *fail);
/* A connection to the server, started if needed: descriptor or -1 with 'fail'. */
int cli_connect(const struct cli *cli, struct fail *fail);
/* The server's paths; takes INSPECT_SANDBOX_TOOLS_DIR out of the environment and remembers it. */
int cli_place(struct place *place, struct fail *fail);

#endif
