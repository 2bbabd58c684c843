/* SPDX-License-Identifier: MIT */
/*
 * Bundles (.sbb): archives of payloads in one file, to be taken where there is no network. A bundle
 * is a plain tar: manifest.json first, then sha256/DIGEST for each archive, in order. The same
 * archives give the same bundle, byte for byte. Members are read where they are.
 *
 * manifest.json: {"payloads": [{"name", "size", "sha256", and "arch", "format" and "serves" if
 * known}], "sbinject_bundle": 1}. What else is in it is of a later release, and is not looked at.
 *
 * A bundle vouches for nothing: who uses a member verifies it by a digest from elsewhere.
 */
#ifndef PAYLOADS_BUNDLE_H
#define PAYLOADS_BUNDLE_H

#include "payloads/bytes.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

enum { BUNDLE_ITEMS_MAX = 2048, BUNDLE_NAME_MAX = 80 };

struct bundle_item {
	const char *name;
	const char *arch, *format, *serves; /* NULL: not known */
	const char *sha256;
	struct bytes bytes;
	const char *path; /* the file that the bytes are in, for messages */
};

struct bundle {
	int fd;
	char path[PATH_MAX];
	json_t *manifest; /* owned; the items borrow from it */
	struct bundle_item *items;
	size_t count;
};

/* clang-format off */
#define BUNDLE_INIT {.fd = -1}
/* clang-format on */
void bundle_release(struct bundle *bundle);

/*
 * Open a bundle and find what is in it, without reading the archives. 1: there is no such file.
 * SB_MISMATCH: it is no bundle, or damaged; SB_UNSUPPORTED: it is of a later format.
 */
int bundle_open(const char *path, struct bundle *ret, struct sb_err *err) sb_must_check;

/* By digest; NULL: it is not in it. */
const struct bundle_item *bundle_find(const struct bundle *bundle, const char *sha256);

/* SB_MISMATCH: the archive has another digest than the manifest says. */
int bundle_check(const struct bundle_item *item, struct sb_err *err) sb_must_check;

/* Write one of these archives to an empty file; they are put in order. `path` is for messages. */
int bundle_write(int fd, const char *path, struct bundle_item *items, size_t count,
	struct sb_err *err) sb_must_check;

#endif
