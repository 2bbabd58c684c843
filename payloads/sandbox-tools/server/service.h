/* SPDX-License-Identifier: MIT */
/*
 * The service seen from outside: connect to it, start it when it is not there, stop it, ask it.
 * Used by the short-lived commands. A server is alive exactly as long as it holds the flock on
 * its lock file; process ids only serve to send signals.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_SERVICE_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_SERVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/server/place.h"

#define SERVICE_START_MS                                                         \
	60000 /* how long starting may take, waiting for other starters included \
	       */
#define SERVICE_STOP_MS 45000
#define SERVICE_READY_VARIABLE "SBINJECT_READY_FD" /* starter to server: where to report */

struct service_start {
	const char *program; /* path to execute */
	const char *argv0;   /* what the server shall see as its name */
	int64_t deadline;
	bool (*is_gone)(void); /* refuse, if it says so: the program is being removed or replaced */
};

enum service_seen {
	SERVICE_ABSENT,
	SERVICE_PRESENT,  /* somebody listens, whether it answers or not */
	SERVICE_ELSEWHERE /* in another PID namespace: not ours to use or to stop */
};

#define SERVICE_BUSY (-2)

/* A connection to a server that has said hello and is, to judge by its process, one that we could
   have started: descriptor, or -1 when none does, or SERVICE_BUSY when it takes no more
   connections now. Starts nothing. */
int service_connect(struct place *place);
/* Who listens? Opens the place if it is not open. */
enum service_seen service_look(struct place *place);
/* The same, but starts the server when needed; 'place' stays open. Two processes that do it at once
   get the same server. Descriptor or -1 with 'fail'. */
int service_ensure(struct place *place, const struct service_start *start, bool *ret_started,
	struct fail *fail);
/* One request and its reply over a connection: 0 or -1 with 'fail'. */
int service_call(int fd, const char *text, size_t len, struct buf *reply, int64_t deadline,
	struct fail *fail);
/* What the server says about itself (sha256, release, wire, pid, uid, uptime_ms, can_switch_user):
   a new reference, or NULL when no server answers in time. */
json_t *service_describe(struct place *place, int64_t deadline);
/* Stops the server and everything it started, and clears what it left. Nothing there is success.
   0 or -1 with 'fail' (FAIL_OCCUPIED for a server of another PID namespace). */
int service_stop(struct place *place, int64_t deadline, struct fail *fail);
/* The end of the last line in the server's error log, "" if there is none. */
void service_last_words(struct place *place, char *text, size_t size);

#endif
