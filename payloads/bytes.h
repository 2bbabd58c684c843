/* SPDX-License-Identifier: MIT */
/*
 * A stretch of bytes in an open file: an archive that stands alone, or a member of a bundle. It is
 * read where it is, a piece at a time and by position, so that it is never held in memory and the
 * descriptor can be shared.
 */
#ifndef PAYLOADS_BYTES_H
#define PAYLOADS_BYTES_H

#include "engine/err.h"
#include "payloads/lib/sha256.h"

#include <stdint.h>

struct bytes {
	int fd;
	uint64_t offset, size;
};

/* All of a regular file. SB_MISMATCH: it has more than SB_MAX_ARCHIVE. */
int bytes_of_file(int fd, const char *path, struct bytes *ret, struct sb_err *err) sb_must_check;

/* Their SHA-256; `path` names the file in errors. SB_MISMATCH: the file ends before they do. */
int bytes_sha256(const struct bytes *bytes, const char *path, char hex[SHA256_HEX],
	struct sb_err *err) sb_must_check;

/* The same, and write them to another file. */
int bytes_copy(const struct bytes *bytes, const char *path, int to, const char *to_path,
	char hex[SHA256_HEX], struct sb_err *err) sb_must_check;

#endif
