/* SPDX-License-Identifier: MIT */
/* start-server, stop-server, server, healthcheck: the server's life, by hand. */
#include "payloads/sandbox-tools/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/server/lifecycle.h"
#include "payloads/sandbox-tools/server/run.h"
#include "payloads/sandbox-tools/tools.h"

static int answer_version(struct buf *reply, struct fail *fail)
{
	char text[] = "{\"jsonrpc\": \"2.0\", \"method\": \"version\", \"id\": 666}";
	struct rpc_request req;
	int r = rpc_request_read(&req, text, strlen(text), fail);

	if (r < 0)
		return -1;
	r = cli_answer(&req, reply);
	rpc_request_release(&req);
	return r < 0 ? fail_sys(fail, r, "cannot make the reply") : 0;
}

static int check_health(const struct cli *cli)
{
	static const char remote[] =
		"{\"jsonrpc\": \"2.0\", \"method\": \"remote_version\", \"id\": 667}";
	struct buf reply = BUF_INIT(FRAME_REPLY_MAX);
	struct fail fail = FAIL_INIT;
	int fd = cli_connect(cli, &fail), r = -1;

	if (fd < 0)
		return cli_complain(&fail);
	r = answer_version(&reply, &fail);
	r = r < 0 ? cli_complain(&fail) : cli_print_reply(reply.data, reply.len);
	reply.len = 0;
	if (r == 0) {
		r = service_call(fd, remote, sizeof(remote) - 1, &reply, IO_NEVER, &fail);
		r = r < 0 ? cli_complain(&fail) : cli_print_reply(reply.data, reply.len);
	}
	buf_release(&reply);
	close(fd);
	return r;
}

static int stop(const struct cli *cli)
{
	struct fail fail = FAIL_INIT;
	struct place place;
	int r = cli_place(&place, &fail);

	(void)cli;
	if (r == 0)
		r = place_check(&place, &fail);
	if (r == 0)
		r = service_stop(&place, io_in(SERVICE_STOP_MS), &fail);
	return r < 0 ? cli_complain(&fail) : 0;
}

static int serve(const struct cli *cli)
{
	const char *number = getenv(SERVICE_READY_VARIABLE);
	long ready = number ? strtol(number, NULL, 10) : -1;

	sys_close_from(3, (int)ready);
	return server_run(cli->argv0, tools_find_method, ready >= 3 ? (int)ready : -1);
}

const struct cli_command cli_start_server = {
	"start-server",
	"",
	"start the server if it is not running, and check that it answers",
	0,
	check_health,
};

const struct cli_command cli_stop_server = {
	"stop-server",
	"",
	"stop the server and everything it started",
	0,
	stop,
};

const struct cli_command cli_server = {
	"server",
	"",
	"run the server in the foreground",
	0,
	serve,
};

const struct cli_command cli_healthcheck = {
	"healthcheck",
	"",
	"the same as start-server",
	0,
	check_health,
};
