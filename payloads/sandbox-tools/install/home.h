/* SPDX-License-Identifier: MIT */
/*
 * The home directory of an installation: root's, 0700, made by sbinject through the engine. In it:
 *   <sha256>           the binary            <sha256>.<nonce>  one that was just delivered
 *   current            link to <sha256>      state.json        what was made elsewhere, to undo it
 *   lock               one install or uninstall at a time
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

struct home {
	const char *path; /* borrowed */
	int fd;		  /* -1 if there is none */
	int lock;
};

#define HOME_INIT            \
	{                    \
		NULL, -1, -1 \
	}

/* Opens and locks it; only a directory of our own, not writable for others. 0, 1 when it does
   not exist, -1 with 'fail' (code "busy" when the lock was not to be had in time). */
int home_open(struct home *home, const char *path, int64_t deadline, struct fail *fail);
void home_close(struct home *home);

/* The state as a new object, NULL if there is none or it is unreadable. */
json_t *home_read_state(const struct home *home);
/* Replaces it in one step; NULL removes it. */
int home_write_state(const struct home *home, const json_t *state, struct fail *fail);
/* The digest 'current' points to: true if there is one. */
bool home_read_current(const struct home *home, char hex[SHA256_HEX]);
int home_write_current(const struct home *home, const char *hex, struct fail *fail);
/* Is there a binary of that digest? */
bool home_has(const struct home *home, const char *hex);
/* Deletes binaries other than 'hex' and deliveries that nobody can be waiting for any more. */
void home_sweep(const struct home *home, const char *hex);
/* Deletes everything, the lock last, then the directory (its parent's modification time is
   kept). With 'keep_deliveries' binaries that another run has just delivered stay, and so then
   does the directory. Number of things removed. */
int home_erase(struct home *home, bool keep_deliveries);

#endif
