/* SPDX-License-Identifier: MIT */
/* Waiting for the server, and cleaning up after it. */
#include "payloads/sandbox-tools/server/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/child/child.h"

#define REAP_MS 5
#define KILL_MS 5000 /* for the kernel to end what was killed */

struct keeper {
	struct loop loop;
	struct loop_timer reap;
	struct children *children;
};

static void on_reap(struct loop_timer *timer)
{
	struct keeper *keeper = (struct keeper *)((char *)timer - offsetof(struct keeper, reap));

	children_reap(keeper->children);
	loop_set_timer(&keeper->loop, timer, REAP_MS);
}

static void on_ended(void *cookie)
{
	loop_stop(&((struct keeper *)cookie)->loop);
}

static void end_rest(void)
{
	struct keeper keeper = {.reap = {.due = on_reap}};

	if (loop_open(&keeper.loop) < 0)
		return;
	keeper.children = children_new(&keeper.loop, 0);
	if (!keeper.children)
		return;
	children_end_all(keeper.children, 0, KILL_MS, on_ended, &keeper);
	on_reap(&keeper.reap);
	loop_run(&keeper.loop);
}

static void __attribute__((noreturn)) keep(pid_t server, int lock, char *name)
{
	static const char title[] = "keeper";
	pid_t pid;

	sys_close_from(0, lock);
	strncpy(name, title, strlen(name));
	prctl(PR_SET_NAME, title, 0, 0, 0);
	do
		pid = waitpid(-1, NULL, 0);
	while (pid != server && (pid > 0 || errno == EINTR));
	end_rest();
	_exit(0);
}

void keeper_fork(int lock, char *name)
{
	pid_t server;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	server = fork();
	if (server > 0)
		keep(server, lock, name);
	if (server == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

void keeper_release(void)
{
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}
