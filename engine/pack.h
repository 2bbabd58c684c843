/* SPDX-License-Identifier: MIT */
/*
 * Plain, uncompressed tar on disk, of files that are too large for memory: written piece by piece,
 * and read where it is. Every archive of the same files is the same byte for byte.
 */
#ifndef ENGINE_PACK_H
#define ENGINE_PACK_H

#include "engine/err.h"

#include <stdint.h>

enum { ENG_PACK_NAME_MAX = 99, ENG_PACK_MEMBERS_MAX = 4096 };

struct eng_pack_member {
	char name[ENG_PACK_NAME_MAX + 1];
	uint64_t offset, size; /* where its bytes are in the archive */
};

/*
 * Call on_member for each file in the archive of `size` bytes, until one call returns -1.
 * SB_MISMATCH: it is none as eng_pack_new writes it: it is cut off or has more at its end, has
 * anything but files, one of more than SB_MAX_ARCHIVE, too many of them, or headers beside theirs.
 */
struct eng_pack_source {
	int fd;
	uint64_t size;
	const char *path; /* for messages */
	int (*on_member)(void *ctx, const struct eng_pack_member *member, struct sb_err *err);
	void *ctx;
};
int eng_pack_read(const struct eng_pack_source *source, struct sb_err *err) sb_must_check;

struct eng_pack; /* opaque: an archive that is being written */

/* Begin one in an empty file; `fd` and `path`, which is for messages, are borrowed. */
int eng_pack_new(int fd, const char *path, struct eng_pack **ret, struct sb_err *err) sb_must_check;
void eng_pack_free(struct eng_pack *pack);

/* A file of this name and size follows, in as many pieces as it takes; `pack` is an eng_pack. */
int eng_pack_add(
	struct eng_pack *pack, const char *name, uint64_t size, struct sb_err *err) sb_must_check;
int eng_pack_write(void *pack, const void *data, size_t len, struct sb_err *err) sb_must_check;

/* All of them have been written. */
int eng_pack_finish(struct eng_pack *pack, struct sb_err *err) sb_must_check;

#endif
