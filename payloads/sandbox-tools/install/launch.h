/* SPDX-License-Identifier: MIT */
/* Running the freshly installed program once, as its future callers will. */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_LAUNCH_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_LAUNCH_H

#include <jansson.h>
#include <stdint.h>

#include "payloads/lib/fail.h"

struct launch {
	const char *program;
	const json_t *args; /* array of strings, NULL for start-server */
	char *const *env;
	const char *cwd; /* NULL for "/"; one that cannot be entered is replaced by "/" */
	int64_t deadline;
};

/* Runs it with no input and umask 022 and waits for its end: 0 when it succeeded, or -1 with
   'fail' (code "start" and its last line of output, or "timeout"). */
int launch_run(const struct launch *launch, struct fail *fail);

#endif
