/* SPDX-License-Identifier: MIT */
/*
 * What is in a tar archive, plain or compressed with gzip, xz or zstd: its members in their order,
 * read as a stream and never held in memory. Archives come from anywhere; what a tree of plain
 * files cannot have (devices, other file systems' attributes, programs with set-user-ID) is an
 * error. That paths are fit for use is left to the caller.
 */
#ifndef ENGINE_UNTAR_H
#define ENGINE_UNTAR_H

#include "engine/err.h"

#include <stdbool.h>
#include <stdint.h>

enum eng_untar_type { ENG_UNTAR_FILE, ENG_UNTAR_DIR, ENG_UNTAR_LINK, ENG_UNTAR_AGAIN };

struct eng_untar_member {
	enum eng_untar_type type;
	const char *path;   /* without "./" in front and "/" at the end; never empty */
	const char *target; /* of a link; or the path of the same file before */
	uint64_t size;	    /* of a file */
	bool executable;    /* by its owner */
};

/* Both may end it all by returning -1 with an error. */
struct eng_untar_sink {
	int (*member)(void *ctx, const struct eng_untar_member *member, struct sb_err *err);
	int (*data)(void *ctx, const void *data, size_t len, struct sb_err *err);
	void *ctx;
};

/*
 * Read the archive that stands in an open file from `offset` on, `size` bytes long; the file's own
 * position is not used. `name` stands in errors: SB_USAGE for what is no such archive, or is one
 * that cannot be used.
 */
struct eng_untar_source {
	const char *name;
	int fd;
	uint64_t offset, size;
};
int eng_untar(const struct eng_untar_source *source, const struct eng_untar_sink *sink,
	struct sb_err *err) sb_must_check;

#endif
