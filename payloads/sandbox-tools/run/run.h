/* SPDX-License-Identifier: MIT */
/*
 * A process that keeps one command: starts it as the container's engine would, hears it to its end,
 * and says what came of it. It is the reaper of all that the command starts, and so can end all of
 * it. A reply is its length, RUN_HEAD bytes, big-endian, and its text.
 *
 * It listens to its caller: any byte, or the end, ends the command and all that it has started.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_RUN_RUN_H
#define PAYLOADS_SANDBOX_TOOLS_RUN_RUN_H

#include "payloads/sandbox-tools/run/command.h"
#include "payloads/sandbox-tools/run/memory.h"

#define RUN_HEAD 8
/* Two streams in base64, and what is around them. */
#define RUN_REPLY_MAX (2 * (RUN_KEEP_MAX / 3 * 4 + 4) + 65536)

struct run_order {
	const struct run_world *world;
	struct run_share share;
	json_t *params; /* checked by command_check(); taken over */
	const char *id; /* JSON token; NULL: no reply is wanted */
	int fd;		/* to the caller, both ways */
};

/* Does it all. Where the engine hears what a command leaves behind, it goes on to read that, for
   nobody, after the reply, so that its writers do not fail. */
void run_keep(const struct run_order *order);

#endif
