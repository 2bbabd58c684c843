/* SPDX-License-Identifier: MIT */
/* Event loop over epoll. */
#include "payloads/lib/loop.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>

#include "payloads/lib/io.h"

int loop_open(struct loop *loop)
{
	loop->stopped = false;
	loop->timers = NULL;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll < 0 ? -errno : 0;
}

void loop_close(struct loop *loop)
{
	io_close(&loop->epoll);
}

int loop_watch(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	watch->events = events;
	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

void loop_change(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (watch->events == events)
		return;
	watch->events = events;
	epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch)
{
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
}

void loop_clear_timer(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer **link = &loop->timers;

	if (!timer->armed)
		return;
	while (*link != timer)
		link = &(*link)->next;
	*link = timer->next;
	timer->armed = false;
}

void loop_set_timer(struct loop *loop, struct loop_timer *timer, int ms)
{
	struct loop_timer **link = &loop->timers;

	loop_clear_timer(loop, timer);
	timer->at = io_in(ms);
	timer->armed = true;
	while (*link && (*link)->at <= timer->at)
		link = &(*link)->next;
	timer->next = *link;
	*link = timer;
}

static int time_left(const struct loop *loop)
{
	int64_t left;

	if (!loop->timers)
		return -1;
	left = loop->timers->at - io_now();
	if (left <= 0)
		return 0;
	/* one more, because io_now() rounds down and a timer must not be early */
	return left >= INT_MAX ? INT_MAX : (int)left + 1;
}

static void run_timers(struct loop *loop)
{
	int64_t now = io_now();

	while (!loop->stopped && loop->timers && loop->timers->at <= now) {
		struct loop_timer *timer = loop->timers;

		loop_clear_timer(loop, timer);
		timer->due(timer);
	}
}

int loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		struct epoll_event event;
		int n;

		/* one event at a time: a callback may free the owner of any other */
		n = epoll_wait(loop->epoll, &event, 1, time_left(loop));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			struct loop_watch *watch = event.data.ptr;

			watch->ready(watch, event.events);
		}
		run_timers(loop);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
