/* SPDX-License-Identifier: MIT */
/* What several sub-commands share. */
#include "payloads/sandbox-tools/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "payloads/lib/frame.h"
#include "payloads/lib/io.h"
#include "payloads/lib/name.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/server/lifecycle.h"
#include "payloads/sandbox-tools/tools.h"

int cli_complain(const struct fail *fail)
{
	fprintf(stderr, "error: %s\n", fail->text);
	return 1;
}

int cli_print_reply(const char *text, size_t len)
{
	struct fail fail = FAIL_INIT;
	int r = io_write_full(1, text, len, IO_NEVER);

	if (r == 0)
		r = io_write_full(1, "\n", 1, IO_NEVER);
	if (r == 0)
		return 0;
	fail_sys(&fail, r, "cannot write the reply");
	return cli_complain(&fail);
}

struct answer {
	struct rpc_call call; /* first: deliver() gets the call back */
	struct buf *reply;
	int result;
};

static void deliver(struct rpc_call *call, const char *text, size_t len)
{
	struct answer *answer = (struct answer *)call;

	answer->result = buf_add(answer->reply, text, len);
}

int cli_answer(const struct rpc_request *req, struct buf *reply)
{
	struct answer answer = {.call = {.req = *req, .deliver = deliver}, .reply = reply};

	rpc_dispatch(tools_find_method, RPC_IN_PROCESS, &answer.call);
	return answer.result;
}

int cli_place(struct place *place, struct fail *fail)
{
	static struct place first;
	static bool known;

	if (!known && place_find(&first, fail) < 0)
		return -1;
	known = true;
	unsetenv(PLACE_VARIABLE);
	*place = first;
	return 0;
}

/* What is run from a home may be gone from there, and yet be the one that is installed, or be there
   still and about to be removed. */
static bool is_gone(void)
{
	static struct sys_self self;
	const char *path = sys_exec_path(), *leaf = path ? strrchr(path, '/') : NULL;
	struct stat st;

	if (!path)
		return false;
	/* without /proc, a delivery that has deleted itself is known by its name only */
	if (!self.hex[0] && sys_know_self(&self) < 0 && leaf && name_is_delivery(leaf + 1))
		memcpy(self.hex, leaf + 1, SHA256_HEX - 1);
	if (home_forbids(path, self.hex))
		return true;
	return !(leaf && (name_is_delivery(leaf + 1) || name_is_kept(leaf + 1))) &&
	       stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

int cli_connect(const struct cli *cli, struct fail *fail)
{
	struct service_start start = {
		sys_exec_path(), cli->argv0, io_in(SERVICE_START_MS), is_gone};
	struct place place;
	bool started;
	int fd;

	if (cli_place(&place, fail) < 0)
		return -1;
	fd = service_ensure(&place, &start, &started, fail);
	place_close(&place);
	return fd;
}
