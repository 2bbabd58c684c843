/* SPDX-License-Identifier: MIT */
/* A loop with children, as the server has it: for tests of what runs in one. */
#ifndef T_UNIT_WORLD_H
#define T_UNIT_WORLD_H

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/child/child.h"

struct world {
	struct loop loop;
	struct loop_watch signals;
	struct loop_timer limit;
	struct children *children;
};

static struct world *world;

static void world_on_signal(struct loop_watch *watch, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	assert_int_equal(io_read(watch->fd, &info, sizeof(info)), sizeof(info));
	children_reap(world->children);
}

static void world_on_limit(struct loop_timer *timer)
{
	(void)timer;
	fail_msg("the loop runs for too long");
}

/* Makes the world. SIGCHLD stays blocked afterwards. */
static void world_open(void)
{
	sigset_t set;

	world = calloc(1, sizeof(*world));
	assert_int_equal(loop_open(&world->loop), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	world->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	world->signals.ready = world_on_signal;
	assert_int_equal(loop_watch(&world->loop, &world->signals, EPOLLIN), 0);
	world->children = children_new(&world->loop, 022);
}

/* Runs the loop until something calls loop_stop. It is a failure if nothing does within that time.
 */
static void world_run(int limit_ms)
{
	world->limit.due = world_on_limit;
	loop_set_timer(&world->loop, &world->limit, limit_ms);
	world->loop.stopped = false;
	assert_int_equal(loop_run(&world->loop), 0);
	loop_clear_timer(&world->loop, &world->limit);
}

/* Frees the world, with what is left of its children. */
static void world_close(void)
{
	children_free(world->children);
	close(world->signals.fd);
	loop_close(&world->loop);
	free(world);
}

#endif
