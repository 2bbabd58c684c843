/* SPDX-License-Identifier: MIT */
/*
 * What a client remembers of the container that it has paused (hold.c), and of the process that
 * would unpause it in the client's place (guard.h). Data only.
 */
#ifndef ENGINE_HELD_H
#define ENGINE_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct eng_guard {
	pid_t pid; /* 0: there is none */
	int fd;
};

/* A client's pause; all zero: there is none. */
struct eng_hold {
	int depth;   /* of eng_hold_begin */
	bool paused; /* the container is, or may be, by us */
	int64_t until;
	struct eng_guard guard;
	char id[65];
};

#endif
