/* SPDX-License-Identifier: MIT */
/*
 * The ways of a program into a container: by the archive API for root, by the archive API for the
 * container's own user, and by a helper container where that API does not reach (graft.h).
 *
 * A program for root comes under a name that nobody knew before, unless one stands ready under a
 * name that only we can know (key.h); run, it moves itself to where it belongs.
 *
 * One for the container's own user stands where this user cannot change it, in a directory
 * "user/<sha256>" of root's home. The user cannot remove it either; so it has the same name every
 * time. With it come the link "current", which for root is the program's own doing, and the link
 * ".server" beside it, which says where its service is.
 */
#ifndef PAYLOADS_CARRY_H
#define PAYLOADS_CARRY_H

#include "payloads/lib/wire.h"
#include "payloads/plan.h"

struct carrier; /* opaque: one of the ways */
struct graft;	/* graft.h */

/* One program on its way. */
struct carry {
	struct plan *plan; /* borrowed */
	const struct carrier *by;
	const char *nonce;   /* borrowed: of the visit that this is for */
	char name[160];	     /* of the program in the home */
	char current[65];    /* the version that is in use there, where it was looked for; or "" */
	char before[65];     /* for a user: what the link "current" led to before, or "" */
	bool uploaded;	     /* by this run, under `name` */
	bool may_pass;	     /* bringing it failed for a reason that passes by itself */
	struct graft *graft; /* owned; the helper container, where there is one */
};

/* Choose the way: for root, or for the container's own user. */
void carry_begin(struct carry *carry, struct plan *plan, bool as_user, const char *nonce);

/* Delete the helper container, if there is one; with `undo`, what it brought, too. */
void carry_end(struct carry *carry, bool undo);

/* Who runs the program; from which path; and which home is that user's. */
enum eng_exec_user carry_user(const struct carry *carry);
enum { CARRY_PATH_SIZE = 256 };
void carry_path(const struct carry *carry, char ret[CARRY_PATH_SIZE]);
const char *carry_home(const struct carry *carry);
bool carry_is_for_user(const struct carry *carry);

/* The program stands beside the home, which it has to make itself. */
bool carry_is_beside(const struct carry *carry);

/*
 * 1: a program stands ready as `name`, as far as that is known without running it: to look costs 1
 * to 4 ms, a program that is not there 30 to 100 ms.
 */
int carry_find(struct carry *carry, struct sb_err *err) sb_must_check;

/* 1: there is in the container what `when` says, as far as that is known without a helper. */
int carry_check(struct carry *carry, enum wire_when when, struct sb_err *err) sb_must_check;

/*
 * Bring the plan's program. 1: there is not what `when` says, and nothing was brought; `current`
 * tells what there is.
 */
int carry_bring(struct carry *carry, enum wire_when when, struct sb_err *err) sb_must_check;

/*
 * Bring a program that is to undo what another run of the same kind did; it may be that for the
 * engine's own machine, where the plan's cannot run. 1: there is nothing to undo.
 */
int carry_bring_cleaner(struct carry *carry, struct sb_err *err) sb_must_check;

/* For a user: make the link "current" lead to that version again. */
int carry_restore_current(
	struct carry *carry, const char *sha256, struct sb_err *err) sb_must_check;

struct carry_found {
	char sha256[65];
	bool as_user; /* the service is the container's own user's */
};

/*
 * The payload in a container's home, as the engine alone reports it, without running anything; 1
 * when there is none.
 */
int carry_look(struct eng_client *client, const char *id, const char *home_path,
	struct carry_found *ret, struct sb_err *err) sb_must_check;

#endif
