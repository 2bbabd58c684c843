/* SPDX-License-Identifier: MIT */
/*
 * Processes of the server: started detached, reaped by the event loop, ended with everything they
 * have started. The server is the reaper of all its descendants (PR_SET_CHILD_SUBREAPER), so
 * whatever a child leaves behind becomes a child of the server itself: nothing has to be remembered
 * for the final clean-up, and no process id is ever signalled that is not a descendant's. Works
 * without /proc and without pidfds; /proc adds the precise picture of a tree.
 *
 * Nobody else in the server may call wait(2): a status would be lost.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHILD_CHILD_H
#define PAYLOADS_SANDBOX_TOOLS_CHILD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "payloads/lib/buf.h"
#include "payloads/lib/loop.h"
#include "payloads/sandbox-tools/child/user.h"

struct children; /* server->children */
struct child_ending;

/* ---- starting ---- */

struct child_options {
	const char *group; /* static: whom clean-up errors name ("exec_remote", "mcp", …) */
	const char *file;  /* path to execute, not looked up */
	char *const *argv;
	char *const *env; /* NULL: the server's */
	const char *cwd;  /* NULL: the server's; entered before the user switch */
	/* Whom to switch to, NULL: nobody. A child for a user that passwd does not know, and one
	   that may not switch, starts, says so on its stderr and exits with 1. */
	const struct user *user;
	int fds[3];	/* become 0, 1, 2; borrowed; -1 is /dev/null */
	bool terminal;	/* fds[0] is a terminal and becomes the controlling one */
	bool oom_first; /* oom_score_adj 1000 */
	/* As a container's engine starts a program: with the signals of this program's own start,
	   and with 0, 1 and 2 belonging to the user; that the user cannot be had is a failure to
	   start. */
	bool as_engine;
	/* Asked inside the new process, before it does anything: will that pid do? If not another
	   one is tried. NULL: any. */
	bool (*accepts)(void *cookie, pid_t pid);
	void *cookie;
};

/* Lives inside its owner, who fills in nothing but 'exited' (may be NULL). */
struct child {
	void (*exited)(struct child *child); /* called by the loop, once */
	pid_t pid;			     /* 0 before the start */
	bool running; /* false once reaped: then the pid means nothing more */
	int code;     /* exit code, or minus the signal's number; when reaped */
	/* private */
	const char *group;
	bool terminal;
	unsigned long long born; /* start time, 0 unknown */
	struct children *children;
	struct child_ending *ending; /* made at the start, so that ending cannot fail */
	struct child *next, **link;
};

/*
 * Starts a process in a session and process group of its own (both numbered child->pid), with
 * default signals (but see as_engine), the umask of the server's starter and no descriptor but 0,
 * 1, 2. Should the server be killed, the kernel kills the process (not what it has started), or
 * hangs up its terminal. What fails before the new program runs (fork, chdir, exec; the user switch
 * as_engine only, see above) is the result: 0 or -errno, and then there is no child. 'exited' is
 * never called from inside.
 */
int child_start(
	struct children *children, struct child *child, const struct child_options *options);
/* The owner wants to hear no more of it and frees it; the process, if any, goes on and stays known.
 */
void child_forget(struct child *child);

/* ---- ending ---- */

/*
 * Ends a child and what it has started: TERM (and CONT; HUP too when it has a terminal) to its
 * process group, the rest of its session and all descendants; after 'grace_ms' KILL to what is left
 * of them and to what they have started meanwhile. Returns at once and cannot fail; the child may
 * be forgotten then, which does not stop the ending. 'done' (may be NULL) is called once by the
 * loop, never from inside, when nothing of it is left, or when 5 s after the KILL something still
 * is. A child that has been reaped already: what is left of its process group. A second call
 * shortens the grace time if its own is shorter; its 'done' replaces the first one.
 */
void child_end(struct child *child, int grace_ms, void (*done)(void *cookie), void *cookie);

/* ---- helpers for owners ---- */

/* What Python would print for an errno value: "FileNotFoundError(2, 'No such file or directory')".
 */
void child_error_text(int error, char *text, size_t size);

/* An environment being put together: strings "NAME=value", NULL at the end. */
struct child_env {
	char **vars;
	size_t count, size;
	size_t *slots; /* private: finds them by name */
};

#define CHILD_ENV_INIT           \
	{                        \
		NULL, 0, 0, NULL \
	}

/* Copies a NULL-terminated environment, of equal names the last: 0 or -ENOMEM. */
int child_env_copy(struct child_env *env, char *const *from);
/* Sets or replaces: 0, -ENOMEM, or -EINVAL for a name that is empty or has '='. */
int child_env_set(struct child_env *env, const char *name, const char *value);
void child_env_release(struct child_env *env);

/* ---- the server's part ---- */

/* Also makes the process the reaper of its descendants. NULL when there is no memory. 'mask' is the
   umask children get. */
struct children *children_new(struct loop *loop, mode_t mask);
/* On SIGCHLD: reaps all that is dead and tells the owners. */
void children_reap(struct children *children);
/*
 * The end of everything ever started: TERM to all descendants, KILL after 'grace_ms' to those left,
 * until there are none or 'kill_ms' more have passed. 'done' is called by the loop; survivors are
 * then described in 'errors' of children_errors(). Nothing may be started any more.
 */
void children_end_all(struct children *children, int grace_ms, int kill_ms,
	void (*done)(void *cookie), void *cookie);
/* One line per error, without the last newline; empty when all went well. */
const struct buf *children_errors(const struct children *children);
void children_free(struct children *children);

#endif
