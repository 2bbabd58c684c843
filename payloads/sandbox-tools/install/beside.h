/* SPDX-License-Identifier: MIT */
/*
 * A delivery beside the home instead of in it. Where other users can write to the directory above
 * the home, what has the home's name may be theirs, and then they could exchange what an engine
 * puts into it. A single file under a name that nobody knows is safe there, if the directory is
 * sticky; this program then makes the home itself.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_BESIDE_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_BESIDE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "payloads/lib/fail.h"

/* Makes the home ours and moves the delivery into it: 0, or -1 with 'fail' and without the
   delivery. Something else of the home's name is renamed to 'aside', which is "" otherwise. */
int beside_move_in(
	const char *home, const char *delivery, char aside[NAME_MAX + 1], struct fail *fail);
/* Deletes these names beside the home, or all deliveries if 'names' is NULL; number removed. */
int beside_remove(const char *home, const json_t *names);
/* Is what has the home's name a directory of ours? */
bool beside_is_home(const char *home);

#endif
