/* SPDX-License-Identifier: MIT */
/*
 * Bringing a program into a home that the archive API does not reach: the /dev of a Docker
 * container whose root file system is read-only.
 *
 * A helper container does it. It is made from the image that the container was made from, so that
 * nothing is pulled; before it is started our own program is put into it, the only one that it ever
 * runs. It has no network, little memory, nothing in the image's volumes and the container's
 * runtime; it shares the container's process namespace, where /proc/1/root is the container's file
 * system, and has one capability, CAP_SYS_PTRACE, which that link demands. The
 * program writes a copy of itself into the home, says so in a receipt, and waits: when its stdin
 * ends, be it that we are done, have failed, or were killed, it deletes the copy unless the copy
 * has put itself in place meanwhile, ends, and the engine deletes the helper container.
 *
 * For a container there is one at a time, as its name is made from the container's id. By that name
 * and its nonce a visit finds one whose creation the engine did not confirm, and deletes it. What a
 * killed run left behind without having started it is in the way of the next, which deletes it; so
 * is one that somebody in the container has stopped, once it has run for longer than any does.
 */
#ifndef PAYLOADS_GRAFT_H
#define PAYLOADS_GRAFT_H

#include "payloads/lib/wire.h"
#include "payloads/plan.h"

#define GRAFT_LABEL "sbinject.graft"   /* on helper containers: the id of the container */
#define GRAFT_RUN_LABEL "sbinject.run" /* and the nonce of the visit that it is for */

struct graft; /* opaque: a helper container */

struct graft_order {
	struct plan *plan; /* borrowed, as all of these */
	const struct payload_program *program;
	const char *nonce; /* of the visit */
	const char *name;  /* that the program gets in the home */
	enum wire_when when;
};

/* An error that says why there can be no helper container, or that it has to be allowed. */
int graft_check(const struct plan *plan, struct sb_err *err) sb_must_check;

/*
 * Make a helper container and let it bring the program; *ret, which has to be ended also after a
 * failure, is the container. 1: there is not `when` what there has to be, and nothing was brought;
 * `current` is the version that is there, or "".
 */
int graft_begin(const struct graft_order *order, struct graft **ret, char current[65],
	struct sb_err *err) sb_must_check;

/*
 * Delete the helper container. With `undo` it is first given the time to delete what it brought.
 * Begins to clean up; what else is done then leaves GRAFT_END_MS for the end of another one. Frees;
 * NULL is fine.
 */
enum { GRAFT_END_MS = 5 * 1000 };
void graft_end(struct graft *graft, bool undo);

#endif
