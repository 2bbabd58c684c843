/* SPDX-License-Identifier: MIT */
/* Who lives, and who has died. */
#include "payloads/sandbox-tools/child/children.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define FILES_MAX 65536 /* descriptors the server allows itself, if it may */
#define ERRORS_MAX 65536

struct children *children_new(struct loop *loop, mode_t mask)
{
	struct children *children = calloc(1, sizeof(*children));
	struct rlimit files;

	if (!children)
		return NULL;
	children->loop = loop;
	children->mask = mask;
	children->errors.limit = ERRORS_MAX;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	getrlimit(RLIMIT_CORE, &children->core);
	getrlimit(RLIMIT_NOFILE, &children->files);
	/* every job has up to four of them */
	files = children->files;
	files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
	if (files.rlim_cur > children->files.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &files);
	return children;
}

static struct child *find(struct children *children, pid_t pid)
{
	struct child *child = children->buckets[(unsigned)pid % CHILDREN_BUCKETS];

	while (child && child->pid != pid)
		child = child->next;
	return child;
}

static void unlink_child(struct child *child)
{
	if (!child->link)
		return;
	*child->link = child->next;
	if (child->next)
		child->next->link = child->link;
	child->link = NULL;
}

static void bury(struct children *children, pid_t pid, int status)
{
	struct child *child = find(children, pid);

	if (child) {
		unlink_child(child);
		child->running = false;
		child->code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
		child->ending->reaped = true;
	}
	/* this may be the end of 'child' itself */
	if (child && child->exited)
		child->exited(child);
	child_endings_look(children, pid);
}

void children_reap(struct children *children)
{
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			break;
		bury(children, pid, status);
	}
	if (children->ending)
		children_end_look(children);
}

void child_forget(struct child *child)
{
	if (!child->children)
		return;
	unlink_child(child);
	if (!child->ending->link)
		child_ending_free(child->ending);
	else
		child->ending->child = NULL;
	child->ending = NULL;
	child->children = NULL;
}

const struct buf *children_errors(const struct children *children)
{
	return &children->errors;
}

void children_free(struct children *children)
{
	if (!children)
		return;
	while (children->endings)
		child_ending_free(children->endings);
	for (size_t i = 0; i < CHILDREN_BUCKETS; i++)
		while (children->buckets[i])
			child_forget(children->buckets[i]);
	loop_clear_timer(children->loop, &children->timer);
	processes_release(&children->all);
	buf_release(&children->errors);
	free(children);
}
