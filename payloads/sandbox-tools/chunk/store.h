/* SPDX-License-Identifier: MIT */
/*
 * Where long replies wait: <server directory>/chunks/<handle>.jsonrpc, in a directory and files of
 * our own alone. A process that is about to become another user reserves a file first, and then
 * writes to its descriptor.
 */
#ifndef PAYLOADS_SANDBOX_TOOLS_CHUNK_STORE_H
#define PAYLOADS_SANDBOX_TOOLS_CHUNK_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/fail.h"
#include "payloads/sandbox-tools/chunk/envelope.h"
#include "payloads/sandbox-tools/server/place.h"

#define STORE_EXPIRY 3600 /* seconds after which a file nobody reads is deleted */

/* A file that is reserved for a text. */
struct store_file {
	char handle[ENVELOPE_HANDLE + 1];
	int dir, fd; /* -1 if there is none */
};

#define STORE_FILE_INIT    \
	{                  \
		"", -1, -1 \
	}

/* Makes one in the place, which is made if necessary; files that are too old are deleted on the
   way. 0 or -1 with 'fail'. */
int store_reserve(const struct place *place, struct store_file *ret, struct fail *fail);
/* Writes the text into it, all or nothing: 0 or -1 with 'fail'. */
int store_write(const struct store_file *file, const char *text, size_t len, struct fail *fail);
/* Forgets it; what has no text in it is deleted. */
void store_close(struct store_file *file);
/* Opens a stored text for reading and marks it as used. Descriptor and size, or -errno (-ENOENT:
   nothing of that handle). */
int store_open(const struct place *place, const char *handle, uint64_t *ret_size);
/* Deletes it: 0, also when it is not there, or -errno. */
int store_remove(const struct place *place, const char *handle);

#endif
