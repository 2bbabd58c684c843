/* SPDX-License-Identifier: MIT */
/* The end of one child and all it has started. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/child/children.h"

#define LOOK_MS 50	  /* for what is reaped by others than us */
#define LOOK_KILLED_MS 10 /* what was killed is soon gone */
#define KILL_ROUNDS 8	  /* one after the other, while there is always somebody new */
#define SNAPSHOT_MS 20	  /* how long one is good enough for endings that have not seen it */

/* ---- what belongs to it ---- */

static bool is_member(const struct child_ending *ending, const struct process *process)
{
	for (size_t i = 0; i < ending->count; i++)
		if (ending->members[i].pid == process->pid &&
			ending->members[i].born == process->born)
			return true;
	return false;
}

/* Has the number of the leader, once it was free, gone to another child of ours? */
static bool is_number_taken(const struct child_ending *ending)
{
	struct child *child =
		ending->children->buckets[(unsigned)ending->leader % CHILDREN_BUCKETS];

	for (; child; child = child->next)
		if (child->pid == ending->leader && child->ending != ending)
			return true;
	return false;
}

/*
 * The processes there are. Many endings at once share a look at them; but none is shown again what
 * it has seen: what has come or gone since its last signals is in the next one. 0 or -errno.
 */
static int look(struct child_ending *ending)
{
	struct children *children = ending->children;

	if (ending->seen == children->all_number || io_now() >= children->all_until) {
		children->all_error = processes_read(&children->all);
		children->all_number++;
		children->all_until = io_in(SNAPSHOT_MS);
	}
	ending->seen = children->all_number;
	return children->all_error;
}

static int remember(struct child_ending *ending, const struct processes *all)
{
	ending->count = 0;
	for (size_t i = 0; i < all->count; i++) {
		if (!all->list[i].hit || all->list[i].dead)
			continue;
		if (ending->count == ending->size) {
			size_t size = ending->size ? 2 * ending->size : 16;
			struct child_member *members =
				realloc(ending->members, size * sizeof(*members));

			if (!members)
				return -ENOMEM;
			ending->members = members;
			ending->size = size;
		}
		ending->members[ending->count].pid = all->list[i].pid;
		ending->members[ending->count++].born = all->list[i].born;
	}
	return 0;
}

/* Looks at the whole of it: the session, what was seen to descend from it before, and what descends
   from those, and marks it in children->all; was somebody found who was not known? 0, or -errno
   without /proc. */
static int survey(struct child_ending *ending, bool *ret_found)
{
	bool session = !ending->reaped || !is_number_taken(ending);
	struct processes *all = &ending->children->all;
	int r = look(ending);

	*ret_found = false;
	if (r < 0 || ending->born == 0)
		return r < 0 ? r : -ENOENT;
	for (size_t i = 0; i < all->count; i++) {
		struct process *p = &all->list[i];

		p->hit = p->ours && p->born >= ending->born &&
			 ((!ending->reaped && p->pid == ending->leader) ||
				 (session && p->session == ending->leader) || is_member(ending, p));
	}
	processes_spread(all);
	for (size_t i = 0; i < all->count; i++)
		*ret_found |=
			all->list[i].hit && !all->list[i].dead && !is_member(ending, &all->list[i]);
	return remember(ending, all);
}

