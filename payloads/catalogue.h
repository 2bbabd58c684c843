/* SPDX-License-Identifier: MIT */
/*
 * The payloads compiled into sbinject, and the manifest that pins them: one release and wire
 * version for all, and for each its name, architecture, size and SHA-256.
 */
#ifndef PAYLOADS_CATALOGUE_H
#define PAYLOADS_CATALOGUE_H

#include "conf/conf.h"
#include "engine/buf.h"

/* "0.1.0" */
extern const char payload_release[];

struct payload {
	const char *name; /* "tools-amd64" */
	const char *arch;
	const unsigned char *data;
	size_t size;
	const char *sha256;
};

size_t payload_count(void);
const struct payload *payload_at(size_t i);

/* By name; NULL if it is not built in. */
const struct payload *payload_by_name(const char *name);

/* The program for an architecture, an OCI word; NULL if it is not built in. */
const struct payload *payload_for_arch(const char *arch);

/* The architecture that sbinject itself was built for, as an OCI word. */
const char *payload_own_arch(void);

/* The bytes that a rule uses. `data` is borrowed from the program or from `file`. */
struct payload_bytes {
	const char *name;    /* borrowed from the rules */
	const char *release; /* "" for a file: only running it would tell */
	const void *data;
	size_t size;
	char sha256[65];
	struct sb_buf file; /* owned */
};

/* One program to be put into a container. All borrowed. */
struct payload_program {
	const char *sha256;
	const void *data;
	size_t size;
};

#define PAYLOAD_BYTES_INIT                                         \
	{                                                          \
		NULL, "", NULL, 0, "", SB_BUF_INIT(SB_MAX_PAYLOAD) \
	}
void payload_bytes_release(struct payload_bytes *bytes);

/*
 * Find or read them and check them against the pinned digest. Not built in: SB_UNSUPPORTED; file
 * missing, unreadable or no regular one: SB_USAGE; digest different: SB_MISMATCH with both digests.
 */
int payload_load(const struct conf_payload *which, struct payload_bytes *ret,
	struct sb_err *err) sb_must_check;

#endif
