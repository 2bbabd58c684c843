/* SPDX-License-Identifier: MIT */
/*
 * The programs that releases of inspect_ai bring themselves, for users who want those very bytes in
 * a container. The table, upstream.tsv, is compiled in: it pins each by size and SHA-256, and says
 * in which wheel it is found. It names no index: store.h and fetch.h say where bytes come from.
 */
#ifndef PAYLOADS_UPSTREAM_H
#define PAYLOADS_UPSTREAM_H

#include "payloads/hosts.h"

#include <stdint.h>

struct upstream {
	const char *name; /* as we call it: "upstream-v35-amd64", "upstream-v35-amd64-musl" */
	unsigned number;  /* as in struct host */
	const char *arch;
	const char *libc; /* "glibc" or "musl" */
	const char *file; /* its name, in the wheel's folder UPSTREAM_FOLDER and elsewhere */
	const char *form; /* "executable" or "tar.gz", as in struct host */
	uint64_t size;	  /* 0: not known */
	const char *sha256;
	struct host_release from, to; /* the releases that bring it */
	const char *wheel;	      /* the name of a wheel that has it; NULL: none has */
	const char *wheel_sha256;
	const char *tree; /* digest of what is in a tar.gz (payloads/lib/treesum.h), or NULL */
};

#define UPSTREAM_PROJECT "inspect-ai" /* as an index spells it */
#define UPSTREAM_FOLDER "inspect_ai/binaries/"
#define UPSTREAM_LAUNCHER "inspect-sandbox-tools" /* in each tar.gz */

size_t upstream_count(void);
const struct upstream *upstream_at(size_t i);

/* By name; NULL if the table does not have it. */
const struct upstream *upstream_by_name(const char *name);

/* By the digest that pins it; NULL if the table does not have it. */
const struct upstream *upstream_by_sha256(const char *sha256);

/*
 * What the releases of a range bring for an architecture and a libc; NULL: nothing. `host` is of
 * host_find.
 */
const struct upstream *upstream_for(const struct host *host, const char *arch, const char *libc);

#endif