/* Without /proc: does a child of ours live in its process group? */
static bool has_group(const struct child_ending *ending)
{
	siginfo_t info;

	if (!ending->reaped)
		return true;
	return !is_number_taken(ending) &&
	       waitid(P_PGID, (id_t)ending->leader, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* ---- signals ---- */

/* Signals, up to the first 0, to all of it. True if somebody got one who was not known before. */
static bool send(struct child_ending *ending, const int signals[3])
{
	const struct processes *all = &ending->children->all;
	bool found;
	int r = survey(ending, &found);
	/* the group as a whole, so that nobody gets a signal twice or escapes by forking */
	bool group = !ending->reaped || (r < 0 && has_group(ending));

	for (int s = 0; s < 3 && signals[s]; s++) {
		if (group)
			kill(-ending->leader, signals[s]);
		for (size_t i = 0; r == 0 && i < all->count; i++) {
			const struct process *p = &all->list[i];

			if (p->hit && !p->dead && !(group && p->group == ending->leader))
				process_signal(p->pid, p->born, signals[s]);
		}
	}
	return found;
}

/* Until when not to look again, in ms. */
static int send_kill(struct child_ending *ending)
{
	static const int signals[3] = {SIGKILL};

	if (send(ending, signals) && ++ending->rounds < KILL_ROUNDS)
		return 0; /* after the other endings, which need another look as well */
	ending->rounds = 0;
	return LOOK_KILLED_MS;
}

/* ---- its course ---- */

static void finish(struct child_ending *ending)
{
	struct children *children = ending->children;
	void (*done)(void *cookie) = ending->done;
	void *cookie = ending->cookie;

	loop_clear_timer(children->loop, &ending->timer);
	*ending->link = ending->next;
	if (ending->next)
		ending->next->link = ending->link;
	ending->link = NULL;
	ending->done = NULL;
	ending->phase = CHILD_ENDED;
	if (!ending->child)
		child_ending_free(ending);
	if (!children->endings) {
		processes_release(&children->all);
		children->all_until = 0;
	}
	if (done)
		done(cookie);
}

/* Is nothing left of it? Looks at everything only when what was known has gone. */
static bool is_over(struct child_ending *ending)
{
	bool found;
	int r;

	if (!ending->reaped)
		return false;
	for (size_t i = 0; i < ending->count; i++)
		if (process_lives(ending->members[i].pid, ending->members[i].born))
			return false;
	r = survey(ending, &found);
	return r < 0 ? !has_group(ending) : ending->count == 0;
}

static void on_timer(struct loop_timer *timer)
{
	struct child_ending *ending = (struct child_ending *)timer;
	int64_t now = io_now();

	if (is_over(ending) || (ending->phase == CHILD_KILL && now >= ending->give_up_at)) {
		finish(ending);
		return;
	}
	if (ending->phase == CHILD_TERM && now >= ending->kill_at) {
		ending->phase = CHILD_KILL;
		ending->give_up_at = io_in(CHILD_KILL_MS);
	}
	loop_set_timer(ending->children->loop, timer,
		ending->phase == CHILD_KILL ? send_kill(ending) : LOOK_MS);
}

void child_end(struct child *child, int grace_ms, void (*done)(void *cookie), void *cookie)
{
	static const int plain[3] = {SIGTERM, SIGCONT},
			 with_terminal[3] = {SIGTERM, SIGHUP, SIGCONT};
	struct child_ending *ending = child->ending;
	int64_t kill_at = io_in(grace_ms);

	ending->done = done;
	ending->cookie = cookie;
	if (ending->phase == CHILD_TERM || ending->phase == CHILD_KILL) {
		if (kill_at < ending->kill_at)
			ending->kill_at = kill_at;
		return;
	}
	ending->next = child->children->endings;
	ending->link = &child->children->endings;
	if (ending->next)
		ending->next->link = &ending->next;
	child->children->endings = ending;
	ending->timer.due = on_timer;
	ending->kill_at = kill_at;
	ending->phase = CHILD_TERM;
	/* a shell on a terminal ignores TERM; what is stopped must go on to notice */
	send(ending, ending->terminal ? with_terminal : plain);
	loop_set_timer(child->children->loop, &ending->timer, grace_ms < LOOK_MS ? grace_ms : 0);
}

/* As far as is known; without /proc nothing is. */
static bool may_have(const struct child_ending *ending, pid_t pid)
{
	for (size_t i = 0; i < ending->count; i++)
		if (ending->members[i].pid == pid)
			return true;
	return ending->leader == pid || ending->count == 0;
}

void child_endings_look(struct children *children, pid_t reaped)
{
	for (struct child_ending *ending = children->endings; ending; ending = ending->next) {
		if (ending->leader == reaped && !ending->reaped)
			ending->reaped = true;
		/* what has been reaped is over, perhaps all of it; not finished from in here, as
		   an owner's callback may be running */
		if (may_have(ending, reaped))
			loop_set_timer(children->loop, &ending->timer, 0);
	}
}

void child_ending_free(struct child_ending *ending)
{
	loop_clear_timer(ending->children->loop, &ending->timer);
	if (ending->link) {
		*ending->link = ending->next;
		if (ending->next)
			ending->next->link = ending->link;
	}
	free(ending->members);
	free(ending);
}
