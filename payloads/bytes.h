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

/* All of a regular file. SB_MISMATCH: it has more than `max`. */
int bytes_of_file(int fd, const char *path, uint64_t max, struct bytes *ret,
	struct sb_err *err) sb_must_check;

/* Their SHA-256; `path` names the file in errors. SB_MISMATCH: the file ends before they do. */
int bytes_sha256(const struct bytes *bytes, const char *path, char hex[SHA256_HEX],
	struct sb_err *err) sb_must_check;

/* Where a copy goes, piece by piece. */
struct bytes_sink {
	int (*write)(void *ctx, const void *data, size_t len, struct sb_err *err);
	void *ctx;
};

/* The same, and hand them on. */
int bytes_copy(const struct bytes *bytes, const char *path, const struct bytes_sink *to,
	char hex[SHA256_HEX], struct sb_err *err) sb_must_check;

#endif
