/* SPDX-License-Identifier: MIT */
/* What the methods and the controller of jobs say to each other. */
#ifndef PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_TYPES_H
#define PAYLOADS_SANDBOX_TOOLS_EXEC_REMOTE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/loop.h"
#include "payloads/sandbox-tools/child/user.h"

struct job;

enum job_state { JOB_RUNNING, JOB_COMPLETED, JOB_KILLED };

/* All borrowed; absent is NULL. */
struct job_order {
	const char *command;
	const char *request_id; /* two orders with the same one are one order */
	const char *input;
	size_t input_len;
	bool stdin_open;
	char *const *env;
	const char *cwd;
	const struct user *user; /* to switch to */
};

/* One reply about a job; valid until control returns to the job's controller. */
struct job_report {
	enum job_state
		state; /* JOB_COMPLETED and JOB_KILLED: the job is forgotten with this reply */
	int code;      /* when completed */
	int64_t seq;
	const char *text[2]; /* stdout and stderr, UTF-8 */
	size_t len[2];
};

#define JOB_ACK_ALL INT64_MIN /* a client that knows no numbers: it has got everything */

/* Somebody who waits for a report; lives in its owner until 'answer' is called, once. */
struct job_waiter {
	/* 'report' NULL: nobody wanted it any more, or (with 'error', -errno) it failed. False: the
	   report could not be passed on. */
	bool (*answer)(struct job_waiter *waiter, const struct job_report *report, int error);
	bool (*is_wanted)(const struct job_waiter *waiter);
	/* private */
	struct loop_timer timer;
	struct job *job;
	int64_t ack;
	struct job_waiter *next;
};

#endif
