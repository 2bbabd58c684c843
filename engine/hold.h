/* SPDX-License-Identifier: MIT */
/*
 * Pausing a container for requests of the archive API, where the engine has the race of race.h.
 * What engine.h tells of it is for those who make requests; this is for the files that carry them
 * out.
 */
#ifndef ENGINE_HOLD_H
#define ENGINE_HOLD_H

#include "engine/guard.h"

/* A client's pause; all zero: there is none. */
struct eng_hold {
	int depth;   /* of eng_hold_begin */
	bool paused; /* the container is, or may be, by us */
	int64_t until;
	struct eng_guard guard;
	char id[65];
};

/* 1: it was not paused. SB_NO_CONTAINER: it is gone, or does not run. */
int eng_unpause(struct eng_client *client, const char *id, struct sb_err *err) sb_must_check;

#endif
