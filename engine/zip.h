/* SPDX-License-Identifier: MIT */
/*
 * One file out of a zip archive, such as a Python wheel. Of an archive on a server, two ranges of
 * bytes are enough: the directory at its end, which says where the file is, and the file.
 */
#ifndef ENGINE_ZIP_H
#define ENGINE_ZIP_H

#include "engine/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { ENG_ZIP_TAIL = 1 << 16 }; /* so many of the last bytes have the directory's place */

struct eng_zip_span {
	uint64_t from, size;
};

/*
 * Find the directory, by the last `len` bytes of an archive of `total` bytes. 1: they are not the
 * end of an archive, or of one that needs more than 32 bits.
 */
int eng_zip_find_directory(
	const void *tail, size_t len, uint64_t total, struct eng_zip_span *ret) sb_must_check;

/*
 * Find a member's bytes, its own header first, in the directory that begins at `end` in the
 * archive. 1: the directory does not have it, or is damaged.
 */
int eng_zip_find_member(const void *directory, size_t len, uint64_t end, const char *member,
	struct eng_zip_span *ret) sb_must_check;

/* Where a member is extracted from, and to. */
struct eng_zip_member {
	int fd;
	const char *path; /* for messages */
	const char *name;
	bool alone; /* the file has nothing but this member's bytes, as eng_zip_find_member tells */
	uint64_t max; /* more is an error */
	int (*sink)(void *ctx, const void *data, size_t len, struct sb_err *err);
	void *ctx;
};

/* Hand its contents on. 1: no such member. SB_MISMATCH: the archive is damaged. */
int eng_zip_extract(const struct eng_zip_member *member, struct sb_err *err) sb_must_check;

#endif
