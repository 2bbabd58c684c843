/* SPDX-License-Identifier: MIT */
/* A command as it is asked for, and as it is started. */
#ifndef PAYLOADS_SANDBOX_TOOLS_RUN_COMMAND_H
#define PAYLOADS_SANDBOX_TOOLS_RUN_COMMAND_H

#include "payloads/lib/buf.h"
#include "payloads/sandbox-tools/run/world.h"

#define RUN_KEEP_MAX ((size_t)16 << 20) /* of each stream */
#define RUN_KEEP ((size_t)10 << 20)	/* if it is not said */

struct command {
	json_t *params; /* owned; strings are borrowed from it */
	const char **argv;
	struct child_env env;
	const char *cwd;
	char *file; /* what is executed */
	bool switches;
	struct user user;
	size_t keep;
	char *input; /* owned */
	size_t input_len;
};

/* Checks parameters: messages to 'errors', as params_check(). */
int command_check(const json_t *params, struct buf *errors);
/* From parameters that have been checked and are taken over: 0, or -1 with 'fail', which says why
   it would not be just what the engine would start. In both cases, command_release(). */
int command_make(
	struct command *command, json_t *params, const struct run_world *world, struct fail *fail);
void command_release(struct command *command);

#endif
