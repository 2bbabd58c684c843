/* SPDX-License-Identifier: MIT */
/*
 * A pipe that also runs commands as the engine would (payloads/sandbox-tools/run/): how it is
 * started, and what it is told of its container.
 */
#ifndef PAYLOADS_COMMANDS_H
#define PAYLOADS_COMMANDS_H

#include "payloads/plan.h"

struct commands {
	char *argument;	 /* owned: what the program is told */
	bool by_default; /* the engine is to run it as it runs anything else, which is as root */
};

#define COMMANDS_INIT            \
	{                        \
		.argument = NULL \
	}
int commands_describe(
	const struct plan *plan, struct commands *ret, struct sb_err *err) sb_must_check;
void commands_release(struct commands *commands);

#endif
