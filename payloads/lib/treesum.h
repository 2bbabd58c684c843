/* SPDX-License-Identifier: MIT */
/*
 * The digest of a tree of files: SHA-256 over one line for each thing in it, sorted bytewise,
 *   PATH <tab> KIND <tab> SIZE <tab> SHA256 <newline>
 * where KIND is "file", "exec" (an executable file), "dir" or "link"; the digest of a link is that
 * of the text it holds, a directory has the size 0 and the digest "-". Owners and times are not
 * part of it. sbinject and the program in the container come to it on their own.
 */
#ifndef PAYLOADS_LIB_TREESUM_H
#define PAYLOADS_LIB_TREESUM_H

#include <stddef.h>
#include <stdint.h>

#include "payloads/lib/sha256.h"

#define TREESUM_PATH_MAX 1023 /* bytes of a path in the tree */
#define TREESUM_DEPTH_MAX 48  /* components of one */
#define TREESUM_MEMBERS_MAX 20000

enum treesum_kind { TREESUM_FILE, TREESUM_EXEC, TREESUM_DIR, TREESUM_LINK };

struct treesum {
	char **lines; /* owned */
	size_t count, room;
	uint64_t bytes; /* of files */
	size_t files;	/* files and links */
};

#define TREESUM_INIT             \
	{                        \
		NULL, 0, 0, 0, 0 \
	}

/* 'sha256' is ignored for a directory: 0, -ENOMEM, -E2BIG past TREESUM_MEMBERS_MAX. */
int treesum_add(struct treesum *sum, enum treesum_kind kind, const char *path, uint64_t size,
	const char *sha256);
/* The digest of what was added. */
void treesum_end(struct treesum *sum, char hex[SHA256_HEX]);
void treesum_release(struct treesum *sum);

/* Why a path cannot be one in a tree: it must be relative and plain. NULL: it can. */
const char *treesum_unfit(const char *path);
/* The same of what the link 'path' leads to: ".." may only come first, and must not leave. */
const char *treesum_unfit_link(const char *path, const char *target);

#endif
