/* SPDX-License-Identifier: MIT */
/*
 * The home directory of an installation: 0700, of the user that the service belongs to. Root's is
 * made by sbinject through the engine; any other user makes one itself. In it:
 *   <sha256>           the binary            <sha256>.<nonce>  one that was just delivered
 *   run-<64 hex>       further links to the binary, under names that only its user can know
 *   current            link to <sha256>      state.json        what was made elsewhere, to undo it
 *   lock               one install or uninstall at a time
 * Where the service is the container's own user's, root's home is 0711 and has what that user runs,
 * put there through the engine:
 *   user/               programs, 0711       current           link to user/<sha256>
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_INSTALL_HOME_H
#define PAYLOADS_SANDBOX_TOOLS_INSTALL_HOME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "payloads/lib/fail.h"
#include "payloads/lib/sha256.h"

#define HOME_LOCK "lock"
#define HOME_STATE "state.json"
#define HOME_CURRENT "current"
#define HOME_USER "user"
#define HOME_KEPT_MAX 16

/* ---- the grammar of the names ---- */

bool home_is_binary(const char *name);	 /* <64 hex> */
bool home_is_delivery(const char *name); /* <64 hex>.<32 hex> */
bool home_is_kept(const char *name);	 /* run-<64 hex> */

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

/* Opens and locks it; only a directory of our own. It may have been another user's before it
   became ours: what is not ours inside is removed. 0, 1 when it does not exist, -1 with 'fail'
   (code "busy" when the lock was not to be had in time). */
int home_open(struct home *home, const char *path, int64_t deadline, struct fail *fail);
/* The same for one that may have to be made, in a directory that we may write to; never 1. */
int home_make(struct home *home, const char *path, int64_t deadline, struct fail *fail);
void home_close(struct home *home);

/* The state as a new object: 0, 1 with NULL if there is none (what is not ours or not JSON is
   none), -1 with 'fail' if it cannot be read. */
int home_read_state(const struct home *home, json_t **ret_state, struct fail *fail);
/* Replaces it in one step; NULL removes it. */
int home_write_state(const struct home *home, const json_t *state, struct fail *fail);
/* The digest 'current' points to: true if there is one. */
bool home_read_current(const struct home *home, char hex[SHA256_HEX]);
int home_write_current(const struct home *home, const char *hex, struct fail *fail);
/* Does it serve a service that is the container's own user's? */
bool home_has_user(const struct home *home);
/* Removes what it has for that: number of things removed. */
int home_drop_user(const struct home *home);
/* Is there a binary of that digest? */
bool home_has(const struct home *home, const char *hex);
/* Makes 'name' a second name of the file 'from', whatever had that name before: 0 or -errno. On
   failure nothing of that name is left. */
int home_link(const struct home *home, const char *from, const char *name);
/* Deletes binaries other than 'hex', deliveries that nobody can be waiting for any more, and kept
   names other than 'keep' (NULL for none) that are not 'hex' or more than HOME_KEPT_MAX. */
void home_sweep(const struct home *home, const char *hex, const char *keep);
/* Deletes everything, the lock last, then the directory (its parent's modification time is
   kept). With 'keep_deliveries' binaries that another run has just delivered stay, and so then
   does the directory. Number of things removed. */
int home_erase(struct home *home, bool keep_deliveries);

#endif
