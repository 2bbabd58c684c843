/* SPDX-License-Identifier: MIT */
/* Starting and stopping the server from outside. service.h is about one that is there. */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_LIFECYCLE_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_LIFECYCLE_H

#include "payloads/sandbox-tools/server/service.h"

/* How long starting may take, waiting for other starters included. */
#define SERVICE_START_MS 60000
#define SERVICE_STOP_MS 45000
#define SERVICE_READY_VARIABLE "SBINJECT_READY_FD" /* starter to server: where to report */

struct service_start {
	const char *program; /* path to execute */
	const char *argv0;   /* what the server shall see as its name */
	int64_t deadline;
	bool (*is_gone)(void); /* refuse, if it says so: the program is being removed or replaced */
};

/* As service_connect(), but starts the server when needed; 'place' stays open. Two processes that
   do it at once get the same server. Descriptor or -1 with 'fail'. */
int service_ensure(struct place *place, const struct service_start *start, bool *ret_started,
	struct fail *fail);
/* Stops the server and everything it started, and clears what it left. Nothing there is success.
   0 or -1 with 'fail' (FAIL_OCCUPIED for a server of another PID namespace). */
int service_stop(struct place *place, int64_t deadline, struct fail *fail);

#endif
