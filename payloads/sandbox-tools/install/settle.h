/* SPDX-License-Identifier: MIT */
/*
 * The running program takes its place in the home: under its digest, and under a name that it can
 * be run by again. It checks that it is the one that was asked for.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_SETTLE_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_SETTLE_H

#include <limits.h>
#include <stdbool.h>

#include "payloads/lib/fail.h"
#include "payloads/lib/sha256.h"
#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/install/home.h"
#include "payloads/sandbox-tools/install/spec.h"

struct settle {
	struct spec *spec; /* borrowed; "staged" is set to the copy of ourselves, if we made one */
	struct home *home; /* borrowed */
	struct sys_self self;
	char brought[SHA256_HEX + 33]; /* that copy, in a home of our own */
	bool adopted;		       /* home/<sha256> is new */
	bool kept;		       /* home/<keep> is new */
};

/* Opens the home that the request names, after moving ourselves into it if we came beside it; what
   was in the way of it is then called 'aside', else that is "". 0, or -1 with 'fail' and with as
   little left as there was before. */
int settle_open(
	const struct spec *spec, struct home *home, char aside[NAME_MAX + 1], struct fail *fail);
/* 0, or -1 with 'fail'; then settle_undo() has something to do. */
int settle_in(struct settle *own, struct spec *spec, struct home *home, struct fail *fail);
/* Removes what settle_in() has put there. */
void settle_undo(const struct settle *own);

/* Deletes the delivery and answers that nothing was done: the container's own user has to remove
   its service first (WAS_USERS: root may not be able to), or one of another kind has to go
   (WAS_KIND). The exit status. */
int settle_decline(const struct spec *spec, const struct home *home, enum wire_was was);

#endif
