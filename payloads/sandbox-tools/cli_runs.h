/* SPDX-License-Identifier: MIT */
/*
 * Commands that a pipe runs: each is kept by a child (run/run.h), which answers for it. Replies are
 * taken one at a time; the others wait in their children.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CLI_RUNS_H
#define PAYLOADS_SANDBOX_TOOLS_CLI_RUNS_H

#include <poll.h>
#include <stdbool.h>

#include "payloads/sandbox-tools/rpc/rpc.h"
#include "payloads/sandbox-tools/run/run.h"

#define RUNS_METHOD "run"
#define RUNS_KILL_METHOD "run_kill"

struct runs {
	bool allowed; /* are the methods answered? */
	struct run_world world;
	struct run_memory *memory;
	struct runs_one {
		pid_t pid; /* 0: nobody */
		int fd;	   /* -1: it has answered */
		char *id;
	} all[RUNS_KEEPERS_MAX];
	unsigned busy;		/* that have not answered */
	struct runs_one *heard; /* whose reply has begun to come */
	unsigned char head[RUN_HEAD];
	size_t head_len;
	struct buf reply;
};

/* From then on commands may be run, as a container of which 'text' tells runs them (run/world.h):
   0, or -1 with 'fail'. */
int runs_open(struct runs *runs, const char *text, struct fail *fail);
/*
 * Starts one, of a request for RUNS_METHOD. 0; -1 with 'fail', and its code as rpc_code_of() has it
 * or RPC_NOT_STARTED. 1: this is the child, which must let go of all that is not its own, to end
 * with runs_serve().
 */
int runs_start(struct runs *runs, struct rpc_request *req, struct fail *fail);
_Noreturn void runs_serve(struct runs *runs, struct rpc_request *req);
/* Ends those that a request for RUNS_KILL_METHOD names: how many; -1 with 'fail', as before. */
int runs_kill(struct runs *runs, const struct rpc_request *req, struct fail *fail);
/* Ends all; their replies still come. */
void runs_end(struct runs *runs);
/* What to poll for: how many descriptors. */
size_t runs_poll(const struct runs *runs, struct pollfd fds[RUNS_MAX]);
/* Buries who has ended. */
void runs_reap(struct runs *runs);
/* Is there a reply? It is in runs->reply then, empty for a notification, until the next call. */
bool runs_take(struct runs *runs);
/* Ends all that there are, and frees everything. */
void runs_close(struct runs *runs);

#endif
