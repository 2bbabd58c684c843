/* SPDX-License-Identifier: MIT */
/*
 * A tree of files as an archive holds it: what may be in one, its digest, and how it is sent into a
 * container. The archive is read as a stream, once for each of these.
 */
#ifndef PAYLOADS_TREEFILE_H
#define PAYLOADS_TREEFILE_H

#include "engine/buf.h"
#include "engine/untar.h"
#include "payloads/lib/sha256.h"

/* What a tree may have: things, bytes of files. */
#define TREEFILE_BYTES_MAX (UINT64_C(4) << 30)

struct treefile {
	struct eng_untar_source source;
	const char *launcher; /* that must be in it, an ELF program; or NULL */
	const char *arch;     /* that the launcher must be for, an OCI word; or NULL */
};

struct treefile_facts {
	char tree[SHA256_HEX]; /* the digest, see payloads/lib/treesum.h */
	size_t files;	       /* and links */
	uint64_t bytes;
};

/* Read it all, and refuse what cannot be sent: SB_USAGE, and SB_UNSUPPORTED for the launcher. */
int treefile_survey(
	const struct treefile *file, struct treefile_facts *ret, struct sb_err *err) sb_must_check;

/* Where a stream goes: -1 with an error, or 1 to end it early. */
struct treefile_out {
	int (*write)(void *ctx, const void *data, size_t len, struct sb_err *err);
	void *ctx;
};

/*
 * Write it as the program in a container takes it (payloads/lib/wire.h). 1: `out` has ended it. The
 * same is refused as by treefile_survey, but when it comes up.
 */
int treefile_send(const struct treefile *file, const struct treefile_out *out,
	struct sb_err *err) sb_must_check;

#endif
