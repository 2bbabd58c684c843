/* SPDX-License-Identifier: MIT */
/*
 * Jobs: shell commands whose output is collected until somebody asks for it. Knows processes and
 * pipes, but no requests. A job is forgotten when its end has been reported; jobs nobody
 * asks for are forgotten, oldest first, when too many have ended a while ago, or far too many, or
 * when their output alone is all that may wait.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_CONTROLLER_H
#define PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_CONTROLLER_H

#include "payloads/sandbox-tools/child/child.h"
#include "payloads/sandbox-tools/exec_remote/types.h"

#define JOBS_ENDED_MAX 1024 /* ended jobs whose end nobody has asked for */
#define JOBS_ENDED_MS 60000 /* unless they ended later than so long ago: somebody may be coming */
#define JOBS_ENDED_ALL_MAX \
	16384 /* those, too; each keeps a process id, of which there may be 32768 */
#define JOBS_OUTPUT_MAX ((size_t)256 << 20) /* that waits, or a quarter of the memory there is */
#define JOBS_TAKE_MAX ((size_t)1 << 20)	    /* of a stream in one report, or 1/64 */

struct jobs;

/* 'memory' is what there is of it for everything in the container. NULL when there is none. */
struct jobs *jobs_new(struct loop *loop, struct children *children, size_t memory);
/* Shutdown: every waiter gets its report now. */
void jobs_stop(struct jobs *jobs);
/* When no child lives any more. */
void jobs_free(struct jobs *jobs);

/* 0 or -errno; the job's name is its process id. */
int jobs_start(struct jobs *jobs, const struct job_order *order, pid_t *ret_pid);
/* NULL: no such job, or it is being killed. */
struct job *jobs_find(struct jobs *jobs, int64_t pid);

/* Reports through 'waiter' as soon as there is something to report, at the latest after a second;
   perhaps at once. Output gets a few milliseconds to be complete. */
void job_poll(struct job *job, int64_t ack, struct job_waiter *waiter);
/* Ends the job with everything it has started, and reports what it said. */
void job_kill(struct job *job, int64_t ack, struct job_waiter *waiter);
/* Reports now, through the waiter; the job goes on. */
void job_tell(struct job *job, int64_t ack, struct job_waiter *waiter);

/* The job's stdin: */
enum job_input { JOB_INPUT_NONE, JOB_INPUT_OPEN, JOB_INPUT_CLOSED };
enum job_input job_input_state(const struct job *job);
/* Writes and reports as job_tell; what cannot be reported is not written. 0, or -ENOMEM, -EMSGSIZE
   (more waits than may), and the waiter has not been called. Only for JOB_INPUT_OPEN. */
int job_write(
	struct job *job, const char *data, size_t len, int64_t ack, struct job_waiter *waiter);
void job_close_input(struct job *job);

#endif
