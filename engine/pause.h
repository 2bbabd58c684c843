/* SPDX-License-Identifier: MIT */
/* The two requests that pause and unpause a container. When to make them is decided in hold.c. */
#ifndef ENGINE_PAUSE_H
#define ENGINE_PAUSE_H

#include "engine/client.h"

/*
 * 1: not now; another try may succeed. Sets client->hold.paused, also if no answer comes: then the
 * container may be paused.
 */
int eng_pause(struct eng_client *client, const char *id, struct sb_err *err) sb_must_check;

/* 1: it was not paused. SB_NO_CONTAINER: it is gone, or does not run. */
int eng_unpause(struct eng_client *client, const char *id, struct sb_err *err) sb_must_check;

#endif
