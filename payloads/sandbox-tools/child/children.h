/* SPDX-License-Identifier: MIT */
/* What the files of this folder share; everybody else wants child.h. */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHILD_CHILDREN_H
#define PAYLOADS_SANDBOX_TOOLS_CHILD_CHILDREN_H

#include <stdint.h>
#include <sys/resource.h>

#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/child/process.h"

#define CHILDREN_BUCKETS 64
#define CHILD_KILL_MS 5000 /* how long what was killed is waited for */

/* A process that belongs to an ending, wherever it has gone since. */
struct child_member {
	pid_t pid;
	unsigned long long born;
};

enum child_phase { CHILD_ALIVE, CHILD_TERM, CHILD_KILL, CHILD_ENDED };

/* The ending of one child, from the first signal on independent of it. */
struct child_ending {
	struct loop_timer timer; /* first, so that a timer is its ending */
	struct children *children;
	struct child *child; /* NULL when forgotten */
	enum child_phase phase;
	pid_t leader;
	unsigned long long born;
	bool terminal, reaped;
	int64_t kill_at, give_up_at;
	unsigned rounds;	      /* of killing, without a pause */
	struct child_member *members; /* as /proc showed them last */
	size_t count, size;
	unsigned long seen; /* the snapshot that showed them, or is older than the child */
	void (*done)(void *cookie);
	void *cookie;
	struct child_ending *next, **link; /* while it is going on */
};

struct children {
	struct loop *loop;
	mode_t mask;
	struct rlimit core, files; /* what the server was started with */
	struct child *buckets[CHILDREN_BUCKETS];
	struct child_ending *endings;
	struct processes all; /* the endings' snapshot of /proc */
	int all_error;	      /* of taking it */
	unsigned long all_number;
	int64_t all_until; /* how long it is good enough */
	/* the end of all */
	bool ending;
	struct loop_timer timer;
	bool killing;
	int64_t kill_at, give_up_at;
	void (*done)(void *cookie);
	void *cookie;
	struct buf errors;
};

/* A child has been reaped, or endings may be over for another reason. */
void child_endings_look(struct children *children, pid_t reaped);
void child_ending_free(struct child_ending *ending);
/* Have all children gone? */
void children_end_look(struct children *children);

#endif
