/* SPDX-License-Identifier: MIT */
/*
 * What a user wants of a container: inject the service, ask for its state, speak with it, remove
 * it.
 *
 * The payload lives in a home of its own, a directory that only root can enter; from there it puts
 * itself at the path where hosts look for it. An injection is one upload and one run of what was
 * uploaded, which checks its own digest, moves itself into place and starts or replaces the
 * service.
 *
 * Where the service is to be the container's own user's, that user does all this, in a home of its
 * own; root's only holds the program to start from. Root may have no power over that user's files
 * and processes, so what a user made is undone by the user, before root removes the rest.
 */
#ifndef PAYLOADS_SERVICE_H
#define PAYLOADS_SERVICE_H

#include "payloads/receipt.h"
#include "payloads/unpack.h"

/*
 * Inject, the plan's trees as well, in `trees`, of which there are as many. Where the service is
 * one of them, of *ret only `was` counts. On failure, what this run had placed has been removed, or
 * the error says that it could not be.
 */
int service_inject(struct plan *plan, struct receipt_install *ret, struct receipt_tree *trees,
	struct sb_err *err) sb_must_check;

/* SB_NO_SERVICE: not injected. SB_MISMATCH: another version is there. */
int service_status(struct plan *plan, struct receipt_status *ret, struct sb_err *err) sb_must_check;

/*
 * A tree of a status that is the plan's, as it should be; NULL if it is not there or has changed.
 */
const struct receipt_tree_found *service_find_tree(
	const struct receipt_status *status, const struct plan_tree *tree);

/*
 * Open a pipe to the service, to speak with it by ret->talk.exec; one that also runs commands in
 * the container, if the caller wants that. Errors as for service_status.
 */
int service_open(
	struct plan *plan, bool runs_commands, struct visit *ret, struct sb_err *err) sb_must_check;

/* Stop the service and delete everything ever placed. *ret_removed false: nothing was there. */
int service_remove(struct plan *plan, bool *ret_removed, struct sb_err *err) sb_must_check;

/*
 * 1: this payload is in place, for the right user; else 0, with the digest of what is there
 * instead in `other`, or "".
 */
int service_is_present(struct plan *plan, char other[65], struct sb_err *err) sb_must_check;

/* 1: there is a home, of whatever release. */
int service_has_home(struct plan *plan, struct sb_err *err) sb_must_check;

#endif
