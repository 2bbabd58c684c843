/* SPDX-License-Identifier: MIT */
/*
 * The end of everything ever started. All of it descends from this process, whatever has become of
 * parents, groups and sessions; when wait(2) knows no child any more nothing is left.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/base.h"
#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/child/children.h"

#define LOOK_MS 25	    /* between two rounds of killing */
#define NUMBERS_MAX 4194304 /* process ids are below, everywhere */
#define NUMBERS_MS 4000	    /* for trying them all */
#define SHOWN_MAX 50

/* Where two signals go at once: TERM is nothing to a process that is stopped. */
static void signal_one(const struct process *p, int sig)
{
	process_signal(p->pid, p->born, sig);
	if (sig != SIGTERM)
		return;
	/* shells on a terminal ignore TERM */
	if (p->terminal && p->session == p->pid)
		process_signal(p->pid, p->born, SIGHUP);
	process_signal(p->pid, p->born, SIGCONT);
}

/* How many descendants there are, the live ones of which were signalled; -errno without /proc. Dead
   ones that wait to be reaped count: they are no reason to look for others elsewhere. */
static int signal_seen(int sig)
{
	struct processes all = PROCESSES_INIT;
	int n = 0, r = processes_read(&all);

	for (size_t i = all.count; r == 0 && i-- > 0;)
		if (all.list[i].ours) {
			if (!all.list[i].dead)
				signal_one(&all.list[i], sig);
			n++;
		}
	processes_release(&all);
	return r < 0 ? r : n;
}

static void signal_groups(struct children *children, int sig)
{
	for (size_t i = 0; i < CHILDREN_BUCKETS; i++)
		for (struct child *child = children->buckets[i]; child; child = child->next) {
			kill(-child->pid, sig);
			if (sig == SIGTERM && child->terminal)
				kill(-child->pid, SIGHUP);
			if (sig == SIGTERM)
				kill(-child->pid, SIGCONT);
		}
}

/* Without /proc: wait(2) tells for each number whether it is a child of ours. */
static void signal_numbers(int sig)
{
	int64_t deadline = io_in(NUMBERS_MS);
	siginfo_t info;

	for (pid_t pid = 2; pid < NUMBERS_MAX; pid++) {
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
			kill(pid, sig);
		if (pid % 65536 == 0 && io_now() >= deadline)
			break;
	}
}

static void signal_all(struct children *children, int sig)
{
	int n = signal_seen(sig);

	if (n > 0)
		return;
	/* nobody to be seen, and yet there are some */
	signal_groups(children, sig);
	signal_numbers(sig);
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

/* ---- who would not go ---- */

static const char *group_of(const struct children *children, const struct process *p)
{
	const struct child *child = children->buckets[(unsigned)p->session % CHILDREN_BUCKETS];

	for (; child; child = child->next)
		if (child->pid == p->session)
			return child->group;
	return "children";
}

static void add_error(struct children *children, const char *group, const char *pids)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s%s: Processes did not exit after SIGKILL%s",
		children->errors.len ? "\n" : "", group, pids);

	if (n > 0 && (size_t)n < sizeof(line))
		buf_add(&children->errors, line, (size_t)n);
}

/* One line for each group of survivors; 'all' loses its marks. */
static void describe(struct children *children, struct processes *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const char *group = group_of(children, &all->list[i]);
		char pids[SHOWN_MAX * 12 + 8] = ":";
		size_t len = 1;

		if (!all->list[i].hit)
			continue;
		for (size_t k = i; k < all->count && len < sizeof(pids) - 16; k++) {
			struct process *p = &all->list[k];

			if (!p->hit || strcmp(group_of(children, p), group) != 0)
				continue;
			p->hit = false;
			len += (size_t)snprintf(pids + len, sizeof(pids) - len, "%s%ld",
				len > 1 ? ", " : " ", (long)p->pid);
		}
		add_error(children, group, pids);
	}
}

static void give_up(struct children *children)
{
	struct processes all = PROCESSES_INIT;
	int r = processes_read(&all);
	bool any = false;

	for (size_t i = 0; r == 0 && i < all.count; i++) {
		all.list[i].hit = all.list[i].ours && !all.list[i].dead;
		any |= all.list[i].hit;
	}
	if (any)
		describe(children, &all);
	else if (has_children())
		add_error(children, "children", "");
	processes_release(&all);
}

/* ---- its course ---- */

static void finish(struct children *children)
{
	void (*done)(void *cookie) = children->done;

	loop_clear_timer(children->loop, &children->timer);
	children->done = NULL;
	if (done)
		done(children->cookie);
}

static void on_timer(struct loop_timer *timer)
{
	struct children *children = container_of(timer, struct children, timer);
	int64_t now = io_now();

	if (!has_children() || (children->killing && now >= children->give_up_at)) {
		if (children->killing)
			give_up(children);
		finish(children);
		return;
	}
	children->killing |= now >= children->kill_at;
	if (!children->killing) {
		loop_set_timer(children->loop, timer,
			children->kill_at - now > INT_MAX ? INT_MAX
							  : (int)(children->kill_at - now));
		return;
	}
	signal_all(children, SIGKILL);
	loop_set_timer(children->loop, timer, LOOK_MS);
}

void children_end_look(struct children *children)
{
	if (children->done && !has_children())
		loop_set_timer(children->loop, &children->timer, 0);
}

void children_end_all(struct children *children, int grace_ms, int kill_ms,
	void (*done)(void *cookie), void *cookie)
{
	children->ending = true;
	children->killing = false;
	children->kill_at = io_in(grace_ms);
	children->give_up_at = children->kill_at + kill_ms;
	children->done = done;
	children->cookie = cookie;
	children->timer.due = on_timer;
	if (has_children())
		signal_all(children, SIGTERM);
	loop_set_timer(children->loop, &children->timer, 0);
}
