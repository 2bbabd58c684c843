/* SPDX-License-Identifier: MIT */
/* What has become of a container since the plan for it was made. */
#ifndef PAYLOADS_PRESENCE_H
#define PAYLOADS_PRESENCE_H

#include "payloads/plan.h"

/* What the container does now; PRESENCE_RUNS where the engine does not say. */
enum presence { PRESENCE_RUNS, PRESENCE_RUNS_ANEW, PRESENCE_STOPPED, PRESENCE_GONE };
enum presence presence_now(const struct plan *plan);

/*
 * Whether it has stopped, gone or been started anew, or does so now: an engine learns of the death
 * of a container's processes one by one, so this takes a moment.
 */
bool presence_has_ended(const struct plan *plan);

/*
 * To be called with any failure of what was done by the plan, made or half made: where the engine
 * refused something because the container ended, that becomes SB_NO_CONTAINER; because a file has
 * the name of the home, SB_UNSUPPORTED. Returns -1.
 */
int presence_explain(const struct plan *plan, struct sb_err *err);

#endif
