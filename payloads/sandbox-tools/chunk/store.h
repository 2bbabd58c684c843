/* SPDX-License-Identifier: MIT */
/*
 * Where long replies wait: <root>/<uid>/<handle>.jsonrpc. The root is open to every user's writing
 * (01733), a user's directory to nobody else's. Everything is reached through descriptors and no
 * link is followed, because other users can write next to it.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHUNK_STORE_H
#define PAYLOADS_SANDBOX_TOOLS_CHUNK_STORE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/chunk/envelope.h"

#define STORE_EXPIRY 3600 /* seconds after which a file nobody reads is deleted */

struct chunk_store {
	char root[PATH_MAX]; /* "" if it could not be worked out */
};

/* Beside the program's directory, or in the temporary directory for a program in "/". Touches
   nothing. */
void store_find(struct chunk_store *store);
/* Stores a text and tells its handle; what is too old is deleted on the way. 0 or -1 with 'fail'.
 */
int store_add(const struct chunk_store *store, const char *text, size_t len,
	char handle[ENVELOPE_HANDLE + 1], struct fail *fail);
/* Opens a stored text for reading and marks it as used. Root finds every user's. Descriptor and
   size, or -errno (-ENOENT: nothing of that handle). */
int store_open(const struct chunk_store *store, const char *handle, uint64_t *ret_size);
/* Deletes it: 0, also when it is not there, or -errno. */
int store_remove(const struct chunk_store *store, const char *handle);

#endif
