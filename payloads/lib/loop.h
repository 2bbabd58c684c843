/* SPDX-License-Identifier: MIT */
/*
 * The event loop: descriptors and timers, one thread. Callbacks may add, change and remove any
 * watch or timer, also the one being called. Watches and timers live inside their owners; the loop
 * only links them.
 */
#ifndef PAYLOADS_LIB_LOOP_H
#define PAYLOADS_LIB_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_watch {
	int fd;
	void (*ready)(struct loop_watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT, … */
	uint32_t events;
};

struct loop_timer {
	void (*due)(struct loop_timer *timer);
	int64_t at; /* io_now() time */
	bool armed;
	struct loop_timer *next;
};

struct loop {
	int epoll;
	bool stopped;
	struct loop_timer *timers; /* by time */
};

/* 0 or -errno. */
int loop_open(struct loop *loop);
void loop_close(struct loop *loop);
/* Starts watching watch->fd for 'events': 0 or -errno. */
int loop_watch(struct loop *loop, struct loop_watch *watch, uint32_t events);
/* Changes what is watched for; the same set again costs nothing. */
void loop_change(struct loop *loop, struct loop_watch *watch, uint32_t events);
/* Stops watching; call it before closing the descriptor. */
void loop_unwatch(struct loop *loop, struct loop_watch *watch);
/* Arms a timer 'ms' from now, or moves it there. */
void loop_set_timer(struct loop *loop, struct loop_timer *timer, int ms);
void loop_clear_timer(struct loop *loop, struct loop_timer *timer);
/* Runs until loop_stop(): 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif
