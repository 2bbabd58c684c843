/* SPDX-License-Identifier: MIT */
/*
 * Processes as /proc shows them, and signals that reach exactly the process that is meant. Knows
 * nothing of children and their owners.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHILD_PROCESS_H
#define PAYLOADS_SANDBOX_TOOLS_CHILD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
	pid_t pid, parent, group, session;
	struct process *above;	 /* the parent in the same snapshot, or NULL */
	unsigned long long born; /* start time in clock ticks */
	bool dead;		 /* a zombie without live threads */
	bool terminal;		 /* has a controlling one */
	bool ours;		 /* descends from this process */
	bool hit;		 /* the caller's mark */
};

/* A snapshot, ordered by pid. */
struct processes {
	struct process *list;
	size_t count, size;
};

#define PROCESSES_INIT     \
	{                  \
		NULL, 0, 0 \
	}

/* Reads one process: 0 or -errno (-ENOENT: no such process, or no /proc of ours). */
int process_read(pid_t pid, struct process *ret);
/* Is that process still there, and not just waiting to be reaped? */
bool process_lives(pid_t pid, unsigned long long born);
/* Signals exactly that process, or nobody: 0 or -errno. */
int process_signal(pid_t pid, unsigned long long born, int signal);

/* Takes a snapshot and finds out what is ours. 0 or -errno: -ENOENT when there is no /proc, or one
   of another PID namespace. */
int processes_read(struct processes *all);
/* Marks all descendants of those that are marked. */
void processes_spread(struct processes *all);
void processes_release(struct processes *all);

#endif
