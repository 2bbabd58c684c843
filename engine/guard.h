/* SPDX-License-Identifier: MIT */
/*
 * The guard of a pause: a process that unpauses a container that we have paused, if we are killed
 * before we can do that. It runs this program again, in a session of its own, and ignores all
 * signals that can be ignored. It connects to the engine before it reports that it is ready. A
 * socket connects it to us: if that closes without a word, the guard unpauses the container.
 */
#ifndef ENGINE_GUARD_H
#define ENGINE_GUARD_H

#include "engine/engine.h"
#include "engine/held.h"

/* The only argument of such a process; main() must call eng_guard_main() for it. */
#define ENG_GUARD_WORD "--guard-a-pause"

enum { ENG_GUARD_MS = 60 * 1000 }; /* after this time the guard ends the pause in any case */

/* Start one for a container, and wait until it is ready. It does nothing before it is armed. */
int eng_guard_start(struct eng_client *client, const char *id, struct eng_guard *ret,
	struct sb_err *err) sb_must_check;

/* From now on the container may be paused. */
int eng_guard_arm(const struct eng_guard *guard, struct sb_err *err) sb_must_check;

/*
 * End the guard. If not `done`, let it unpause the container, and wait for that. Returns whether
 * the container is unpaused.
 */
bool eng_guard_end(struct eng_guard *guard, bool done);

/* The process itself; returns its exit status. */
int eng_guard_main(void);

#endif
