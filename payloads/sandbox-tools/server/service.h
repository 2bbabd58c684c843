/* SPDX-License-Identifier: MIT */
/*
 * The service seen from outside: connecting to it and asking it. Used by the short-lived commands;
 * lifecycle.h starts and stops it. A server is alive exactly as long as it holds the flock on its
 * lock file; process ids only serve to send signals.
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
/* Connects to whatever listens on the socket, ours or not: descriptor or -errno. */
int service_knock(const struct place *place, int64_t deadline);
/* Who listens? Opens the place if it is not open. */
enum service_seen service_look(struct place *place);
/* The same for a place that is open. */
enum service_seen service_look_at(const struct place *place);
/* One request and its reply over a connection: 0 or -1 with 'fail'. */
int service_call(int fd, const char *text, size_t len, struct buf *reply, int64_t deadline,
	struct fail *fail);
/* What the server says about itself (sha256, release, wire, pid, uid, uptime_ms, can_switch_user):
   a new reference, or NULL when no server answers in time. */
json_t *service_describe(struct place *place, int64_t deadline);
/* The end of the last line in the server's error log, "" if there is none. */
void service_last_words(struct place *place, char *text, size_t size);

#endif
