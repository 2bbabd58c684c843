/* SPDX-License-Identifier: MIT */
/*
 * A process that outlives us and unpauses a container that we have paused, should we be killed
 * before we do. It is this program once more, in a session of its own, deaf to signals that can be
 * ignored; it has a connection of its own to the engine before it says that it is ready. Our end of
 * its line is its sign of life: closed without a word, it acts.
 */
#ifndef ENGINE_GUARD_H
#define ENGINE_GUARD_H

#include "engine/engine.h"

#include <sys/types.h>

/* The only argument of such a process; main() has to call eng_guard_main() for it. */
#define ENG_GUARD_WORD "--guard-a-pause"

enum { ENG_GUARD_MS = 60 * 1000 }; /* how long a pause may last: then the guard ends it anyway */

struct eng_guard {
	pid_t pid; /* 0: there is none */
	int fd;
};

/* Start one for a container, and wait until it is ready. It does nothing before it is armed. */
int eng_guard_start(struct eng_client *client, const char *id, struct eng_guard *ret,
	struct sb_err *err) sb_must_check;

/* From now on the container may be paused. */
int eng_guard_arm(const struct eng_guard *guard, struct sb_err *err) sb_must_check;

/*
 * The end of it. Not `done`: it is to unpause the container, and is waited for. Whether the
 * container is unpaused then.
 */
bool eng_guard_end(struct eng_guard *guard, bool done);

/* The process itself; returns its exit status. */
int eng_guard_main(void);

#endif
