/* SPDX-License-Identifier: MIT */
/*
 * The state of the long-lived process: one thread, one socket, many connections, many requests
 * under way. It owns the files of the server directory while it lives. Its parts (conn, listen,
 * guard) share this state, and methods reach it as call->host; run.h is its life.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_SERVER_SERVER_H
#define PAYLOADS_SANDBOX_TOOLS_SERVER_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "payloads/lib/loop.h"
#include "payloads/lib/sha256.h"
#include "payloads/sandbox-tools/rpc/rpc.h"
#include "payloads/sandbox-tools/server/place.h"

struct conn;
struct children;
struct server_part;

struct server {
	struct loop loop;
	struct place place;
	rpc_finder *find;
	const char *argv0;
	int self; /* own executable, for the digest */
	int64_t born;
	int lock; /* flock: the proof of life */

	char digest[SHA256_HEX]; /* of 'self', once somebody has asked */

	struct loop_watch listener;
	struct stat socket;	   /* the bound name, to notice its loss */
	struct loop_timer resume;  /* accepts again after a failure */
	int spare;		   /* a descriptor to refuse clients with when there is no other */
	struct loop_watch watcher; /* inotify on the directory */
	struct loop_timer check;   /* looks after directory and logs now and then */
	bool lost;		   /* and could not be made again yet */

	struct children *children; /* child/child.h */
	struct server_part *parts; /* server/tool.h */

	struct conn *conns;
	unsigned conn_count, conn_max;
	size_t half;	  /* bytes of requests that are not yet complete, or not yet begun */
	size_t unsent;	  /* bytes of answers that wait to be sent */
	unsigned running; /* requests under way */

	struct loop_watch signals;
	struct loop_timer stop; /* begins the shutdown; run.c says what it does then */
	int64_t stop_deadline;
	bool stopping;
};

/* Makes the server directory, if it has to be, and takes the lock in it, unless that is the one we
   hold: 0 or -1 with 'fail' (FAIL_OCCUPIED when another server has it, or the place is somebody
   else's); then nothing has changed for us. */
int server_hold_place(struct server *server, int wait_ms, struct fail *fail);
int server_write_pid(struct server *server, struct fail *fail);
/* Begins the shutdown in 'ms'. */
void server_stop_in(struct server *server, int ms);

/* Those about the server itself. */
extern const struct rpc_method server_methods[];

#endif
