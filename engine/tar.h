/* SPDX-License-Identifier: MIT */
/*
 * Tar in memory. The archive API takes and gives it plain (never compressed: engines unpack that
 * with programs they find inside the container).
 */
#ifndef ENGINE_TAR_H
#define ENGINE_TAR_H

#include "engine/buf.h"
#include "engine/engine.h"

struct eng_tar_member {
	const char *name; /* relative; ends in '/' for a directory */
	unsigned mode;
	const void *data;
	size_t len;
	const char *link; /* a symbolic link to this, or NULL */
};

/* Add a whole archive of the members to out: owner 0:0, no names, no times. */
int eng_tar_write(const struct eng_tar_member *members, size_t count, struct sb_buf *out,
	struct sb_err *err) sb_must_check;

/* The same, compressed for the host's own use: gzip without a name and a time. */
int eng_tar_write_gzip(const struct eng_tar_member *members, size_t count, struct sb_buf *out,
	struct sb_err *err) sb_must_check;

/*
 * Look at the first entry of an archive (which may be cut off): its type, and for a regular file
 * its first max_bytes, added to out. 1: the archive has no entry.
 */
int eng_tar_first(const void *tar, size_t len, size_t max_bytes, enum eng_type *ret_type,
	struct sb_buf *out, struct sb_err *err) sb_must_check;

#endif
