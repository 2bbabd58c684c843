/* SPDX-License-Identifier: MIT */
/*
 * The home directory of an installation: 0700, of the user that the service belongs to. Root's is
 * made by sbinject through the engine; any other user makes one itself. In it:
 *   <sha256>           the binary            <sha256>.<nonce>  one that was just delivered
 *   run-<64 hex>       further links to the binary, under names that only its user can know
 *   current            link to <sha256>      state.json        what was made elsewhere, to undo it
 *   lock               one install or uninstall at a time
 *   trees.json         trees of files that were unpacked elsewhere; see trees.h
 *   .server            link to the server directory, or that itself; see server/place.h
 * Where the service is the container's own user's, root's home is 0711 and has what that user runs,
 * put there through the engine:
 *   user/               programs, 0711, each with a link ".server" beside it
 *   current            link to user/<sha256>
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_HOME_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_HOME_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "payloads/lib/fail.h"
#include "payloads/lib/sha256.h"

#define HOME_LOCK "lock"
#define HOME_STATE "state.json"
#define HOME_TREES "trees.json"
#define HOME_KEPT_MAX 16

/* Is the program of that path, and of digest 'hex', in a home (or was delivered beside one) without
   being the one that "current" leads to? Then it is being replaced or removed. */
bool home_forbids(const char *program, const char *hex);

/* ---- the directory ---- */

struct home {
	const char *path; /* borrowed */
	int fd;		  /* -1 if there is none */
	int lock;
};

#define HOME_INIT            \
	{                    \
		NULL, -1, -1 \
	}

/* Opens and locks it; only a directory of our own. It may have been another user's before it became
   ours: what has a name of ours inside and is not ours is removed. 0, 1 when it does not exist, -1
   with 'fail' (FAIL_BUSY if the lock could not be taken in time). */
int home_open(struct home *home, const char *path, int64_t deadline, struct fail *fail);
/* Opens one of our own without locking it, to read its records: 0 or -errno. */
int home_peek(struct home *home, const char *path);
/* The same as home_open() for one that may have to be made, in a directory that we may write to;
 * never 1. */
int home_make(struct home *home, const char *path, int64_t deadline, struct fail *fail);
void home_close(struct home *home);

/* The state as a new object: 0, 1 with NULL if there is none (what is not ours or not JSON is
   none), -1 with 'fail' if it cannot be read. */
int home_read_state(const struct home *home, json_t **ret_state, struct fail *fail);
/* Replaces it in one step; NULL removes it. */
int home_write_state(const struct home *home, const json_t *state, struct fail *fail);
/* The same of the record of trees. */
int home_read_trees(const struct home *home, json_t **ret_trees, struct fail *fail);
int home_write_trees(const struct home *home, const json_t *trees, struct fail *fail);
/* The digest 'current' points to: true if there is one. */
bool home_read_current(const struct home *home, char hex[SHA256_HEX]);
int home_write_current(const struct home *home, const char *hex, struct fail *fail);
/* Where the service of the programs in the home is: true if a link says so. */
bool home_read_server(const struct home *home, char dir[PATH_MAX]);
/* Makes it say so; NULL removes it: then the server directory is in the home itself. */
int home_write_server(const struct home *home, const char *dir, struct fail *fail);
/* Does it belong to a service that the container's own user runs? */
bool home_has_user(const struct home *home);
/* Removes what it has for that: number of things removed. */
int home_drop_user(const struct home *home);
/* After a delivery of that path was deleted: removes the home, too, if it was made for this
   delivery alone, because another one had been removed meanwhile. */
void home_forget(const char *delivery);
/* Is there a binary of that digest? */
bool home_has(const struct home *home, const char *hex);
/* Makes 'name' a second name of the file 'from', whatever had that name before: 0 or -errno. On
   failure nothing of that name is left. */
int home_link(const struct home *home, const char *from, const char *name);
/* Deletes binaries other than 'hex', deliveries that nobody can be waiting for any more, and kept
   names other than 'keep' (NULL for none) that are not 'hex' or more than HOME_KEPT_MAX. */
void home_sweep(const struct home *home, const char *hex, const char *keep);
/* Takes away what a program in it may start a service by, and what it can be run by again: then
   home_forbids() says yes. Number of things removed. */
int home_retire(const struct home *home);
/* Deletes everything that has a name of ours, the record and the lock last, then the directory if
   it is empty (its parent's modification time is kept). With 'keep_deliveries' binaries that
   another run has just delivered stay. What was moved aside for the directory is put back. Adds the
   number of things done to 'removed'; false if something could not be deleted, and then record and
   lock are still there. */
bool home_erase(struct home *home, bool keep_deliveries, int *removed);
/* For a run that could not open or lock its home: deletes what was delivered for it and, if that
   was all, the directory. What was moved aside for the directory is put back. */
void home_abandon(const char *path, const char *delivery);

#endif
