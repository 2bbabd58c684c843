/* SPDX-License-Identifier: MIT */
/*
 * Our programs as artifacts of a client: files under the names and in the form in which its
 * releases bring a program of their own. A client that finds them instead injects ours by itself.
 */
#ifndef PAYLOADS_ARTIFACT_H
#define PAYLOADS_ARTIFACT_H

#include "engine/buf.h"
#include "payloads/hosts.h"
#include "payloads/lib/sha256.h"

enum { ARTIFACT_NAME_SIZE = 64, ARTIFACT_ARCHES = 2, ARTIFACT_LIBCS = 2 };

struct artifact {
	char name[ARTIFACT_NAME_SIZE];
	const void *data; /* borrowed from the program, or from `packed` below */
	size_t size;
	char sha256[SHA256_HEX];
};

/* Those for all architectures that the client has and that are built in. */
struct artifacts {
	const struct host *host; /* borrowed */
	size_t count;
	struct artifact list[ARTIFACT_ARCHES * ARTIFACT_LIBCS];
	struct sb_buf packed[ARTIFACT_ARCHES]; /* owned */
};

#define ARTIFACTS_INIT                                                                 \
	{                                                                              \
		.packed = { SB_BUF_INIT(SB_MAX_PAYLOAD), SB_BUF_INIT(SB_MAX_PAYLOAD) } \
	}
void artifacts_release(struct artifacts *artifacts);

/*
 * Make them for a range of releases; the same bytes each time. SB_UNSUPPORTED: the range cannot be
 * served, or no program for the client is built in.
 */
int artifacts_make(
	const struct host *host, struct artifacts *ret, struct sb_err *err) sb_must_check;

/*
 * Write the i-th into a directory, whole or not at all, and add its path to `path`. What the client
 * has unpacked of a former one is deleted: it would use that.
 */
int artifact_write(const struct artifacts *artifacts, size_t i, const char *dir,
	struct sb_buf *path, struct sb_err *err) sb_must_check;

#endif
