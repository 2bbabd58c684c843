/* SPDX-License-Identifier: MIT */
/*
 * Names that nobody inside a container can foresee. A payload that stands ready from an earlier run
 * is run again, as root, only under a name made from a secret of this user on this host: what an
 * image or a process inside has put anywhere else is never started.
 */
#ifndef PAYLOADS_KEY_H
#define PAYLOADS_KEY_H

#include "engine/base.h"
#include "payloads/lib/wire.h"

#include <stdbool.h>

struct key {
	unsigned char bytes[32];
	bool known; /* false: it can neither be read nor kept, and nothing is ever reused */
};

/*
 * Read the key from $XDG_STATE_HOME/sbinject/key (default ~/.local/state), made on first use, 0600.
 * Never fails: without a place to keep one, reuse is off (-v says so). The directory has to be this
 * user's, no link, and closed to all others for writing; it is made in directories of this user's
 * only. So root that has kept a user's environment does without a key and leaves nothing there.
 */
void key_load(struct key *ret);

/*
 * "run-" and 64 hex digits: the name of the payload `sha256` in the container `id`, one for root
 * and one for the container's own user; "" without key.
 */
enum { KEY_NAME_SIZE = sizeof(WIRE_KEPT_PREFIX) + 64 };
void key_name(const struct key *key, const char *sha256, const char *id, bool for_user,
	char ret[KEY_NAME_SIZE]);

#endif
